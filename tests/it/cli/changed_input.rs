//! An input that changed between two runs of a campaign: read afresh if nothing was sent, refused otherwise, and every way
//! that the refusal names works.

use super::Workspace;
use crate::support::program::Said;
use std::fs;

const GOOD: &str =
    "no,name,status\n1,P1 Vexford,active\n2,P2 Vexford,active\n3,P3 Vexford,active\n4,P4 Vexford,active\n";

fn charges(workspace: &Workspace) -> u64 {
    workspace.service.simulator.stats().charges
}

#[test]
fn an_input_of_which_nothing_was_sent_is_read_afresh() {
    let workspace = Workspace::new(1);
    // Lines without a name, as a spreadsheet may leave them: the guard stops the run before anything is sent.
    workspace.write("book.csv", &(GOOD.to_owned() + &(5..=60).map(|no| format!("{no},,x\n")).collect::<String>()));
    workspace.run(&[]).exits(6);
    assert_eq!(charges(&workspace), 0);
    workspace.write("book.csv", GOOD);
    Said::of(&mut workspace.production("plan", &[])).exits(0).shows("to send 4");
    workspace.run(&[]).exits(0).says("it is read afresh; what was read before is in").says("4 rows: 4 results");
    assert_eq!(charges(&workspace), 4);
    workspace.run(&[]).exits(0).says("nothing sent");
    assert_eq!(charges(&workspace), 4);
}

#[test]
fn a_changed_row_is_refused_once_something_was_sent_and_every_way_that_is_named_works() {
    let workspace = Workspace::new(1);
    let book = GOOD.to_owned() + "5,,active\n";
    workspace.write("book.csv", &book);
    workspace.run(&["--max-errors", "5"]).exits(3);
    assert_eq!(charges(&workspace), 4);
    for changed in [book.replace("P2 Vexford", "P2 Vexfort"), book.replace("2,P2 Vexford,active\n", "")] {
        workspace.write("book.csv", &changed);
        for command in ["run", "plan"] {
            let more: &[&str] = if command == "run" { &["--yes"] } else { &[] };
            let said = Said::of(&mut workspace.production(command, more)).exits(2);
            said.says("the first change is in row 2;").says("--corrections FILE").says("--campaign NAME");
        }
    }
    assert_eq!(charges(&workspace), 4, "nothing is sent again");
    // The old file again, with a row appended.
    workspace.write("book.csv", &(book.clone() + "6,P6 Vexford,active\n"));
    workspace.run(&["--max-errors", "5"]).exits(3);
    assert_eq!(charges(&workspace), 5);
    // The failed row, corrected in a copy of failures.csv.
    let failures = fs::read_to_string(workspace.path().join("out/2026-11/failures.csv")).unwrap();
    assert!(failures.contains(",5,,active") || failures.contains("5,,active"), "{failures}");
    workspace.write("corrected.csv", &failures.replace("5,,active", "5,P5 Vexford,active"));
    workspace.run(&["--corrections", "corrected.csv"]).exits(0);
    assert_eq!(charges(&workspace), 6);
    // The changed row alone, in another file and another campaign.
    workspace.write("changed.csv", "no,name,status\n2,P2 Vexfort,active\n");
    let url = workspace.service.url.clone();
    let words = "run changed.csv --check aml-screening --set entity=0 --set country=za --campaign changed --mode production \
        --id no --per-minute 600000 --per-minute-max 900000 --max-credits 1000 --price aml-screening=1 --yes --service";
    let words: Vec<&str> = words.split_whitespace().chain([url.as_str()]).collect();
    workspace.say(&words).exits(0);
    assert_eq!(charges(&workspace), 7);
}

#[test]
fn a_changed_input_with_requests_in_doubt_is_refused() {
    let workspace = Workspace::with_doubts(4);
    let book = fs::read_to_string(workspace.path().join("book.csv")).unwrap();
    let arrived = workspace.service.checks_arrived();
    workspace.write("book.csv", book.lines().next().unwrap());
    workspace.run(&[]).exits(2).says("the first change is in row 1;");
    assert_eq!(workspace.service.checks_arrived(), arrived, "nothing is sent");
}
