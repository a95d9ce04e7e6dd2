//! Compares a source with what was read of it before. An unchanged or appended input is accepted, even if the last line
//! had no newline and was completed since: that row was ingested as it was. Any other change is an error that names the
//! rows, because rows are paid for and must not be ingested twice.

use super::{
    SourceError,
    bytes::cursor::{ByteCursor, Filled},
    completed_line::Rest,
    detect::Format,
};
use crate::model::Checkpoint;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the ledger records of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownSource {
    pub format: Format,
    /// CSV only.
    pub delimiter: Option<u8>,
    /// CSV only.
    pub header: Option<Vec<String>>,
    /// One for each split that was ingested, in order.
    pub checkpoints: Vec<Checkpoint>,
}

/// The result of comparing the known part of a source.
pub(super) struct Verified {
    pub(super) next_row_number: u64,
    /// The last known row, if its line was completed since.
    pub(super) completed_row: Option<u64>,
}

/// Reads the known part of the source and compares every checkpoint.
pub(super) fn verify(
    input: &mut ByteCursor,
    source_name: &Arc<str>,
    known: &KnownSource,
    from_stream: bool,
) -> Result<Verified, SourceError> {
    let last = known.checkpoints.last().expect("a source without checkpoints is opened as new");
    let rows_known = last.next_row_number.saturating_sub(1);
    if from_stream && input.fill(None)? == Filled::Ended {
        return Err(SourceError::NothingOnStdin { source_name: source_name.clone(), rows_known });
    }
    let changed = |first, next_row_number: u64| SourceError::Changed {
        source_name: source_name.clone(),
        rows_known,
        first_changed_rows: first..=next_row_number.saturating_sub(1),
        first_changed_row: None,
    };
    let mut first_row = 1;
    let mut rest = Rest::new(known.format, known.delimiter);
    for checkpoint in &known.checkpoints {
        let is_last = std::ptr::eq(checkpoint, last);
        while input.offset() < checkpoint.end_offset {
            if input.fill(None)? != Filled::Bytes {
                return Err(SourceError::Truncated {
                    source_name: source_name.clone(),
                    rows_known,
                    bytes_known: last.end_offset,
                    bytes_found: input.offset(),
                    first_row,
                    first_changed_row: None,
                });
            }
            let left = checkpoint.end_offset - input.offset();
            let count = input.available().len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if is_last {
                rest.follow(&input.available()[..count]);
            }
            input.consume(count);
        }
        input.line = checkpoint.end_line;
        input.set_boundary();
        if input.checkpoint(checkpoint.next_row_number) != *checkpoint {
            return Err(changed(first_row, checkpoint.next_row_number));
        }
        first_row = checkpoint.next_row_number;
    }
    // If the last known row ended with the input and not with a newline, the rest of its line belongs to it.
    let line_ended = match known.format {
        Format::Csv => matches!(input.last(), None | Some(b'\n' | b'\r')),
        Format::Jsonl => matches!(input.last(), None | Some(b'\n')),
    };
    let grew = !line_ended && input.fill(None)? == Filled::Bytes && rest.skip(source_name, input)?;
    Ok(Verified { next_row_number: last.next_row_number, completed_row: grew.then_some(rows_known) })
}
