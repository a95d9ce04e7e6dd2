//! Settling: what an attempt came to, with answer, charge, hold and pause, in one transaction. What was under way when a
//! process died is found here at the next start, and is in doubt.

use super::{
    Ledger, LedgerError,
    arm::{RequestRow, digest, moved, request_row},
    pack::{Level, pack},
    store::Store,
};
use crate::model::{
    Credits, Failure, IdempotencyKey, Judgement, RequestId, Verdict,
    budget::Reading,
    planted::{Bug, planted},
    state::{Event, Hold, IllegalMove, Outcome, State, next},
};
use rusqlite::params;
use std::sync::Arc;

/// What an attempt came to.
#[derive(Clone)]
pub struct Settlement {
    pub request: RequestId,
    pub attempt: u32,
    pub outcome: Outcome,
    pub http_status: Option<u16>,
    pub latency_ms: u64,
    pub now_us: i64,
    /// Where the outcome is an answer.
    pub answer: Option<AnswerRecord>,
    /// What the failure will say if the request fails by this.
    pub failure: Option<Failure>,
    /// No request is sent before this moment.
    pub pause_until_us: Option<i64>,
    /// The service's clock less ours, where its reply told the time.
    pub server_offset_us: Option<i64>,
}

/// A final answer as it is kept.
#[derive(Clone)]
pub struct AnswerRecord {
    pub requested_at_us: i64,
    /// The service's own id of the exchange.
    pub request_id: Option<String>,
    pub judgement: Judgement,
    /// The raw answer.
    pub body: Vec<u8>,
}

/// Where a request stands after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub state: State,
    /// 402 and 429 one after the other under the present key.
    pub refusals_in_row: u32,
    /// Keys given up before for a cached refusal.
    pub cached_refusals: u32,
    pub charged: Credits,
    /// The charge was above the price that was held.
    pub above_price: bool,
}

impl Ledger {
    /// Settles an attempt, durably.
    pub async fn settle(&self, settlement: Settlement) -> Result<Settled, LedgerError> {
        self.write(move |store| settle(store, &settlement)).await
    }

    /// Puts requests that were under way when a process died in doubt. Call it once, before anything is sent.
    pub async fn recover(&self) -> Result<u64, LedgerError> {
        self.write(recover).await
    }

    /// Moves a request by an event that is no attempt; its new state. `key` is the key of the next generation, `failure`
    /// what it fails with. A move the state machine does not have changes nothing.
    pub async fn event(
        &self,
        request: RequestId,
        event: Event,
        key: Option<IdempotencyKey>,
        failure: Option<Failure>,
    ) -> Result<State, LedgerError> {
        let moved = self.write(move |store| take_event(store, request, event, key, failure.as_ref())).await?;
        Ok(moved?)
    }

    /// Nothing is sent before this moment, in this run or a later one.
    pub async fn pause_until(&self, until_us: i64) -> Result<(), LedgerError> {
        self.write(move |store| {
            store.sums.paused_until_us = store.sums.paused_until_us.max(Some(until_us));
            Ok(())
        })
        .await
    }

    /// Records a balance. `before` are the sums as they stood when the balance was asked for.
    pub async fn balance(
        &self,
        balance: Credits,
        before: Arc<super::Sums>,
        now_us: i64,
        server_offset_us: Option<i64>,
    ) -> Result<(), LedgerError> {
        self.write(move |store| {
            let account = before.account;
            let reading = Reading { balance, held_at: account.held, armed_at: account.armed, at_us: now_us };
            store.sums.account.reading = Some(reading);
            store.sums.server_offset_us = server_offset_us.or(store.sums.server_offset_us);
            Ok(())
        })
        .await
    }

    /// Notes whether the answers come from the simulator; `false` where that contradicts what was met before.
    pub async fn meet(&self, simulated: bool) -> Result<bool, LedgerError> {
        self.write(move |store| Ok(*store.sums.simulated.get_or_insert(simulated) == simulated)).await
    }

    /// Notes when all asks were accounted for.
    pub async fn complete(&self, now_us: i64) -> Result<(), LedgerError> {
        self.write(move |store| {
            store.sums.completed_at_us.get_or_insert(now_us);
            Ok(())
        })
        .await
    }
}

/// Moves a request by an event; an illegal one is the caller's to judge, and no reason for the ledger to stop.
pub(super) fn take_event(
    store: &mut Store,
    request: RequestId,
    event: Event,
    key: Option<IdempotencyKey>,
    failure: Option<&Failure>,
) -> Result<Result<State, IllegalMove>, LedgerError> {
    let row = request_row(store, request)?;
    let step = match next(&row.standing, event) {
        Ok(step) => step,
        Err(illegal) => return Ok(Err(illegal)),
    };
    moved(store, &row, &step, key)?;
    if step.state == State::Failed {
        note_failure(store, request, failure)?;
    }
    Ok(Ok(step.state))
}

fn settle(store: &mut Store, settlement: &Settlement) -> Result<Settled, LedgerError> {
    let row = request_row(store, settlement.request)?;
    let step = next(&row.standing, Event::Attempted(settlement.outcome))?;
    moved(store, &row, &step, None)?;
    store
        .conn
        .prepare_cached(
            "UPDATE attempt SET outcome = ?3, http_status = ?4, latency_ms = ?5 WHERE request = ?1 AND number = ?2",
        )?
        .execute(params![
            settlement.request.0,
            settlement.attempt,
            settlement.outcome.as_str(),
            settlement.http_status,
            settlement.latency_ms as i64
        ])?;
    if settlement.outcome == Outcome::NotWritten {
        unsee(store, settlement)?;
    }
    let refusals_in_row = count_refusals(store, &row, settlement.outcome)?;
    if step.state == State::Answered {
        keep_answer(store, settlement)?;
    }
    if step.state == State::Failed || step.state == State::Quarantined {
        note_failure(store, settlement.request, settlement.failure.as_ref())?;
    }
    store.sums.paused_until_us = store.sums.paused_until_us.max(settlement.pause_until_us);
    store.sums.server_offset_us = settlement.server_offset_us.or(store.sums.server_offset_us);
    let charged = if let Hold::Charge(charge) = step.hold { charge } else { Credits::ZERO };
    let cached_refusals = row.standing.cached_refusals;
    let above_price = charged > row.standing.price;
    Ok(Settled { state: step.state, refusals_in_row, cached_refusals, charged, above_price })
}

/// An attempt of which no byte left showed the service no key: the key's life has not begun by it. After a refusal it may
/// have, for which refusals the service keeps under a key is open.
fn unsee(store: &Store, settlement: &Settlement) -> Result<(), LedgerError> {
    store
        .conn
        .prepare_cached(
            "UPDATE request SET first_armed_at = NULL, first_armed_at_server = NULL WHERE id = ?1
             AND first_armed_at = (SELECT armed_at FROM attempt WHERE request = ?1 AND number = ?2)",
        )?
        .execute(params![settlement.request.0, settlement.attempt])?;
    Ok(())
}

fn count_refusals(store: &Store, row: &RequestRow, outcome: Outcome) -> Result<u32, LedgerError> {
    let refusals_in_row = match outcome {
        Outcome::NoCredits | Outcome::RateLimited => row.refusals_in_row.saturating_add(1),
        // The service was not reached: the row of refusals is neither longer nor broken.
        Outcome::NotWritten => row.refusals_in_row,
        _ => 0,
    };
    if refusals_in_row != row.refusals_in_row {
        let sql = "UPDATE request SET refusals_in_row = ?2 WHERE id = ?1";
        store.conn.prepare_cached(sql)?.execute(params![row.id, refusals_in_row])?;
    }
    Ok(refusals_in_row)
}

fn keep_answer(store: &mut Store, settlement: &Settlement) -> Result<(), LedgerError> {
    let missing = || LedgerError::Damaged("an answered request came without its answer".to_owned());
    let answer = settlement.answer.as_ref().ok_or_else(missing)?;
    if answer.judgement.verdict == Verdict::Unrecognised {
        store.sums.answers_unrecognised += 1;
    }
    store
        .conn
        .prepare_cached(
            "INSERT INTO answer (request, http_status, latency_ms, requested_at, completed_at, request_id, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            settlement.request.0,
            settlement.http_status.unwrap_or_default(),
            settlement.latency_ms as i64,
            answer.requested_at_us,
            settlement.now_us,
            answer.request_id,
            pack(&answer.body, Level::Answer)
        ])?;
    let judgement = &answer.judgement;
    let sql = "UPDATE request SET verdict = ?2, finding = ?3 WHERE id = ?1";
    store.conn.prepare_cached(sql)?.execute(params![
        settlement.request.0,
        judgement.verdict.as_str(),
        judgement.finding
    ])?;
    let sql = "INSERT INTO unpublished VALUES (?1)";
    store.conn.prepare_cached(sql)?.execute([settlement.request.0])?;
    Ok(())
}

fn note_failure(store: &Store, request: RequestId, failure: Option<&Failure>) -> Result<(), LedgerError> {
    let failure =
        failure.ok_or_else(|| LedgerError::Damaged("a failed request came without its failure".to_owned()))?;
    let text = serde_json::to_string(failure).expect("a failure is words");
    store.conn.prepare_cached("UPDATE request SET failure = ?2 WHERE id = ?1")?.execute(params![request.0, text])?;
    Ok(())
}

fn recover(store: &mut Store) -> Result<u64, LedgerError> {
    let armed: Vec<i64> = store
        .conn
        .prepare_cached("SELECT id FROM request WHERE state = ?1")?
        .query_map([State::Armed.code()], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in &armed {
        let row = request_row(store, RequestId(*id))?;
        let step = next(&row.standing, Event::FoundArmed)?;
        let another = || IdempotencyKey::from_slice(&digest(row.key().as_bytes()));
        let key = if planted(Bug::NewKeyAfterCrash) { another() } else { None };
        moved(store, &row, &step, key)?;
        let sql = "UPDATE attempt SET outcome = 'unknown' WHERE request = ?1 AND outcome IS NULL";
        store.conn.prepare_cached(sql)?.execute([*id])?;
    }
    Ok(armed.len() as u64)
}
