//! Records of CSV. A record is a row if it has as many cells as the header, is valid UTF-8 without NUL, is within the
//! limits, and leaves no quote open. Some programs end each row, or only the header, with a delimiter: one more or one
//! missing empty cell at the end is accepted. As in a workbook, a record of empty cells is not a row.
//!
//! The parser is `csv-core`, which the `csv` crate uses too, because it is driven by the caller: the consumed bytes are
//! known exactly, and a record above the limit (such as one with an open quote) is parsed to its end without being
//! kept.

use super::{
    END_MARK, RecordStep,
    content::Content,
    damaged,
    header::{self, HeaderLine},
    shapes::RowShapes,
};
use crate::{
    model::{
        Failure, FailureCode, Position, Record, Row,
        field::{tidy, visible::visible},
        row::Values,
    },
    source::{
        COLUMNS_MAX, FIELD_BYTES_MAX, ROW_BYTES_MAX, SourceError, UNENDED_BYTES_MAX,
        bytes::cursor::{ByteCursor, Filled},
    },
};
use csv_core::ReadRecordResult;
use std::{sync::Arc, time::Instant};

const OUTPUT_BYTES_MIN: usize = 64 << 10;
/// More than a row within the limit can fill.
const OUTPUT_BYTES_MAX: usize = ROW_BYTES_MAX as usize + OUTPUT_BYTES_MIN;

/// The result of parsing.
#[derive(Debug, PartialEq, Eq)]
enum Parsed {
    Cells,
    Stalled,
    Ended,
}

/// Reads records of cells.
pub struct CsvRecords {
    source_name: Arc<str>,
    content: Content,
    header: Arc<Vec<String>>,
    core: csv_core::Reader,
    /// The unquoted text of the current record, cell after cell, and the end of each cell.
    output: Vec<u8>,
    output_len: usize,
    ends: Vec<usize>,
    /// Cells of the current record; only the first ones are in `ends`.
    cells: usize,
    /// Where the current record begins (byte, line); `None` between records.
    began: Option<(u64, u64)>,
    /// Raw bytes of the last record without its line end.
    raw_bytes: u64,
    /// Raw bytes after which a record that has not ended is an error.
    bytes_max: u64,
    /// The last line ended with `\r`: a `\n` that follows belongs to it.
    after_cr: bool,
    /// The input ended inside quotes.
    quote_open: bool,
    /// The first record was already parsed to count its cells, and is a row.
    is_held: bool,
    /// The last line of the current record.
    last_line: u64,
    pub shapes: RowShapes,
}

impl CsvRecords {
    /// A reader that begins with the header, if the input has one.
    pub fn open(
        source_name: Arc<str>,
        content: Content,
        delimiter: u8,
        header: &HeaderLine,
        input: &mut ByteCursor,
    ) -> Result<CsvRecords, SourceError> {
        let named = header.columns().map(<[String]>::to_vec).unwrap_or_default();
        let mut records = CsvRecords::resume(source_name.clone(), content, delimiter, named, input);
        match header {
            HeaderLine::First => records.header = Arc::new(records.header_line(input)?),
            HeaderLine::Missing => {
                records.is_held = records.parse(input, None)? == Parsed::Cells;
                let count = if records.is_held { records.cells } else { 0 };
                records.header = Arc::new(header::numbered(&source_name, count)?);
            }
            HeaderLine::Named(_) => {}
        }
        Ok(records)
    }

    fn header_line(&mut self, input: &mut ByteCursor) -> Result<Vec<String>, SourceError> {
        let source_name = self.source_name.clone();
        let unended = |expected| SourceError::HeaderUnended { source_name: source_name.clone(), expected };
        // A header that is too long is not read to its end: without a header the rows are not usable.
        self.bytes_max = ROW_BYTES_MAX;
        let parsed = match self.parse(input, None) {
            Err(SourceError::RowUnended { .. }) => return Err(unended("a line end within 16 MiB, found none")),
            parsed => parsed?,
        };
        self.bytes_max = UNENDED_BYTES_MAX;
        if parsed != Parsed::Cells {
            return Err(SourceError::NoHeader { source_name: source_name.clone() });
        }
        if self.raw_bytes > ROW_BYTES_MAX {
            return Err(unended("at most 16 MiB"));
        }
        if self.quote_open {
            return Err(unended("its end before the end of the input"));
        }
        self.began = None;
        header::names(&source_name, self.content, self.cells, self.kept_cells())
    }

    /// A reader that continues between two records.
    pub fn resume(
        source_name: Arc<str>,
        content: Content,
        delimiter: u8,
        header: Vec<String>,
        input: &ByteCursor,
    ) -> CsvRecords {
        let mut core = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        // A new parser skips a byte order mark wherever it starts. Here the BOM is skipped at byte 0 and nowhere else.
        core.read_record(b"x\n", &mut [0; 8], &mut [0; 8]);
        CsvRecords {
            source_name,
            content,
            header: Arc::new(header),
            core,
            output: vec![0; OUTPUT_BYTES_MIN],
            output_len: 0,
            ends: vec![0; COLUMNS_MAX + 1],
            cells: 0,
            began: None,
            raw_bytes: 0,
            bytes_max: UNENDED_BYTES_MAX,
            after_cr: input.last() == Some(b'\r'),
            quote_open: false,
            is_held: false,
            last_line: 0,
            shapes: RowShapes::default(),
        }
    }

    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The next record.
    pub fn next(
        &mut self,
        input: &mut ByteCursor,
        row_number: u64,
        deadline: Option<Instant>,
    ) -> Result<RecordStep, SourceError> {
        let (byte_offset, line) = loop {
            let parsed = if std::mem::take(&mut self.is_held) { Parsed::Cells } else { self.parse(input, deadline)? };
            let began = match parsed {
                Parsed::Stalled => return Ok(RecordStep::Stalled),
                Parsed::Ended => return Ok(RecordStep::Ended),
                Parsed::Cells => self.began.take().expect("a record that ended has begun"),
            };
            if !self.is_empty() {
                break began;
            }
            self.shapes.add_empty(began.1);
        };
        if self.last_line > line {
            self.shapes.add_span(line, self.last_line);
        }
        let position = Position { source: self.source_name.clone(), row_number, line, byte_offset };
        let record = match self.values(line) {
            Ok(values) => Record::Row(Row { position, values }),
            Err(failure) => {
                let shown = self.kept_cells().map(|cell| self.content.shown(cell));
                damaged::cells(position, failure, &self.header, shown)
            }
        };
        if self.output.len() > FIELD_BYTES_MAX {
            self.output = vec![0; OUTPUT_BYTES_MIN];
        }
        Ok(RecordStep::Record(record))
    }

    /// The cells of the last record, as far as they were kept.
    fn kept_cells(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ends = self.ends.iter().take(self.cells).map(|end| (*end).min(self.output_len));
        starts.zip(ends).map(|(start, end)| &self.output[start.min(end)..end])
    }

    /// Whether the record repeats the header, perhaps after the byte order mark of a file that was joined to another.
    fn is_header_again(&self) -> bool {
        let is_name = |(cell, name): (&[u8], &String)| {
            std::str::from_utf8(cell).is_ok_and(|cell| visible(cell).text == visible(name).text)
        };
        self.kept_cells().zip(&*self.header).all(is_name)
    }

    /// Whether all cells of the record are empty or have only spaces. A record of more cells or bytes than are kept is not
    /// known to be empty.
    fn is_empty(&self) -> bool {
        let is_kept = self.cells <= self.ends.len() && self.raw_bytes <= ROW_BYTES_MAX && !self.quote_open;
        is_kept && self.kept_cells().all(is_empty_cell)
    }

    /// Whether the record has the columns of the header, with one empty cell at the end that only one of them has.
    fn fits(&self) -> bool {
        let count = self.header.len();
        self.cells == count
            || self.cells == count + 1 && self.kept_cells().last().is_some_and(is_empty_cell)
            || self.cells + 1 == count && header::ends_with_delimiter(&self.header)
    }

    /// The lines of a record that spans several.
    fn span(&self, line: u64) -> String {
        if self.last_line <= line {
            return String::new();
        }
        format!(" in lines {line} to {}, which are one row; check that no quote is missing", self.last_line)
    }

    /// The cells as values, or why the record is not a row.
    fn values(&self, line: u64) -> Result<Values, Failure> {
        let fail = |code, message: String| Err(Failure::read(code, message));
        let name = |at: usize| format!("column `{}`", tidy(&self.header[at]));
        if self.raw_bytes > ROW_BYTES_MAX {
            return fail(
                FailureCode::RowTooLarge,
                format!(
                    "expected a row of at most 16 MiB, found {} bytes; check that no quote is left open",
                    self.raw_bytes
                ),
            );
        }
        if self.quote_open {
            return fail(
                FailureCode::RaggedRow,
                "expected a closing quote, found the end of the input; everything after the open quote is in this row"
                    .to_owned(),
            );
        }
        if !self.fits() {
            return fail(
                FailureCode::RaggedRow,
                format!("expected {} columns, found {}{}", self.header.len(), self.cells, self.span(line)),
            );
        }
        if self.is_header_again() {
            return fail(
                FailureCode::InvalidValue,
                "expected a row, found the header again; files may have been joined here, and the row can be removed"
                    .to_owned(),
            );
        }
        let mut cells = csv::StringRecord::with_capacity(self.output_len, self.cells);
        for (at, cell) in self.kept_cells().take(self.header.len()).enumerate() {
            if cell.len() > FIELD_BYTES_MAX {
                let message = format!("{}: expected at most 1 MiB, found {} bytes", name(at), cell.len());
                return fail(FailureCode::FieldTooLarge, message);
            }
            let Ok(text) = std::str::from_utf8(cell) else {
                let (code, message) = self.content.failure(cell);
                return fail(code, format!("{}: {message}", name(at)));
            };
            if text.contains('\0') {
                return fail(FailureCode::NulByte, format!("{}: expected text, found a NUL byte", name(at)));
            }
            cells.push_field(text);
        }
        if cells.len() < self.header.len() {
            cells.push_field("");
        }
        Ok(Values::Flat { header: self.header.clone(), cells })
    }

    /// Parses to the end of a record. It continues with the current record if it stalled before.
    fn parse(&mut self, input: &mut ByteCursor, deadline: Option<Instant>) -> Result<Parsed, SourceError> {
        if self.began.is_none() {
            match self.skip_line_ends(input, deadline)? {
                Filled::Stalled => return Ok(Parsed::Stalled),
                Filled::Ended => return Ok(Parsed::Ended),
                Filled::Bytes => {}
            }
            match self.at_end_mark(input, deadline)? {
                Filled::Stalled => return Ok(Parsed::Stalled),
                Filled::Ended => return Ok(Parsed::Ended),
                Filled::Bytes => {}
            }
            self.began = Some((input.offset(), input.line));
            (self.output_len, self.cells) = (0, 0);
        }
        let (begin, line) = self.began.expect("set above");
        let mut surplus = [0; 64];
        loop {
            let filled = input.fill(deadline)?;
            if filled == Filled::Stalled {
                return Ok(Parsed::Stalled);
            }
            let ends = if self.cells < self.ends.len() { &mut self.ends[self.cells..] } else { &mut surplus[..] };
            let output = &mut self.output[self.output_len..];
            let (result, ended) = if filled == Filled::Ended {
                // A line end ends the record unless it is inside quotes. (The parser itself is probed, because its
                // `Clone` does not copy all of its tables.)
                let probe: &[u8] = if self.quote_open { b"" } else { b"\n" };
                let (result, taken, _, ended) = self.core.read_record(probe, output, ends);
                self.quote_open |= taken > 0 && result != ReadRecordResult::Record;
                (result, ended)
            } else {
                self.core.set_line(input.line);
                let (result, taken, put, ended) = self.core.read_record(input.available(), output, ends);
                input.consume(taken);
                // A line end inside a cell of a sheet does not start a row of the sheet.
                if !self.content.is_sheet() {
                    input.line = self.core.line();
                }
                self.output_len += put;
                (result, ended)
            };
            self.cells += ended;
            self.raw_bytes = input.offset() - begin;
            match result {
                ReadRecordResult::Record => {
                    self.end_record(input, filled);
                    return Ok(Parsed::Cells);
                }
                // Above the limit the text is parsed only to find its end, and overwrites the same buffer.
                ReadRecordResult::OutputFull if self.output.len() >= OUTPUT_BYTES_MAX => self.output_len /= 2,
                ReadRecordResult::OutputFull => self.output.resize((self.output.len() * 2).min(OUTPUT_BYTES_MAX), 0),
                ReadRecordResult::InputEmpty | ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::End => return Ok(Parsed::Ended),
            }
            if self.raw_bytes > self.bytes_max {
                return Err(SourceError::RowUnended { source_name: self.source_name.clone(), line });
            }
        }
    }

    fn end_record(&mut self, input: &mut ByteCursor, filled: Filled) {
        // A line feed that ended the record is counted already, and a carriage return is not.
        let is_counted = filled == Filled::Bytes && input.last() == Some(b'\n');
        self.last_line = input.line - u64::from(is_counted && !self.content.is_sheet());
        if filled == Filled::Bytes {
            self.raw_bytes -= 1;
            input.line += u64::from(self.content.is_sheet());
            if input.last() == Some(b'\r') {
                input.line += 1;
                self.after_cr = true;
                if input.available().first() == Some(&b'\n') {
                    input.consume(1);
                    self.after_cr = false;
                }
            }
        }
        // An empty record without a line end may still become a row, so it is read again once more is appended.
        if filled == Filled::Bytes || !self.is_empty() {
            input.set_boundary();
        }
    }

    /// `Ended` if only a Ctrl-Z follows, the end-of-file character of DOS.
    fn at_end_mark(&mut self, input: &mut ByteCursor, deadline: Option<Instant>) -> Result<Filled, SourceError> {
        while input.available() == [END_MARK] {
            match input.extend(deadline)? {
                Filled::Bytes => {}
                other => return Ok(other),
            }
        }
        Ok(Filled::Bytes)
    }

    /// Skips the rest of a line end, and empty lines.
    fn skip_line_ends(&mut self, input: &mut ByteCursor, deadline: Option<Instant>) -> Result<Filled, SourceError> {
        loop {
            let filled = input.fill(deadline)?;
            match input.available().first() {
                Some(b'\n') if self.after_cr => self.after_cr = false,
                Some(b'\n') => input.line += 1,
                Some(b'\r') => {
                    input.line += 1;
                    self.after_cr = true;
                }
                _ => {
                    self.after_cr &= filled != Filled::Bytes;
                    return Ok(filled);
                }
            }
            input.consume(1);
            input.set_boundary();
        }
    }
}

fn is_empty_cell(cell: &[u8]) -> bool {
    std::str::from_utf8(cell).is_ok_and(|cell| visible(cell).text.is_empty())
}
