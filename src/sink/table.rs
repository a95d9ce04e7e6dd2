//! A table: columns of seven types, and rows of cells that match them. It is used for all datasets and both formats, and
//! decides which cells a column accepts.

use crate::{catalogue::ColumnValue, model::json_values};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Text,
    /// 64 bits, signed.
    Integer,
    /// 64 bits, floating point.
    Number,
    Boolean,
    /// A day without a time zone.
    Date,
    /// UTC, microseconds.
    Timestamp,
    /// JSON of any shape.
    Json,
}

impl Kind {
    /// The name in the manifest and in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::Date => "date",
            Kind::Timestamp => "timestamp",
            Kind::Json => "json",
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    pub nullable: bool,
}

/// A column that a program knows, and the function that makes its cell from a row.
pub struct ColumnOf<F> {
    pub name: &'static str,
    pub kind: Kind,
    pub nullable: bool,
    pub cell: F,
}

impl<F: Copy> ColumnOf<F> {
    /// A column that has a value in every row.
    pub const fn full(name: &'static str, kind: Kind, cell: F) -> ColumnOf<F> {
        ColumnOf { name, kind, nullable: false, cell }
    }

    /// A column that may be null.
    pub const fn nullable(name: &'static str, kind: Kind, cell: F) -> ColumnOf<F> {
        ColumnOf { name, kind, nullable: true, cell }
    }

    /// The column of a schema.
    pub fn column(&self) -> Column {
        Column { name: self.name.to_owned(), kind: self.kind, nullable: self.nullable }
    }
}

/// The columns of a table, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    pub columns: Vec<Column>,
}

/// One value of a row.
#[derive(Clone, PartialEq)]
pub enum TableCell {
    Null,
    Text(String),
    Integer(i64),
    Number(f64),
    Boolean(bool),
    Date(jiff::civil::Date),
    /// Microseconds since 1970, UTC.
    Timestamp(i64),
    /// The text of a JSON value, made by [`TableCell::json`].
    Json(String),
}

impl TableCell {
    pub fn text(text: impl Into<String>) -> TableCell {
        TableCell::Text(text.into())
    }

    /// A JSON value as it is written: its numbers keep their digits. A text that is not JSON becomes a JSON text, so that
    /// every reader can read the row.
    pub fn json(text: impl Into<String>) -> TableCell {
        let text = text.into();
        if json_values::is_json(&text) {
            TableCell::Json(text)
        } else {
            TableCell::Json(serde_json::Value::from(text).to_string())
        }
    }

    /// An integer. Anything above 2^63 - 1 becomes 2^63 - 1.
    pub fn integer(number: impl TryInto<i64>) -> TableCell {
        TableCell::Integer(number.try_into().unwrap_or(i64::MAX))
    }

    /// The cell that `make` makes of the value, or null if there is none.
    pub fn or_null<T>(value: Option<T>, make: impl FnOnce(T) -> TableCell) -> TableCell {
        value.map_or(TableCell::Null, make)
    }

    fn kind(&self) -> Option<Kind> {
        match self {
            TableCell::Null => None,
            TableCell::Text(_) => Some(Kind::Text),
            TableCell::Integer(_) => Some(Kind::Integer),
            TableCell::Number(_) => Some(Kind::Number),
            TableCell::Boolean(_) => Some(Kind::Boolean),
            TableCell::Date(_) => Some(Kind::Date),
            TableCell::Timestamp(_) => Some(Kind::Timestamp),
            TableCell::Json(_) => Some(Kind::Json),
        }
    }
}

impl fmt::Debug for TableCell {
    /// Shows only whether a cell is null, because cells are personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().map_or("null", |_| "[redacted]"))
    }
}

impl From<ColumnValue> for TableCell {
    fn from(value: ColumnValue) -> TableCell {
        match value {
            ColumnValue::Null => TableCell::Null,
            ColumnValue::Text(text) => TableCell::Text(text),
            ColumnValue::Integer(number) => TableCell::Integer(number),
            ColumnValue::Number(number) => TableCell::Number(number),
            ColumnValue::Boolean(truth) => TableCell::Boolean(truth),
            ColumnValue::Date(day) => TableCell::Date(day),
            ColumnValue::Timestamp(at_us) => TableCell::Timestamp(at_us),
            ColumnValue::Json(text) => TableCell::Json(text),
        }
    }
}

impl Schema {
    /// Checks that a row matches the schema. The error says what does not match, but never contains a value.
    pub(super) fn admit(&self, row: &[TableCell]) -> Result<(), String> {
        if row.len() != self.columns.len() {
            return Err(format!("expected {} cells, found {}", self.columns.len(), row.len()));
        }
        for (column, cell) in self.columns.iter().zip(row) {
            let Column { name, kind, nullable } = column;
            let expected = kind.as_str();
            match cell.kind() {
                None if *nullable => {}
                None => return Err(format!("column `{name}`: expected {expected}, found null")),
                Some(found) if found != *kind => {
                    return Err(format!("column `{name}`: expected {expected}, found {}", found.as_str()));
                }
                Some(_) => {}
            }
            if matches!(cell, TableCell::Number(number) if !number.is_finite()) {
                return Err(format!("column `{name}`: expected a finite number"));
            }
            if matches!(cell, TableCell::Timestamp(at_us) if jiff::Timestamp::from_microsecond(*at_us).is_err()) {
                return Err(format!("column `{name}`: expected a timestamp between the years -9999 and 9999"));
            }
        }
        Ok(())
    }
}

/// The format of the outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    #[default]
    Parquet,
    Jsonl,
}

impl OutputFormat {
    /// The name in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            OutputFormat::Parquet => "parquet",
            OutputFormat::Jsonl => "jsonl",
        }
    }

    /// The file extension, without the dot.
    pub fn extension(self) -> &'static str {
        self.as_str()
    }
}

impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<OutputFormat, String> {
        match text {
            "parquet" => Ok(OutputFormat::Parquet),
            "jsonl" => Ok(OutputFormat::Jsonl),
            other => Err(format!("expected `parquet` or `jsonl`, found `{other}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_does_not_match_names_its_column_and_not_its_value() {
        let column = |name: &str, kind, nullable| Column { name: name.into(), kind, nullable };
        let schema = Schema { columns: vec![column("id", Kind::Text, false), column("n", Kind::Number, true)] };
        let fault = |row: &[TableCell]| schema.admit(row).unwrap_err();
        assert!(schema.admit(&[TableCell::text("x"), TableCell::Null]).is_ok());
        assert_eq!(fault(&[TableCell::Null, TableCell::Null]), "column `id`: expected text, found null");
        assert_eq!(fault(&[TableCell::text("x"), TableCell::text("Jo")]), "column `n`: expected number, found text");
        assert_eq!(fault(&[TableCell::text("x")]), "expected 2 cells, found 1");
        assert_eq!(fault(&[TableCell::text("x"), TableCell::Number(f64::NAN)]), "column `n`: expected a finite number");
        assert_eq!(format!("{:?}", [TableCell::text("Thandi"), TableCell::Null]), "[[redacted], null]");
    }
}
