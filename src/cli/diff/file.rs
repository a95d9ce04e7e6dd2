//! The file of `rescreen diff --to`: one row for each subject and check, in the order of check names and subjects.

use rescreen::{
    Error, files,
    pipeline::{
        ExportFormat,
        compare::{AskInRound, ComparedAsk, Outcome},
    },
    sink::{Column, ColumnOf, FileFormat, Kind, Schema, TableCell, TableWriter, Workbook},
};
use std::path::Path;

type AskCell = fn(&ComparedAsk<'_>) -> TableCell;
type RoundCell = fn(&AskInRound<'_>) -> TableCell;

/// The columns about both rounds. A column may be added at the end; none may be moved or renamed.
const ASK: [ColumnOf<AskCell>; 3] = [
    ColumnOf::full("check_name", Kind::Text, |ask| TableCell::text(ask.check)),
    ColumnOf::full("subject", Kind::Text, |ask| TableCell::text(ask.subject)),
    ColumnOf::full("change", Kind::Text, |ask| TableCell::text(ask.change.as_str())),
];

/// The columns that each round has: `old_outcome`, `new_outcome` and so on.
const ROUND: [ColumnOf<RoundCell>; 7] = [
    ColumnOf::nullable("outcome", Kind::Text, |one| TableCell::text(one.outcome.as_str())),
    ColumnOf::nullable("verdict", Kind::Text, |one| {
        TableCell::or_null(one.outcome.verdict(), |verdict| TableCell::text(verdict.as_str()))
    }),
    ColumnOf::nullable("finding", Kind::Text, |one| TableCell::or_null(finding(one), TableCell::text)),
    ColumnOf::nullable("completed_at", Kind::Timestamp, |one| {
        TableCell::or_null(one.completed_at_us, TableCell::Timestamp)
    }),
    ColumnOf::nullable("source", Kind::Text, |one| TableCell::text(one.source)),
    ColumnOf::nullable("row_number", Kind::Integer, |one| TableCell::integer(one.row_number)),
    ColumnOf::nullable("result_id", Kind::Text, |one| TableCell::Text(one.result_id())),
];

/// The file being written. It appears under its name when it is complete.
pub enum ChangeFile {
    Table(TableWriter),
    /// A workbook with one sheet, and its rows so far.
    Book {
        workbook: Box<Workbook>,
        sheet: usize,
        rows: u64,
    },
}

impl ChangeFile {
    /// Begins the file. An existing file is not replaced.
    pub fn create(path: &Path, format: Option<ExportFormat>) -> Result<ChangeFile, Error> {
        let shown = path.display();
        let folder = files::folder_of(path).to_owned();
        let refused = match () {
            () if path.file_name().is_none() || path.as_os_str() == "-" => "expected the name of a new file".to_owned(),
            () if std::fs::symlink_metadata(path).is_ok() => {
                "a file with this name exists and is not replaced; remove it, or name another file".to_owned()
            }
            () if !folder.is_dir() => {
                format!("expected a file in an existing folder, found no folder {}", folder.display())
            }
            () => match format.or_else(|| by_extension(path)) {
                Some(ExportFormat::Files(format)) => {
                    return Ok(ChangeFile::Table(TableWriter::create(path, format, &schema())?));
                }
                Some(ExportFormat::Xlsx) => {
                    let mut workbook = Box::new(Workbook::create(path, &[])?);
                    let sheet = workbook.add_table("changes", &schema().columns)?;
                    return Ok(ChangeFile::Book { workbook, sheet, rows: 0 });
                }
                None => "expected a name that ends in .parquet, .jsonl, .csv or .xlsx, or --format".to_owned(),
            },
        };
        Err(Error::Config(format!("--to {shown}: {refused}")))
    }

    pub fn add(&mut self, ask: &ComparedAsk<'_>) -> Result<(), Error> {
        match self {
            ChangeFile::Table(table) => table.write_row(cells(ask))?,
            ChangeFile::Book { workbook, sheet, rows } => {
                workbook.write_row(*sheet, &cells(ask))?;
                *rows += 1;
            }
        }
        Ok(())
    }

    /// Publishes the file, and returns the number of its rows.
    pub fn finish(self) -> Result<u64, Error> {
        match self {
            ChangeFile::Table(table) => Ok(table.finish()?.rows),
            ChangeFile::Book { workbook, rows, .. } => workbook.finish().map(|_| rows).map_err(Error::from),
        }
    }
}

/// The format that the ending of a name stands for.
fn by_extension(path: &Path) -> Option<ExportFormat> {
    match path.extension() {
        Some(extension) if extension == "ndjson" => Some(ExportFormat::Files(FileFormat::Jsonl)),
        _ => ExportFormat::of_name(path),
    }
}

fn schema() -> Schema {
    let both = |column: &ColumnOf<RoundCell>| {
        ["old", "new"].map(|round| Column { name: format!("{round}_{}", column.name), ..column.column() })
    };
    Schema { columns: ASK.iter().map(ColumnOf::column).chain(ROUND.iter().flat_map(both)).collect() }
}

fn cells(ask: &ComparedAsk<'_>) -> Vec<TableCell> {
    let both =
        |column: &ColumnOf<RoundCell>| [ask.old, ask.new].map(|one| TableCell::or_null(one.as_ref(), column.cell));
    ASK.iter().map(|column| (column.cell)(ask)).chain(ROUND.iter().flat_map(both)).collect()
}

/// The finding of a result, or the code of a failure. Other rows have a reason, which is not a finding.
fn finding<'a>(one: &AskInRound<'a>) -> Option<&'a str> {
    matches!(one.outcome, Outcome::Result(_) | Outcome::Failure).then_some(one.word)
}
