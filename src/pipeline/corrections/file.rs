//! The file of corrections: `failures.csv` as a person edited it, as CSV or as a sheet. `_source` and `_row_number` of
//! each row identify the row that it replaces.

use crate::{
    error::Error,
    files::{self, Links},
    model::Row,
    pipeline::{
        failure_file::{ADDED, RAW, RESULT_ID},
        returned_file::each_row,
    },
    sink::unmarked,
    source::{Origin, SourceOptions, SourceReader},
};
use std::path::Path;

/// The place of a row: its input, and its number there.
pub type RowPlace = (String, u64);

/// A row of the file: the line where it is, and its cells by column.
#[derive(Debug, Clone)]
pub struct FileRow {
    pub line: u64,
    /// `result_id` of the failure that the row was made from, unless the column was removed.
    pub result_id: Option<String>,
    pub cells: Vec<(String, String)>,
}

/// A file of corrections.
#[derive(Debug)]
pub struct CorrectionFile {
    /// SHA-256, hexadecimal.
    pub sha256: String,
    pub rows: Vec<(RowPlace, FileRow)>,
}

/// Reads a file of corrections.
///
/// # Errors
/// It cannot be read, or a row does not say which row it takes the place of.
pub fn read(path: &Path) -> Result<CorrectionFile, Error> {
    let shown = path.display();
    let failed = |fault: std::io::Error| Error::Config(format!("--corrections {shown}: {fault}"));
    let sha256 = digest_of(path).map_err(failed)?;
    let origin = Origin::File(path.to_owned());
    let reader = SourceReader::open(shown.to_string().as_str().into(), origin, &SourceOptions::default(), None)?;
    let mut rows = Vec::new();
    each_row(reader, &format!("--corrections {shown}"), |row| {
        rows.push(file_row(row)?);
        Ok(())
    })?;
    Ok(CorrectionFile { sha256, rows })
}

fn file_row(row: &Row) -> Result<(RowPlace, FileRow), String> {
    let text = |column: &str| row.get(column).and_then(|cell| cell.to_text()).unwrap_or_default();
    let expected = "expected a file made from failures.csv";
    let source = text("_source");
    if source.is_empty() {
        return Err(format!("{expected}, whose column `_source` names the input of each row; found none"));
    }
    let number = text("_row_number");
    let number: u64 = number.trim().parse().map_err(|_| {
        format!("{expected}, whose column `_row_number` has the number of each row; found another value or none")
    })?;
    // An apostrophe may be before a name, as before any cell.
    let source = unmarked(&source).to_owned();
    let result_id = Some(text(RESULT_ID)).filter(|id| !id.is_empty());
    let is_own = |name: &str| !ADDED.contains(&name) && name != RAW;
    let cells = row.to_json().into_iter().filter(|(name, _)| is_own(name));
    let cells = cells.map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    Ok(((source, number), FileRow { line: row.position.line, result_id, cells: cells.collect() }))
}

fn digest_of(path: &Path) -> std::io::Result<String> {
    files::sha256_of(files::open(path, Links::Followed)?)
}
