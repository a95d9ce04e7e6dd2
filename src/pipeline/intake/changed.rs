//! An input that is not the one that was read. This module decides what a run does about it: where nothing was ever sent,
//! no row was paid for, and the input is read afresh; anything else is refused, because rows that were sent must not
//! change. For the refusal it finds the first row that changed.

use crate::{
    error::Error,
    ledger::{Reading, SourceView},
    model::Record,
    pipeline::campaign::Campaign,
    source::{KnownSource, Origin, SourceError, SourceReader, Split},
};
use serde_json::Value;

/// What a run does about a changed input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayOn {
    /// Everything that was read is set aside, and the input is read from its start.
    ReadAfresh,
    Refuse,
}

/// Decides about an error of opening the inputs. `is_unsent` says that the ledger has recorded no attempt, answer, job,
/// upload, charge, decision or correction.
pub fn way_on(error: &Error, campaign: &Campaign, is_unsent: bool) -> WayOn {
    let is_change = matches!(error, Error::Source(SourceError::Changed { .. } | SourceError::Truncated { .. }));
    // An older copy does not know everything that was sent, and a pipe cannot be read from its start again.
    let may_be_read = !campaign.accept_older_ledger && campaign.reads_only_files();
    if is_change && is_unsent && may_be_read { WayOn::ReadAfresh } else { WayOn::Refuse }
}

/// The same error with the number of the first row that changed, if it can be found.
pub fn with_first_row(mut error: Error, campaign: &Campaign, reading: &Reading, known: &[SourceView]) -> Error {
    let (name, first, place) = match &mut error {
        Error::Source(SourceError::Changed { source_name, first_changed_rows, first_changed_row, .. }) => {
            (source_name.to_string(), *first_changed_rows.start(), first_changed_row)
        }
        Error::Source(SourceError::Truncated { source_name, first_row, first_changed_row, .. }) => {
            (source_name.to_string(), *first_row, first_changed_row)
        }
        _ => return error,
    };
    *place = first_row(campaign, reading, known, &name, first);
    error
}

/// The number of the first row that differs from what was read, from the row `first` on.
fn first_row(campaign: &Campaign, reading: &Reading, known: &[SourceView], name: &str, first: u64) -> Option<u64> {
    let at = campaign.inputs.iter().position(|input| input.name == name)?;
    let (input, source) = (campaign.inputs.get(at)?, known.get(at)?);
    let mut before: KnownSource = super::remembered(source).ok()??;
    before.checkpoints.retain(|checkpoint| checkpoint.next_row_number <= first);
    // A pipe cannot be read again.
    let origin = Origin::File(input.path.clone()?);
    let known = (!before.checkpoints.is_empty()).then_some(&before);
    let mut reader = SourceReader::open(name.into(), origin, &campaign.source_options, known).ok()?;
    let was = reading.rows_of_split(source.id, first).ok()?;
    let mut now: Vec<Value> = Vec::new();
    while now.len() < was.len()
        && let Some(Split { records, .. }) = reader.next_split().ok()?
    {
        now.extend(records.into_iter().map(|record| match record {
            Record::Row(row) => row.to_json().into(),
            Record::Damaged { input, .. } => input,
        }));
    }
    let same = was.iter().zip(&now).take_while(|(was, now)| was.input == **now).count();
    was.get(same).map(|row| row.row_number)
}
