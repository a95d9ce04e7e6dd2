//! What was purged from a ledger: who did it, when and why, but not whose data it was.

use super::{LedgerError, amount::Amounts};
use crate::model::clock::{local_time, utc};
use rusqlite::Connection;
use serde::Serialize;
use std::path::Path;

/// Who purges, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PurgeStamp {
    #[serde(rename = "purged_by")]
    pub by: String,
    pub reason: Option<String>,
    #[serde(rename = "purged_at", serialize_with = "utc::serialize")]
    pub at_us: i64,
}

/// A purge that was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PurgeRow {
    /// `everything` or `subjects`.
    pub scope: String,
    pub rows: u64,
    pub asks: u64,
    pub requests: u64,
    #[serde(flatten)]
    pub stamp: PurgeStamp,
    /// `None` if it was interrupted. Running it again finishes it.
    #[serde(rename = "finished_at", serialize_with = "utc::optional")]
    pub finished_at_us: Option<i64>,
}

/// The purges of a ledger.
pub(super) fn purges(conn: &Connection) -> Result<Vec<PurgeRow>, LedgerError> {
    let sql = "SELECT scope, rows, asks, requests, purged_by, reason, purged_at, finished_at FROM purge ORDER BY id LIMIT 10000";
    let mut select = conn.prepare(sql)?;
    let found = select.query_map([], |row| {
        Ok(PurgeRow {
            scope: row.get(0)?,
            rows: row.amount(1)?,
            asks: row.amount(2)?,
            requests: row.amount(3)?,
            stamp: PurgeStamp { by: row.get(4)?, reason: row.get(5)?, at_us: row.get(6)? },
            finished_at_us: row.get(7)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Refuses a ledger of which something was purged.
pub(super) fn refuse_purged(conn: &Connection, path: &Path) -> Result<(), LedgerError> {
    let Some(last) = purges(conn)?.pop() else { return Ok(()) };
    let path = path.to_owned();
    Err(match last.finished_at_us {
        Some(_) => LedgerError::Purged { path, by: last.stamp.by, at: local_time(last.stamp.at_us) },
        None => LedgerError::PurgeUnfinished { path },
    })
}
