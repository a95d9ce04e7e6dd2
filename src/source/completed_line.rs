//! The rest of a line whose first part was read as a row, because the input ended there and was appended to later. It
//! finds the end of that record, where the next record starts.

use super::{
    SourceError, UNENDED_BYTES_MAX,
    bytes::cursor::{ByteCursor, Filled},
    detect::Format,
};
use std::sync::Arc;

/// Parses the text of the last split, to know whether it ended inside quotes.
pub(super) struct Rest {
    /// `None` for JSON Lines, where a record ends with its line.
    csv: Option<Box<csv_core::Reader>>,
}

impl Rest {
    pub(super) fn new(format: Format, delimiter: Option<u8>) -> Rest {
        let csv = (format == Format::Csv)
            .then(|| csv_core::ReaderBuilder::new().delimiter(delimiter.unwrap_or(b',')).build())
            .map(Box::new);
        Rest { csv }
    }

    /// Parses text that was read before.
    pub(super) fn follow(&mut self, mut text: &[u8]) {
        let Some(csv) = &mut self.csv else { return };
        while !text.is_empty() {
            let (_, taken, ..) = csv.read_record(text, &mut [0; 1024], &mut [0; 64]);
            text = &text[taken..];
        }
    }

    /// Consumes the rest of the record with its line end. Returns whether there was more than the line end.
    pub(super) fn skip(mut self, source_name: &Arc<str>, input: &mut ByteCursor) -> Result<bool, SourceError> {
        let (begin, line) = (input.offset(), input.line);
        let mut grew = false;
        while input.fill(None)? == Filled::Bytes {
            let text = input.available();
            let (taken, ended) = match &mut self.csv {
                None => match text.iter().position(|byte| *byte == b'\n') {
                    Some(end) => (end + 1, true),
                    None => (text.len(), false),
                },
                Some(csv) => {
                    let (result, taken, ..) = csv.read_record(text, &mut [0; 1024], &mut [0; 64]);
                    (taken, result == csv_core::ReadRecordResult::Record)
                }
            };
            let part = &text[..taken];
            let by_return = ended && part.last() == Some(&b'\r');
            let lines = part.iter().filter(|byte| **byte == b'\n').count() as u64 + u64::from(by_return);
            let added = &part[..taken - usize::from(ended)];
            // Whitespace around a JSON object has no meaning.
            grew |= if self.csv.is_some() { !added.is_empty() } else { !added.trim_ascii().is_empty() };
            input.line += lines;
            input.consume(taken);
            if ended {
                break;
            }
            if input.offset() - begin > UNENDED_BYTES_MAX {
                return Err(SourceError::RowUnended { source_name: source_name.clone(), line });
            }
        }
        input.set_boundary();
        Ok(grew)
    }
}
