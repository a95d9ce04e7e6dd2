//! Records of JSON Lines. A record ends at `\n`, whatever is on the line. Empty lines are not records; a line above the
//! limit is skipped to its end without being kept. A Ctrl-Z alone at the end of the input is not a record.

use super::{
    END_MARK, RecordStep,
    content::Content,
    damaged,
    json_object::{self, ExactRow},
};
use crate::{
    model::{Failure, FailureCode, Position, Record, Row, row::Values},
    source::{
        ROW_BYTES_MAX, SourceError, UNENDED_BYTES_MAX,
        bytes::cursor::{ByteCursor, Filled},
    },
};
use std::{sync::Arc, time::Instant};

/// Reads records of JSON.
pub struct JsonLines {
    source_name: Arc<str>,
    content: Content,
    /// The current line, truncated at the limit, and its full length in bytes.
    line: Vec<u8>,
    line_bytes: u64,
    /// The last byte read of the line, which may be beyond the limit.
    last: Option<u8>,
    /// Where the current line begins; `None` between lines.
    began: Option<u64>,
    /// The number of values in all rows so far.
    values: usize,
}

impl JsonLines {
    pub fn new(source_name: Arc<str>, content: Content) -> JsonLines {
        JsonLines { source_name, content, line: Vec::new(), line_bytes: 0, last: None, began: None, values: 0 }
    }

    /// The number of JSON values in the rows so far.
    pub fn values(&self) -> usize {
        self.values
    }

    /// The next record.
    pub fn next(
        &mut self,
        input: &mut ByteCursor,
        row_number: u64,
        deadline: Option<Instant>,
    ) -> Result<RecordStep, SourceError> {
        loop {
            let filled = input.fill(deadline)?;
            if filled == Filled::Stalled || (filled == Filled::Ended && self.began.is_none()) {
                return Ok(if filled == Filled::Stalled { RecordStep::Stalled } else { RecordStep::Ended });
            }
            if self.began.is_none() && skip_blank_lines(input) {
                continue;
            }
            let byte_offset = *self.began.get_or_insert(input.offset());
            let line = input.line;
            if filled == Filled::Bytes && !self.take(input) {
                if self.line_bytes > UNENDED_BYTES_MAX {
                    return Err(SourceError::RowUnended { source_name: self.source_name.clone(), line });
                }
                continue;
            }
            self.began = None;
            if filled == Filled::Ended && self.line == [END_MARK] {
                self.line.clear();
            }
            let record = self.record(Position { source: self.source_name.clone(), row_number, line, byte_offset });
            self.line.clear();
            self.line.shrink_to(1 << 20);
            (self.line_bytes, self.last) = (0, None);
            // Whitespace after the last line end is not a line yet: a row may be appended to it.
            if filled == Filled::Bytes || record.is_some() {
                input.set_boundary();
            }
            if let Some(record) = record {
                return Ok(RecordStep::Record(record));
            }
        }
    }

    /// Reads the available part of the line. Returns whether its end was reached.
    fn take(&mut self, input: &mut ByteCursor) -> bool {
        let available = input.available();
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        let room = (ROW_BYTES_MAX + 1).saturating_sub(self.line.len() as u64);
        self.line.extend_from_slice(&part[..part.len().min(room as usize)]);
        self.line_bytes += part.len() as u64;
        self.last = part.last().copied().or(self.last);
        let taken = part.len() + usize::from(end.is_some());
        input.consume(taken);
        input.line += u64::from(end.is_some());
        end.is_some()
    }

    /// The record on the line; `None` for an empty line.
    fn record(&mut self, position: Position) -> Option<Record> {
        if self.line.trim_ascii().is_empty() && self.line_bytes <= ROW_BYTES_MAX {
            return None;
        }
        Some(match self.row(position.line) {
            Ok(exact) => {
                self.values += exact.values;
                Record::Row(Row { position, values: Values::Nested(exact.row) })
            }
            Err(failure) => damaged::raw(position, failure, self.content.shown(self.line.trim_ascii())),
        })
    }

    fn row(&self, line_number: u64) -> Result<ExactRow, Failure> {
        // A `\r` before the `\n` is not counted.
        let bytes = self.line_bytes - u64::from(self.last == Some(b'\r'));
        if bytes > ROW_BYTES_MAX {
            let message = format!("expected a row of at most 16 MiB, found {bytes} bytes");
            return Err(Failure::read(FailureCode::RowTooLarge, message));
        }
        if let Some((code, message)) = self.content.column_failure(&self.line) {
            return Err(Failure::read(code, message));
        }
        let text = std::str::from_utf8(&self.line).map_err(|fault| {
            let (_, message) = self.content.failure(&self.line);
            let message = format!("line {line_number}, column {}: {message}", fault.valid_up_to() + 1);
            Failure::read(FailureCode::InvalidUtf8, message)
        })?;
        json_object::parse(text, line_number)
    }
}

/// Skips all available empty lines at once. Returns whether there were any.
fn skip_blank_lines(input: &mut ByteCursor) -> bool {
    let available = input.available();
    let whitespace = available.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(available.len());
    let Some(last) = available[..whitespace].iter().rposition(|byte| *byte == b'\n') else { return false };
    let lines = available[..=last].iter().filter(|byte| **byte == b'\n').count() as u64;
    input.consume(last + 1);
    input.line += lines;
    input.set_boundary();
    true
}
