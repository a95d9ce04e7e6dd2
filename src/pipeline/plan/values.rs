//! How often the id and each field have a value, and how many different values they have. Digests of the values are
//! kept, never the values.

use super::distinct::{Digest, Distinct};
use crate::error::Error;

/// The counts of the id, or of one field, over the asks that may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ValueCounts {
    /// Rows with a value.
    pub filled: u64,
    /// Rows without one.
    pub empty: u64,
    /// The exact number of different values, as they are sent.
    pub distinct: u64,
}

impl ValueCounts {
    /// Rows that have the same value as an earlier row.
    pub fn repeated(&self) -> u64 {
        self.filled - self.distinct
    }
}

/// The values of one split.
#[derive(Default)]
pub struct SplitValues {
    filled: u64,
    empty: u64,
    digests: Vec<Digest>,
}

impl SplitValues {
    pub fn add(&mut self, value: Option<Digest>) {
        match value {
            Some(digest) => {
                self.filled += 1;
                self.digests.push(digest);
            }
            None => self.empty += 1,
        }
    }

    /// Adds a value that is never sent as it is, because it is refused. It is not one of the different values.
    pub fn add_unsent(&mut self) {
        self.filled += 1;
    }

    /// Removes repeated digests, so that the thread that adds all splits has less to do.
    pub fn finish(&mut self) {
        self.digests.sort_unstable();
        self.digests.dedup();
    }
}

/// The values of all splits so far.
pub struct ValueTally {
    filled: u64,
    empty: u64,
    distinct: Distinct,
}

impl Default for ValueTally {
    fn default() -> ValueTally {
        ValueTally { filled: 0, empty: 0, distinct: Distinct::of_values() }
    }
}

impl ValueTally {
    pub fn add(&mut self, split: SplitValues) -> Result<(), Error> {
        self.filled += split.filled;
        self.empty += split.empty;
        split.digests.into_iter().try_for_each(|digest| self.distinct.add(digest, 0))
    }

    pub fn end(self) -> Result<ValueCounts, Error> {
        Ok(ValueCounts { filled: self.filled, empty: self.empty, distinct: self.distinct.count()? })
    }
}
