//! Rows that were ingested before their line was complete. This module makes one decision: asks that were never sent
//! fail, because the row they were made from is not the row in the file. Asks that were sent keep their results.

use super::{
    Ledger, LedgerError,
    ask_ends::{give_first_ask, has_ask},
    attachments,
    check_sums::AskEnd,
    store::Store,
};
use crate::model::{Failure, FailureCode, state::State};
use rusqlite::params;

/// The asks of a row that was completed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompletedRow {
    /// The number of asks that failed and were not sent.
    pub failed: u64,
    /// The number of asks that were sent as the row was first read.
    pub kept: u64,
}

/// An ask of the row, and its request.
struct AskOfRow {
    id: i64,
    check_use: Option<i64>,
    request: i64,
    state: i64,
    attempts: i64,
}

impl Ledger {
    /// Records that the line of a row was completed after it was ingested. The row is the last one of its split. Call
    /// it before anything is sent. Calling it again changes nothing.
    pub async fn line_completed(&self, source: i64, row_number: u64) -> Result<CompletedRow, LedgerError> {
        self.write(move |store| {
            let mut completed = CompletedRow::default();
            for ask in asks_of(store, source, row_number)? {
                if ask.state == State::Planned.code() && ask.attempts == 0 {
                    fail(store, &ask)?;
                    completed.failed += 1;
                } else {
                    completed.kept += 1;
                }
            }
            Ok(completed)
        })
        .await
    }
}

fn asks_of(store: &Store, source: i64, row_number: u64) -> Result<Vec<AskOfRow>, LedgerError> {
    let mut select = store.conn.prepare(
        "SELECT ask.id, request.id, request.state, request.attempts, ask.check_use
         FROM split JOIN ask ON ask.split = split.id AND ask.row_index = split.rows - 1
         JOIN request ON request.id = ask.request
         WHERE split.source = ?1 AND split.next_row_number = ?2",
    )?;
    let found = select.query_map(params![source, row_number as i64 + 1], |row| {
        Ok(AskOfRow {
            id: row.get(0)?,
            request: row.get(1)?,
            state: row.get(2)?,
            attempts: row.get(3)?,
            check_use: row.get(4)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn fail(store: &mut Store, ask: &AskOfRow) -> Result<(), LedgerError> {
    let message = "the line had no line end when it was read, and was completed later; the row was not sent, and \
                   `input` is what was read: put the completed row into a separate file and check it in a new campaign";
    let failure = Failure::read(FailureCode::IncompleteLine, message);
    let failure = serde_json::to_string(&failure).expect("a failure is plain text");
    let sql = "UPDATE ask SET request = NULL, expected = NULL, failure = ?2 WHERE id = ?1";
    store.conn.execute(sql, params![ask.id, failure])?;
    store.sums.unmapped += 1;
    let failed = AskEnd::Failed(FailureCode::IncompleteLine);
    store.sums.check(ask.check_use).change(AskEnd::Open, failed, 1);
    leave_unsent(store, ask.request, ask.id)
}

/// Ends what an ask had to do with a request that was never sent: another ask becomes its first one, and without another
/// the request is removed. The ask itself names it no longer.
pub(super) fn leave_unsent(store: &mut Store, request: i64, ask: i64) -> Result<(), LedgerError> {
    if has_ask(store, request)? {
        return give_first_ask(store, request, ask);
    }
    store.armed.remove(&request);
    store.conn.execute("DELETE FROM request WHERE id = ?1", [request])?;
    // SQLite uses the id again, for a request with other files.
    attachments::delete(store, request)?;
    let planned = store.sums.requests.entry(State::Planned).or_default();
    *planned = planned
        .checked_sub(1)
        .ok_or_else(|| LedgerError::Damaged("a request is planned, but the sums count no such request".to_owned()))?;
    Ok(())
}
