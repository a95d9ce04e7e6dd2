//! The columns of the datasets, exactly as documented and in that order. Warehouses have tables with these
//! columns: a column may be added at the end of its group, but no column may be moved or renamed.

use super::{
    SinkError,
    column_name::column_name,
    table::{Column, Kind, Schema},
};
use crate::catalogue::{ColumnKind, ColumnSpec};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

const NULL: bool = true;
const FULL: bool = false;

/// The columns that every dataset begins with.
const HEAD: [(&str, Kind, bool); 5] = [
    ("result_id", Kind::Text, FULL),
    ("campaign", Kind::Text, FULL),
    ("mode", Kind::Text, FULL),
    ("check_name", Kind::Text, FULL),
    ("subject", Kind::Text, NULL),
];

const VERDICT: [(&str, Kind, bool); 2] = [("verdict", Kind::Text, FULL), ("finding", Kind::Text, FULL)];

const RECEIPT: [(&str, Kind, bool); 11] = [
    ("completed_at", Kind::Timestamp, FULL),
    ("credits", Kind::Integer, FULL),
    ("answer_source", Kind::Text, FULL),
    ("request_id", Kind::Text, NULL),
    ("idempotency_key", Kind::Text, FULL),
    ("source", Kind::Text, FULL),
    ("row_number", Kind::Integer, FULL),
    ("http_status", Kind::Integer, NULL),
    ("attempts", Kind::Integer, FULL),
    ("latency_ms", Kind::Integer, NULL),
    ("requested_at", Kind::Timestamp, NULL),
];

const FAILURE: [(&str, Kind, bool); 13] = [
    ("stage", Kind::Text, FULL),
    ("code", Kind::Text, FULL),
    ("message", Kind::Text, FULL),
    ("http_status", Kind::Integer, NULL),
    ("attempts", Kind::Integer, FULL),
    ("possibly_charged", Kind::Boolean, FULL),
    ("retryable", Kind::Boolean, FULL),
    ("source", Kind::Text, FULL),
    ("row_number", Kind::Integer, FULL),
    ("line", Kind::Integer, FULL),
    ("byte_offset", Kind::Integer, FULL),
    ("idempotency_key", Kind::Text, NULL),
    ("input", Kind::Json, FULL),
];

const UNREAD: [(&str, Kind, bool); 9] = [
    ("request", Kind::Integer, FULL),
    ("check_name", Kind::Text, FULL),
    ("idempotency_key", Kind::Text, FULL),
    ("state", Kind::Text, FULL),
    ("http_status", Kind::Integer, FULL),
    ("received_at", Kind::Timestamp, FULL),
    ("file", Kind::Text, FULL),
    ("bytes", Kind::Integer, FULL),
    ("sha256", Kind::Text, FULL),
];

const PENDING: [(&str, Kind, bool); 7] = [
    ("reason", Kind::Text, FULL),
    ("job_id", Kind::Text, NULL),
    ("deadline", Kind::Timestamp, NULL),
    ("credits", Kind::Integer, NULL),
    ("answer", Kind::Json, NULL),
    ("source", Kind::Text, FULL),
    ("row_number", Kind::Integer, FULL),
];

const SKIPPED: [(&str, Kind, bool); 3] =
    [("reason", Kind::Text, FULL), ("source", Kind::Text, FULL), ("row_number", Kind::Integer, FULL)];

fn columns(specs: &[(&str, Kind, bool)]) -> impl Iterator<Item = Column> {
    specs.iter().map(|(name, kind, nullable)| Column { name: (*name).to_owned(), kind: *kind, nullable: *nullable })
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
}

impl Default for ResultForm {
    fn default() -> ResultForm {
        ResultForm { sent: true, answer: true }
    }
}

impl ResultForm {
    /// The last columns.
    fn columns(self) -> Vec<Column> {
        let optional = [(self.sent, "sent"), (self.answer, "answer")];
        let chosen = optional.into_iter().filter(|(is_chosen, _)| *is_chosen).map(|(_, name)| (name, Kind::Json, FULL));
        let last: Vec<_> = chosen.chain([("answer_digest", Kind::Text, FULL)]).collect();
        columns(&last).collect()
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
    let named = |name: &str, kind| (name.to_owned(), Column { name: column_name(name), kind, nullable: NULL });
    let fixed = |column: Column| (column.name.clone(), column);
    let all: Vec<(String, Column)> = columns(&HEAD)
        .chain(columns(&VERDICT))
        .map(fixed)
        .chain(carry.iter().map(|(name, kind)| named(name, *kind)))
        .chain(answer.iter().map(|column| named(&column.name, kind_of(column.kind))))
        .chain(expects.iter().map(|name| named(&format!("expected_{name}_match"), Kind::Boolean)))
        .chain(columns(&RECEIPT).chain(form.columns()).map(fixed))
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

fn kind_of(kind: ColumnKind) -> Kind {
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
        column.nullable = NULL;
    }
    schema
}

/// The columns of answers, if they are a dataset of their own.
pub fn answers_schema() -> Schema {
    Schema { columns: columns(&HEAD).chain(columns(&[("answer", Kind::Json, FULL)])).collect() }
}

/// The columns of pending.
pub fn pending_schema() -> Schema {
    Schema { columns: columns(&HEAD).chain(columns(&PENDING)).collect() }
}

/// The columns of skipped.
pub fn skipped_schema() -> Schema {
    Schema { columns: columns(&HEAD).chain(columns(&SKIPPED)).collect() }
}

/// The columns of the list of replies that could not be read as answers.
pub fn unread_schema() -> Schema {
    Schema { columns: columns(&UNREAD).collect() }
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
             requested_at, sent, answer, answer_digest"
        );
        let bare = shaped(&[], &[], ResultForm { sent: false, answer: false }).unwrap();
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
