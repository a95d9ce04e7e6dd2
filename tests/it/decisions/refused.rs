//! What decides nothing: worklists of another round, cells that do not belong together, and a file of decisions that was changed.

use super::{Desk, cell, service_of, set};
use crate::support::{
    program::{Said, rescreen},
    schema::valid,
};
use serde_json::json;
use std::fs;

fn decided(customers: usize) -> (Desk, Vec<super::Row>) {
    let desk = Desk::new(customers);
    desk.run("2026-10", &service_of("2026-10-01")).exits(0);
    let mut rows = desk.worklist("2026-10", "worklist.csv");
    for row in &mut rows {
        set(row, "decision", "accepted");
        set(row, "why", "another person");
    }
    (desk, rows)
}

#[test]
fn a_worklist_decides_all_or_nothing_and_names_its_lines() {
    let (desk, rows) = decided(150);
    assert!(rows.len() > 10);
    let refused = |change: &dyn Fn(&mut Vec<super::Row>), says: &str| {
        let mut changed = rows.clone();
        change(&mut changed);
        desk.save("filled.csv", &changed);
        let said = desk.say(&["decide", "2026-10", "--from", "filled.csv"]).exits(2);
        assert!(said.stderr.contains(says), "{says}: {}", said.stderr);
        assert!(!fs::read_to_string(desk.path().join("out/decisions.jsonl")).is_ok_and(|text| !text.is_empty()));
        assert!(!said.stderr.contains("Vexford"), "{}", said.stderr);
    };
    // One column was sorted alone.
    refused(
        &|rows| {
            let last = cell(&rows[rows.len() - 1], "subject").to_owned();
            set(&mut rows[0], "subject", &last);
        },
        "line 2: expected the subject of the row",
    );
    refused(&|rows| set(&mut rows[3], "result_id", "1.23E+31"), "line 5: expected a result of the campaign 2026-10");
    refused(&|rows| set(&mut rows[1], "match_digest", "m-0"), "line 3: the answer has no such match");
    refused(&|rows| set(&mut rows[1], "why", ""), "line 3: column `why`: expected the reason");
    refused(&|rows| set(&mut rows[2], "decision", "yes"), "line 4: column `decision`: expected `accepted`");
    refused(
        &|rows| {
            let mut other = rows[0].clone();
            set(&mut other, "decision", "not_accepted");
            rows.push(other);
        },
        "the decision differs from that of line 2",
    );
    refused(&|rows| rows.iter_mut().for_each(|row| set(row, "why", "")), "more lines");
    refused(
        &|rows| rows.iter_mut().for_each(|row| row.retain(|(column, _)| column != "match_digest")),
        "the column `match_digest`",
    );
    desk.save("filled.csv", &rows);
    desk.say(&["decide", "2026-10", "--from", "filled.csv", "--by", " "]).exits(2).says("--by: expected the name");
}

#[test]
fn decisions_about_invented_answers_and_of_another_campaign_decide_nothing() {
    let (desk, rows) = decided(150);
    desk.say(&["run", "--yes", "--campaign", "rehearsal", "--simulate"]).exits(0);
    desk.save("filled.csv", &rows);
    let said = desk.say(&["decide", "out/rehearsals/rehearsal", "--from", "filled.csv"]).exits(2);
    assert!(said.stderr.contains("expected a result of the campaign rehearsal (simulated)"), "{}", said.stderr);
    assert!(!desk.path().join("out/decisions.jsonl").exists(), "a rehearsal has its own decisions");
}

#[test]
fn a_changed_file_of_decisions_stops_a_run_before_it_sends() {
    let (desk, rows) = decided(150);
    desk.decide("2026-10", &rows);
    let path = desk.path().join("out/decisions.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, whole.replacen("another person", "another Person", 1)).unwrap();
    let service = service_of("2026-10-01");
    desk.run("2026-11", &service).exits(2).says("decisions.jsonl, line 1: expected the digest of this line");
    desk.say(&["export", "2026-10", "--worklist", "--to", "again.csv"]).exits(2).says("line 1: expected the digest");
    assert_eq!(service.checks_arrived(), 0);

    fs::write(&path, &whole).unwrap();
    desk.run("2026-11", &service).exits(0);
    let accepted = valid(&desk.say(&["export", "2026-11", "--worklist", "--to", "none.csv", "--json"]).exits(0).stdout);
    assert_eq!(accepted["rows"], json!(0));
    // Another file with the same name is not the one that the campaign was published with.
    fs::remove_file(&path).unwrap();
    desk.decide("2026-10", &rows[..1]);
    desk.say(&["decide", "2026-11", "--from", "filled.csv"])
        .exits(2)
        .says("the decisions that this campaign was published");
    let said = desk.run("2026-11", &service).exits(2);
    assert!(said.stderr.contains("expected the decisions that this campaign was published with"), "{}", said.stderr);
    // A file that the campaign names takes its place.
    fs::write(desk.path().join("kept.jsonl"), &whole).unwrap();
    let file = fs::read_to_string(desk.path().join("rescreen.toml")).unwrap();
    desk.write("rescreen.toml", format!("{file}\n[decisions]\nfile = \"kept.jsonl\"\n"));
    desk.run("2026-11", &service).exits(0);
    // Later commands know it, too.
    desk.say(&["export", "2026-11", "--worklist", "--to", "kept.csv"]).exits(0).says("no match waits for a decision");
    fs::remove_file(desk.path().join("kept.jsonl")).unwrap();
    desk.run("2026-11", &service).exits(0).says("kept.jsonl: there is no such file, so there are no decisions yet");
}

#[test]
fn an_older_worklist_does_not_take_back_a_later_decision() {
    let (desk, rows) = decided(150);
    let mut later = rows.clone();
    desk.decide("2026-10", &rows);
    for row in &mut later {
        set(row, "decision", "not_accepted");
    }
    desk.save("filled.csv", &later);
    let said = desk.say(&["decide", "2026-10", "--from", "filled.csv"]).exits(2);
    assert!(said.stderr.contains("line 2: decision 1 about this match is newer than the worklist"), "{}", said.stderr);
    assert_eq!(desk.decisions(), rows.len());
    // A worklist that has the decision changes it.
    set(&mut later[0], "last_decision", "1");
    desk.save("filled.csv", &later[..1]);
    desk.say(&["decide", "2026-10", "--from", "filled.csv"])
        .exits(0)
        .says("1 decision recorded: 0 accepted, 1 not accepted");
    let again = desk.worklist("2026-10", "again.csv");
    assert_eq!(
        (cell(&again[0], "state"), cell(&again[0], "last_decision")),
        ("not_accepted", &*(rows.len() + 1).to_string())
    );
    // The first worklist again would take it back.
    desk.save("filled.csv", &rows);
    let said = desk.say(&["decide", "2026-10", "--from", "filled.csv"]).exits(2);
    assert!(said.stderr.contains("is newer than the worklist"), "{}", said.stderr);
}

#[test]
fn the_file_is_found_from_inside_the_folder_and_through_a_link() {
    let (desk, rows) = decided(150);
    desk.save("filled.csv", &rows);
    let inside = desk.path().join("out/2026-10");
    let said = Said::of(&mut rescreen(&inside, &["decide", ".", "--from", "../../filled.csv"])).exits(0);
    assert_eq!(desk.decisions(), rows.len(), "{}", said.stderr);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&inside, desk.path().join("current")).unwrap();
        let said = desk.say(&["decide", "current", "--from", "filled.csv"]).exits(0);
        assert!(said.stderr.contains("no new decision"), "{}", said.stderr);
    }
}

#[test]
fn a_row_without_a_subject_is_counted_and_stops_no_worklist() {
    let desk = Desk::new(150);
    let book = fs::read_to_string(desk.path().join("book.csv")).unwrap();
    let without = |line: &str| line.split_once(',').map(|(_, rest)| format!(",{rest}")).unwrap();
    let lines: Vec<String> =
        book.lines().enumerate().map(|(at, line)| if at % 2 == 1 { without(line) } else { line.to_owned() }).collect();
    desk.write("book.csv", lines.join("\n"));
    desk.run("2026-10", &service_of("2026-10-01")).exits(0);
    let said = desk.say(&["export", "2026-10", "--worklist", "--to", "worklist.csv", "--json"]).exits(0);
    let object = valid(&said.stdout);
    assert!(object["rows"].as_u64() > Some(0) && object["without_subject"].as_u64() > Some(0), "{object}");
    assert!(said.stderr.contains("because a decision is about a subject and their row has none"), "{}", said.stderr);
}
