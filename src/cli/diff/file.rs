//! The file of `rescreen diff --to`: one row for each subject and check, in the order of check names and subjects.

use rescreen::{
    Error, files,
    pipeline::{
        ExportFormat,
        compare::{AskInRound, ComparedAsk, Outcome},
    },
    sink::{Column, FileFormat, Kind, Schema, TableCell, TableWriter, Workbook},
};
use std::path::Path;

/// The columns. A column may be added at the end; none may be moved or renamed.
const COLUMNS: [(&str, Kind, bool); 17] = [
    ("check_name", Kind::Text, false),
    ("subject", Kind::Text, false),
    ("change", Kind::Text, false),
    ("old_outcome", Kind::Text, true),
    ("new_outcome", Kind::Text, true),
    ("old_verdict", Kind::Text, true),
    ("new_verdict", Kind::Text, true),
    ("old_finding", Kind::Text, true),
    ("new_finding", Kind::Text, true),
    ("old_completed_at", Kind::Timestamp, true),
    ("new_completed_at", Kind::Timestamp, true),
    ("old_source", Kind::Text, true),
    ("new_source", Kind::Text, true),
    ("old_row_number", Kind::Integer, true),
    ("new_row_number", Kind::Integer, true),
    ("old_result_id", Kind::Text, true),
    ("new_result_id", Kind::Text, true),
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
    let column = |(name, kind, nullable): (&str, Kind, bool)| Column { name: name.to_owned(), kind, nullable };
    Schema { columns: COLUMNS.map(column).into() }
}

fn cells(ask: &ComparedAsk<'_>) -> Vec<TableCell> {
    let both = |cell: &dyn Fn(&AskInRound<'_>) -> Option<TableCell>| {
        [ask.old, ask.new].map(|one| TableCell::or_null(one.as_ref().and_then(cell)))
    };
    let head = [TableCell::text(ask.check), TableCell::text(ask.subject), TableCell::text(ask.change.as_str())];
    let ended = [
        both(&|one| Some(TableCell::text(one.outcome.as_str()))),
        both(&|one| one.outcome.verdict().map(|verdict| TableCell::text(verdict.as_str()))),
        both(&|one| finding(one).map(TableCell::text)),
        both(&|one| one.completed_at_us.map(TableCell::Timestamp)),
        both(&|one| Some(TableCell::text(one.source))),
        both(&|one| Some(TableCell::integer(one.row_number))),
        both(&|one| Some(TableCell::Text(one.result_id()))),
    ];
    head.into_iter().chain(ended.into_iter().flatten()).collect()
}

/// The finding of a result, or the code of a failure. Other rows have a reason, which is not a finding.
fn finding<'a>(one: &AskInRound<'a>) -> Option<&'a str> {
    matches!(one.outcome, Outcome::Result(_) | Outcome::Failure).then_some(one.word)
}
