//! The file of `rescreen diff --to`: one row for each subject and check, in the order of check names and subjects.

use rescreen::{
    Error, files,
    pipeline::compare::{AskInRound, ComparedAsk, Outcome},
    sink::{Column, Kind, OutputFormat, Schema, TableCell, TableWriter},
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
pub struct ChangeFile(TableWriter);

impl ChangeFile {
    /// Begins the file. An existing file is not replaced.
    pub fn create(path: &Path, format: Option<OutputFormat>) -> Result<ChangeFile, Error> {
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
                Some(format) => return Ok(ChangeFile(TableWriter::create(path, format, &schema())?)),
                None => {
                    "expected a name that ends in .parquet or .jsonl, or --format; for a workbook with the changed \
                         rows of the new round, use rescreen export NEW --changed-since OLD --to FILE.xlsx, or --to \
                         FILE.csv --wide"
                        .to_owned()
                }
            },
        };
        Err(Error::Config(format!("--to {shown}: {refused}")))
    }

    pub fn add(&mut self, ask: &ComparedAsk<'_>) -> Result<(), Error> {
        Ok(self.0.write_row(cells(ask))?)
    }

    /// Publishes the file, and returns the number of its rows.
    pub fn finish(self) -> Result<u64, Error> {
        Ok(self.0.finish()?.rows)
    }
}

/// The format that the ending of a name stands for. A name without an ending is JSON Lines.
fn by_extension(path: &Path) -> Option<OutputFormat> {
    match path.extension().and_then(|extension| extension.to_str()) {
        None | Some("ndjson") => Some(OutputFormat::Jsonl),
        Some(extension) => extension.parse().ok(),
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
