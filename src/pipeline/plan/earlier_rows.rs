//! The rows that earlier runs have read. Their asks keep the requests of the mapping they were read with. Only asks that
//! could not be mapped are mapped again, as a run does.

use crate::{
    error::Error,
    ledger::{Reading, SourceView},
    model::Position,
    pipeline::campaign::Campaign,
};
use std::collections::BTreeMap;

/// The rows that earlier runs have read, by input.
#[derive(Default)]
pub struct EarlierRows(BTreeMap<String, Earlier>);

/// The rows of one input.
struct Earlier {
    /// The first row that no run has read.
    next_row_number: u64,
    /// The rows that could not be mapped, by the index of the check in the campaign.
    unmapped: BTreeMap<usize, RowSet>,
}

/// Row numbers, as one bit each of the word of 64 rows. Memory grows with the rows in the set only.
#[derive(Default)]
struct RowSet(BTreeMap<u64, u64>);

impl RowSet {
    fn insert(&mut self, row_number: u64) {
        *self.0.entry(row_number / 64).or_default() |= 1 << (row_number % 64);
    }

    fn contains(&self, row_number: u64) -> bool {
        self.0.get(&(row_number / 64)).is_some_and(|bits| bits >> (row_number % 64) & 1 == 1)
    }
}

impl EarlierRows {
    /// `sources` are those of the ledger, in the order of the campaign's inputs. An input may have been moved since.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn new(campaign: &Campaign, reading: &Reading, sources: &[SourceView]) -> Result<EarlierRows, Error> {
        let (mut earlier, mut names) = (BTreeMap::new(), BTreeMap::new());
        for (input, source) in campaign.inputs.iter().zip(sources) {
            if let Some(end) = source.ends.last() {
                names.insert(source.id, input.name.clone());
                let rows = Earlier { next_row_number: end.next_row_number, unmapped: BTreeMap::new() };
                earlier.insert(input.name.clone(), rows);
            }
        }
        if reading.sums()?.unmapped > 0 {
            let uses = reading.check_uses()?;
            let index = |check_use| campaign.uses.iter().position(|one| one.name() == uses[check_use].name);
            let indices: BTreeMap<i64, usize> = uses.keys().filter_map(|id| Some((*id, index(id)?))).collect();
            reading.unmapped_rows(|source, check_use, row_number| {
                let rows = names.get(&source).and_then(|name| earlier.get_mut(name));
                if let (Some(rows), Some(at)) = (rows, indices.get(&check_use)) {
                    rows.unmapped.entry(*at).or_default().insert(row_number);
                }
            })?;
        }
        Ok(EarlierRows(earlier))
    }

    /// Whether an earlier run has read this row and could map this check on it.
    pub fn keep(&self, position: &Position, check_index: usize) -> bool {
        self.0.get(&*position.source).is_some_and(|earlier| {
            let unmapped = earlier.unmapped.get(&check_index);
            position.row_number < earlier.next_row_number
                && !unmapped.is_some_and(|rows| rows.contains(position.row_number))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_rows_has_those_that_were_inserted() {
        let inserted = [1, 63, 64, 65, 1_000_000, u64::MAX];
        let mut rows = RowSet::default();
        inserted.iter().for_each(|row| rows.insert(*row));
        assert!(inserted.iter().all(|row| rows.contains(*row)));
        assert!([0, 2, 62, 66, 128, 999_999, u64::MAX - 1].iter().all(|row| !rows.contains(*row)));
    }
}
