//! The datasets as CSV, JSON Lines and Parquet, in parts and in one file each.

use super::{campaign, csv, exported, jsonl};
use crate::support::tables::{files, manifest, number, read, text};
use rescreen::sink::DatasetKind;
use serde_json::Value;

#[test]
fn a_csv_export_has_the_same_rows_and_no_formula() {
    let workspace = campaign();
    let json = exported(&workspace, &["--to", "csv", "--format", "csv", "--single"]);
    assert_eq!((&json["file_format"], &json["folder"]), (&"csv".into(), &"csv".into()));
    exported(&workspace, &["--to", "jsonl", "--single"]);
    let folder = workspace.path().join("csv");
    let all: Vec<String> = files(&folder, "").iter().map(|path| path.display().to_string()).collect();
    let expected =
        "failures.csv manifest.json pending.csv results/aml-screening.csv results/director-aml.csv skipped.csv";
    assert_eq!(all.join(" "), expected);
    let mut seen = 0;
    for name in ["failures", "pending", "results/aml-screening", "results/director-aml", "skipped"] {
        let (header, records) = csv(&folder.join(format!("{name}.csv")));
        let lines = jsonl(&workspace.path().join(format!("jsonl/{name}.jsonl")));
        assert_eq!(records.len(), lines.len(), "{name}");
        for (record, line) in records.iter().zip(&lines) {
            assert_eq!(header, line.keys().cloned().collect::<Vec<_>>());
            for ((name, cell), value) in header.iter().zip(record).zip(line.values()) {
                let plain = match value {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let is_neutral = *cell == format!("'{plain}") && plain.starts_with(['=', '+', '-', '@', '\t', '\r']);
                assert!(*cell == plain || is_neutral, "{name}: {cell}");
                let is_number = cell.parse::<f64>().is_ok();
                assert!(is_number || !cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{name}: {cell}");
                seen += u64::from(is_neutral);
            }
        }
    }
    assert!(seen >= 2, "the subject `=1+1` is in results of both checks: {seen}");
    let text = std::fs::read_to_string(folder.join("results/director-aml.csv")).unwrap();
    assert!(text.contains(",'=1+1,") && text.contains(",0001015009087,") && text.starts_with("result_id,campaign,"));
    let manifest = manifest(&folder);
    assert_eq!((manifest.format.as_str(), manifest.complete, manifest.selected), ("csv", true, None));
}

#[test]
fn every_dataset_has_a_file_also_without_a_row_and_parquet_reads_it() {
    let workspace = campaign();
    exported(&workspace, &["--to", "parts", "--format", "parquet"]);
    let folder = workspace.path().join("parts");
    let manifest = manifest(&folder);
    let parts: Vec<(DatasetKind, u64)> = manifest
        .datasets
        .iter()
        .map(|dataset| (dataset.kind, dataset.parts.iter().map(|part| part.rows).sum()))
        .collect();
    assert_eq!(parts.iter().filter(|(kind, _)| *kind == DatasetKind::Results).count(), 2);
    assert!(parts.contains(&(DatasetKind::Pending, 0)), "{parts:?}");
    for dataset in &manifest.datasets {
        let [only] = dataset.parts.as_slice() else { panic!("{:?}", dataset.parts) };
        assert!(only.path.ends_with("part-000001.parquet"), "{}", only.path);
        assert_eq!(read(&folder.join(&only.path)).len() as u64, only.rows);
    }
    let failures = read(&folder.join("failures/part-000001.parquet"));
    let found: Vec<(i64, &str)> =
        failures.iter().map(|line| (number(line, "row_number"), text(line, "code"))).collect();
    assert_eq!(found, [(4, "missing_value"), (6, "ragged_row")]);
}

#[test]
fn an_unknown_format_a_wrong_name_and_a_taken_name_are_refused_with_what_to_do() {
    let workspace = campaign();
    for (arguments, expected) in [
        (&["--to", "x", "--format", "excel"][..], "expected `parquet`, `jsonl`, `csv` or `xlsx`, found `excel`"),
        (&["--to", "x", "--format", "xlsx"], "expected the name of a new workbook, which ends in .xlsx"),
        (&["--to", "x.csv"], "name a folder, or use --wide or --worklist for one file"),
        (&["--to", "book.csv", "--wide"], "expected a file that does not exist, found a file; name a new one"),
        (&["--to", "-", "--wide"], "an export is not written to standard output; name a new file or folder"),
        (&["--to", "out"], "expected a folder that does not exist, found a folder; name a new one"),
        (&["--to", "x", "--verdict", "revew"], "found `revew`; did you mean `review`?"),
        (&["--to", "x", "--check", "director"], "found `director`; did you mean `director-aml`?"),
    ] {
        let said = workspace.say(&[&["export"], arguments].concat()).exits(2);
        assert!(said.stderr.contains(expected), "{}", said.stderr);
        assert!(!workspace.path().join("x").exists() && !workspace.path().join("x.csv").exists());
    }
}

#[test]
fn csv_for_excel_begins_with_a_byte_order_mark_and_is_the_same_after_it() {
    let workspace = campaign();
    exported(&workspace, &["--to", "plain.csv", "--wide"]);
    let json = exported(&workspace, &["--to", "excel.csv", "--wide", "--excel"]);
    assert_eq!(json["file_format"], "csv");
    let [plain, excel] = ["plain.csv", "excel.csv"].map(|name| std::fs::read(workspace.path().join(name)).unwrap());
    assert_eq!(excel.strip_prefix(b"\xef\xbb\xbf").unwrap(), plain);
    exported(&workspace, &["--to", "folder", "--format", "csv", "--single", "--excel"]);
    for name in ["results/aml-screening.csv", "failures.csv"] {
        let text = std::fs::read_to_string(workspace.path().join("folder").join(name)).unwrap();
        assert!(text.starts_with("\u{feff}result_id,"), "{text}");
    }
    for words in [&["--to", "x.xlsx"][..], &["--to", "x", "--format", "jsonl"]] {
        let words = [&["export", "--excel"], words].concat();
        workspace.say(&words).exits(2).says("--excel: expected --format csv");
    }
}
