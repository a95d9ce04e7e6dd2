//! The attempts of requests as they are recorded. The row of a first attempt is made when it ends: until then, the request
//! itself says everything about it.

use super::{LedgerError, request_row::RequestRow, store::Store};
use crate::model::state::Outcome;
use rusqlite::{Connection, params};

/// Every attempt, as `request`, `armed_at` and `outcome`: those with a row, and first attempts that are in flight. A
/// subquery for `FROM`.
pub(super) const EVERY_ATTEMPT: &str = "(SELECT request, armed_at, outcome FROM attempt
    UNION ALL SELECT id, first_armed_at, NULL FROM request
    WHERE state = 1 AND attempts = 1 AND generation = 0 AND first_armed_at IS NOT NULL)";

/// Whether this attempt has no row while it is in flight.
fn has_no_row(row: &RequestRow, number: u32) -> bool {
    number == 1 && row.standing.generation == 0
}

/// Records an attempt that begins now.
pub(super) fn begun(store: &Store, row: &RequestRow, number: u32, now_us: i64) -> Result<(), LedgerError> {
    if has_no_row(row, number) {
        return Ok(());
    }
    let sql = "INSERT INTO attempt (request, number, generation, armed_at) VALUES (?1, ?2, ?3, ?4)";
    store.conn.prepare_cached(sql)?.execute(params![row.id, number, row.standing.generation, now_us])?;
    Ok(())
}

/// How an attempt ended. `latency_ms` is `None` if the outcome is unknown.
pub(super) struct AttemptEnd {
    pub(super) outcome: Outcome,
    pub(super) http_status: Option<u16>,
    pub(super) latency_ms: Option<u64>,
    /// The reply states a charge above zero, or one that cannot be read.
    pub(super) states_charge: bool,
}

/// What the recorded outcome of an attempt whose reply stated a charge ends with.
const STATED: &str = "+charge";

/// Records how an attempt ended.
pub(super) fn ended(store: &Store, row: &RequestRow, number: u32, end: &AttemptEnd) -> Result<(), LedgerError> {
    let outcome = format!("{}{}", end.outcome.as_str(), if end.states_charge { STATED } else { "" });
    let latency_ms = end.latency_ms.map(|latency| latency as i64);
    let http_status = end.http_status;
    if has_no_row(row, number) {
        let sql = "INSERT INTO attempt (request, number, generation, armed_at, outcome, http_status, latency_ms)
                   VALUES (?1, 1, 0, ?2, ?3, ?4, ?5)";
        let armed_at = row.first_armed_at.unwrap_or_default();
        store.conn.prepare_cached(sql)?.execute(params![row.id, armed_at, outcome, http_status, latency_ms])?;
    } else {
        let sql =
            "UPDATE attempt SET outcome = ?3, http_status = ?4, latency_ms = ?5 WHERE request = ?1 AND number = ?2";
        store.conn.prepare_cached(sql)?.execute(params![row.id, number, outcome, http_status, latency_ms])?;
    }
    Ok(())
}

/// Whether an earlier reply under the current key stated a charge.
pub(super) fn stated_charge(conn: &Connection, request: i64, generation: u32) -> Result<bool, LedgerError> {
    let sql = "SELECT 1 FROM attempt WHERE request = ?1 AND generation = ?2 AND substr(outcome, -length(?3)) = ?3";
    Ok(conn.prepare_cached(sql)?.exists(params![request, generation, STATED])?)
}

/// Records an attempt that another ledger made, with what later decisions need of all its attempts: whether one stated a charge,
/// and whether none met a route.
pub(super) fn of_another(
    store: &Store,
    row: &RequestRow,
    (number, generation): (u32, u32),
    (met_no_route, stated_charge): (bool, bool),
    armed_at: i64,
) -> Result<(), LedgerError> {
    let met = if met_no_route { Outcome::Misrouted } else { Outcome::Unknown };
    let outcome = format!("{}{}", met.as_str(), if stated_charge { STATED } else { "" });
    let sql =
        "INSERT OR REPLACE INTO attempt (request, number, generation, armed_at, outcome) VALUES (?1, ?2, ?3, ?4, ?5)";
    store.conn.prepare_cached(sql)?.execute(params![row.id, number, generation, armed_at, outcome])?;
    Ok(())
}

/// Resets the start of the key's lifetime. If nothing was written, the service never saw the key, so its lifetime has
/// not started. After a refusal it may have: we do not know which refusals the service caches.
pub(super) fn forget_arming(store: &Store, row: &RequestRow, number: u32) -> Result<(), LedgerError> {
    let sql = "UPDATE request SET first_armed_at = NULL, first_armed_at_server = NULL WHERE id = ?1
               AND first_armed_at = (SELECT armed_at FROM attempt WHERE request = ?1 AND number = ?2)";
    store.conn.prepare_cached(sql)?.execute(params![row.id, number])?;
    Ok(())
}
