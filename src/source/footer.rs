//! Holds back the last records of an input, which the user does not want to read. A record leaves the window when so many
//! others follow it, with the checkpoint that ends it: what is held back counts as not read.

use super::SourceError;
use crate::model::{Checkpoint, Record};
use std::{collections::VecDeque, sync::Arc};

/// Maximum bytes of the input that the window spans.
const FOOTER_BYTES_MAX: u64 = 64 << 20;

/// The window at the end of an input.
#[derive(Default)]
pub(super) struct Footer {
    rows: usize,
    held: VecDeque<(Record, Checkpoint)>,
    /// The end of the last record that left the window.
    end: Option<Checkpoint>,
}

impl Footer {
    pub(super) fn new(rows: usize) -> Footer {
        Footer { rows, ..Footer::default() }
    }

    /// Whether every record leaves at once.
    pub(super) fn is_off(&self) -> bool {
        self.rows == 0
    }

    /// The number of records in the window.
    pub(super) fn held(&self) -> u64 {
        self.held.len() as u64
    }

    /// The record that leaves the window because another one enters it.
    ///
    /// # Errors
    /// The records in the window are too large.
    pub(super) fn pass(
        &mut self,
        source_name: &Arc<str>,
        record: Record,
        end: Checkpoint,
    ) -> Result<Option<Record>, SourceError> {
        let first_end = self.held.front().map_or(end.end_offset, |(_, first)| first.end_offset);
        if end.end_offset - first_end > FOOTER_BYTES_MAX {
            return Err(SourceError::FooterTooLarge { source_name: source_name.clone(), rows: self.rows });
        }
        self.held.push_back((record, end));
        if self.held.len() <= self.rows {
            return Ok(None);
        }
        let leaving = self.held.pop_front();
        Ok(leaving.map(|(record, end)| {
            self.end = Some(end);
            record
        }))
    }

    /// The end of the last record that left; `None` if none did since the last call.
    pub(super) fn take_end(&mut self) -> Option<Checkpoint> {
        self.end.take()
    }
}
