//! The checks of a campaign as the ledger records them.

use super::LedgerError;
use crate::catalogue::is_identifier;
use rusqlite::Connection;
use std::collections::BTreeMap;

/// A check of the campaign as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckUseRow {
    pub name: String,
    /// The catalogue name.
    pub check: String,
    /// The layout of its results, in JSON.
    pub layout: String,
}

/// The checks of the campaign, by id.
pub(super) fn check_use_rows(conn: &Connection) -> Result<BTreeMap<i64, CheckUseRow>, LedgerError> {
    let mut select = conn.prepare("SELECT id, name, check_name, layout FROM check_use")?;
    let uses = select.query_map([], |row| {
        Ok((row.get(0)?, CheckUseRow { name: row.get(1)?, check: row.get(2)?, layout: row.get(3)? }))
    })?;
    let uses: BTreeMap<i64, CheckUseRow> = uses.collect::<Result<_, _>>()?;
    // The name is also used as a folder name.
    if uses.values().all(|one| is_identifier(&one.name, '-').is_ok()) {
        Ok(uses)
    } else {
        Err(LedgerError::Damaged("a check has an invalid name".to_owned()))
    }
}
