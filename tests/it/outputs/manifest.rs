//! The manifest reads back as written, and is never complete when the counts do not add up.

use super::{names, write};
use rescreen::sink::{
    CheckTotals, Dataset, DatasetKind, FileFormat, InputTotals, Manifest, OutputFormat, OutputMode, Part, SinkError,
    SourceTotals, skipped_schema,
};
use std::fs;

pub fn dataset(kind: DatasetKind, check: Option<&str>, path: &str, rows: u64) -> Dataset {
    let part = Part { path: path.to_owned(), rows, bytes: 100, sha256: "00".repeat(32) };
    let check = check.map(str::to_owned);
    Dataset { check, ..Dataset::of_all_checks(kind, &skipped_schema(), vec![part]) }
}

/// A complete campaign of ten rows, one of them unreadable.
pub fn manifest() -> Manifest {
    let source =
        SourceTotals { name: "customers.csv".into(), rows: 10, bytes: 321, sha256: "ab".repeat(32), complete: true };
    Manifest {
        manifest_version: 1,
        program: "rescreen 0.1.0".into(),
        campaign: "2026-11".into(),
        mode: OutputMode::Simulated,
        complete: true,
        under_way: false,
        format: FileFormat::Parquet,
        files: Vec::new(),
        datasets: vec![
            dataset(DatasetKind::Results, Some("aml"), "results/aml/part-1.parquet", 6),
            dataset(DatasetKind::Failures, None, "failures/part-1.parquet", 3),
            dataset(DatasetKind::Skipped, None, "skipped/part-1.parquet", 1),
        ],
        totals: vec![CheckTotals {
            check: "aml".into(),
            asks: 9,
            results: 6,
            failures: 2,
            pending: 0,
            skipped: 1,
            purged: 0,
            credits: 12,
            by_verdict: [("clear".to_owned(), 5), ("review".to_owned(), 1)].into(),
        }],
        input: InputTotals { rows: 10, unreadable_rows: 1, sources: vec![source], ..InputTotals::default() },
        declared: Vec::new(),
        images: Vec::new(),
        images_unlisted: 0,
        ledger: None,
        selected: None,
        mappings: Vec::new(),
    }
}

#[test]
fn a_manifest_reads_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Manifest::read(folder.path()).unwrap(), None);
    let manifest = manifest();
    manifest.write_atomically(folder.path()).unwrap();
    assert_eq!(Manifest::read(folder.path()).unwrap(), Some(manifest));
    assert_eq!(names(folder.path()), ["manifest.json"]);
    let text = fs::read_to_string(folder.path().join("manifest.json")).unwrap();
    for words in [r#""manifest_version": 1"#, r#""mode": "simulated""#, r#""kind": "results""#, r#""type": "text""#] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn a_part_is_named_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let written = write(&folder.path().join("part-1.jsonl"), OutputFormat::Jsonl, 5).unwrap();
    let part = Part::of("results/aml/part-1.jsonl", written);
    assert_eq!((part.rows, part.sha256.len()), (5, 64));
    assert_eq!(part.bytes, fs::metadata(folder.path().join("part-1.jsonl")).unwrap().len());
}

#[test]
fn complete_is_refused_when_the_counts_do_not_add_up() {
    type Change = fn(&mut Manifest);
    let changes: [(Change, &str); 7] = [
        (
            |manifest| manifest.totals[0].asks = 10,
            "check `aml`: expected 10 asks, found 6 results + 2 failures + 0 pending + 1 skipped + 0 purged = 9",
        ),
        (|manifest| manifest.totals[0].by_verdict.clear(), "check `aml`: expected 6 results, found verdicts for 0"),
        (
            |manifest| {
                manifest.totals[0].pending = 1;
                manifest.totals[0].skipped = 0;
            },
            "check `aml`: expected no pending asks, found 1",
        ),
        (
            |manifest| manifest.input.rows = 11,
            "check `aml`: expected one ask for each of 11 rows except 1 unreadable ones, found 9",
        ),
        (
            |manifest| manifest.datasets[0].parts[0].rows = 5,
            "expected 6 rows in the parts of results of check `aml`, found 5",
        ),
        (|manifest| manifest.datasets[1].parts[0].rows = 2, "expected 3 rows in the parts of failures, found 2"),
        (|manifest| manifest.datasets[2].parts.clear(), "expected 1 rows in the parts of skipped, found 0"),
    ];
    for (change, expected) in changes {
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = manifest();
        change(&mut manifest);
        match manifest.write_atomically(folder.path()) {
            Err(SinkError::NotComplete { fault, .. }) => assert_eq!(fault, expected),
            other => panic!("{other:?} instead of: {expected}"),
        }
        assert!(names(folder.path()).is_empty());
        manifest.complete = false;
        manifest.write_atomically(folder.path()).unwrap();
    }
}

#[test]
fn a_manifest_of_another_version_or_shape_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let read = |text: &str| {
        fs::write(folder.path().join("manifest.json"), text).unwrap();
        Manifest::read(folder.path()).map_err(|error| error.to_string())
    };
    assert!(read(r#"{"manifest_version": 2}"#).unwrap_err().contains("expected a manifest of version 1, found 2"));
    assert!(read("{}").unwrap_err().contains("found null"));
    assert!(
        read(r#"{"manifest_version": 1}"#)
            .unwrap_err()
            .contains("expected a manifest, found another file or a damaged one")
    );
    assert!(read("not json").unwrap_err().contains("expected a manifest, found another file or a damaged one"));
    // A field of a later release is ignored.
    let mut value = serde_json::to_value(manifest()).unwrap();
    value["signed_by"] = "somebody".into();
    assert_eq!(read(&value.to_string()).unwrap(), Some(manifest()));
}
