//! What changed since an earlier round, from what both rounds have published. Of each kind, the positions of the first
//! rows are kept; subjects are compared, but not kept.

use crate::{
    error::Error,
    pipeline::compare::{Change, CompareOptions, ComparedAsk, Comparison, compare},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// The number of rows of each kind whose positions are kept.
pub const PLACES_MAX: usize = 12;

/// The input file of a row, and its number.
pub type Place = (String, u64);

/// What changed since an earlier round.
pub struct Changes {
    pub comparison: Comparison,
    /// The first changed rows by check and kind, in input order: those of the new round, and of the old round if they are
    /// only there.
    pub first: BTreeMap<(String, Change), BTreeSet<Place>>,
}

/// Compares two published folders.
///
/// # Errors
/// One of them cannot be read, or they cannot be compared.
pub fn changes(old: &Path, new: &Path) -> Result<Changes, Error> {
    let mut first = BTreeMap::new();
    let comparison = compare(old, new, &CompareOptions::default(), &mut |ask| {
        keep(&mut first, ask);
        Ok(())
    })?;
    Ok(Changes { comparison, first })
}

fn keep(first: &mut BTreeMap<(String, Change), BTreeSet<Place>>, ask: &ComparedAsk<'_>) {
    let Some(row) = ask.new.or(ask.old).filter(|_| ask.change.is_change()) else { return };
    let places = first.entry((ask.check.to_owned(), ask.change)).or_default();
    let is_full = places.len() >= PLACES_MAX;
    if is_full
        && places.last().is_some_and(|(source, number)| (source.as_str(), *number) <= (row.source, row.row_number))
    {
        return;
    }
    places.insert((row.source.to_owned(), row.row_number));
    if places.len() > PLACES_MAX {
        places.pop_last();
    }
}

/// What a kind of change means.
pub fn explained(change: Change) -> &'static str {
    match change {
        Change::NewMatch => "the verdict became review or adverse; it was clear or not found",
        Change::Cleared => "the verdict became clear or not found; it was review or adverse",
        Change::VerdictChanged => "another verdict, and neither of the above",
        Change::FindingChanged => "the same verdict, for another reason",
        Change::AnswerChanged => "the same verdict and finding, and the answer differs",
        Change::FailedNow => "a result before, and a failure now",
        Change::FailedBefore => "a failure before, and a result now",
        Change::Joined => "only in the new round",
        Change::Left => "only in the old round",
        Change::NotAnswered => "pending or skipped in at least one round, or failed in both",
        Change::Unchanged => "nothing differs",
    }
}
