//! With `-q`, a run that does not end with 0 says why it stopped and how to continue, for every exit code.

use crate::{
    cli::Workspace,
    support::{program::Said, service::lifted},
};
use rescreen::simulator::Settings;

fn with(rows: usize, faults: &str) -> Workspace {
    Workspace::with(rows, Settings { faults: faults.parse().unwrap(), ..lifted() })
}

/// Standard error has a reason, which begins with or contains one of these, and a command to continue with.
#[track_caller]
fn says(said: Said, code: i32, reason: &str) {
    let said = said.exits(code).without_data().says(reason);
    assert!(!said.next_command().is_empty());
    assert!(said.stderr.lines().count() <= 4, "only what went wrong:\n{}", said.stderr);
    assert!(!said.stderr.contains(" rows: "), "no totals:\n{}", said.stderr);
}

#[test]
fn exit_4_a_limit() {
    let workspace = with(30, "");
    says(workspace.run(&["-q", "--max-credits", "12", "--price", "aml-screening=1"]), 4, "stopped: the next request");
}

#[test]
fn exit_6_a_guard() {
    let workspace = with(60, "");
    says(workspace.run(&["-q", "--expect-rows", "61"]), 6, "stopped: ");
}

#[test]
fn exit_7_a_refused_key() {
    let workspace = with(8, "error401@3,error401@4");
    says(workspace.run(&["-q", "--in-flight", "1"]), 7, "stopped: the service refuses the API key");
}

#[test]
fn exit_8_requests_in_doubt() {
    says(Workspace::with_doubts(4).run(&["-q", "--for", "1s"]), 8, "may have been charged");
}

#[test]
fn exit_9_the_time_is_up() {
    let settings = Settings { latency: std::time::Duration::from_millis(300), ..lifted() };
    let workspace = Workspace::with(40, settings);
    says(workspace.run(&["-q", "--for", "1s", "--in-flight", "1"]), 9, "stopped: ");
    let limited = with(40, "");
    says(limited.run(&["-q", "--limit", "4"]), 9, "--limit");
}

#[test]
fn exit_10_the_service_is_away() {
    let pages: Vec<String> = (3..=12).map(|nth| format!("html@{nth}")).collect();
    says(with(8, &pages.join(",")).run(&["-q", "--in-flight", "1"]), 10, "stopped: ");
}

#[test]
fn exit_11_the_storage_is_named_as_an_error() {
    let workspace = with(3, "");
    std::fs::write(workspace.path().join("out"), "in the way").unwrap();
    let said = workspace.run(&["-q"]).without_data();
    assert!([2, 11].contains(&said.code), "{} {}", said.code, said.stderr);
    assert!(said.stderr.starts_with("error: ") && said.stderr.contains("out"), "{}", said.stderr);
}

#[test]
fn exit_3_failed_rows_are_counted() {
    let workspace = with(3, "");
    workspace.write("book.csv", "no,name\n1,Anna\n2,\n3,Ben\n");
    let said = workspace.run(&["-q", "--map", "name=name", "--max-errors", "3"]).exits(3).without_data();
    assert_eq!(said.stderr, "1 of 3 asks failed (1 missing_value); see out/2026-11/failures.csv\n");
}
