//! An input that changed between two runs of a campaign: read afresh if nothing was sent, read again where only rows that
//! were never sent changed, refused otherwise, and every way that the refusal names works.

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
            said.says("row 2 was sent, and has changed.").says("--corrections FILE").says("--campaign NAME");
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
    workspace.run(&[]).exits(2).says("row 1 was sent, and has changed.");
    assert_eq!(workspace.service.checks_arrived(), arrived, "nothing is sent");
}

/// The names in the rows of the campaign, in their order, after it is exported under this name.
fn names(workspace: &Workspace, export: &str) -> Vec<String> {
    workspace.say(&["export", "out/2026-11", "--wide", "--to", export]).exits(0);
    let text = fs::read_to_string(workspace.path().join(export)).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

/// Rows 1, 3 and 4 are sent, row 2 is rejected, and the limit stops the run before rows 5 and 6.
fn half_sent() -> (Workspace, String) {
    let workspace = Workspace::new(1);
    let book = GOOD.replace("2,P2 Vexford,active", "2,,active") + "5,P5 Vexford,active\n6,P6 Vexford,active\n";
    workspace.write("book.csv", &book);
    workspace
        .run(&["--max-credits", "3", "--price", "aml-screening=1", "--in-flight", "1", "--max-errors", "5"])
        .exits(4);
    assert_eq!(charges(&workspace), 3);
    (workspace, book)
}

#[test]
fn rows_that_were_never_sent_are_read_again() {
    let (workspace, book) = half_sent();
    let changed = book.replace("2,,active", "2,P2 Vexford,active").replace("P5 Vexford", "\u{201c}P5\u{201d} Vexfort");
    workspace.write("book.csv", changed.trim_end_matches("6,P6 Vexford,active\n"));
    let line = "book.csv has changed since it was read (2 rows changed, 1 row gone, first row 2)";
    Said::of(&mut workspace.production("plan", &[])).exits(0).shows(line).shows("to send 2");
    // The plan has changed nothing.
    Said::of(&mut workspace.production("plan", &[])).exits(0).shows(line).shows("to send 2");
    workspace.run(&[]).exits(0).says(line).says("5 rows: 5 results");
    assert_eq!(charges(&workspace), 5);
    let all = ["P1 Vexford", "P2 Vexford", "P3 Vexford", "P4 Vexford", "\u{201c}P5\u{201d} Vexfort"];
    assert_eq!(names(&workspace, "all.jsonl"), all);
    workspace.run(&[]).exits(0).says("nothing sent");
    // Every row was sent now.
    workspace.write("book.csv", &book);
    workspace.run(&[]).exits(2).says("row 2 was sent, and has changed.");
    assert_eq!(charges(&workspace), 5);
}

#[test]
fn a_change_of_a_row_that_was_sent_is_named_and_nothing_is_read_again() {
    let (workspace, book) = half_sent();
    // Rows 2 and 5 were not sent, row 4 was; a row that moves is a change too.
    let both = book.replace("2,,active", "2,P2,active").replace("P4 Vexford", "P4");
    let moved = book.replace("2,,active\n", "");
    let joined = book.replace("3,P3 Vexford,active\n4,", "3,\"P3 Vexford\n\",active\n4,");
    for (changed, row) in [(both, 4), (moved, 3), (joined, 3), (book[..60].to_owned(), 3)] {
        workspace.write("book.csv", &changed);
        workspace.run(&[]).exits(2).says(&format!("row {row} was sent, and has changed."));
        Said::of(&mut workspace.production("plan", &[])).exits(2).says(&format!("row {row} was sent"));
    }
    workspace.write("book.csv", &book);
    workspace.run(&["--max-errors", "5"]).exits(3).says("6 rows: 5 results (4 clear, 1 review), 1 failure");
    assert_eq!(charges(&workspace), 5);
}

#[test]
fn a_row_equal_to_one_that_was_sent_shares_its_answer_and_may_not_change() {
    let workspace = Workspace::new(1);
    workspace.write("book.csv", &(GOOD.to_owned() + "1,P1 Vexford,active\n5,P5 Vexford,active\n"));
    workspace.run(&["--max-credits", "4", "--price", "aml-screening=1", "--in-flight", "1"]).exits(4);
    workspace.write("book.csv", &(GOOD.to_owned() + "1,P1 Vexfort,active\n5,P5 Vexfort,active\n"));
    workspace.run(&[]).exits(2).says("row 5 was sent, and has changed.");
    workspace.write("book.csv", &(GOOD.to_owned() + "1,P1 Vexford,active\n5,P4 Vexford,active\n"));
    // Row 6 is now equal to row 4, which is answered.
    workspace.run(&[]).exits(0).says("6 rows: 6 results");
    assert_eq!(charges(&workspace), 4);
}

#[test]
fn another_header_is_named_as_the_change() {
    let (workspace, book) = half_sent();
    let header = book.lines().next().unwrap();
    for (changed, says) in
        [(header.to_uppercase(), "column 1 differs"), (format!("{header},more"), "and column 4 differs")]
    {
        workspace.write("book.csv", &book.replacen(header, &changed, 1));
        workspace.run(&[]).exits(2).says(says).says("the 3 columns that this input had");
    }
}

#[test]
fn a_correction_that_is_made_in_the_input_too_is_no_change() {
    let (workspace, book) = half_sent();
    let failures = fs::read_to_string(workspace.path().join("out/2026-11/failures.csv")).unwrap();
    workspace.write("corrected.csv", &failures.replace("2,,active", "2,P2 Vexford,active"));
    workspace.run(&["--corrections", "corrected.csv"]).exits(0);
    assert_eq!(charges(&workspace), 6);
    workspace.write("book.csv", &book.replace("2,,active", "2,P2 Vexford,active"));
    workspace.run(&[]).exits(0).says("book.csv has changed since it was read, but its rows have not");
    workspace.run(&[]).exits(0).says("nothing sent");
    assert_eq!(charges(&workspace), 6);
    assert_eq!(names(&workspace, "all.jsonl")[1], "P2 Vexford");
    workspace.write("book.csv", &book.replace("2,,active", "2,P2,active"));
    workspace.run(&[]).exits(2).says("row 2 was sent, and has changed.");
    assert_eq!(charges(&workspace), 6);
}

#[test]
fn a_row_that_cannot_be_read_any_more_fails_and_one_that_can_be_read_now_is_sent() {
    let (workspace, book) = half_sent();
    workspace.write("book.csv", &book.replace("6,P6 Vexford,active", "6,P6 Vexford,active,too,many"));
    workspace.run(&["--max-errors", "5"]).exits(3).says("2 failures, 0 pending").says("1 ragged_row, 1 missing_value");
    assert_eq!(charges(&workspace), 4);
    workspace.write("book.csv", &(book.replace("2,,", "2,P2,") + "7,P7 Vexford,active\n"));
    workspace.run(&[]).exits(0).says("7 rows: 7 results");
    assert_eq!(charges(&workspace), 7);
    assert_eq!(names(&workspace, "all.jsonl").len(), 7);
}

#[test]
fn other_line_ends_and_quotes_change_no_row() {
    let (workspace, book) = half_sent();
    let other = book.replace("P3 Vexford", "\"P3 Vexford\"").replace('\n', "\r\n");
    workspace.write("book.csv", &other);
    let said = workspace.run(&["--max-errors", "5"]).exits(3);
    said.says("book.csv has changed since it was read, but its rows have not").says("5 results");
    // The other file is the one that was read now.
    assert!(!workspace.run(&["--max-errors", "5"]).exits(3).stderr.contains("has changed"));
    workspace.write("book.csv", &book);
    workspace.run(&["--max-errors", "5"]).exits(3).says("but its rows have not");
    assert_eq!(charges(&workspace), 5);
}
