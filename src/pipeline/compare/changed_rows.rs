//! The rows of the new round that changed, by their ids: for an export of these rows only.

use super::{
    change::{Change, Outcome},
    comparison::{CompareOptions, compare},
    round::digest_of,
};
use crate::error::Error;
use std::{collections::HashMap, path::Path};

/// How a row changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedRow {
    pub change: Change,
    /// How it ended in the earlier round; `None` if it joined.
    pub before: Option<Outcome>,
}

/// The rows of a round that changed since another one. A row takes 20 to 40 bytes.
#[derive(Debug, Default)]
pub struct ChangedRows {
    rows: HashMap<[u8; 16], ChangedRow>,
    /// Asks of the old round that the new one does not have, so that no row shows them.
    pub left: u64,
}

impl ChangedRows {
    /// How the row with this `result_id` changed; `None` if it did not.
    pub fn get(&self, result_id: &str) -> Option<ChangedRow> {
        self.rows.get(&digest_of(result_id)?).copied()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The rows of `new` that changed since `old`: the same rows that `rescreen diff` names. A row that joined is one of
/// them; one that was not answered in a round is not.
///
/// # Errors
/// Those of [`compare`].
pub fn changed_rows(old: &Path, new: &Path, options: &CompareOptions) -> Result<ChangedRows, Error> {
    let mut changed = ChangedRows::default();
    compare(old, new, options, &mut |ask| {
        match &ask.new {
            Some(new) if ask.change.is_change() => {
                let before = ask.old.map(|old| old.outcome);
                changed.rows.insert(new.result_id, ChangedRow { change: ask.change, before });
            }
            None => changed.left += 1,
            Some(_) => {}
        }
        Ok(())
    })?;
    Ok(changed)
}
