//! Rows as JSON lines: every column in its order, null where there is nothing, so that a reader needs no schema to know
//! the columns.

use super::{Cell, Schema};
use std::io::{self, Write};

/// Rows as JSON lines, into a file or wherever else they go.
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

    /// Adds a row that fits the schema.
    pub fn write(&mut self, row: &[Cell]) -> io::Result<()> {
        self.line.clear();
        for (name, cell) in self.names.iter().zip(row) {
            self.line.extend_from_slice(name.as_bytes());
            write_cell(&mut self.line, cell)?;
        }
        self.line.extend_from_slice(b"}\n");
        self.out.write_all(&self.line)
    }

    /// Gives back what the rows went to.
    pub fn finish(self) -> W {
        self.out
    }
}

fn write_cell(line: &mut Vec<u8>, cell: &Cell) -> io::Result<()> {
    match cell {
        Cell::Null => write!(line, "null"),
        Cell::Text(text) => Ok(serde_json::to_writer(line, text)?),
        Cell::Integer(number) => write!(line, "{number}"),
        Cell::Number(number) => Ok(serde_json::to_writer(line, number)?),
        Cell::Boolean(truth) => write!(line, "{truth}"),
        Cell::Date(day) => write!(line, "\"{day}\""),
        Cell::Timestamp(at_us) => {
            let at = jiff::Timestamp::from_microsecond(*at_us).map_err(io::Error::other)?;
            write!(line, "\"{at:.6}\"")
        }
    }
}
