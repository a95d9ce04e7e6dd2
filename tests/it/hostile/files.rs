//! The ledger is a set of files in a folder that a person can copy, tidy, move and delete: nothing is silently started
//! again, nothing is paid into a ledger that is gone, and no two runs write one ledger.

use super::{Campaign, Hostile, Reply};
use crate::support::program::{Said, UnderWay};
use std::{fs, path::Path};

/// The messages that arrive while two requests are in flight.
const ARRIVED: usize = 20;

/// A service that holds the last two of these messages until it is released.
fn held() -> super::Service {
    Hostile::new().answers_only(ARRIVED - 2).start()
}

/// A run that is killed after this many charges, of which the last eight are not answered. The service answers from now
/// on.
fn killed(campaign: &Campaign, service: &super::Service, charges: usize) {
    let run = campaign.start("--in-flight 8");
    service.wait_for_messages(charges);
    run.signal("KILL");
    run.ends();
    assert_eq!(service.book().charges(), charges);
    service.release();
}

#[test]
#[ignore = "make hostile"]
fn a_ledger_that_was_not_closed_and_has_its_log_is_resumed() {
    let service = Hostile::new().answers_only(60 - 8).start();
    let campaign = Campaign::of(&service, 120);
    killed(&campaign, &service, 60);
    campaign.run().exits(0);
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (120.0, 120));
}

#[test]
#[ignore = "make hostile"]
fn a_new_ledger_does_not_replace_an_existing_one() {
    let service = Hostile::new().on_row(3, Reply::lost()).start();
    let campaign = Campaign::of(&service, 10);
    campaign.run_until_asked(1..=10);
    let before = campaign.ledger();
    let mut command = campaign.command("--new-ledger");
    campaign.until_asked(&mut command, [3]);
    let after = campaign.ledger();
    assert_eq!(after.charged() + after.held(), before.charged() + before.held(), "the receipts are still there");
}

#[test]
#[ignore = "make hostile"]
fn an_empty_ledger_file_beside_results_is_not_a_new_campaign() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 20);
    campaign.run().exits(0);
    for name in ["ledger.sqlite-wal", "ledger.sqlite-shm"] {
        drop(fs::remove_file(campaign.out().join(name)));
    }
    fs::write(campaign.out().join("ledger.sqlite"), "").unwrap();
    service.pass(80 * 3600);
    let said = Said::of(&mut campaign.command(""));
    assert!([2, 11].contains(&said.code), "exit {}: {}", said.code, said.stderr);
    assert_eq!(service.book().entries.len(), 20, "nothing is sent");
}

/// A run that waits for two replies.
fn under_way(campaign: &Campaign, service: &super::Service) -> UnderWay {
    let run = campaign.start("--in-flight 2");
    service.wait_for_messages(ARRIVED);
    run
}

/// The folder is changed during a run: the run sends nothing more and ends with exit code 11.
#[track_caller]
fn stops_when(what_happens: impl Fn(&Path)) {
    let service = held();
    let campaign = Campaign::of(&service, 400).with_unstated_charges();
    let run = under_way(&campaign, &service);
    what_happens(&campaign.out());
    let said = run.ends();
    let late = service.book().entries.len() - ARRIVED;
    assert_eq!((said.code, late), (11, 0), "{late} messages after it happened: {}", said.stderr);
    assert!(said.stderr.contains("run again"), "it says what to do: {}", said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn a_folder_that_is_replaced_under_a_run_ends_it() {
    stops_when(|out| {
        fs::rename(out, out.with_extension("moved")).unwrap();
        fs::create_dir(out).unwrap();
    });
}

#[test]
#[ignore = "make hostile"]
fn a_ledger_file_that_is_deleted_under_a_run_ends_it() {
    stops_when(|out| fs::remove_file(out.join("ledger.sqlite")).unwrap());
}

#[test]
#[ignore = "make hostile"]
fn a_write_ahead_log_that_is_replaced_under_a_run_ends_it() {
    stops_when(|out| {
        let log = out.join("ledger.sqlite-wal");
        fs::copy(&log, out.join("copy")).unwrap();
        fs::rename(out.join("copy"), &log).unwrap();
    });
}

/// How soon a run ends.
mod timed {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_run_ends_within_a_second_of_the_removal_of_its_write_ahead_log() {
        let service = held();
        let campaign = Campaign::of(&service, 200);
        let run = under_way(&campaign, &service);
        fs::remove_file(campaign.out().join("ledger.sqlite-wal")).unwrap();
        let happened = Instant::now();
        let said = run.ends();
        assert!(happened.elapsed() < Duration::from_secs(1), "it continued for {:?}", happened.elapsed());
        assert_eq!(said.code, 11, "{}", said.stderr);
    }
}
