//! Files that are removed during a run: the run ends with exit code 11, and sends nothing more.

use super::{ARRIVED, charges, finishes, held, out, under_way};
use crate::{
    cli::Workspace,
    support::{
        program::{Said, UnderWay, shell},
        world::World,
    },
};
use rescreen::simulator::ChargeStated;
use rusqlite::Connection;
use std::{fs, time::Duration};
use tokio::time::{Instant, sleep};

/// Waits for the end of a run whose files were just changed. No reply has come since, and no further check has arrived.
/// The service answers from now on.
#[track_caller]
fn ends(workspace: &Workspace, run: UnderWay) -> Said {
    let said = run.ends();
    assert_eq!(charges(workspace), ARRIVED, "charges after the change");
    workspace.service.answers_all();
    said.exits(11).says("nothing was sent after that")
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_within_a_second_of_the_removal_of_its_files() {
    let moments = [1, 499, 500, 501, 999, 1_250];
    let files = ["ledger.lock", "ledger.sqlite-wal"];
    for (after_ms, file) in moments.into_iter().flat_map(|moment| files.map(|file| (moment, file))) {
        let world = World::new().rows(20).in_flight(4).under_paused_time();
        let mut world = world.service(|settings| {
            settings.latency = Duration::from_secs(60);
            settings.charge_stated = Some(ChargeStated::Used);
        });
        let path = world.path("out").join(file);
        let removing = async {
            sleep(Duration::from_millis(after_ms)).await;
            fs::remove_file(path).unwrap();
            Instant::now()
        };
        let ending = async { (world.run().await, Instant::now()) };
        let (removed, (ran, ended)) = tokio::join!(removing, ending);
        let error = ran.result.unwrap_err();
        assert_eq!(error.exit_code(), rescreen::model::ExitCode::Storage, "{error}");
        assert!(error.to_string().contains(&format!("{file} was removed")), "{error}");
        assert!(ended - removed <= Duration::from_secs(1), "{file}: {:?} after {after_ms} ms", ended - removed);
    }
}

#[test]
fn a_removed_lock_file_ends_the_run_and_the_next_one_finishes() {
    let workspace = held(60);
    let run = under_way(&workspace);
    fs::remove_file(out(&workspace).join("ledger.lock")).unwrap();
    ends(&workspace, run).says("ledger.lock was removed, moved or replaced");
    assert!(charges(&workspace) < 60);
    finishes(&workspace, workspace.run(&[]), 60);
}

#[test]
fn a_second_run_beside_one_that_lost_its_lock_file_takes_over_and_nothing_is_damaged() {
    let workspace = held(60);
    let first = under_way(&workspace);
    fs::remove_file(out(&workspace).join("ledger.lock")).unwrap();
    // The older run still waits for its replies.
    workspace.service.answers_new_checks();
    let second = workspace.run(&[]);
    first.ends().exits(11).says("nothing was sent after that");
    finishes(&workspace, second, 60);
}

#[test]
fn a_run_whose_ledger_another_run_opened_writes_nothing_more_to_it() {
    let workspace = held(60);
    let run = under_way(&workspace);
    // As a second run does when it opens the ledger, without changing any file's place.
    let ledger = Connection::open(out(&workspace).join("ledger.sqlite")).unwrap();
    ledger.busy_timeout(Duration::from_secs(5)).unwrap();
    ledger.execute("UPDATE campaign SET run = run + 1", []).unwrap();
    let attempts = |ledger: &Connection| -> i64 {
        ledger.query_row("SELECT sum(attempts) FROM request", [], |row| row.get(0)).unwrap()
    };
    let noted = attempts(&ledger);
    // The run finds it out when it commits a reply.
    workspace.service.answers_all();
    ends(&workspace, run).says("another run opened the ledger");
    assert_eq!(attempts(&ledger), noted, "the older run writes nothing more");
    drop(ledger);
    finishes(&workspace, workspace.run(&[]), 60);
}

#[test]
fn a_removed_write_ahead_log_ends_the_run_and_the_next_one_finishes() {
    let workspace = held(60);
    let run = under_way(&workspace);
    fs::remove_file(out(&workspace).join("ledger.sqlite-wal")).unwrap();
    ends(&workspace, run).says("ledger.sqlite-wal was removed or replaced");
    assert_eq!(workspace.requests_in(&["answered", "in_doubt", "armed"]), ARRIVED, "no receipt is lost");
    finishes(&workspace, workspace.run(&[]), 60);
}

#[test]
fn a_moved_folder_ends_the_run_and_moved_back_it_is_finished() {
    let workspace = held(60);
    let run = under_way(&workspace);
    let elsewhere = workspace.path().join("elsewhere");
    fs::rename(out(&workspace), &elsewhere).unwrap();
    ends(&workspace, run);
    assert!(!out(&workspace).exists(), "no folder without its ledger is made");
    fs::rename(&elsewhere, out(&workspace)).unwrap();
    finishes(&workspace, workspace.run(&[]), 60);
}

#[test]
fn a_campaign_started_in_the_place_of_a_moved_one_is_not_touched_by_the_older_run() {
    let workspace = held(60);
    let first = under_way(&workspace);
    fs::rename(out(&workspace), workspace.path().join("elsewhere")).unwrap();
    workspace.service.answers_new_checks();
    let second = workspace.run(&[]);
    first.ends().exits(11).says("nothing was sent after that");
    // The keys are the same, so the service replays at no cost what the first run paid for.
    second.exits(0);
    assert_eq!(workspace.service.simulator.stats().double_charges, 0);
    let results = fs::read_dir(out(&workspace).join("results/aml-screening")).unwrap().count();
    assert_eq!(results, 1);
}

#[test]
fn a_deleted_folder_ends_the_run() {
    let mut workspace = held(60);
    workspace.loses_a_ledger = true;
    let run = under_way(&workspace);
    fs::remove_dir_all(out(&workspace)).unwrap();
    ends(&workspace, run);
    assert!(charges(&workspace) < 60);
}

#[test]
fn a_file_size_limit_is_a_storage_fault_and_the_run_is_resumed() {
    let workspace = Workspace::new(400);
    let run = workspace.production("run", &["--yes"]);
    let words: Vec<String> = run.get_args().map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    // In blocks of 512 bytes. The ledger of 400 rows needs more.
    let line = format!("ulimit -f 400; exec rescreen {}", words.join(" "));
    let said = Said::of(&mut shell(workspace.path(), &line));
    said.exits(11);
    finishes(&workspace, workspace.run(&[]), 400);
}
