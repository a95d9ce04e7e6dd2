//! The promise: an output is complete or absent, the same rows give the same bytes, and a manifest that says complete
//! is right.

mod ddl;
mod folder;
mod manifest;
mod tables;

use rescreen::sink::{Column, Kind, OutputFormat, Schema, SinkError, TableCell, TableWriter, WrittenFile};
use std::{fs, path::Path};

/// A table with a column of each kind.
fn schema() -> Schema {
    let column = |name: &str, kind, nullable| Column { name: name.to_owned(), kind, nullable };
    Schema {
        columns: vec![
            column("id", Kind::Text, false),
            column("n", Kind::Integer, true),
            column("x", Kind::Number, true),
            column("ok", Kind::Boolean, true),
            column("day", Kind::Date, true),
            column("at", Kind::Timestamp, true),
            column("answer", Kind::Text, true),
        ],
    }
}

/// Row number n. Every third one is null where the column allows it.
fn row(n: u64) -> Vec<TableCell> {
    let mut row = vec![
        TableCell::Text(format!("{n:04}")),
        TableCell::integer(n),
        TableCell::Number(n as f64 / 4.0),
        TableCell::Boolean(n.is_multiple_of(2)),
        TableCell::Date(jiff::civil::date(2026, 11, 20)),
        TableCell::Timestamp(1_795_132_800_000_000 + n as i64),
        TableCell::Text(format!("{{\"status\":\"no match\",\"n\":{n}}}")),
    ];
    if n % 3 == 2 {
        row[1..].fill(TableCell::Null);
    }
    row
}

fn write(path: &Path, format: OutputFormat, rows: u64) -> Result<WrittenFile, SinkError> {
    let mut writer = TableWriter::create(path, format, &schema())?;
    for n in 0..rows {
        writer.write_row(row(n))?;
    }
    writer.finish()
}

/// The names of all files in a folder and its subfolders, sorted, relative to it.
fn names(folder: &Path) -> Vec<String> {
    fn collect(folder: &Path, under: &str, names: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{under}{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                collect(&entry.path(), &format!("{name}/"), names);
            } else {
                names.push(name);
            }
        }
    }
    let mut names = Vec::new();
    collect(folder, "", &mut names);
    names.sort();
    names
}
