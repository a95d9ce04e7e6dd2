//! Rows as JSON Lines: every row has all columns in order, with null for missing values, so that a reader needs no
//! schema. JSON is nested, with the digits of its numbers.

use super::{Schema, TableCell};
use std::io::{self, Write};

/// A writer of rows as JSON Lines, to a file or any other writer.
pub struct JsonlRows<W> {
    out: W,
    /// `{"first":` or `,"next":`, one for each column.
    names: Vec<String>,
    line: Vec<u8>,
}

impl<W: Write> JsonlRows<W> {
    pub fn new(out: W, schema: &Schema) -> JsonlRows<W> {
        let name = |(at, column): (usize, &super::Column)| {
            let name = serde_json::Value::from(column.name.as_str());
            format!("{}{name}:", if at == 0 { '{' } else { ',' })
        };
        JsonlRows { out, names: schema.columns.iter().enumerate().map(name).collect(), line: Vec::new() }
    }

    /// Adds a row that matches the schema.
    pub fn write(&mut self, row: &[TableCell]) -> io::Result<()> {
        self.line.clear();
        for (name, cell) in self.names.iter().zip(row) {
            self.line.extend_from_slice(name.as_bytes());
            write_cell(&mut self.line, cell)?;
        }
        self.line.extend_from_slice(b"}\n");
        self.out.write_all(&self.line)
    }

    /// Returns the underlying writer.
    pub fn finish(self) -> W {
        self.out
    }
}

fn write_cell(line: &mut Vec<u8>, cell: &TableCell) -> io::Result<()> {
    match cell {
        TableCell::Null => write!(line, "null"),
        TableCell::Text(text) => Ok(serde_json::to_writer(line, text)?),
        TableCell::Json(text) => {
            // A line end in valid JSON is between two values: inside a text it is escaped.
            line.extend(text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')));
            Ok(())
        }
        TableCell::Integer(number) => write!(line, "{number}"),
        TableCell::Number(number) => Ok(serde_json::to_writer(line, number)?),
        TableCell::Boolean(truth) => write!(line, "{truth}"),
        TableCell::Date(day) => write!(line, "\"{day}\""),
        TableCell::Timestamp(at_us) => {
            let at = jiff::Timestamp::from_microsecond(*at_us).map_err(io::Error::other)?;
            write!(line, "\"{at:.6}\"")
        }
    }
}
