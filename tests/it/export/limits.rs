//! Exports with a limit: verdicts, checks, and what changed.

use super::{MORE, book, campaign, csv, exported, jsonl, run};
use crate::support::tables::{Line, files, manifest, number, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[test]
fn a_worklist_has_the_results_with_its_verdicts_and_says_what_it_leaves_out() {
    let workspace = campaign();
    exported(&workspace, &["--to", "all", "--single"]);
    let said = workspace.say(&["export", "--to", "list", "--single", "--verdict", "review,adverse"]).exits(0);
    let mut kept = 0;
    for check in ["aml-screening", "director-aml"] {
        let name = format!("results/{check}.jsonl");
        let mut expected = jsonl(&workspace.path().join("all").join(&name));
        expected.retain(|line| ["review", "adverse"].contains(&text(line, "verdict")));
        assert!(!expected.is_empty(), "the book has a match of {check}");
        assert_eq!(jsonl(&workspace.path().join("list").join(&name)), expected);
        kept += expected.len();
    }
    assert!(
        said.stderr.contains(&format!("{kept} rows exported, only rows with the verdict review or adverse\n")),
        "{}",
        said.stderr
    );
    let there: Vec<String> =
        files(&workspace.path().join("list"), "").iter().map(|path| path.display().to_string()).collect();
    assert_eq!(there.join(" "), "manifest.json results/aml-screening.jsonl results/director-aml.jsonl");
    let limited = manifest(&workspace.path().join("list"));
    assert_eq!(serde_json::to_value(limited.selected).unwrap(), json!({ "verdicts": ["review", "adverse"] }));
    let all = manifest(&workspace.path().join("all"));
    assert_eq!((limited.complete, all.complete), (false, true), "a part of the rows is not the whole");
    assert_eq!(limited.totals, all.totals);
}

#[test]
fn a_wide_worklist_has_the_rows_where_any_check_has_the_verdict() {
    let workspace = campaign();
    exported(&workspace, &["--to", "all.csv", "--wide"]);
    let list = exported(&workspace, &["--to", "list.csv", "--wide", "--verdict", "review"]);
    let (header, all) = csv(&workspace.path().join("all.csv"));
    let at = |name: &str| header.iter().position(|column| column == name).unwrap();
    let verdicts = [at("aml_screening_verdict"), at("director_aml_verdict")];
    let expected: Vec<_> = all.into_iter().filter(|row| verdicts.iter().any(|at| row[*at] == "review")).collect();
    assert!(expected.len() > 2 && expected.len() < super::MORE, "{}", expected.len());
    assert_eq!(csv(&workspace.path().join("list.csv")), (header, expected.clone()));
    assert_eq!(list["rows"], expected.len());
}

#[test]
fn an_export_of_one_check_has_its_asks_and_the_rows_that_could_not_be_read() {
    let workspace = campaign();
    exported(&workspace, &["--to", "one", "--single", "--check", "director-aml"]);
    let folder = workspace.path().join("one");
    assert!(!folder.join("results/aml-screening.jsonl").exists());
    assert_eq!(jsonl(&folder.join("results/director-aml.jsonl")).len(), super::MORE + 5);
    let failures = jsonl(&folder.join("failures.jsonl"));
    assert_eq!(failures.iter().map(|line| number(line, "row_number")).collect::<Vec<_>>(), [6]);
    assert!(jsonl(&folder.join("skipped.jsonl")).is_empty(), "`when` belongs to the other check");
    exported(&workspace, &["--to", "wide", "--wide", "--check", "director-aml"]);
    let lines = jsonl(&workspace.path().join("wide/rows.jsonl"));
    let columns: BTreeSet<&str> = lines[0].keys().map(String::as_str).collect();
    assert!(columns.contains("director_aml_date") && !columns.contains("aml_screening_date"), "{columns:?}");
    assert_eq!((lines.len(), &lines[5]["director_aml_failure"]), (super::MORE + 6, &Value::from("ragged_row")));
}

#[test]
fn what_changed_since_an_earlier_round_is_what_diff_names() {
    let workspace = campaign();
    let mut later = book(MORE + 3);
    for number in 0..3 {
        later = later.lines().filter(|line| !line.starts_with(&format!("{number:013},P"))).fold(String::new(), joined);
    }
    later = later.replace("P00010 Vexford", "");
    for number in 20..60 {
        later = later.replace(&format!("P{number:05} Vexford"), &format!("P{number:05} Vexford-Marsh"));
    }
    workspace.write("later.csv", &later);
    run(&workspace, "2026-12", "later.csv");
    workspace.say(&["diff", "2026-11", "2026-12", "--to", "diff.jsonl"]).exits(0);
    let changes = jsonl(&workspace.path().join("diff.jsonl"));
    let is_change = |line: &&Line| text(line, "change") != "not_answered" && line["new_result_id"].is_string();
    let named: BTreeSet<&str> = changes.iter().filter(is_change).map(|line| text(line, "new_result_id")).collect();
    assert!((6..MORE).contains(&named.len()), "{}", named.len());
    let limit = ["2026-12", "--changed-since", "2026-11"];
    let json = exported(&workspace, &[&limit[..], &["--to", "changed", "--single"]].concat());
    let folder = workspace.path().join("changed");
    let names = ["results/aml-screening", "results/director-aml", "failures", "pending", "skipped"];
    let lines: Vec<Line> = names.iter().flat_map(|name| jsonl(&folder.join(format!("{name}.jsonl")))).collect();
    assert_eq!(lines.iter().map(|line| text(line, "result_id")).collect::<BTreeSet<_>>(), named);
    assert_eq!(json["rows"], named.len());
    let rows: BTreeSet<i64> = lines.iter().map(|line| number(line, "row_number")).collect();
    exported(&workspace, &[&limit[..], &["--to", "changed.jsonl", "--wide"]].concat());
    let wide = jsonl(&workspace.path().join("changed.jsonl"));
    assert_eq!(wide.len(), rows.len(), "each row with a change is there once");
    assert!(wide.iter().any(|line| line["aml_screening_failure"] == "missing_value"), "the subject that fails now");
    for change in changes.iter().filter(is_change) {
        let row = wide.iter().find(|line| line["ID No"] == change["subject"]).unwrap();
        let check = text(change, "check_name").replace('-', "_");
        let before = match &change["old_verdict"] {
            Value::Null => &change["old_outcome"],
            verdict => verdict,
        };
        assert_eq!((&row[&format!("{check}_change")], &row[&format!("{check}_before")]), (&change["change"], before));
    }
    let again = workspace.say(&["diff", "changed", "2026-12"]).exits(2);
    assert!(again.stderr.contains("found an export with a limit"), "{}", again.stderr);
    let nothing = workspace.say(&["export", "2026-12", "--changed-since", "2026-09", "--to", "x"]);
    assert!(nothing.code != 0 && !workspace.path().join("x").exists(), "{}", nothing.stderr);
}

fn joined(text: String, line: &str) -> String {
    text + line + "\n"
}
