//! `-q` is for schedulers: it prints nothing when all is well, says so when there is nothing to do, and on a stop the reason and the command that continues.

use super::{Workspace, lifted};
use rescreen::simulator::Settings;

#[test]
fn a_quiet_run_that_finishes_prints_nothing() {
    let workspace = Workspace::new(3);
    let said = workspace.run(&["-q"]).exits(0).without_data();
    assert_eq!(said.stderr, "");
}

#[test]
fn a_quiet_run_of_a_complete_campaign_says_that_nothing_was_sent() {
    let workspace = Workspace::new(3);
    workspace.run(&[]).exits(0);
    let said = workspace.run(&["-q"]).exits(0).without_data();
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    said.says("nothing sent; for a new round, use a new --campaign");
}

#[test]
fn a_quiet_run_that_stops_says_why_and_how_to_continue() {
    let workspace = Workspace::new(30);
    let said = workspace.run(&["-q", "--max-credits", "12", "--price", "aml-screening=1"]).exits(4).without_data();
    assert!(said.next_command().contains("--max-credits 30"));
    assert_eq!(said.stderr.lines().count(), 2, "{}", said.stderr);
    said.says("stopped: the next request");

    let pages: Vec<String> = (3..=12).map(|nth| format!("html@{nth}")).collect();
    for (fault, code) in [("error401@3,error401@4", 7), (pages.join(",").as_str(), 10)] {
        let workspace = Workspace::with(8, Settings { faults: fault.parse().unwrap(), ..lifted() });
        let said = workspace.run(&["-q", "--in-flight", "1"]).exits(code).without_data();
        assert!(said.next_command().contains("run book.csv"));
        said.says("stopped: ");
    }
}

#[test]
fn requests_in_doubt_are_named_by_a_quiet_run() {
    let workspace = Workspace::with_doubts(4);
    let said = workspace.run(&["-q", "--for", "1s"]);
    assert_eq!(said.code, 8, "{}", said.stderr);
    said.says("may have been charged").without_data().says("continue with: ");
}
