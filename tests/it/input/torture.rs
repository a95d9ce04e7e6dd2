//! Files made to break parsers: none causes a panic, and every record is a row or a failure.

use super::{known_of, place, shown, splits_of};
use crate::support::data::shared;
use rescreen::model::{Record, Row};
use rescreen::source::{Encoding, Format, HeaderLine, Origin, SourceOptions, SourceReader};
use serde_json::Value;
use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Reads a file whole and, if it can be opened, again as a known one. Returns rows and failures.
fn survive(path: &Path, format: Option<Format>) -> Option<(usize, usize)> {
    survive_as(path, &SourceOptions { format, ..SourceOptions::default() })
}

fn survive_as(path: &Path, options: &SourceOptions) -> Option<(usize, usize)> {
    let open = |known| SourceReader::open("torture".into(), Origin::File(path.into()), options, known);
    let reader = match open(None) {
        Ok(reader) => reader,
        Err(error) => {
            assert!(error.to_string().starts_with("torture: "), "{error}");
            return None;
        }
    };
    let (splits, known) = known_of(reader);
    let records: Vec<&Record> = splits.iter().flat_map(|split| &split.records).collect();
    for (at, record) in records.iter().enumerate() {
        assert_eq!(record.position().row_number, at as u64 + 1, "{path:?}");
        if let Record::Damaged { failure, .. } = record {
            assert!(!failure.message.is_empty());
        }
    }
    assert!(splits_of(open(Some(&known)).unwrap()).unwrap().is_empty(), "{path:?} again");
    let rows = records.iter().filter(|record| matches!(record, Record::Row(_))).count();
    Some((rows, records.len() - rows))
}

#[test]
fn no_csv_file_breaks_the_reader() {
    let Some(folder) = shared("torture_csv") else { return };
    let files = files(&folder);
    let survived: Vec<_> = files.iter().filter_map(|path| survive(path, Some(Format::Csv))).collect();
    assert!(survived.len() > 150, "{} of {} files can be opened", survived.len(), files.len());
    assert!(survived.iter().map(|(rows, _)| rows).sum::<usize>() > 1_000);
    assert!(survived.iter().map(|(_, failures)| failures).sum::<usize>() > 100);
    for path in files {
        survive(&path, None);
    }
}

/// The encoding of a file, by its name.
fn declared(path: &Path) -> Option<Encoding> {
    let name = path.file_name().unwrap().to_string_lossy().to_lowercase();
    (name.contains("latin1") || name.contains("latin-1")).then_some(Encoding::WINDOWS_1252)
}

#[test]
fn every_csv_file_is_rows_and_failures_in_its_encoding_and_without_a_header() {
    let Some(folder) = shared("torture_csv") else { return };
    let (mut in_windows_1252, mut in_utf16) = (0, 0);
    for path in files(&folder) {
        let encoding = declared(&path);
        let options = SourceOptions { format: Some(Format::Csv), encoding, ..SourceOptions::default() };
        let survived = survive_as(&path, &options);
        if let (Some(_), Some((rows, failures))) = (encoding, survived) {
            let name = path.display();
            assert!(
                rows + failures > 0 || name.to_string().contains("only_"),
                "{name}: {rows} rows, {failures} failures"
            );
            in_windows_1252 += 1;
        }
        in_utf16 += usize::from(path.to_string_lossy().contains("utf16") && survived.is_some());
        survive_as(&path, &SourceOptions { header: HeaderLine::Missing, ..options.clone() });
        // The wrong encoding must not cause a panic either.
        survive_as(&path, &SourceOptions { encoding: Some(Encoding::WINDOWS_1252), ..options });
    }
    assert!(in_windows_1252 >= 4 && in_utf16 >= 3, "{in_windows_1252} and {in_utf16}");
}

#[test]
fn a_stream_in_small_pieces_reads_like_the_file() {
    let Some(folder) = shared("torture_csv") else { return };
    let mut compared = 0;
    for path in files(&folder).into_iter().chain(files(&folder.with_file_name("torture_json"))) {
        let bytes = std::fs::read(&path).unwrap();
        for format in [Format::Csv, Format::Jsonl] {
            if bytes.len() > 6_000 {
                continue;
            }
            let options = SourceOptions { format: Some(format), delimiter: Some(b','), ..SourceOptions::default() };
            let read = |origin| {
                let reader =
                    SourceReader::open("f".into(), origin, &options, None).map_err(|error| error.to_string())?;
                let splits = splits_of(reader).unwrap();
                let records = splits.iter().flat_map(|split| &split.records);
                Ok::<_, String>(records.map(|record| (shown(record), place(record))).collect::<Vec<_>>())
            };
            let whole = read(Origin::File(path.clone()));
            let pieces = read(Origin::Reader(Box::new(Pieces(bytes.clone()))));
            assert!(whole == pieces, "{path:?} as {format}");
            compared += 1;
        }
    }
    assert!(compared > 400, "{compared} readings compared");
}

/// Returns three bytes at a time.
struct Pieces(Vec<u8>);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.len().min(3);
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0.drain(..count);
        Ok(count)
    }
}

#[test]
fn no_json_file_breaks_the_reader() {
    let Some(folder) = shared("torture_json") else { return };
    for path in files(&folder) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let lines = survive(&path, Some(Format::Jsonl));
        survive(&path, None);
        // JSONTestSuite: `n_` is not JSON, so no such line may become a row.
        if let (true, Some((rows, failures))) = (name.starts_with("n_"), lines) {
            let text = std::fs::read(&path).unwrap();
            let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
            assert!(rows == 0 || lines > 1, "{name}: {rows} rows, {failures} failures");
        }
    }
}

#[test]
fn csv_spectrum_reads_as_its_authors_expect() {
    let Some(folder) = shared("torture_csv/csv-spectrum") else { return };
    for path in files(&folder.join("csvs")) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let expected = std::fs::read(folder.join(format!("json/{name}.json"))).unwrap();
        let Value::Array(expected) = serde_json::from_slice(&expected).unwrap() else {
            // The expectation of this file is not in a list and contains another phone number than its CSV.
            eprintln!("SKIPPED: {name}, whose authors' expectation is of another file");
            continue;
        };
        let reader = SourceReader::open("f".into(), Origin::File(path), &SourceOptions::default(), None).unwrap();
        let records: Vec<Record> = splits_of(reader).unwrap().into_iter().flat_map(|split| split.records).collect();
        let rows: Vec<Value> = records
            .iter()
            .map(|record| match record {
                Record::Row(row) => Value::Object(Row::to_json(row)),
                Record::Damaged { .. } => panic!("{name}: {}", shown(record)),
            })
            .collect();
        assert_eq!(rows, expected, "{name}");
    }
}
