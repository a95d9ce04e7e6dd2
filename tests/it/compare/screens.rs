//! What `diff` and `show` print: tables, notes, exit codes and refusals.

use super::engine::{CLEAR, REVIEW};
use crate::support::{
    program::{Said, rescreen},
    rounds::{End, Published},
    schema::valid,
};
use rescreen::sink::{OutputFormat, OutputMode};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;

/// Three campaigns in `out/`: two rounds and a rehearsal.
struct Desk(TempDir);

impl Desk {
    fn new() -> Desk {
        let desk = Desk(tempfile::tempdir().unwrap());
        let rows: [(&str, Option<End>, Option<End>); 7] = [
            ("C-1", Some(CLEAR), Some(REVIEW)),
            ("C-2", Some(CLEAR), Some(CLEAR)),
            ("C-3", Some(REVIEW), Some(CLEAR)),
            ("C-4\u{1b}[2J", None, Some(CLEAR)),
            ("C-5", Some(CLEAR), Some(End::Failure("refused"))),
            ("C-6", Some(End::Skipped("when: x")), Some(End::Skipped("when: x"))),
            ("C-7", Some(REVIEW), None),
        ];
        for (name, is_new) in [("2026-10", false), ("2026-11", true)] {
            let (folder, mut round) = (desk.out(name), Published::new(name, OutputFormat::Parquet));
            round.mode = OutputMode::Production;
            round.completed_at_us += if is_new { 30 * 86_400_000_000 } else { 0 };
            for (at, (subject, old, new)) in rows.iter().enumerate() {
                if let Some(end) = if is_new { new } else { old } {
                    round.row(&folder, "aml", Some(subject), at as u64 + 1, *end);
                }
            }
            round.publish(&folder);
        }
        let rehearsal = desk.out("rehearsals/2026-12");
        let mut round = Published::new("2026-12", OutputFormat::Jsonl);
        round.mode = OutputMode::Simulated;
        round.completed_at_us -= 86_400_000_000;
        round.row(&rehearsal, "aml", Some("C-1"), 1, CLEAR);
        round.publish(&rehearsal);
        desk
    }

    fn out(&self, name: &str) -> std::path::PathBuf {
        self.path().join("out").join(name)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn say(&self, arguments: &[&str]) -> Said {
        Said::of(&mut rescreen(self.path(), arguments))
    }
}

#[test]
fn a_comparison_is_a_screen_of_counts_and_the_changed_subjects() {
    let desk = Desk::new();
    let said = desk.say(&["diff", "2026-10", "2026-11"]).exits(0);
    assert_eq!(said.stderr, "");
    insta::assert_snapshot!(said.stdout, @r"
    old   2026-10 · production · not complete · out/2026-10
    new   2026-11 · production · not complete · out/2026-11

    aml: 6 before, 6 now
      list            2026-10 → 2026-11
      new_match                  1
      cleared                    1
      failed_now                 1
      joined                     1
      left                       1
      not_answered               1
      unchanged                  1

    change      check  subject       before            now
    new_match   aml    C-1           clear no_match    review pep_match
    cleared     aml    C-3           review pep_match  clear no_match
    failed_now  aml    C-5           clear no_match    failed refused
    joined      aml    C-4\u{1b}[2J  –                 clear no_match
    left        aml    C-7           review pep_match  –
    ");
    let limited = desk.say(&["diff", "2026-10", "2026-11", "--limit", "2"]).exits(0);
    assert!(limited.stdout.contains("… and 3 more; --limit N lists more"), "{}", limited.stdout);
    let joined = desk.say(&["diff", "2026-10", "2026-11", "--kind", "joined,not_answered"]).exits(0);
    let table = joined.stdout.split("\n\n").last().unwrap();
    assert!(table.lines().count() == 3 && table.contains(r"C-4\u{1b}[2J") && table.contains("C-6"), "{table}");
    let wrong = desk.say(&["diff", "2026-10", "2026-11", "--kind", "joint"]).exits(2);
    assert!(wrong.stderr.contains("expected one of new_match") && wrong.stderr.contains("joined"), "{}", wrong.stderr);
}

#[test]
fn the_exit_code_is_0_unless_a_script_asks_for_another_one() {
    let desk = Desk::new();
    desk.say(&["diff", "2026-10", "2026-11"]).exits(0);
    let changed = desk.say(&["diff", "2026-10", "2026-11", "--exit-code", "--json"]).exits(1);
    let object = valid(&changed.stdout);
    assert_eq!((&object["exit_code"], &object["error"], &object["changed"]), (&json!(1), &Value::Null, &json!(5)));
    desk.say(&["diff", "2026-10", "2026-11", "--exit-code", "--kind", "new_match"]).exits(1);
    desk.say(&["diff", "2026-10", "2026-11", "--exit-code", "--kind", "answer_changed"]).exits(0);
    let same = desk.say(&["diff", "2026-11", "2026-11", "--exit-code"]).exits(0);
    assert!(!same.stdout.contains("new_match"), "{}", same.stdout);
}

#[test]
fn rounds_in_the_wrong_order_or_of_different_modes_are_noticed() {
    let desk = Desk::new();
    desk.say(&["diff", "2026-11", "2026-10"]).exits(0).says("OLD was answered after NEW");
    desk.say(&["diff", "2026-10", "out/rehearsals/2026-12"]).exits(2).says("--across-modes");
    let across = desk.say(&["diff", "2026-10", "out/rehearsals/2026-12", "--across-modes"]).exits(0);
    assert!(across.stdout.contains("simulated (invented answers)"), "{}", across.stdout);
    desk.say(&["diff", "2026-10", "2026-13"]).exits(2).says("2026-13");
    fs::create_dir(desk.path().join("empty")).unwrap();
    desk.say(&["diff", "2026-10", "empty"]).exits(2).says("found no manifest.json");
}

#[test]
fn a_round_is_as_old_as_its_first_answer_and_not_as_a_late_correction() {
    let desk = Desk::new();
    let (folder, mut late) = (desk.out("late"), Published::new("late", OutputFormat::Parquet));
    late.mode = OutputMode::Production;
    late.row(&folder, "aml", Some("C-1"), 1, CLEAR);
    late.completed_at_us += 60 * 86_400_000_000;
    late.row(&folder, "aml", Some("C-2"), 2, CLEAR);
    late.publish(&folder);
    assert_eq!(desk.say(&["diff", "late", "2026-11"]).exits(0).stderr, "");
}

#[test]
fn rounds_need_a_check_in_common_and_one_that_only_a_round_has_is_noted() {
    let desk = Desk::new();
    for (name, checks) in [("fleet", &["vin"][..]), ("both", &["aml", "vin"])] {
        let (folder, mut round) = (desk.out(name), Published::new(name, OutputFormat::Parquet));
        round.mode = OutputMode::Production;
        round.completed_at_us += 60 * 86_400_000_000;
        checks.iter().for_each(|check| round.row(&folder, check, Some("C-1"), 1, CLEAR));
        round.publish(&folder);
    }
    let other = desk.say(&["diff", "2026-10", "fleet"]).exits(2);
    other.says("expected two rounds of the same checks, found aml in out/2026-10 and vin in out/fleet");
    let both = desk.say(&["diff", "2026-10", "both"]).exits(0);
    assert!(
        both.stderr.contains("vin: only the new round has this check, so all its subjects joined"),
        "{}",
        both.stderr
    );
}

#[test]
fn a_file_of_changes_replaces_nothing() {
    let desk = Desk::new();
    fs::write(desk.path().join("mine.jsonl"), "mine").unwrap();
    let diff = |more: &[&str]| desk.say(&[&["diff", "2026-10", "2026-11"], more].concat());
    diff(&["--to", "mine.jsonl"]).exits(2).says("exists and is not replaced");
    diff(&["--to", "nowhere/x.jsonl"]).exits(2).says("found no folder nowhere");
    diff(&["--to", "-"]).exits(2).says("expected the name of a new file");
    for name in ["changes.txt", "changes"] {
        diff(&["--to", name]).exits(2).says("expected a name that ends in .parquet, .jsonl, .csv or .xlsx");
        assert!(!desk.path().join(name).exists());
    }
    for name in ["changes.csv", "changes.xlsx"] {
        diff(&["--to", name]).exits(0).says(&format!("6 rows written to {name}"));
    }
    let csv = fs::read_to_string(desk.path().join("changes.csv")).unwrap();
    assert!(csv.starts_with("check_name,subject,change,old_outcome") && csv.lines().count() == 7, "{csv}");
    let mut book: calamine::Xlsx<_> = calamine::open_workbook(desk.path().join("changes.xlsx")).unwrap();
    let sheet = calamine::Reader::worksheet_range(&mut book, "changes").unwrap();
    assert_eq!((sheet.height(), sheet.get_value((1, 1)).unwrap().to_string().as_str()), (7, "C-1"));
    assert_eq!(fs::read(desk.path().join("mine.jsonl")).unwrap(), b"mine");
    diff(&["--to", "new.txt", "--format", "jsonl"]).exits(0).says("6 rows written to new.txt");
    let text = fs::read_to_string(desk.path().join("new.txt")).unwrap();
    assert_eq!(text.lines().count(), 6);
    assert!(
        text.starts_with(r#"{"check_name":"aml","subject":"C-1","change":"new_match","old_outcome":"result""#),
        "{text}"
    );
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(desk.path().join("new.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only its owner reads it");
}

#[test]
fn a_round_is_shown_as_a_table_in_the_order_of_its_input() {
    let desk = Desk::new();
    let said = desk.say(&["show", "2026-11"]).exits(0);
    assert_eq!(said.stderr, "");
    insta::assert_snapshot!(said.stdout, @r"
    2026-11 · production
    4 results, 1 failure, 0 pending, 1 skipped

    subject       check  verdict  finding    answered (UTC)
    C-1           aml    review   pep_match  3 Dec 2026 08:15
    C-2           aml    clear    no_match   3 Dec 2026 08:15
    C-3           aml    clear    no_match   3 Dec 2026 08:15
    C-4\u{1b}[2J  aml    clear    no_match   3 Dec 2026 08:15
    C-5           aml    failed   refused    –
        expected an answer, found a refusal
    each of these results of aml:
        dataset_version 2026-11
    ");
    let review = desk.say(&["show", "out/2026-11", "--verdict", "review,adverse"]).exits(0);
    assert!(review.stdout.contains("C-1") && !review.stdout.contains("C-2"), "{}", review.stdout);
    let failed = desk.say(&["show", "2026-11", "--code", "refused"]).exits(0);
    assert!(failed.stdout.contains("C-5") && !failed.stdout.contains("C-1"), "{}", failed.stdout);
    let failed = desk.say(&["show", "2026-11", "--failures", "--skipped"]).exits(0).stdout;
    assert!(failed.contains("2 rows match") && failed.contains("C-5") && failed.contains("C-6"), "{failed}");
    desk.say(&["show", "2026-11", "--pending"]).exits(0).shows("no row matches");
    let limited = desk.say(&["show", "2026-11", "--limit", "2"]).exits(0);
    assert!(limited.stdout.contains("C-2") && limited.stdout.contains("… and 3 more"), "{}", limited.stdout);
    desk.say(&["show", "2026-11", "--check", "said"])
        .exits(2)
        .says("expected a check of the round (aml), found `said`");
    desk.say(&["show", "2026-11", "--verdict", "reviewed"]).exits(2).says("`review`");
    let object = valid(&desk.say(&["show", "2026-11", "--json", "--limit", "1"]).exits(0).stdout);
    assert_eq!((&object["total"], &object["rows"][0]["subject"]), (&json!(5), &json!("C-1")));
    assert_eq!(object["rows"][0]["columns"], json!({ "dataset_version": "2026-11" }));
}

#[test]
fn a_subject_is_shown_with_every_round_in_the_order_of_time() {
    let desk = Desk::new();
    let said = desk.say(&["show", "C-1"]).exits(0);
    insta::assert_snapshot!(said.stdout, @r"
    C-1: 3 rows, in 3 campaigns searched
    answered (UTC)    campaign            check  verdict  finding
    2 Nov 2026 08:15  2026-12 (invented)  aml    clear    no_match
        row  1 of book.csv
        dataset_version  2026-12
    3 Nov 2026 08:15  2026-10             aml    clear    no_match
        row  1 of book.csv
        dataset_version  2026-10
    3 Dec 2026 08:15  2026-11             aml    review   pep_match
        row  1 of book.csv
        dataset_version  2026-11
    ");
    let failed = desk.say(&["show", "C-5"]).exits(0).stdout;
    assert!(failed.contains("failed") && failed.contains("refused"), "{failed}");
    let hostile = desk.say(&["show", "C-4\u{1b}[2J"]).exits(0).stdout;
    assert!(hostile.contains(r"C-4\u{1b}[2J: 1 row"), "{hostile}");
    let object = valid(&desk.say(&["show", "C-1", "--json"]).exits(0).stdout);
    let campaigns: Vec<&Value> = object["rows"].as_array().unwrap().iter().map(|row| &row["campaign"]).collect();
    assert_eq!(campaigns, ["2026-12", "2026-10", "2026-11"]);
    let unknown = desk.say(&["show", "8001015009087"]).exits(2);
    assert!(unknown.stderr.contains("none of the 3 published campaigns"), "{}", unknown.stderr);
    assert!(!unknown.stderr.contains("8001015009087"), "a subject is not repeated: {}", unknown.stderr);
}

#[test]
fn a_subject_or_a_row_of_one_round_is_shown_alone() {
    let desk = Desk::new();
    let one = desk.say(&["show", "2026-11", "  C-1 "]).exits(0).stdout;
    assert!(one.contains("C-1: 1 row, in 1 campaign searched") && one.contains("row  1 of "), "{one}");
    let row = desk.say(&["show", "2026-11", "--row", "5"]).exits(0).stdout;
    assert!(row.contains("row 5: 1 row") && row.contains("refused") && !row.contains("C-1"), "{row}");
    let object = valid(&desk.say(&["show", "2026-11", "C-1", "--json"]).exits(0).stdout);
    assert_eq!(
        (&object["campaign"], &object["subject"], &object["total"]),
        (&json!("2026-11"), &json!("C-1"), &json!(1))
    );
    desk.say(&["show", "2026-11", "--row", "99"]).exits(2).says("expected a row 99, found none");
    let unknown = desk.say(&["show", "2026-11", "8001015009087"]).exits(2);
    assert!(unknown.stderr.contains("with this subject, found none"), "{}", unknown.stderr);
    assert!(!unknown.stderr.contains("8001015009087"), "{}", unknown.stderr);
    desk.say(&["show", "C-1", "--row", "1"]).exits(2).says("expected a folder or a campaign");
}

#[test]
fn a_subject_that_lost_its_zeros_in_a_spreadsheet_is_explained() {
    let desk = Desk::new();
    let (folder, mut round) = (desk.out("numbered"), Published::new("numbered", OutputFormat::Parquet));
    round.row(&folder, "aml", Some("000017"), 1, REVIEW);
    round.publish(&folder);
    for words in [&["show", "17"][..], &["show", "numbered", "017"]] {
        desk.say(words).exits(2).says("there is one with more or fewer zeros in front");
    }
    let other = desk.say(&["show", "numbered", "170"]).exits(2);
    assert!(!other.stderr.contains("zeros"), "{}", other.stderr);
}

#[test]
fn a_row_without_a_subject_is_found_by_the_command_that_is_printed() {
    let desk = Desk::new();
    let (folder, mut round) = (desk.out("anonymous"), Published::new("anonymous", OutputFormat::Parquet));
    round.row(&folder, "aml", None, 16, REVIEW);
    round.publish(&folder);
    let said = desk.say(&["show", "anonymous"]).exits(0);
    assert!(said.stdout.contains("(row 16 of "), "{}", said.stdout);
    let printed = said.stderr.split('`').nth(1).unwrap();
    let words: Vec<&str> = printed.split(' ').skip(1).collect();
    assert!(desk.say(&words).exits(0).stdout.contains("row 16: 1 row"), "{printed}");
}

#[test]
fn a_round_that_is_under_way_is_shown_and_not_compared() {
    let desk = Desk::new();
    let path = desk.out("2026-11").join("manifest.json");
    let text = fs::read_to_string(&path).unwrap().replace("\"under_way\": false", "\"under_way\": true");
    fs::write(&path, text).unwrap();
    desk.say(&["show", "2026-11"]).exits(0).says("a run was under way");
    desk.say(&["diff", "2026-10", "2026-11"]).exits(2).says("`rescreen collect out/2026-11`");
}
