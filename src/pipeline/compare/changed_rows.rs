//! The rows of the new round that changed, as a set of their ids: for an export of these rows only.

use super::{
    comparison::{CompareOptions, compare},
    round::digest_of,
};
use crate::error::Error;
use std::{collections::HashSet, path::Path};

/// The rows of a round that changed since another one. A row takes 17 to 34 bytes.
#[derive(Debug, Default)]
pub struct ChangedRows {
    result_ids: HashSet<[u8; 16]>,
    /// Asks of the old round that the new one does not have, so that no row shows them.
    pub left: u64,
}

impl ChangedRows {
    /// Whether the row with this `result_id` changed.
    pub fn contains(&self, result_id: &str) -> bool {
        digest_of(result_id).is_some_and(|id| self.result_ids.contains(&id))
    }

    pub fn len(&self) -> usize {
        self.result_ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.result_ids.is_empty()
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
                changed.result_ids.insert(new.result_id);
            }
            None => changed.left += 1,
            Some(_) => {}
        }
        Ok(())
    })?;
    Ok(changed)
}
