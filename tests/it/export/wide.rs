//! Every row of the input in its order, with what is known of it in each check.

use super::{MORE, book, campaign, csv, exported, jsonl, run};
use crate::{
    cli::Workspace,
    support::tables::{Line, files, number, read, text},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

const CHECKS: [&str; 2] = ["aml-screening", "director-aml"];

/// The columns of the check itself.
const OWN: [&str; 6] =
    ["match_count", "top_match_name", "top_match_type", "top_match_score", "dataset_version", "dataset_published_at"];

/// What the datasets have for each check of each row: verdict, finding, day and the columns of the check. Without a result,
/// it is the reason.
fn known(workspace: &Workspace) -> BTreeMap<(i64, &'static str), Vec<String>> {
    exported(workspace, &["--to", "datasets", "--single"]);
    let lines = |name: &str| jsonl(&workspace.path().join("datasets").join(name));
    let mut known = BTreeMap::new();
    for check in CHECKS {
        for line in lines(&format!("results/{check}.jsonl")) {
            let day = text(&line, "completed_at")[..10].to_owned();
            let cells = [text(&line, "verdict").to_owned(), text(&line, "finding").to_owned(), day, String::new()];
            let own = OWN.map(|name| match &line[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            known.insert((number(&line, "row_number"), check), [&cells[..], &own].concat());
        }
    }
    let mut add = |line: &Line, reason: &str| {
        for check in CHECKS {
            if line["check_name"] == check || line["check_name"].is_null() {
                let mut cells = vec![String::new(); 4 + OWN.len()];
                cells[3] = reason.to_owned();
                assert_eq!(known.insert((number(line, "row_number"), check), cells), None);
            }
        }
    };
    lines("failures.jsonl").iter().for_each(|line| add(line, text(line, "code")));
    lines("skipped.jsonl").iter().for_each(|line| add(line, "skipped"));
    known
}

#[test]
fn every_row_is_there_in_its_order_with_what_the_datasets_say() {
    let workspace = campaign();
    let known = known(&workspace);
    let said = workspace.say(&["export", "--to", "wide.csv", "--wide"]).exits(0);
    assert!(said.stderr.contains("exported to: wide.csv"), "{}", said.stderr);
    let (header, rows) = csv(&workspace.path().join("wide.csv"));
    let of_check = |check: &str| {
        let all = ["verdict", "finding", "date", "failure"].into_iter().chain(OWN);
        all.map(|name| format!("{check}_{name}")).collect::<Vec<_>>().join(",")
    };
    let (first, second) = (of_check("aml_screening"), of_check("director_aml"));
    let expected = format!("ID No,name,phone,note,status,director,column_7,column_8,{first},{second},_mode");
    assert_eq!(header.join(","), expected);
    let own = header.iter().take_while(|name| !name.contains("_verdict")).count();
    let text = book(MORE);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let input: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), input.len());
    for (number, (row, read)) in (1..).zip(rows.iter().zip(&input)) {
        if number != 6 {
            for (cell, original) in row.iter().zip(read) {
                assert_eq!(cell.strip_prefix('\'').unwrap_or(cell), original, "row {number}");
            }
        }
        for (at, check) in CHECKS.into_iter().enumerate() {
            let from = own + (4 + OWN.len()) * at;
            assert_eq!(row[from..from + 4 + OWN.len()], known[&(number, check)], "row {number}, {check}");
        }
    }
    let cells = |number: usize, columns: std::ops::Range<usize>| rows[number - 1][columns].join("|");
    assert_eq!(cells(1, 0..4), "0001015009087|Thandi Vexford|'+27 82 555 0199|'=1+1");
    assert_eq!(cells(2, 0..4), "'=1+1|Sipho Brandt|-5|'@SUM(A1)");
    assert_eq!(rows[0][own..own + 3], rows[2][own..own + 3], "a duplicate has the same answer");
    assert_eq!((&*cells(4, own..own + 4), &*cells(5, own..own + 4)), ("|||missing_value", "|||skipped"));
    assert_eq!(cells(6, own..own + 4), "|||ragged_row");
    assert_eq!(cells(6, own + 10..own + 14), "|||ragged_row");
}

#[test]
fn all_formats_have_the_same_wide_rows() {
    let workspace = campaign();
    for name in ["rows.jsonl", "rows.parquet", "rows.csv"] {
        exported(&workspace, &["--to", name, "--wide"]);
    }
    let lines = jsonl(&workspace.path().join("rows.jsonl"));
    let (header, rows) = csv(&workspace.path().join("rows.csv"));
    assert_eq!(lines.len(), rows.len());
    for (line, row) in lines.iter().zip(&rows) {
        let cells = line.values().map(|value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let neutral = row.iter().map(|cell| cell.strip_prefix('\'').unwrap_or(cell));
        assert!(cells.eq(neutral) && line.keys().eq(&header));
    }
    // Parquet has days as numbers.
    let days = |lines: Vec<Line>| {
        let without = |mut line: Line| {
            line.retain(|name, _| !name.ends_with("_date"));
            line
        };
        lines.into_iter().map(without).collect::<Vec<_>>()
    };
    let parquet = read(&workspace.path().join("rows.parquet"));
    assert!(parquet[0]["director_aml_date"].as_i64().unwrap() > 20_000);
    assert_eq!(days(parquet), days(lines));
}

#[test]
fn inputs_with_other_columns_have_a_file_each_and_those_with_the_same_share_one() {
    let workspace = Workspace::new(1);
    let header = "ID No,name,status,director";
    workspace.write("a.csv", &format!("{header}\n1,P00001 Vexford,active,D00001 Marsh\n"));
    // The last row of it has too many cells.
    workspace.write("b.csv", &format!("{header}\n2,P00002 Vexford,active,D00002 Marsh\n3,a,b,c,d\n"));
    workspace.write("c.csv", &format!("{header},branch\n3,P00003 Vexford,active,D00003 Marsh,Cape Town\n"));
    run(&workspace, "same", "a.csv b.csv");
    let json = exported(&workspace, &["out/same", "--to", "same", "--wide"]);
    assert_eq!(json["files"].as_array().unwrap().len(), 1);
    let lines = jsonl(&workspace.path().join("same/rows.jsonl"));
    let ids: Vec<&Value> = lines.iter().map(|line| &line["ID No"]).collect();
    assert_eq!(ids, ["1", "2", "3"]);
    let own: Vec<&str> = lines[0].keys().map(String::as_str).take(5).collect();
    assert_eq!(own, ["ID No", "name", "status", "director", "column_5"], "the column of the damaged row comes last");
    run(&workspace, "other", "a.csv c.csv");
    let refused = workspace.say(&["export", "out/other", "--to", "other.jsonl", "--wide"]).exits(2);
    assert!(refused.stderr.contains("become 2 files; name a folder, or use --format xlsx"), "{}", refused.stderr);
    assert!(!workspace.path().join("other.jsonl").exists());
    let json = exported(&workspace, &["out/other", "--to", "other", "--wide", "--format", "csv"]);
    let listed: Vec<(&Value, &Value)> =
        json["files"].as_array().unwrap().iter().map(|file| (&file["path"], &file["sources"])).collect();
    let (first, second) = (json!(["a.csv"]), json!(["c.csv"]));
    assert_eq!(listed, [(&json!("other/rows-1.csv"), &first), (&json!("other/rows-2.csv"), &second)]);
    let (header, rows) = csv(&workspace.path().join("other/rows-2.csv"));
    assert_eq!((header[4].as_str(), rows[0][4].as_str()), ("branch", "Cape Town"));
}

#[test]
fn numbers_of_the_input_keep_their_type_and_an_earlier_export_can_be_the_input() {
    let workspace = Workspace::new(1);
    let line = json!({
        "ID No": "0007", "name": "P00001 Vexford", "status": "active", "director": "D00001 Marsh", "age": 41,
        "aml_screening_verdict": "clear",
    });
    workspace.write("book.jsonl", &format!("{line}\n"));
    run(&workspace, "2026-11", "book.jsonl");
    exported(&workspace, &["--to", "rows.jsonl", "--wide"]);
    let [line] = &jsonl(&workspace.path().join("rows.jsonl"))[..] else { panic!("one row") };
    assert_eq!((&line["ID No"], &line["age"]), (&json!("0007"), &json!(41)));
    assert_eq!(line["aml_screening_verdict"], "clear");
    assert!(line["aml_screening_verdict_2"].is_string(), "{line:?}");
    assert_eq!(line["_mode"], "simulated", "who reads the rows sees that the answers are invented");
    let left: Vec<_> = files(workspace.path(), "").into_iter().filter(|path| path.starts_with(".rescreen")).collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
    assert!(fs::metadata(workspace.path().join("rows.jsonl")).unwrap().is_file());
}

#[test]
fn a_corrected_row_may_have_a_value_of_another_type_or_a_new_column() {
    let workspace = Workspace::new(1);
    let line = |no: u64, more: &str| {
        format!("{{\"ID No\": \"{no}\", \"status\": \"active\", \"director\": \"D Marsh\", \"age\": {no}, {more}}}\n")
    };
    workspace.write("book.jsonl", &(line(1, "\"name\": \"P00001 Vexford\"") + &line(2, "\"name\": null")));
    run(&workspace, "2026-11", "book.jsonl");
    let failures = fs::read_to_string(workspace.path().join("out/2026-11/failures.csv")).unwrap();
    let (header, rows) = failures.split_once('\n').unwrap();
    assert!(header.contains("ID No,status,director,age,name,"), "{header}");
    let rows = rows.lines().map(|row| format!("{row},late\n")).collect::<String>();
    workspace.write(
        "corrected.csv",
        &format!("{header},branch\n{}", rows.replace("2,active,D Marsh,2,,", "2,active,D Marsh,two,Thandi,")),
    );
    workspace.say(&["run", "-c", "rescreen.toml", "--yes", "--corrections", "corrected.csv"]).exits(0);
    for name in ["rows.jsonl", "rows.parquet", "rows.csv", "rows.xlsx"] {
        workspace.say(&["export", "--to", name, "--wide"]).exits(0);
    }
    let lines = jsonl(&workspace.path().join("rows.jsonl"));
    assert_eq!((&lines[0]["age"], &lines[1]["age"], &lines[1]["branch"]), (&json!("1"), &json!("two"), &json!("late")));
}
