//! What became of the asks of a request, counted for their checks in the transaction that ends or reopens the request.

use super::{LedgerError, check_sums::AskEnd, reading::failure_of, store::Store};
use crate::model::{Credits, RequestId, Verdict};
use rusqlite::Connection;

/// Counts that the asks of a request have ended otherwise than before.
pub(super) fn asks_ended(store: &mut Store, request: RequestId, from: AskEnd, to: AskEnd) -> Result<(), LedgerError> {
    let sql = "SELECT check_use FROM ask WHERE request = ?1";
    let Store { conn, sums, .. } = store;
    let mut select = conn.prepare_cached(sql)?;
    let mut asks = select.query([request.0])?;
    while let Some(ask) = asks.next()? {
        sums.check(ask.get(0)?).change(from, to, 1);
    }
    Ok(())
}

/// Books a changed charge of a request for the check of its first ask.
pub(super) fn charged(store: &mut Store, first_check: Option<i64>, before: Credits, after: Credits) {
    let charged = &mut store.sums.check(first_check).charged;
    *charged = charged.saturating_sub(before) + after;
}

/// How the asks of a request have ended that is answered or failed.
pub(super) fn end_of(conn: &Connection, request: RequestId) -> Result<AskEnd, LedgerError> {
    let sql = "SELECT verdict, iif(state = 11, failure, NULL) FROM request WHERE id = ?1";
    let (verdict, failure): (Option<String>, Option<String>) =
        conn.prepare_cached(sql)?.query_row([request.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(match (failure, verdict.as_deref().and_then(Verdict::from_word)) {
        (Some(failure), _) => AskEnd::Failed(failure_of(&failure)?.code),
        (None, Some(verdict)) => AskEnd::Answered(verdict),
        (None, None) => AskEnd::Open,
    })
}
