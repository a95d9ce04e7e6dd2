//! Rows as CSV (RFC 4180, UTF-8, a header first): nulls are empty, and text that a spreadsheet program would take for a
//! formula gets an apostrophe. Numbers and dates are written as they are.

use super::{BYTE_ORDER_MARK, Schema, TableCell, harmless};
use csv::{Terminator, Writer, WriterBuilder};
use std::io::{self, Write};

/// A writer of rows as CSV.
pub(super) struct CsvRows<W: Write> {
    out: Writer<W>,
    cell: Vec<u8>,
}

impl<W: Write> CsvRows<W> {
    pub(super) fn new(mut out: W, schema: &Schema, for_excel: bool) -> io::Result<CsvRows<W>> {
        if for_excel {
            out.write_all(BYTE_ORDER_MARK)?;
        }
        let mut out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
        for column in &schema.columns {
            out.write_field(harmless(&column.name).as_bytes())?;
        }
        out.write_record(None::<&[u8]>)?;
        Ok(CsvRows { out, cell: Vec::new() })
    }

    /// Adds a row that matches the schema.
    pub(super) fn write(&mut self, row: &[TableCell]) -> io::Result<()> {
        for cell in row {
            self.cell.clear();
            match cell {
                TableCell::Null => {}
                TableCell::Text(text) | TableCell::Json(text) => self.cell.extend_from_slice(harmless(text).as_bytes()),
                TableCell::Integer(number) => write!(self.cell, "{number}")?,
                TableCell::Number(number) => serde_json::to_writer(&mut self.cell, number)?,
                TableCell::Boolean(truth) => write!(self.cell, "{truth}")?,
                TableCell::Date(day) => write!(self.cell, "{day}")?,
                TableCell::Timestamp(at_us) => {
                    let at = jiff::Timestamp::from_microsecond(*at_us).map_err(io::Error::other)?;
                    write!(self.cell, "{at:.6}")?;
                }
            }
            self.out.write_field(&self.cell)?;
        }
        Ok(self.out.write_record(None::<&[u8]>)?)
    }

    /// Returns the underlying writer.
    pub(super) fn finish(self) -> io::Result<W> {
        self.out.into_inner().map_err(|error| io::Error::new(error.error().kind(), error.error().to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::table::{Column, Kind},
        *,
    };

    #[test]
    fn text_is_neutral_and_numbers_and_dates_are_as_they_are() {
        let kinds = [Kind::Text, Kind::Integer, Kind::Number, Kind::Boolean, Kind::Date, Kind::Timestamp];
        let column = |(at, kind): (usize, Kind)| Column {
            name: ["=a", "b", "c", "d", "e", "f"][at].into(),
            kind,
            nullable: true,
        };
        let schema = Schema { columns: kinds.into_iter().enumerate().map(column).collect() };
        let mut rows = CsvRows::new(Vec::new(), &schema, false).unwrap();
        for text in ["=1+1", "+1", "-1+1", "@x", "\tx", "\rx", "a,\"b\"\nc", "0001015009087"] {
            let mut cells = vec![TableCell::text(text)];
            cells.extend(std::iter::repeat_n(TableCell::Null, 5));
            rows.write(&cells).unwrap();
        }
        let day = TableCell::Date(jiff::civil::date(2026, 11, 3));
        let at = TableCell::Timestamp(1_793_700_000_000_001);
        let numbers = [TableCell::Integer(-5), TableCell::Number(-0.5), TableCell::Boolean(true)];
        rows.write(&[&[TableCell::Null][..], &numbers, &[day, at]].concat()).unwrap();
        assert_eq!(
            String::from_utf8(rows.finish().unwrap()).unwrap(),
            "'=a,b,c,d,e,f\r\n'=1+1,,,,,\r\n'+1,,,,,\r\n'-1+1,,,,,\r\n'@x,,,,,\r\n'\tx,,,,,\r\n\"'\rx\",,,,,\r\n\
             \"a,\"\"b\"\"\nc\",,,,,\r\n0001015009087,,,,,\r\n,-5,-0.5,true,2026-11-03,2026-11-03T10:00:00.000001Z\r\n"
        );
    }
}
