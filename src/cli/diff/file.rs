//! The file of `rescreen diff --to`: one row for each subject and check, in the order of check names and subjects.

use crate::cli::table_file::TableFile;
use rescreen::{
    Error,
    pipeline::{
        ExportFormat,
        compare::{AskInRound, ComparedAsk, Outcome},
    },
    sink::{Column, ColumnOf, Kind, Schema, TableCell},
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

/// Begins the file. An existing file is not replaced.
///
/// # Errors
/// Those of [`TableFile::create`].
pub fn create(path: &Path, format: Option<ExportFormat>) -> Result<TableFile, Error> {
    TableFile::create(path, format, "changes", schema())
}

fn schema() -> Schema {
    let both = |column: &ColumnOf<RoundCell>| {
        ["old", "new"].map(|round| Column { name: format!("{round}_{}", column.name), ..column.column() })
    };
    Schema { columns: ASK.iter().map(ColumnOf::column).chain(ROUND.iter().flat_map(both)).collect() }
}

/// The row of an ask.
pub fn cells(ask: &ComparedAsk<'_>) -> Vec<TableCell> {
    let both =
        |column: &ColumnOf<RoundCell>| [ask.old, ask.new].map(|one| TableCell::or_null(one.as_ref(), column.cell));
    ASK.iter().map(|column| (column.cell)(ask)).chain(ROUND.iter().flat_map(both)).collect()
}

/// The finding of a result, or the code of a failure. Other rows have a reason, which is not a finding.
fn finding<'a>(one: &AskInRound<'a>) -> Option<&'a str> {
    matches!(one.outcome, Outcome::Result(_) | Outcome::Failure).then_some(one.word)
}
