//! The requests of a campaign name the same receiver in every ledger, because a key stands for one body: a ledger that
//! was lost costs nothing again.

use super::{campaign::Office, listening::Listening};
use rescreen::ledger::Reading;
use std::fs;

const HOOKS: &str = "--webhook-url http://127.0.0.1:9";

fn lose_ledger(office: &Office) {
    for end in ["", "-wal", "-shm"] {
        drop(fs::remove_file(format!("{}{end}", office.ledger().display())));
    }
}

/// More rows than conflicts stop a run.
fn eight_rows(office: &Office) {
    let line = |n: usize| format!("{n},Vexford {n} Pty,2019/{n:06}/07,Example Bank,0620{n:05}0,current\n");
    let header = "no,company_name,registration_number,bank,account_no,account_type\n";
    let book = format!("{header}{}", (1..=8).map(line).collect::<String>());
    fs::write(office.folder.path().join("three.csv"), book).unwrap();
}

#[test]
fn a_lost_ledger_costs_nothing_again_although_the_requests_name_a_webhook() {
    let office = Office::new("--job-time 1s");
    let listening = Listening::start(office.folder.path(), &[]);
    let hooks = format!("--webhook-url http://{}", listening.address);
    office.run(&hooks).exits(5);
    let before = office.receivers();
    lose_ledger(&office);
    let said = office.run(&format!("{hooks} --new-ledger"));
    assert!([0, 5].contains(&said.code), "{}", said.stderr);
    assert!(office.receivers() == before, "the same receiver with the same secret");
    assert!(!said.stderr.contains(&before[0].secret), "{}", said.stderr);
    office.say("collect out --for 90s");
    let stats = office.stats();
    assert_eq!((stats.jobs, stats.credits_charged, stats.double_charges), (3, 21, 0));
    assert_eq!(listening.stopped().0, 0);
}

#[test]
fn another_folder_of_the_same_campaign_names_the_same_receiver() {
    let office = Office::new("--job-time 10h");
    office.run(HOOKS).exits(5);
    office.run_into("second", HOOKS).exits(5);
    assert_eq!(office.stats().jobs, 3, "the same requests are the same jobs");
    // Another URL has a receiver of its own.
    office.run_into("third", &format!("{HOOKS}0"));
    let id_in = |out: &str| {
        let ledger = office.folder.path().join(out).join("ledger.sqlite");
        Reading::open(&ledger).unwrap().receivers().unwrap().remove(0).id
    };
    assert_eq!(id_in("out"), id_in("second"));
    assert_ne!(id_in("out"), id_in("third"));
    assert_eq!(office.stats().jobs, 3);
}

#[test]
fn if_ledger_and_inbox_are_lost_the_conflicts_are_explained_and_nothing_is_charged_again() {
    let office = Office::new("--job-time 10h");
    eight_rows(&office);
    office.run(HOOKS).exits(5);
    lose_ledger(&office);
    fs::rename(office.folder.path().join("state"), office.folder.path().join("lost")).unwrap();
    let said = office.run(&format!("{HOOKS} --new-ledger")).exits(6);
    let said = said.says("HTTP 409").says("the same --webhook-url as before");
    said.says("if the ledger and the inbox of deliveries were both lost, restore one of them");
    assert_eq!((office.stats().jobs, office.stats().charges), (8, 0));
}
