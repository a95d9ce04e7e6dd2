//! The columns of the datasets, exactly as documented and in that order, each with its cell of a row. Warehouses have
//! tables with these columns: a column may be added at the end of its group, but no column may be moved or renamed.

use super::{
    SinkError,
    column_name::column_name,
    dataset_rows::{FailureRow, Head, PendingRow, ResultRow, SkippedRow, result_id},
    table::{Column, ColumnOf, Kind, Schema, TableCell},
};
use crate::catalogue::{ColumnKind, ColumnSpec};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

type Of<F> = ColumnOf<F>;
type HeadCell = fn(&Head<'_>) -> TableCell;
type ResultCell = fn(&ResultRow<'_>) -> TableCell;
type FailureCell = fn(&FailureRow<'_>) -> TableCell;
type PendingCell = fn(&PendingRow<'_>) -> TableCell;
type SkippedCell = fn(&SkippedRow<'_>) -> TableCell;

/// How many columns every dataset begins with.
pub const HEAD_COLUMNS: usize = HEAD.len();
/// The columns that every dataset begins with: they identify the ask.
const HEAD: [Of<HeadCell>; 5] = [
    Of::full("result_id", Kind::Text, |head| {
        TableCell::Text(result_id(head.campaign, head.mode, head.check_name, head.source, head.row_number))
    }),
    Of::full("campaign", Kind::Text, |head| TableCell::text(head.campaign)),
    Of::full("mode", Kind::Text, |head| TableCell::text(head.mode.as_str())),
    Of::full("check_name", Kind::Text, |head| TableCell::or_null(head.check_name, TableCell::text)),
    Of::nullable("subject", Kind::Text, |head| TableCell::or_null(head.subject, TableCell::text)),
];

/// How many columns of the results say what an answer means. They come after those of every dataset.
pub const VERDICT_COLUMNS: usize = VERDICT.len();
const VERDICT: [Of<ResultCell>; 2] = [
    Of::full("verdict", Kind::Text, |row| TableCell::text(row.verdict.as_str())),
    Of::full("finding", Kind::Text, |row| TableCell::text(&row.finding)),
];

const RECEIPT: [Of<ResultCell>; 11] = [
    Of::full("completed_at", Kind::Timestamp, |row| TableCell::Timestamp(row.completed_at_us)),
    Of::full("credits", Kind::Integer, |row| TableCell::integer(row.credits.0)),
    Of::full("answer_source", Kind::Text, |row| TableCell::text(row.answer_source.as_str())),
    Of::nullable("request_id", Kind::Text, |row| TableCell::or_null(row.request_id, TableCell::text)),
    Of::full("idempotency_key", Kind::Text, |row| TableCell::text(row.idempotency_key.to_string())),
    Of::full("source", Kind::Text, |row| TableCell::text(row.head.source)),
    Of::full("row_number", Kind::Integer, |row| TableCell::integer(row.head.row_number)),
    Of::nullable("http_status", Kind::Integer, |row| TableCell::or_null(row.http_status, TableCell::integer)),
    Of::full("attempts", Kind::Integer, |row| TableCell::integer(row.attempts)),
    Of::nullable("latency_ms", Kind::Integer, |row| TableCell::or_null(row.latency_ms, TableCell::integer)),
    Of::nullable("requested_at", Kind::Timestamp, |row| TableCell::or_null(row.requested_at_us, TableCell::Timestamp)),
];

const SENT: Of<ResultCell> = Of::full("sent", Kind::Json, |row| TableCell::json(&*row.sent));
const ANSWER: Of<ResultCell> = Of::full("answer", Kind::Json, |row| match row.answer_is_json {
    true => TableCell::Json(row.answer.to_string()),
    false => TableCell::json(&*row.answer),
});
const ANSWER_DIGEST: Of<ResultCell> = Of::full("answer_digest", Kind::Text, |row| TableCell::text(&row.answer_digest));

const DECISIONS: Of<ResultCell> =
    Of::nullable("decisions", Kind::Json, |row| TableCell::or_null(row.decisions, TableCell::json));

const REUSED_FROM: Of<ResultCell> =
    Of::nullable("reused_from", Kind::Text, |row| TableCell::or_null(row.reused_from, TableCell::text));

const FAILURE: [Of<FailureCell>; 13] = [
    Of::full("stage", Kind::Text, |row| TableCell::text(row.failure.stage.as_str())),
    Of::full("code", Kind::Text, |row| TableCell::text(row.failure.code.as_str())),
    Of::full("message", Kind::Text, |row| TableCell::text(&row.failure.message)),
    Of::nullable("http_status", Kind::Integer, |row| TableCell::or_null(row.http_status, TableCell::integer)),
    Of::full("attempts", Kind::Integer, |row| TableCell::integer(row.attempts)),
    Of::full("possibly_charged", Kind::Boolean, |row| TableCell::Boolean(row.possibly_charged)),
    Of::full("retryable", Kind::Boolean, |row| TableCell::Boolean(row.retryable)),
    Of::full("source", Kind::Text, |row| TableCell::text(row.head.source)),
    Of::full("row_number", Kind::Integer, |row| TableCell::integer(row.head.row_number)),
    Of::full("line", Kind::Integer, |row| TableCell::integer(row.line)),
    Of::full("byte_offset", Kind::Integer, |row| TableCell::integer(row.byte_offset)),
    Of::nullable("idempotency_key", Kind::Text, |row| {
        TableCell::or_null(row.idempotency_key, |key| TableCell::text(key.to_string()))
    }),
    Of::full("input", Kind::Json, |row| TableCell::json(row.input)),
];

const PENDING: [Of<PendingCell>; 7] = [
    Of::full("reason", Kind::Text, |row| TableCell::text(row.reason.as_str())),
    Of::nullable("job_id", Kind::Text, |row| TableCell::or_null(row.job_id, TableCell::text)),
    Of::nullable("deadline", Kind::Timestamp, |row| TableCell::or_null(row.deadline_us, TableCell::Timestamp)),
    Of::nullable("credits", Kind::Integer, |row| {
        TableCell::or_null(row.credits, |credits| TableCell::integer(credits.0))
    }),
    Of::nullable("answer", Kind::Json, |row| TableCell::or_null(row.answer, TableCell::json)),
    Of::full("source", Kind::Text, |row| TableCell::text(row.head.source)),
    Of::full("row_number", Kind::Integer, |row| TableCell::integer(row.head.row_number)),
];

const SKIPPED: [Of<SkippedCell>; 3] = [
    Of::full("reason", Kind::Text, |row| TableCell::text(row.reason)),
    Of::full("source", Kind::Text, |row| TableCell::text(row.head.source)),
    Of::full("row_number", Kind::Integer, |row| TableCell::integer(row.head.row_number)),
];

fn columns<F: Copy>(own: &[Of<F>]) -> impl Iterator<Item = Column> {
    own.iter().map(Of::column)
}

fn head_cells<'a>(head: &'a Head<'_>) -> impl Iterator<Item = TableCell> + 'a {
    HEAD.iter().map(move |column| (column.cell)(head))
}

/// The cells of a row with these columns.
fn cells<R, F: Fn(&R) -> TableCell>(head: &Head<'_>, own: &[Of<F>], row: &R) -> Vec<TableCell> {
    head_cells(head).chain(own.iter().map(|column| (column.cell)(row))).collect()
}

impl ResultRow<'_> {
    /// The cells in the order of [`answers_schema`].
    pub fn answer_cells(&self) -> Vec<TableCell> {
        head_cells(&self.head).chain([(ANSWER.cell)(self)]).collect()
    }

    /// The cells in the order of [`results_schema`].
    pub fn into_cells(mut self, form: ResultForm) -> Vec<TableCell> {
        let (carried, columns) = (std::mem::take(&mut self.carried), std::mem::take(&mut self.columns));
        let own = |columns: &[Of<ResultCell>]| columns.iter().map(|column| (column.cell)(&self)).collect::<Vec<_>>();
        let mut cells: Vec<TableCell> = head_cells(&self.head).collect();
        cells.extend(own(&VERDICT));
        cells.extend(carried);
        cells.extend(columns.into_iter().map(TableCell::from));
        cells.extend(self.expected.iter().map(|meets| TableCell::or_null(*meets, TableCell::Boolean)));
        cells.extend(own(&RECEIPT));
        cells.extend(own(&form.columns()));
        cells
    }
}

impl FailureRow<'_> {
    /// The cells in the order of [`failures_schema`].
    pub fn cells(&self) -> Vec<TableCell> {
        cells(&self.head, &FAILURE, self)
    }
}

impl PendingRow<'_> {
    /// The cells in the order of [`pending_schema`].
    pub fn cells(&self) -> Vec<TableCell> {
        cells(&self.head, &PENDING, self)
    }
}

impl SkippedRow<'_> {
    /// The cells in the order of [`skipped_schema`].
    pub fn cells(&self) -> Vec<TableCell> {
        cells(&self.head, &SKIPPED, self)
    }
}

/// Where the answers are in the outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerOutput {
    /// In a column of the results.
    #[default]
    Column,
    /// In a dataset of their own.
    Dataset,
    /// Only in the ledger.
    None,
}

impl AnswerOutput {
    /// The word in the campaign file.
    pub fn as_str(self) -> &'static str {
        match self {
            AnswerOutput::Column => "column",
            AnswerOutput::Dataset => "dataset",
            AnswerOutput::None => "none",
        }
    }
}

/// What the results of a campaign have beside the columns of the check. It never changes within a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultForm {
    /// There is a column for what was sent.
    pub sent: bool,
    /// There is a column for the answer.
    pub answer: bool,
    /// There is a column for the decisions about its matches.
    pub decisions: bool,
    /// There is a column for the campaign whose answer is used again.
    pub reused_from: bool,
}

impl Default for ResultForm {
    fn default() -> ResultForm {
        ResultForm { sent: true, answer: true, decisions: true, reused_from: true }
    }
}

impl ResultForm {
    /// The last columns.
    fn columns(self) -> Vec<Of<ResultCell>> {
        let all = [
            (self.sent, SENT),
            (self.answer, ANSWER),
            (true, ANSWER_DIGEST),
            (self.decisions, DECISIONS),
            (self.reused_from, REUSED_FROM),
        ];
        all.into_iter().filter(|(is_chosen, _)| *is_chosen).map(|(_, column)| column).collect()
    }
}

/// The columns of one check's results. `carry` has names and types of input columns, `answer` the check's typed columns,
/// and `expects` the names that the campaign uses in `expect`.
pub fn results_schema(
    carry: &[(String, Kind)],
    answer: &[ColumnSpec],
    expects: &[String],
    form: ResultForm,
) -> Result<Schema, SinkError> {
    let named = |name: &str, kind| (name.to_owned(), Column { name: column_name(name), kind, nullable: true });
    let fixed = |column: Column| (column.name.clone(), column);
    let all: Vec<(String, Column)> = columns(&HEAD)
        .chain(columns(&VERDICT))
        .map(fixed)
        .chain(carry.iter().map(|(name, kind)| named(name, *kind)))
        .chain(answer.iter().map(|column| named(&column.name, kind_of(column.kind))))
        .chain(expects.iter().map(|name| named(&format!("expected_{name}_match"), Kind::Boolean)))
        .chain(columns(&RECEIPT).chain(columns(&form.columns())).map(fixed))
        .collect();
    let mut known: HashMap<&str, &String> = HashMap::new();
    for (second, column) in &all {
        if let Some(first) = known.insert(&column.name, second) {
            return Err(SinkError::ColumnClash { fault: clash(first, second, &column.name, carry) });
        }
    }
    Ok(Schema { columns: all.into_iter().map(|(_, column)| column).collect() })
}

/// The message about two columns whose names in the results are equal.
fn clash(first: &str, second: &str, name: &str, carry: &[(String, Kind)]) -> String {
    let carried: Vec<&str> =
        carry.iter().map(|(one, _)| one.as_str()).filter(|one| [first, second].contains(one)).collect();
    match carried[..] {
        [] => {
            format!("output columns `{first}` and `{second}` would both be named `{name}`; rename or drop one of them")
        }
        [one] => format!(
            "the results have a column `{name}` of their own; carry the input column `{one}` under another name, as in \
             --carry 'input_{name}={one}' (or [output] carry)"
        ),
        [one, ..] => format!(
            "output columns `{first}` and `{second}` would both be named `{name}`; give one another name, as in --carry \
             'input_{name}={one}' (or [output] carry)"
        ),
    }
}

/// The type of a column of a check.
pub fn kind_of(kind: ColumnKind) -> Kind {
    match kind {
        ColumnKind::Json => Kind::Json,
        ColumnKind::Text => Kind::Text,
        ColumnKind::Integer | ColumnKind::Count => Kind::Integer,
        ColumnKind::Number => Kind::Number,
        ColumnKind::Boolean => Kind::Boolean,
        ColumnKind::Date => Kind::Date,
        ColumnKind::Timestamp => Kind::Timestamp,
    }
}

/// The columns of failures. `check_name` is null for a row that could not be read; such a failure applies to all
/// checks.
pub fn failures_schema() -> Schema {
    let mut schema = Schema { columns: columns(&HEAD).chain(columns(&FAILURE)).collect() };
    for column in schema.columns.iter_mut().filter(|column| column.name == "check_name") {
        column.nullable = true;
    }
    schema
}

/// The columns of answers, if they are a dataset of their own.
pub fn answers_schema() -> Schema {
    Schema { columns: columns(&HEAD).chain(columns(&[ANSWER])).collect() }
}

/// The columns of pending.
pub fn pending_schema() -> Schema {
    Schema { columns: columns(&HEAD).chain(columns(&PENDING)).collect() }
}

/// The columns of skipped.
pub fn skipped_schema() -> Schema {
    Schema { columns: columns(&HEAD).chain(columns(&SKIPPED)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(schema: &Schema) -> String {
        schema.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn spec(name: &str) -> ColumnSpec {
        ColumnSpec {
            name: name.into(),
            pointers: vec!["/x".into()],
            kind: ColumnKind::Count,
            assumed: false,
            image: false,
            expect: None,
        }
    }

    fn shaped(carry: &[&str], answer: &[ColumnSpec], form: ResultForm) -> Result<Schema, SinkError> {
        let carry: Vec<(String, Kind)> = carry.iter().map(|name| ((*name).to_owned(), Kind::Text)).collect();
        let expects: &[String] = if answer.iter().any(|column| column.name == "matches") && carry.len() > 1 {
            &["surname".to_owned()]
        } else {
            &[]
        };
        results_schema(&carry, answer, expects, form)
    }

    #[test]
    fn the_columns_are_in_the_documented_order() {
        let schema = shaped(&["Customer No", "Order"], &[spec("matches")], ResultForm::default()).unwrap();
        assert_eq!(
            names(&schema),
            "result_id, campaign, mode, check_name, subject, verdict, finding, customer_no, order_, matches, \
             expected_surname_match, completed_at, \
             credits, answer_source, request_id, idempotency_key, source, row_number, http_status, attempts, latency_ms, \
             requested_at, sent, answer, answer_digest, decisions, reused_from"
        );
        let bare =
            shaped(&[], &[], ResultForm { sent: false, answer: false, decisions: false, reused_from: false }).unwrap();
        assert!(names(&bare).ends_with("requested_at, answer_digest"));
        assert_eq!(
            names(&failures_schema()),
            "result_id, campaign, mode, check_name, subject, stage, code, message, http_status, attempts, \
             possibly_charged, retryable, source, row_number, line, byte_offset, idempotency_key, input"
        );
        assert_eq!(
            names(&pending_schema()),
            "result_id, campaign, mode, check_name, subject, reason, job_id, deadline, credits, answer, \
             source, row_number"
        );
        assert_eq!(
            names(&skipped_schema()),
            "result_id, campaign, mode, check_name, subject, reason, source, row_number"
        );
    }

    #[test]
    fn a_name_that_clashes_is_an_error_that_names_both() {
        let message = |carry: &[&str], answer: &[&str]| {
            let answer: Vec<ColumnSpec> = answer.iter().map(|name| spec(name)).collect();
            shaped(carry, &answer, ResultForm::default()).unwrap_err().to_string()
        };
        let own = |name: &str, carried: &str| {
            format!(
                "the results have a column `{name}` of their own; carry the input column `{carried}` under another name, as \
                 in --carry 'input_{name}={carried}' (or [output] carry)"
            )
        };
        assert_eq!(message(&["Source"], &[]), own("source", "Source"));
        assert_eq!(message(&["source"], &[]), own("source", "source"));
        assert_eq!(message(&["Matches"], &["matches"]), own("matches", "Matches"));
        assert_eq!(
            message(&["Branch No", "branch-no"], &[]),
            "output columns `Branch No` and `branch-no` would both be named `branch_no`; give one another name, as in \
             --carry 'input_branch_no=Branch No' (or [output] carry)"
        );
        let twice = "output columns `answer` and `answer` would both be named `answer`; rename or drop one of them";
        assert_eq!(message(&[], &["answer"]), twice);
    }

    #[test]
    fn every_built_in_check_has_a_table() {
        for declaration in crate::catalogue::Catalogue::built_in().iter() {
            shaped(&[], &declaration.answer.columns, ResultForm::default()).unwrap();
        }
    }
}
