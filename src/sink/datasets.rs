//! The columns of the four datasets, exactly as documented and in that order. Warehouses have tables with these
//! columns: a column may be added at the end of its group, but no column may be moved or renamed.

use super::{
    SinkError,
    column_name::column_name,
    table::{Column, Kind, Schema},
};
use crate::catalogue::{ColumnKind, ColumnSpec};
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

const RECEIPT: [(&str, Kind, bool); 13] = [
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
    ("sent", Kind::Text, FULL),
    ("answer", Kind::Text, FULL),
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
    ("input", Kind::Text, FULL),
];

const PENDING: [(&str, Kind, bool); 7] = [
    ("reason", Kind::Text, FULL),
    ("job_id", Kind::Text, NULL),
    ("deadline", Kind::Timestamp, NULL),
    ("credits", Kind::Integer, NULL),
    ("answer", Kind::Text, NULL),
    ("source", Kind::Text, FULL),
    ("row_number", Kind::Integer, FULL),
];

const SKIPPED: [(&str, Kind, bool); 3] =
    [("reason", Kind::Text, FULL), ("source", Kind::Text, FULL), ("row_number", Kind::Integer, FULL)];

fn columns(specs: &[(&str, Kind, bool)]) -> impl Iterator<Item = Column> {
    specs.iter().map(|(name, kind, nullable)| Column { name: (*name).to_owned(), kind: *kind, nullable: *nullable })
}

/// The columns of one check's results. `carry` has names of input columns, `answer` the check's typed columns, and
/// `expects` the names that the campaign uses in `expect`.
pub fn results_schema(carry: &[String], answer: &[ColumnSpec], expects: &[String]) -> Result<Schema, SinkError> {
    let named = |name: &str, kind| (name.to_owned(), Column { name: column_name(name), kind, nullable: NULL });
    let fixed = |column: Column| (column.name.clone(), column);
    let all: Vec<(String, Column)> = columns(&HEAD)
        .chain(columns(&VERDICT))
        .map(fixed)
        .chain(carry.iter().map(|name| named(name, Kind::Text)))
        .chain(answer.iter().map(|column| named(&column.name, kind_of(column.kind))))
        .chain(expects.iter().map(|name| named(&format!("expected_{name}_match"), Kind::Boolean)))
        .chain(columns(&RECEIPT).map(fixed))
        .collect();
    let mut known: HashMap<&str, &String> = HashMap::new();
    for (second, column) in &all {
        if let Some(first) = known.insert(&column.name, second) {
            let (first, second, name) = (first.clone(), second.clone(), column.name.clone());
            let advice = match carry.iter().find(|one| **one == second || **one == first) {
                Some(one) => format!("give one another name, as in --carry 'input_{name}={one}' (or [output] carry)"),
                None => "rename or drop one of them".to_owned(),
            };
            return Err(SinkError::ColumnClash { first, second, name, advice });
        }
    }
    Ok(Schema { columns: all.into_iter().map(|(_, column)| column).collect() })
}

fn kind_of(kind: ColumnKind) -> Kind {
    match kind {
        ColumnKind::Text | ColumnKind::Json => Kind::Text,
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

    #[test]
    fn the_columns_are_in_the_documented_order() {
        let schema =
            results_schema(&["Customer No".into(), "Order".into()], &[spec("matches")], &["surname".into()]).unwrap();
        assert_eq!(
            names(&schema),
            "result_id, campaign, mode, check_name, subject, verdict, finding, customer_no, order_, matches, \
             expected_surname_match, completed_at, \
             credits, answer_source, request_id, idempotency_key, source, row_number, http_status, attempts, latency_ms, \
             requested_at, sent, answer"
        );
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
            let carry: Vec<String> = carry.iter().map(|name| (*name).to_owned()).collect();
            let answer: Vec<ColumnSpec> = answer.iter().map(|name| spec(name)).collect();
            results_schema(&carry, &answer, &[]).unwrap_err().to_string()
        };
        let expected = |first, second, name: &str, carried: &str| {
            let advice = match carried {
                "" => "rename or drop one of them".to_owned(),
                one => format!("give one another name, as in --carry 'input_{name}={one}' (or [output] carry)"),
            };
            format!("output columns `{first}` and `{second}` would both be named `{name}`; {advice}")
        };
        assert_eq!(message(&["Source"], &[]), expected("Source", "source", "source", "Source"));
        let both = expected("Branch No", "branch-no", "branch_no", "Branch No");
        assert_eq!(message(&["Branch No", "branch-no"], &[]), both);
        assert_eq!(message(&["Matches"], &["matches"]), expected("Matches", "matches", "matches", "Matches"));
        assert_eq!(message(&[], &["answer"]), expected("answer", "answer", "answer", ""));
    }

    #[test]
    fn every_built_in_check_has_a_table() {
        for declaration in crate::catalogue::Catalogue::built_in().iter() {
            results_schema(&[], &declaration.answer.columns, &[]).unwrap();
        }
    }
}
