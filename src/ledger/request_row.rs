//! The columns of a request that its state transitions read and write.

use super::amount::Amounts;
use crate::model::{
    IdempotencyKey, RequestId,
    state::{Standing, State},
};
use rusqlite::Row;

/// The columns of [`RequestRow`].
pub(super) const COLUMNS: &str =
    "state, unproven, generation, cached_refusals, held, price, possibly_charged, first_key, key, attempts,
    first_armed_at, first_armed_at_server, scope, path, refusals_in_row, unclear, not_before, last_attempt,
    (SELECT check_use FROM ask WHERE ask.id = first_ask)";
/// The number of these columns.
pub(super) const COLUMN_COUNT: usize = 19;

/// The columns of a request that state transitions need.
pub(super) struct RequestRow {
    pub(super) id: i64,
    pub(super) standing: Standing,
    pub(super) first_key: IdempotencyKey,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) attempts: u32,
    pub(super) refusals_in_row: u32,
    pub(super) first_armed_at: Option<i64>,
    pub(super) first_armed_at_server: Option<i64>,
    pub(super) not_before: Option<i64>,
    pub(super) scope: Option<String>,
    pub(super) path: Option<String>,
    /// The number of its last attempt among all of the ledger. While it is armed, that of the attempt before.
    pub(super) last_attempt: i64,
    /// The check in the campaign of its first ask, which its charge counts for.
    pub(super) first_check: Option<i64>,
}

impl RequestRow {
    /// Reads [`COLUMNS`].
    pub(super) fn read(request: RequestId, row: &Row<'_>) -> Result<RequestRow, rusqlite::Error> {
        let state = State::from_code(row.get(0)?).ok_or(rusqlite::Error::IntegralValueOutOfRange(0, 0))?;
        let key = |bytes: Option<Vec<u8>>| bytes.as_deref().and_then(IdempotencyKey::from_slice);
        Ok(RequestRow {
            id: request.0,
            standing: Standing {
                state,
                unproven: row.get(1)?,
                generation: row.get(2)?,
                cached_refusals: row.get(3)?,
                unclear: row.get(15)?,
                held: row.credits(4)?,
                price: row.credits(5)?,
                least: row.credits(5)?,
                possibly_charged: row.get(6)?,
            },
            first_key: key(row.get(7)?).ok_or(rusqlite::Error::InvalidQuery)?,
            key: key(row.get(8)?),
            attempts: row.get(9)?,
            first_armed_at: row.get(10)?,
            first_armed_at_server: row.get(11)?,
            scope: row.get(12)?,
            path: row.get(13)?,
            refusals_in_row: row.get(14)?,
            not_before: row.get(16)?,
            last_attempt: row.get(17)?,
            first_check: row.get(18)?,
        })
    }
}
