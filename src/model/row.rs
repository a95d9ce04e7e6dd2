//! A row: one record of the input with its position. Values are unchanged: `0012` stays `0012`, and a JSON number whose
//! text would change if it were parsed is kept as text.

use super::{failure::Failure, field::tidy};
use serde_json::{Map, Value};
use std::{fmt, sync::Arc};

/// The position of a row in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The name of the source: a path, or `-` for standard input.
    pub source: Arc<str>,
    /// The number of the record in its source, from 1, without the header.
    pub row_number: u64,
    /// The physical line on which the record begins, from 1, including the header.
    pub line: u64,
    /// The offset of the first byte of the record, from 0.
    pub byte_offset: u64,
}

/// The values of a row.
#[derive(Clone)]
pub enum Values {
    /// Text cells and the header; both have the same length.
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
    /// Shows the position only, because the values are personal data.
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
    /// The cell as text if it is a single value; `None` for null, a list or an object.
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
    /// The value of a column, found by [`find_column`].
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

    /// The row as a JSON object, with the columns in order.
    pub fn to_json(&self) -> Map<String, Value> {
        match &self.values {
            Values::Flat { header, cells } => {
                header.iter().cloned().zip(cells.iter().map(|cell| Value::String(cell.to_owned()))).collect()
            }
            Values::Nested(map) => map.clone(),
        }
    }
}

/// The index of `column` in `names`: exact match, else case-insensitive with every run of whitespace as one space. A
/// header cell may hold line breaks, and messages show it on one line.
pub fn find_column<'a>(names: impl Iterator<Item = &'a str> + Clone, column: &str) -> Option<usize> {
    names.clone().position(|name| name == column).or_else(|| {
        let wanted = folded(column);
        names.clone().position(|name| folded(name) == wanted)
    })
}

/// The indexes of the first two columns that `column` may mean, if it is the exact name of none.
pub fn find_two_columns<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    column: &str,
) -> Option<[(usize, &'a str); 2]> {
    if names.clone().any(|name| name == column) {
        return None;
    }
    let wanted = folded(column);
    let mut found = names.enumerate().filter(|(_, name)| folded(name) == wanted);
    Some([found.next()?, found.next()?])
}

/// A column name as it is compared.
pub fn folded(name: &str) -> String {
    tidy(name).to_lowercase()
}

/// The result of reading a record: a row, or a damaged record with the part that could be read.
#[derive(Clone)]
pub enum Record {
    Row(Row),
    Damaged {
        position: Position,
        failure: Failure,
        /// The part that could be read: cells by column name, or the raw text. Bytes that are not UTF-8 are replaced.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_found_by_the_name_that_messages_show() {
        let names = ["no", "Company\n Registration\tNumbers ", "Name", "NAME"];
        let found = |column: &str| find_column(names.into_iter(), column);
        assert_eq!(found("Company Registration Numbers"), Some(1));
        assert_eq!(found(" company registration  numbers"), Some(1));
        assert_eq!(found("CompanyRegistrationNumbers"), None);
        assert_eq!((found("NAME"), found("name")), (Some(3), Some(2)));
        let two = |column: &str| find_two_columns(names.into_iter(), column);
        assert_eq!(two("name"), Some([(2, "Name"), (3, "NAME")]));
        assert_eq!((two("NAME"), two("company registration numbers"), two("x")), (None, None, None));
    }
}
