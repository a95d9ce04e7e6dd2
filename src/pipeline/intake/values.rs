//! How often the id and each field have a value, and how many different values they have. Digests of the values are
//! kept, never the values.

use super::distinct::{Digest, Digests, Distinct};
use crate::{error::Error, pipeline::wording::counted};

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

    /// What is wrong with the column `id`, of which these are the counts; `None` if it identifies each row.
    pub fn of_id(&self, id: &str) -> Option<String> {
        let mut parts = Vec::new();
        if self.repeated() > 0 {
            parts.push(format!("{} the id of another row", counted(self.repeated(), "row has", "rows have")));
        }
        if self.empty > 0 {
            parts.push(format!("{} no id", counted(self.empty, "row has", "rows have")));
        }
        (!parts.is_empty()).then(|| format!("`{id}` does not identify each row: {}", parts.join(", ")))
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

    /// Adds the id of a row.
    pub fn add_id(&mut self, id: Option<&str>, digests: &Digests) {
        self.add(id.map(|id| digests.of("", id.as_bytes())));
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
