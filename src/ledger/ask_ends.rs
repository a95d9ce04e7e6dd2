//! The asks of a request: what became of them, counted for their checks in the transaction that ends or reopens the
//! request, and what becomes of a request that an ask leaves.

use super::{LedgerError, check_sums::AskEnd, reading::failure_of, store::Store};
use crate::model::{Credits, RequestId, Verdict};
use rusqlite::{Connection, params};

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

pub(super) fn has_ask(store: &Store, request: i64) -> Result<bool, LedgerError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM ask WHERE request = ?1)";
    Ok(store.conn.prepare_cached(sql)?.query_row([request], |row| row.get(0))?)
}

/// Makes another ask the first one of a request that this ask has left, so that a row carries its credits.
pub(super) fn give_first_ask(store: &mut Store, request: i64, left_by: i64) -> Result<(), LedgerError> {
    store.armed.remove(&request);
    let sql = "UPDATE request SET first_ask = (SELECT min(id) FROM ask WHERE request = ?1)
               WHERE id = ?1 AND first_ask = ?2 AND EXISTS (SELECT 1 FROM ask WHERE request = ?1)";
    store.conn.prepare_cached(sql)?.execute(params![request, left_by])?;
    Ok(())
}
