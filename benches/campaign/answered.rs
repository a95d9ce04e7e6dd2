//! Reads first attempts from a ledger. Only this module knows the ledger's tables.

use rescreen::ledger::{Reading, Sums};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// When the first and the last request that was first sent since `since_us` were armed, in microseconds since 1970.
pub fn first_and_last_attempt(ledger: &Path, since_us: i64) -> Option<(i64, i64)> {
    let conn = Connection::open_with_flags(ledger, OpenFlags::SQLITE_OPEN_READ_WRITE).ok()?;
    let sql = "SELECT min(first_armed_at), max(first_armed_at) FROM request WHERE first_armed_at >= ?1";
    conn.query_row(sql, [since_us], |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?)))
        .ok()
        .and_then(|(first, last)| first.zip(last))
}

/// The ledger's sums; all zero if there is no ledger yet.
pub fn sums(ledger: &Path) -> Sums {
    Reading::open(ledger).ok().and_then(|reading| reading.sums().ok()).unwrap_or_default()
}
