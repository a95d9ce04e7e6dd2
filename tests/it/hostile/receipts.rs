//! An existing ledger is never set aside for a temporary cause, and an older copy is accepted only on explicit request.

use super::{Campaign, Hostile, Reply};
use crate::support::program::Said;
use std::fs;

#[test]
#[ignore = "make hostile"]
fn a_ledger_that_another_program_has_open_is_kept_and_the_message_says_so() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 10);
    campaign.run().exits(0);
    let other = rusqlite::Connection::open(campaign.out().join("ledger.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    service.pass(80 * 3600);
    for flags in ["", "--new-ledger"] {
        let said = Said::of(&mut campaign.command(flags)).exits(11);
        for part in ["ledger.sqlite", "another program has it open", "close it", "run again"] {
            assert!(said.stderr.contains(part), "`{part}` is missing with `{flags}`: {}", said.stderr);
        }
    }
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    campaign.run().exits(0);
    assert_eq!(service.book().charges(), 10, "nothing is paid again");
}

#[test]
#[ignore = "make hostile"]
fn a_ledger_that_is_not_a_database_is_set_aside_on_request() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 10);
    campaign.run().exits(0);
    fs::write(campaign.out().join("ledger.sqlite"), "this is a text, and no database at all".repeat(40)).unwrap();
    let said = Said::of(&mut campaign.command("")).exits(11);
    for part in ["ledger.sqlite", "damaged", "from a backup", "--new-ledger"] {
        assert!(said.stderr.contains(part), "`{part}` is missing: {}", said.stderr);
    }
    Said::of(&mut campaign.command("--new-ledger")).exits(0);
    assert_eq!((service.book().charges(), campaign.ledger().in_state("answered")), (10, 10));
}

#[test]
#[ignore = "make hostile"]
fn a_folder_that_cannot_be_written_is_named_with_what_to_do() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 3);
    campaign.run().exits(0);
    fs::remove_file(campaign.out().join("ledger.lock")).unwrap();
    fs::create_dir(campaign.out().join("ledger.lock")).unwrap();
    let said = Said::of(&mut campaign.command("")).exits(11);
    for part in ["ledger.lock", "cannot be opened", "run again"] {
        assert!(said.stderr.contains(part), "`{part}` is missing: {}", said.stderr);
    }
}

/// A campaign of 60 rows whose ledger was restored to its state after 20 of them. All other files are current.
fn with_restored_ledger(campaign: &Campaign) {
    campaign.run().exits(0);
    let copy = campaign.path().join("copy.sqlite");
    fs::copy(campaign.out().join("ledger.sqlite"), &copy).unwrap();
    campaign.append(21..=60);
    campaign.run().exits(0);
    for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
        drop(fs::remove_file(campaign.out().join(name)));
    }
    fs::copy(&copy, campaign.out().join("ledger.sqlite")).unwrap();
}

#[test]
#[ignore = "make hostile"]
fn an_older_copy_of_the_ledger_is_accepted_only_on_explicit_request() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 20);
    with_restored_ledger(&campaign);
    for command in ["run", "collect"] {
        let said = match command {
            "run" => Said::of(&mut campaign.command("")),
            _ => Said::of(&mut campaign.program(&["collect", "out/hostile"])),
        };
        assert_eq!(said.code, 11, "{}", said.stderr);
        for part in ["older copy", "--accept-older-ledger", "72 hours", "may be charged again"] {
            assert!(said.stderr.contains(part), "`{part}` is missing for {command}: {}", said.stderr);
        }
        assert!(!said.stderr.contains("was not closed"), "it was closed: {}", said.stderr);
    }
    assert_eq!(service.book().entries.len(), 60, "nothing is sent");
    let said = campaign.run_with("--accept-older-ledger").exits(0);
    assert!(!said.stderr.contains("continue with"), "{}", said.stderr);
    assert!(said.stderr.contains("the previous ones are in out/hostile/before-"), "{}", said.stderr);
    // The keys are the same, so the service replays its answers and charges nothing.
    let ledger = campaign.ledger();
    assert_eq!((service.book().charges(), ledger.charged(), ledger.in_state("answered")), (60, 60, 60));
    assert_eq!(campaign.dataset("results").len(), 60);
    campaign.run().exits(0);
}

#[test]
#[ignore = "make hostile"]
fn collect_accepts_an_older_copy_of_the_ledger_on_the_same_request() {
    let service = Hostile::new().start();
    // Charges that the copy does not know are missing from its books.
    let campaign = Campaign::of(&service, 20).with_unstated_charges();
    with_restored_ledger(&campaign);
    campaign.say("collect out/hostile --accept-older-ledger");
    assert_eq!((campaign.ledger().in_state("answered"), service.book().entries.len()), (20, 60));
}

#[test]
#[ignore = "make hostile"]
fn the_message_about_a_lost_ledger_names_the_flag_for_an_older_backup() {
    let service = Hostile::new().on_all(Reply::clear()).start();
    let campaign = Campaign::of(&service, 5);
    campaign.run().exits(0);
    fs::remove_file(campaign.out().join("ledger.sqlite")).unwrap();
    let said = Said::of(&mut campaign.command("")).exits(2);
    assert!(said.stderr.contains("--accept-older-ledger"), "{}", said.stderr);
}
