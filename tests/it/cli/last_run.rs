//! `status` says how the last run ended and how to continue, from the ledger, also when the run could not say it itself.

use super::{Said, Workspace};
use crate::support::{
    program::{shell, wait_until},
    schema::valid,
    service::lifted,
};
use rescreen::simulator::Settings;
use rusqlite::Connection;
use std::fs;

fn status(workspace: &Workspace) -> String {
    workspace.say(&["status"]).exits(0).stdout
}

#[test]
fn the_reason_the_exit_code_and_the_command_of_a_stop_are_shown() {
    let workspace = Workspace::new(30);
    let said = workspace.run(&["--max-credits", "12", "--price", "aml-screening=1"]).exits(4);
    let shown = status(&workspace);
    for part in [
        "last run        stopped ",
        ", exit code 4 (limit)",
        "would exceed the limit of 12",
        "40.0 %   12 of 30 requests",
    ] {
        assert!(shown.contains(part), "expected `{part}` in:\n{shown}");
    }
    let command = shown.lines().find_map(|line| line.strip_prefix("  continue with: ")).unwrap();
    assert_eq!(command, said.next_command());
    Said::of(&mut shell(workspace.path(), command)).exits(0);
    let shown = status(&workspace);
    assert!(shown.contains("last run        ended ") && shown.contains(", exit code 0\n"), "{shown}");
    assert!(!shown.contains("continue with") && !shown.contains("progress"), "{shown}");
}

#[test]
fn a_scheduler_sees_0_for_failures_that_the_campaign_file_accepts() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", "no,name\n1,P00001 Vexford\n2,\n3,P00003 Vexford\n4,P00004 Vexford\n");
    workspace.write("rescreen.toml", "[guards]\naccept_failures = \"25%\"\n");
    workspace.run(&["--summary-json", "last.json"]).exits(0);
    let summary = valid(&fs::read_to_string(workspace.path().join("last.json")).unwrap());
    assert_eq!((&summary["accept_failures"], &summary["failures"]), (&"25%".into(), &1.into()));
    assert!(summary["stop"].is_null(), "{summary:#}");
    let shown = status(&workspace);
    for part in [
        ", exit code 0\n",
        "complete; 1 ask failed, which accept_failures in [guards]",
        "aml-screening: 1 missing_value",
    ] {
        assert!(shown.contains(part), "expected `{part}` in:\n{shown}");
    }
    workspace.write("rescreen.toml", "[guards]\naccept_failures = 0\n");
    workspace.run(&[]).exits(3);
    assert!(status(&workspace).contains(", exit code 3 (failures)\n  complete, but 1 ask failed: see failures.csv"));
}

#[test]
fn an_error_of_a_later_run_is_recorded_too() {
    let workspace = Workspace::new(3);
    workspace.run(&["--max-credits", "1", "--price", "aml-screening=1"]).exits(4);
    workspace.write("book.csv", "no,name\n7,Another Vexford\n");
    let said = workspace.run(&[]).exits(2);
    let shown = status(&workspace);
    let message = said.stderr.lines().find_map(|line| line.strip_prefix("error: ")).unwrap();
    assert!(shown.contains(", exit code 2 (input)") && shown.contains(message), "{shown}");
}

#[test]
fn a_run_that_was_killed_is_named_with_the_command_that_resumes_it() {
    let workspace = Workspace::that_answers_only(4, 40);
    let run = workspace.under_way(2, 6, &[]);
    assert!(status(&workspace).contains("in flight since "));
    run.signal("KILL");
    run.ends();
    let shown = status(&workspace);
    assert!(shown.contains("last run        did not end: it was killed, or the machine stopped"), "{shown}");
    assert!(shown.contains("in doubt since  "), "what was in flight is in doubt now: {shown}");
    workspace.service.answers_all();
    let json = valid(&workspace.say(&["status", "--json"]).exits(0).stdout);
    assert_eq!((&json["state"], &json["last_run"]["ended_at"]), (&"killed".into(), &serde_json::Value::Null));
    assert!(json["in_doubt"].as_u64().unwrap() > 0);
    let command = shown.lines().find_map(|line| line.strip_prefix("  continue with: ")).unwrap();
    Said::of(&mut shell(workspace.path(), command)).exits(0);
    assert!(status(&workspace).contains("complete since"));
}

#[test]
fn beside_a_run_its_requests_are_in_flight_and_nothing_is_in_doubt() {
    let workspace = Workspace::that_answers_only(17, 200);
    let run = workspace.under_way(2, 19, &[]);
    wait_until("a rate", || status(&workspace).contains("   answers a minute, in the last minutes"));
    let shown = status(&workspace);
    assert!(shown.contains("in flight since "), "{shown}");
    for part in [
        "running         `rescreen run` since ",
        "progress  ",
        "   answers a minute, in the last minutes",
        "time left  ",
        "   until ",
    ] {
        assert!(shown.contains(part), "expected `{part}` in:\n{shown}");
    }
    assert!(!shown.contains("in doubt"), "{shown}");
    let json = valid(&workspace.say(&["status", "--json"]).exits(0).stdout);
    assert_eq!((&json["running"], &json["state"], &json["in_doubt"]), (&true.into(), &"running".into(), &0.into()));
    assert!(json["per_minute"].as_u64().unwrap() > 0 && json["ends_at"].is_string(), "{json:#}");
    assert!(json["oldest_in_flight_at"].is_string() && json["oldest_doubt_at"].is_null(), "{json:#}");
    drop(run);
}

/// A command in a ledger that someone else has changed could send the API key anywhere.
#[test]
fn a_command_that_no_run_on_this_machine_printed_is_not_shown() {
    let workspace = Workspace::new(9);
    workspace.run(&["--max-credits", "2", "--price", "aml-screening=1"]).exits(4);
    let ledger = workspace.path().join("out/2026-11/ledger.sqlite");
    let changed = "rescreen run --service https://elsewhere.example";
    Connection::open(&ledger).unwrap().execute("UPDATE run SET next_command = ?1", [changed]).unwrap();
    let shown = status(&workspace);
    assert!(!shown.contains("elsewhere") && shown.contains("continue with: the same command as before"), "{shown}");
    let json = valid(&workspace.say(&["status", "--json"]).exits(0).stdout);
    assert!(json["last_stop"]["next_command"].is_null(), "{json:#}");
    // Nor is one shown by another user, whose state folder does not know it.
    workspace.run(&["--max-credits", "3", "--price", "aml-screening=1"]).exits(4);
    assert!(status(&workspace).contains("continue with: rescreen run book.csv"));
    fs::remove_dir_all(workspace.path().join("state")).unwrap();
    assert!(status(&workspace).contains("continue with: the same command as before"));
}

#[test]
fn decisions_are_recorded_with_the_number_of_a_user_without_a_name() {
    let faults: Vec<String> = (2..60).map(|message| format!("drop_after@{message}")).collect();
    let workspace = Workspace::with(1, Settings { faults: faults.join(",").parse().unwrap(), ..lifted() });
    workspace.run(&["--for", "1s"]).exits(8);
    let said = workspace.say(&["resolve", "--list"]).exits(0);
    assert!(
        said.stderr.contains("1 request is in doubt") && said.stderr.contains("--include-in-doubt"),
        "{}",
        said.stderr
    );
    let said = workspace.say(&["resolve", "--list", "--include-in-doubt"]).exits(8);
    let said = said.says("1 request needs a decision, 1 credit held");
    assert!(said.stdout.trim_end().ends_with(" · book.csv row 1 (1)"), "{}", said.stdout);
    let said = workspace.say(&["resolve", "--write-off", "--reason", "a test"]).exits(0);
    said.says("add --include-in-doubt");
    workspace
        .say(&["resolve", "--write-off", "--include-in-doubt", "--reason", "a test"])
        .exits(0)
        .says("1 request decided, 1 credit held");
    let ledger = Connection::open(workspace.path().join("out/2026-11/ledger.sqlite")).unwrap();
    let by: String = ledger.query_row("SELECT decided_by FROM decision", [], |row| row.get(0)).unwrap();
    #[cfg(unix)]
    assert_eq!(by, format!("user id {}", rustix::process::geteuid().as_raw()));
    #[cfg(not(unix))]
    assert!(!by.is_empty());
}

#[test]
fn the_outputs_of_a_complete_campaign_say_that_a_later_run_is_under_way_or_was_killed() {
    let workspace = Workspace::that_answers_only(3, 3);
    workspace.run(&[]).exits(0);
    let whole_manifest = || -> serde_json::Value {
        let text = fs::read_to_string(workspace.path().join("out/2026-11/manifest.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let manifest = || {
        let manifest = whole_manifest();
        (manifest["complete"].as_bool().unwrap(), manifest["under_way"].as_bool().unwrap())
    };
    assert_eq!(manifest(), (true, false));
    // A run that finds nothing to do changes nothing.
    let files = || whole_manifest()["datasets"].clone();
    let before = files();
    workspace.run(&[]).exits(0);
    assert_eq!(manifest(), (true, false));
    assert_eq!(before, files());
    let more = fs::read_to_string(workspace.path().join("book.csv")).unwrap() + "4,P00004 Vexford,active\n";
    workspace.write("book.csv", &more);
    let run = workspace.under_way(1, 4, &[]);
    wait_until("the manifest says that a run is under way", || manifest() == (false, true));
    run.signal("KILL");
    assert_eq!(run.ends().code, -9);
    assert_eq!(manifest(), (false, true));
    workspace.service.answers_all();
    workspace.run(&[]).exits(0);
    assert_eq!(manifest(), (true, false));
}
