//! Files that are removed during a run: the run ends within a second, with exit code 11, and sends nothing more.

use super::{charges, finishes, out, slow, under_way};
use rusqlite::Connection;
use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

/// Waits for the end of a run whose files were just changed. No check arrives later than a second after that.
macro_rules! ends {
    ($workspace:expr, $run:expr) => {{
        let begun = Instant::now();
        sleep(Duration::from_secs(1));
        let within_a_second = charges(&$workspace);
        let said = $run.wait();
        assert!(begun.elapsed() < Duration::from_secs(3), "it continued for {:?}", begun.elapsed());
        assert_eq!(charges(&$workspace), within_a_second, "charges later than a second");
        said.exits(11).says("nothing was sent after that")
    }};
}

#[test]
fn a_removed_lock_file_ends_the_run_and_the_next_one_finishes() {
    let workspace = slow(60);
    let run = under_way(&workspace, 6);
    fs::remove_file(out(&workspace).join("ledger.lock")).unwrap();
    ends!(workspace, run).says("ledger.lock was removed, moved or replaced");
    assert!(charges(&workspace) < 60);
    finishes(&workspace, workspace.run(&[]), 60);
}

#[test]
fn a_second_run_beside_one_that_lost_its_lock_file_takes_over_and_nothing_is_damaged() {
    let workspace = slow(60);
    let first = under_way(&workspace, 6);
    fs::remove_file(out(&workspace).join("ledger.lock")).unwrap();
    let second = workspace.run(&[]);
    ends!(workspace, first);
    finishes(&workspace, second, 60);
}

#[test]
fn a_run_whose_ledger_another_run_opened_writes_nothing_more_to_it() {
    let workspace = slow(60);
    let run = under_way(&workspace, 6);
    // As a second run does when it opens the ledger, without changing any file's place.
    let ledger = Connection::open(out(&workspace).join("ledger.sqlite")).unwrap();
    ledger.busy_timeout(Duration::from_secs(5)).unwrap();
    ledger.execute("UPDATE campaign SET run = run + 1", []).unwrap();
    let attempts = |ledger: &Connection| -> i64 {
        ledger.query_row("SELECT sum(attempts) FROM request", [], |row| row.get(0)).unwrap()
    };
    let noted = attempts(&ledger);
    ends!(workspace, run).says("another run opened the ledger");
    assert_eq!(attempts(&ledger), noted, "the older run writes nothing more");
    drop(ledger);
    finishes(&workspace, workspace.run(&[]), 60);
}

#[test]
fn a_removed_write_ahead_log_ends_the_run_and_the_next_one_finishes() {
    let workspace = slow(60);
    let run = under_way(&workspace, 6);
    fs::remove_file(out(&workspace).join("ledger.sqlite-wal")).unwrap();
    ends!(workspace, run).says("ledger.sqlite-wal was removed or replaced");
    assert!(charges(&workspace) < 60);
    finishes(&workspace, workspace.run(&[]), 60);
}

#[test]
fn a_moved_folder_ends_the_run_and_moved_back_it_is_finished() {
    let workspace = slow(60);
    let run = under_way(&workspace, 6);
    let elsewhere = workspace.path().join("elsewhere");
    fs::rename(out(&workspace), &elsewhere).unwrap();
    ends!(workspace, run);
    let sent = charges(&workspace);
    assert!(!out(&workspace).exists(), "no folder without its ledger is made");
    sleep(Duration::from_millis(300));
    assert_eq!(charges(&workspace), sent);
    fs::rename(&elsewhere, out(&workspace)).unwrap();
    finishes(&workspace, workspace.run(&[]), 60);
}

#[test]
fn a_campaign_started_in_the_place_of_a_moved_one_is_not_touched_by_the_older_run() {
    let workspace = slow(60);
    let first = under_way(&workspace, 6);
    fs::rename(out(&workspace), workspace.path().join("elsewhere")).unwrap();
    let second = workspace.run(&[]);
    ends!(workspace, first);
    // The keys are the same, so the service replays at no cost what the first run paid for.
    second.exits(0);
    assert_eq!(workspace.service.simulator.stats().double_charges, 0);
    let results = fs::read_dir(out(&workspace).join("results/aml-screening")).unwrap().count();
    assert_eq!(results, 1);
}

#[test]
fn a_deleted_folder_ends_the_run() {
    let mut workspace = slow(60);
    workspace.loses_a_ledger = true;
    let run = under_way(&workspace, 6);
    fs::remove_dir_all(out(&workspace)).unwrap();
    ends!(workspace, run);
    assert!(charges(&workspace) < 60);
}

#[test]
fn a_file_size_limit_is_a_storage_fault_and_the_run_is_resumed() {
    let workspace = slow(400);
    let run = workspace.production("run", &["--yes"]);
    let words: Vec<String> = run.get_args().map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    // In blocks of 512 bytes. The ledger of 400 rows needs more.
    let line = format!("ulimit -f 400; exec rescreen {}", words.join(" "));
    let said = crate::support::program::Said::of(&mut crate::support::program::shell(workspace.path(), &line));
    said.exits(11);
    finishes(&workspace, workspace.run(&[]), 400);
}
