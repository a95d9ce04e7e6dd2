//! A row: one record of the input with its position. Values stay what they were: `0012` stays `0012`, and a number of a
//! JSON line whose text would change by being read as a number is kept as text.

use super::failure::Failure;
use serde_json::{Map, Value};
use std::{fmt, sync::Arc};

/// Where a row stands in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The source as the user named it: a path, or `-` for standard input.
    pub source: Arc<str>,
    /// The record's number in its source, from 1, header not counted.
    pub row_number: u64,
    /// The physical line on which the record begins, from 1, header counted.
    pub line: u64,
    /// The byte at which the record begins, from 0.
    pub byte_offset: u64,
}

/// The values of a row.
#[derive(Clone)]
pub enum Values {
    /// A record of text cells under a header; both have the same length.
    Flat { header: Arc<Vec<String>>, cells: csv::StringRecord },
    /// A JSON object, possibly nested.
    Nested(Map<String, Value>),
}

/// One record of the input.
#[derive(Clone)]
pub struct Row {
    pub position: Position,
    pub values: Values,
}

impl fmt::Debug for Row {
    /// Where it stands; what it says is personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row {{ {:?}, [redacted] }}", self.position)
    }
}

/// A value of a row, borrowed.
#[derive(Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    Text(&'a str),
    Json(&'a Value),
}

impl fmt::Debug for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Cell<'_> {
    /// The cell as text where it is a single value; `None` for null, a list or an object.
    pub fn to_text(self) -> Option<String> {
        match self {
            Cell::Text(text) => Some(text.to_owned()),
            Cell::Json(Value::String(text)) => Some(text.clone()),
            Cell::Json(value @ (Value::Number(_) | Value::Bool(_))) => Some(value.to_string()),
            Cell::Json(_) => None,
        }
    }
}

impl Row {
    /// The value of a column: exact name first, then trimmed and with case ignored.
    pub fn get(&self, column: &str) -> Option<Cell<'_>> {
        match &self.values {
            Values::Flat { header, cells } => {
                find_column(header.iter().map(String::as_str), column).and_then(|at| cells.get(at)).map(Cell::Text)
            }
            Values::Nested(map) => map
                .get(column)
                .or_else(|| find_column(map.keys().map(String::as_str), column).and_then(|at| map.values().nth(at)))
                .map(Cell::Json),
        }
    }

    /// The row as a JSON object, columns in their order.
    pub fn to_json(&self) -> Map<String, Value> {
        match &self.values {
            Values::Flat { header, cells } => {
                header.iter().cloned().zip(cells.iter().map(|cell| Value::String(cell.to_owned()))).collect()
            }
            Values::Nested(map) => map.clone(),
        }
    }
}

/// The place of `column` among `names`: exact, else trimmed with case ignored.
pub fn find_column<'a>(names: impl Iterator<Item = &'a str> + Clone, column: &str) -> Option<usize> {
    names.clone().position(|name| name == column).or_else(|| {
        let wanted = column.trim().to_lowercase();
        names.clone().position(|name| name.trim().to_lowercase() == wanted)
    })
}

/// What a reader gives: a row, or a record that cannot be one, with what could be read of it.
#[derive(Clone)]
pub enum Record {
    Row(Row),
    Damaged {
        position: Position,
        failure: Failure,
        /// What could be read: cells by column name, or the raw text; bytes that are not UTF-8 are replaced.
        input: Value,
    },
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Record::Row(row) => row.fmt(f),
            Record::Damaged { position, failure, .. } => {
                write!(f, "Damaged {{ {position:?}, {:?}, [redacted] }}", failure.code)
            }
        }
    }
}

impl Record {
    pub fn position(&self) -> &Position {
        match self {
            Record::Row(row) => &row.position,
            Record::Damaged { position, .. } => position,
        }
    }
}
