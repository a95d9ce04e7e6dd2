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

#[test]
#[ignore = "make hostile"]
fn the_readme_and_a_first_checkpoint_are_there_before_the_first_send() {
    let service = Hostile::new().held().start();
    let campaign = Campaign::of(&service, 20);
    let run = campaign.start("");
    service.wait_for_messages(1);
    let readme = fs::read_to_string(campaign.out().join("README.txt")).unwrap_or_default();
    assert!(readme.contains("ledger.sqlite-wal"), "README.txt says: `{readme}`");
    // The main file alone is a ledger of this campaign, though without its latest changes.
    let alone = campaign.path().join("alone.sqlite");
    fs::copy(campaign.out().join("ledger.sqlite"), &alone).unwrap();
    let conn = rusqlite::Connection::open(&alone).unwrap();
    let name: rusqlite::Result<String> = conn.query_row("SELECT campaign FROM campaign", [], |row| row.get(0));
    assert_eq!(name.as_deref(), Ok("hostile"));
    service.release();
    campaign.audited(run.wait()).exits(0);
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
fn a_ledger_that_was_not_closed_and_lost_its_log_is_refused() {
    let service = Hostile::new().answers_only(60 - 8).start();
    let campaign = Campaign::of(&service, 400);
    killed(&campaign, &service, 60);
    fs::remove_file(campaign.out().join("ledger.sqlite-wal")).unwrap();
    drop(fs::remove_file(campaign.out().join("ledger.sqlite-shm")));
    let sent = service.book().entries.len();
    let said = Said::of(&mut campaign.command(""));
    assert!([2, 11].contains(&said.code), "exit {}: {}", said.code, said.stderr);
    assert!(said.stderr.contains("ledger.sqlite-wal"), "{}", said.stderr);
    assert_eq!(service.book().entries.len(), sent, "nothing is sent");
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

/// A complete campaign whose files are then deleted.
#[track_caller]
fn is_not_started_again_without(lost: &[&str]) {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 20);
    campaign.run().exits(0);
    for name in lost {
        drop(fs::remove_file(campaign.out().join(name)));
    }
    // After 72 hours the service knows none of the keys.
    service.pass(80 * 3600);
    let said = Said::of(&mut campaign.command("")).exits(2);
    for way in ["--new-ledger", "--out", "restore"] {
        assert!(said.stderr.to_lowercase().contains(way), "`{way}` is not named: {}", said.stderr);
    }
    assert_eq!(service.book().entries.len(), 20, "nothing is sent");
    assert!(campaign.out().join("results").exists(), "the results are kept");
    Said::of(&mut campaign.command("--new-ledger")).exits(0);
    assert_eq!(service.book().charges(), 40, "--new-ledger pays again, on request");
}

#[test]
#[ignore = "make hostile"]
fn published_results_without_their_ledger_are_not_silently_paid_again() {
    is_not_started_again_without(&["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.lock"]);
}

#[test]
#[ignore = "make hostile"]
fn results_without_ledger_and_manifest_are_not_silently_paid_again() {
    is_not_started_again_without(&["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "manifest.json"]);
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

#[test]
#[ignore = "make hostile"]
fn a_removed_lock_file_ends_the_older_run_and_damages_nothing() {
    let service = held();
    let campaign = Campaign::of(&service, 300);
    let older = under_way(&campaign, &service);
    fs::remove_file(campaign.out().join("ledger.lock")).unwrap();
    service.answers_new_checks();
    let newer = campaign.run();
    let older = older.ends();
    assert_eq!(older.code, 11, "the older run: {}", older.stderr);
    assert!([0, 8].contains(&newer.code), "the newer run: exit {}: {}", newer.code, newer.stderr);
    campaign.run().exits(0);
    let ledger = campaign.ledger();
    assert_eq!((service.book().credits(), ledger.charged(), ledger.held()), (300.0, 300, 0));
    assert_eq!(ledger.sums["account"]["charged"], 300, "{}", ledger.sums);
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
fn a_folder_that_is_deleted_under_a_run_ends_it() {
    stops_when(|out| fs::remove_dir_all(out).unwrap());
}

#[test]
#[ignore = "make hostile"]
fn a_folder_that_is_moved_under_a_run_ends_it() {
    stops_when(|out| fs::rename(out, out.with_extension("moved")).unwrap());
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

#[test]
#[ignore = "make hostile"]
fn a_write_ahead_log_that_is_deleted_under_a_run_ends_it_and_no_receipt_is_lost() {
    let service = held();
    let campaign = Campaign::of(&service, 200);
    let run = under_way(&campaign, &service);
    fs::remove_file(campaign.out().join("ledger.sqlite-wal")).unwrap();
    let said = run.ends();
    assert_eq!(said.code, 11, "{}", said.stderr);
    assert!(said.stderr.contains("ledger.sqlite-wal was removed"), "{}", said.stderr);
    let sent = service.book().entries.len();
    assert_eq!(sent, ARRIVED, "nothing was sent after that");
    service.release();
    let ledger = campaign.ledger();
    assert_eq!(ledger.in_state("answered") + ledger.in_state("in_doubt") + ledger.in_state("armed"), sent);
    campaign.run_with("--in-flight 16").exits(0);
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (200.0, 200));
}

#[test]
#[ignore = "make hostile"]
fn a_moved_folder_and_a_new_one_make_no_complete_run_without_results() {
    let service = held();
    let campaign = Campaign::of(&service, 150).with_unstated_charges();
    let older = under_way(&campaign, &service);
    fs::rename(campaign.out(), campaign.out().with_extension("moved")).unwrap();
    service.answers_new_checks();
    let newer = Said::of(&mut campaign.command(""));
    assert_eq!(older.ends().code, 11);
    assert_eq!((newer.code, &campaign.manifest()["complete"]), (0, &serde_json::json!(true)), "{}", newer.stderr);
    assert_eq!(campaign.dataset("results").len(), 150);
    assert_eq!(service.book().charged_twice(), Vec::<u32>::new());
}

#[test]
#[ignore = "make hostile"]
fn a_file_size_limit_ends_the_run_with_the_storage_code_and_loses_nothing() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 400);
    let said = campaign.audited(Said::of(&mut campaign.under("ulimit -f 800", "")));
    assert_eq!(said.code, 11, "{}", said.stderr);
    campaign.run().exits(0);
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (400.0, 400));
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
