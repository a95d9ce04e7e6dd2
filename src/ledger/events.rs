//! Events other than attempts: a detected failure, a retry, a new key, a decision of a person. Each moves one request
//! in one transaction.

use super::{
    Ledger, LedgerError,
    arm::{moved, request_row},
    ask_ends::charged,
    rows::ROW_VALUES_MAX,
    settle::note_failure,
    store::Store,
    untold::untold,
};
use crate::model::{
    Credits, Failure, IdempotencyKey, KeyMaker, RequestId, json_values,
    state::{Event, IllegalMove, State},
    transitions::next,
};
use rusqlite::params;

impl Ledger {
    /// Moves a request by an event other than an attempt and returns its new state. `failure` is recorded if it fails.
    /// An illegal move changes nothing.
    pub async fn event(
        &self,
        request: RequestId,
        event: Event,
        failure: Option<Failure>,
    ) -> Result<State, LedgerError> {
        let moved = self.write(move |store| apply_event(store, request, event, None, failure.as_ref())).await?;
        Ok(moved?)
    }

    /// Books a charge for something beside the request that should be free, such as the upload of its document or another
    /// delivery of its result. The state of the request and its hold stay as they are.
    pub async fn charged_beside(&self, request: RequestId, charge: Credits) -> Result<(), LedgerError> {
        self.write(move |store| {
            let first_check = request_row(store, request)?.first_check;
            let sql = "UPDATE request SET charged = charged + ?2 WHERE id = ?1";
            store.conn.prepare_cached(sql)?.execute(params![request.0, charge.0 as i64])?;
            untold(store, request.0)?;
            store.sums.account.charged = store.sums.account.charged + charge;
            charged(store, first_check, Credits::ZERO, charge);
            Ok(())
        })
        .await
    }

    /// Like [`Ledger::event`], for an event after which the request is sent under a new key.
    pub async fn next_generation(
        &self,
        request: RequestId,
        event: Event,
        keys: KeyMaker,
    ) -> Result<State, LedgerError> {
        let moved = self.write(move |store| apply_event(store, request, event, Some(&keys), None)).await?;
        Ok(moved?)
    }
}

/// Moves a request by an event. An illegal move is returned to the caller and does not stop the ledger.
pub(super) fn apply_event(
    store: &mut Store,
    request: RequestId,
    event: Event,
    keys: Option<&KeyMaker>,
    failure: Option<&Failure>,
) -> Result<Result<State, IllegalMove>, LedgerError> {
    let row = request_row(store, request)?;
    let step = match next(&row.standing, event) {
        Ok(step) => step,
        Err(illegal) => return Ok(Err(illegal)),
    };
    let key = match keys.filter(|_| step.next_generation) {
        Some(keys) => Some(next_key(store, request, keys)?),
        None => None,
    };
    moved(store, &row, &step, key, None)?;
    if step.state == State::Failed {
        note_failure(store, request, failure)?;
    }
    Ok(Ok(step.state))
}

/// The key of the next generation.
fn next_key(store: &Store, request: RequestId, keys: &KeyMaker) -> Result<IdempotencyKey, LedgerError> {
    let unreadable = || LedgerError::Damaged("the fields of a request cannot be read".to_owned());
    let sql = "SELECT check_name, fields, generation FROM request WHERE id = ?1";
    let (check, fields, generation): (String, String, u32) =
        store.conn.query_row(sql, [request.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if json_values::count(&fields, ROW_VALUES_MAX) > ROW_VALUES_MAX {
        return Err(unreadable());
    }
    let fields = serde_json::from_str(&fields).map_err(|_| unreadable())?;
    Ok(keys.key(&check, &fields, generation + 1))
}
