//! The checks of a campaign as the ledger records them.

use super::LedgerError;
use crate::catalogue::is_identifier;
use rusqlite::Connection;
use std::collections::BTreeMap;

/// A check of the campaign as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckUseRow {
    pub name: String,
    /// The catalogue's name.
    pub check: String,
    /// The shape of its results, JSON.
    pub layout: String,
}

/// The checks of the campaign by number.
pub(super) fn check_use_rows(conn: &Connection) -> Result<BTreeMap<i64, CheckUseRow>, LedgerError> {
    let mut select = conn.prepare("SELECT id, name, check_name, layout FROM check_use")?;
    let uses = select.query_map([], |row| {
        Ok((row.get(0)?, CheckUseRow { name: row.get(1)?, check: row.get(2)?, layout: row.get(3)? }))
    })?;
    let uses: BTreeMap<i64, CheckUseRow> = uses.collect::<Result<_, _>>()?;
    // A name is a folder's name, too.
    if uses.values().all(|one| is_identifier(&one.name, '-').is_ok()) {
        Ok(uses)
    } else {
        Err(LedgerError::Damaged("a check has a name that no check can have".to_owned()))
    }
}
