//! Settling: records the result of an attempt (answer, charge, hold and pause) in one transaction. Requests that were
//! in flight when a process died are found here at the next start and become in doubt.

use super::{
    CheckPause, KeptStop, Ledger, LedgerError, SeenPrice,
    answers::{self, AnswerRecord, Heard},
    arm::{moved, request_row},
    ask_ends::asks_ended,
    attempts::{self, AttemptEnd},
    check_sums::AskEnd,
    compression::{Level, compress},
    jobs::{self, NewJob},
    request_row::RequestRow,
    store::Store,
};
use crate::model::{
    Credits, Failure, FailureCode, JobId, RequestId,
    budget::Account,
    state::{Event, Hold, Outcome, Standing, State},
    transitions::next,
};
use rusqlite::params;
use std::sync::Arc;

/// The result of an attempt.
#[derive(Clone)]
pub struct Settlement {
    pub request: RequestId,
    /// The catalogue name of its check.
    pub check: String,
    pub attempt: u32,
    pub outcome: Outcome,
    /// The price in the price table.
    pub table: Credits,
    /// What the check costs, if that is less than its price.
    pub lower: Option<Credits>,
    pub http_status: Option<u16>,
    pub latency_ms: u64,
    pub now_us: i64,
    /// The answer, if the outcome is one, or may become one when it repeats.
    pub answer: Option<AnswerRecord>,
    /// The job that the reply names, if the outcome is [`Outcome::Accepted`].
    pub job: Option<JobId>,
    /// The charge that a reply states that accepts the request as a job.
    pub job_charged: Credits,
    /// The reply states a charge that cannot be read.
    pub charge_unreadable: bool,
    /// The credits that a job of this check holds; zero if it is never answered by a job.
    pub job_hold: Credits,
    /// The raw body of a complete reply that could not be read.
    pub unreadable: Option<Vec<u8>>,
    /// The reply is not the service's, so it says nothing about what the service will reply.
    pub is_of_another: bool,
    /// The failure, if this attempt makes the request fail.
    pub failure: Option<Failure>,
    /// The balance that the reply states.
    pub remaining: Option<Credits>,
    /// The account when this attempt was armed.
    pub before: Account,
    /// No request is sent before this time.
    pub pause_until_us: Option<i64>,
    /// What the reply changes about the pause of its check.
    pub check_pause: Option<CheckPause>,
    /// This request is not repeated before this time.
    pub not_before_us: Option<i64>,
    /// The service's clock minus ours, if the reply states the time.
    pub server_offset_us: Option<i64>,
}

/// The state of a request after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub state: State,
    /// The number of attempts so far, under all keys.
    pub attempts: u32,
    /// The number of consecutive refusals for credits or rate under the current key.
    pub refusals_in_row: u32,
    /// The number of keys that were replaced because of a cached refusal.
    pub cached_refusals: u32,
    /// The number of complete 2xx replies under the current key that were not answers.
    pub unclear: u32,
    /// The price that was held.
    pub price: Credits,
    pub charged: Credits,
    /// The charge so far of a request that is still being processed, if it is above its price.
    pub so_far: Credits,
    /// How far the stated balance is below what our own requests explain.
    pub unexplained_fall: Credits,
    /// The reply may repeat an earlier one, and the balance it states is too low: only a reading shows whether it is
    /// still that low.
    pub doubtful_balance: bool,
}

impl Heard {
    fn of(settlement: &Settlement) -> Heard {
        let Settlement { http_status, latency_ms, now_us, .. } = *settlement;
        Heard { http_status: http_status.unwrap_or_default(), latency_ms, now_us }
    }
}

impl Settled {
    /// The charge, if it is above the price that was held.
    pub fn above_price(&self) -> Option<Credits> {
        Some(self.charged.max(self.so_far)).filter(|charge| *charge > self.price)
    }
}

impl Ledger {
    /// Settles an attempt, durably.
    pub async fn settle(&self, settlement: Settlement) -> Result<Settled, LedgerError> {
        self.write(move |store| settle(store, &settlement)).await
    }

    /// Marks requests that were in flight when a process died as in doubt, and corrects the times of jobs that are in the
    /// future. Call it once, before anything is sent.
    pub async fn recover(&self, now_us: i64) -> Result<u64, LedgerError> {
        self.write(move |store| {
            jobs::correct_times(store, now_us)?;
            recover(store)
        })
        .await
    }

    /// Records that nothing may be sent before this time, in this run or a later one.
    pub async fn pause_until(&self, until_us: i64, now_us: i64) -> Result<(), LedgerError> {
        self.write(move |store| {
            store.sums.pause(Some(until_us), now_us);
            Ok(())
        })
        .await
    }

    /// Deletes the pause that the service asked for.
    pub async fn lift_pause(&self) -> Result<(), LedgerError> {
        self.write(|store| {
            (store.sums.paused_until_us, store.sums.paused_at_us) = (None, None);
            store.sums.paused_checks.clear();
            Ok(())
        })
        .await
    }

    /// Records whether new requests wait until one in doubt is answered, in this run or a later one.
    pub async fn new_wait(&self, wait: bool) -> Result<(), LedgerError> {
        self.write(move |store| {
            store.sums.new_wait = wait;
            Ok(())
        })
        .await
    }

    /// Records why this run stopped, for the next one; `None` deletes the record.
    pub async fn keep_stop(&self, stop: Option<KeptStop>) -> Result<(), LedgerError> {
        self.write(move |store| {
            store.sums.stop = stop;
            Ok(())
        })
        .await
    }

    /// Records a balance. Returns how far it is below what our own requests explain. `before` are the sums from when
    /// the balance was requested. `shared_fall` is how far it is below what all ledgers of the account explain, if there are
    /// others.
    pub async fn balance(
        &self,
        balance: Credits,
        (before, shared_fall): (Arc<super::Sums>, Option<Credits>),
        now_us: i64,
        server_offset_us: Option<i64>,
    ) -> Result<Credits, LedgerError> {
        self.write(move |store| {
            let fell = shared_fall.unwrap_or_else(|| store.sums.account.unexplained_fall(balance));
            store.sums.fell(fell);
            store.sums.account.reading = Some(before.account.reading(balance, now_us));
            store.sums.server_offset_us = server_offset_us.or(store.sums.server_offset_us);
            Ok(fell)
        })
        .await
    }

    /// Records whether the answers come from the simulator. Returns `false` if that contradicts what was recorded
    /// before.
    pub async fn note_peer(&self, simulated: bool) -> Result<bool, LedgerError> {
        self.write(move |store| Ok(*store.sums.simulated.get_or_insert(simulated) == simulated)).await
    }

    /// Records when all asks were accounted for.
    pub async fn complete(&self, now_us: i64) -> Result<(), LedgerError> {
        self.write(move |store| {
            store.sums.completed_at_us.get_or_insert(now_us);
            Ok(())
        })
        .await
    }
}

pub(super) fn settle(store: &mut Store, settlement: &Settlement) -> Result<Settled, LedgerError> {
    let mut row = request_row(store, settlement.request)?;
    // The held price may be too high by mistake. It is not charged if the reply states the table price.
    let of_check = store.sums.price_to_hold(&settlement.check, settlement.table);
    let Standing { price: held, unproven, .. } = row.standing;
    row.standing.price = jobs::price_of_answer(settlement.outcome, held, settlement.job_hold, of_check, unproven);
    row.standing.least = settlement.lower.unwrap_or(settlement.table).min(row.standing.price);
    let outcome = match settlement.outcome {
        Outcome::Refused | Outcome::CachedFailure if fell_by_it(store, &row, settlement) => {
            Outcome::ChargedRefusal { stated: None }
        }
        Outcome::CachedFailure if attempts::stated_charge(&store.conn, row.id, row.standing.generation)? => {
            Outcome::ChargedRefusal { stated: None }
        }
        outcome => jobs::believed(store, settlement.request, outcome, settlement.job.as_ref())?,
    };
    let step = next(&row.standing, Event::Attempted(outcome))?;
    // A replayed answer may state the balance of its first time.
    let remaining = settlement.remaining.filter(|_| row.standing.unproven == 0);
    let unexplained = |account: &Account| remaining.map(|balance| account.unexplained_fall(balance));
    let is_low = |balance| store.sums.account.unexplained_fall(balance) > Credits::ZERO;
    let doubtful_balance = remaining.is_none() && settlement.remaining.is_some_and(is_low);
    // Computed before the charge is recorded: until then, the hold explains it.
    let unexplained_fall = unexplained(&store.sums.account).unwrap_or_default();
    store.sums.new_wait &= !matches!(step.state, State::Answered | State::Submitted);
    let judgement = match (step.state, &settlement.answer) {
        (State::Answered, Some(answer)) => {
            *store.sums.answers.entry(settlement.check.clone()).or_default() += 1;
            let of_request = (settlement.request, settlement.check.as_str());
            Some(answers::keep(store, of_request, answer, Heard::of(settlement))?)
        }
        (State::Answered, None) => return Err(LedgerError::Damaged("an answered request has no answer".to_owned())),
        _ => None,
    };
    moved(store, &row, &step, None, judgement.as_ref())?;
    // The stated charge may explain more of the fall than the hold did.
    let booked = unexplained(&store.sums.account).unwrap_or_default();
    store.sums.fell(booked.min(unexplained_fall));
    let Settlement { attempt, outcome: heard, http_status, latency_ms, .. } = *settlement;
    // An answer and a refusal settle their charge; the charge of another reply must be known if a later one denies it.
    let is_open = matches!(step.state, State::InDoubt | State::Repeating);
    let states_charge = is_open && (settlement.charge_unreadable || settlement.job_charged > Credits::ZERO);
    let end = AttemptEnd { outcome: heard, http_status, latency_ms: Some(latency_ms), states_charge };
    attempts::ended(store, &row, attempt, &end)?;
    if settlement.outcome == Outcome::NotWritten {
        attempts::forget_arming(store, &row, attempt)?;
    }
    let refusals_in_row = count_refusals(store, &row, settlement)?;
    let unclear = keep_unclear(store, &row, settlement)?;
    if let (State::Submitted, Some(id)) = (step.state, &settlement.job) {
        let Settlement { request, now_us, server_offset_us, job_charged: charged, .. } = *settlement;
        let server_offset_us = server_offset_us.or(store.sums.server_offset_us);
        jobs::keep(store, &NewJob { request, check: &settlement.check, id, now_us, server_offset_us, charged })?;
    }
    if step.state == State::Failed || step.state == State::Quarantined {
        let mut failure = settlement.failure.clone();
        if let Some(failure) = failure.as_mut()
            && outcome == Outcome::CachedFailure
        {
            failure.message.push_str(match step.state {
                State::Failed => "; --retry cached_failure sends rows with this code again, under new keys",
                _ => ", but an earlier reply was a success that could not be read, and may have been charged",
            });
        }
        if let Some(failure) = failure.as_mut().filter(|_| outcome != settlement.outcome) {
            failure.code = FailureCode::Refused;
            failure
                .message
                .push_str(" (the balance that the reply states, or an earlier reply, shows that it was charged)");
        }
        note_failure(store, settlement.request, failure.as_ref())?;
    }
    if settlement.not_before_us.is_some() {
        let sql = "UPDATE request SET not_before = ?2 WHERE id = ?1";
        store.conn.prepare_cached(sql)?.execute(params![row.id, settlement.not_before_us])?;
    }
    store.sums.pause(settlement.pause_until_us, settlement.now_us);
    store.sums.pause_check(&settlement.check, settlement.check_pause);
    store.sums.server_offset_us = settlement.server_offset_us.or(store.sums.server_offset_us);
    let charged = if let Hold::Charge(charge) = step.hold { charge } else { Credits::ZERO };
    let so_far = if let Hold::Raise(so_far) = step.hold { so_far } else { Credits::ZERO };
    let settled = Settled {
        state: step.state,
        attempts: row.attempts,
        refusals_in_row,
        cached_refusals: row.standing.cached_refusals,
        unclear,
        price: row.standing.price,
        charged,
        so_far,
        unexplained_fall,
        doubtful_balance,
    };
    if let Some(price) = settled.above_price() {
        let (table, request) = (Some(settlement.table), Some(settlement.request));
        store.sums.note_price(&settlement.check, SeenPrice { price, table, request });
    }
    let is_too_low = |balance| store.sums.account.least_balance().is_some_and(|least| balance < least);
    let is_lower = unexplained_fall > Credits::ZERO || remaining.is_some_and(is_too_low);
    if let Some(balance) = remaining.filter(|_| is_lower) {
        // A stated balance counts as a reading if it leaves less to spend than the last one. It is from after this
        // request was armed, but perhaps from before charges of other requests that are already settled.
        store.sums.account.reading = Some(settlement.before.reading(balance, settlement.now_us));
    }
    if let Some(balance) = remaining {
        store.sums.account.stated = Some(settlement.before.stated(balance, charged));
    }
    Ok(settled)
}

/// Whether the balance that a refusal states shows that it was charged, although it states no charge.
fn fell_by_it(store: &Store, row: &RequestRow, settlement: &Settlement) -> bool {
    let account = &store.sums.account;
    settlement.remaining.is_some_and(|balance| account.fell_by_one(balance, row.standing.held))
}

/// Counts a complete 2xx that is not an answer, and keeps its body if it could not be read, because it may have been
/// paid for.
fn keep_unclear(store: &Store, row: &RequestRow, settlement: &Settlement) -> Result<u32, LedgerError> {
    if !settlement.outcome.is_unclear() {
        return Ok(row.standing.unclear);
    }
    let unclear = row.standing.unclear.saturating_add(u32::from(!settlement.is_of_another));
    let sql = "UPDATE request SET unclear = ?2 WHERE id = ?1";
    store.conn.prepare_cached(sql)?.execute(params![row.id, unclear])?;
    if let Some(body) = &settlement.unreadable {
        let sql = "INSERT OR REPLACE INTO unreadable (request, http_status, received_at, body) VALUES (?1, ?2, ?3, ?4)";
        let status = settlement.http_status.unwrap_or_default();
        let body = compress(body, Level::Answer);
        store.conn.prepare_cached(sql)?.execute(params![row.id, status, settlement.now_us, body])?;
    }
    Ok(unclear)
}

fn count_refusals(store: &Store, row: &RequestRow, settlement: &Settlement) -> Result<u32, LedgerError> {
    let asks_for_a_pause = settlement.pause_until_us.is_some();
    let refusals_in_row = match settlement.outcome {
        Outcome::NoCredits | Outcome::RateLimited => row.refusals_in_row.saturating_add(1),
        // The service was not reached, so the count neither grows nor restarts.
        Outcome::NotWritten => row.refusals_in_row,
        _ if asks_for_a_pause => row.refusals_in_row.saturating_add(1),
        _ => 0,
    };
    if refusals_in_row != row.refusals_in_row {
        let sql = "UPDATE request SET refusals_in_row = ?2 WHERE id = ?1";
        store.conn.prepare_cached(sql)?.execute(params![row.id, refusals_in_row])?;
    }
    Ok(refusals_in_row)
}

/// Records why a request failed, or why a person has to decide about it.
pub(super) fn note_failure(
    store: &mut Store,
    request: RequestId,
    failure: Option<&Failure>,
) -> Result<(), LedgerError> {
    let failure = failure.ok_or_else(|| LedgerError::Damaged("a failed request has no failure".to_owned()))?;
    let text = serde_json::to_string(failure).expect("a failure is plain text");
    let sql = "UPDATE request SET failure = ?2 WHERE id = ?1 RETURNING state";
    let state: i64 = store.conn.prepare_cached(sql)?.query_row(params![request.0, text], |row| row.get(0))?;
    if state == State::Failed.code() {
        asks_ended(store, request, AskEnd::Open, AskEnd::Failed(failure.code))?;
    }
    Ok(())
}

fn recover(store: &mut Store) -> Result<u64, LedgerError> {
    // No index lists them. The sums were compared with every request, unless the last run left none.
    let armed = if store.sums.in_state(State::Armed) > 0 { in_state(store, State::Armed)? } else { Vec::new() };
    for request in &armed {
        let row = request_row(store, *request)?;
        let end = AttemptEnd { outcome: Outcome::Unknown, http_status: None, latency_ms: None, states_charge: false };
        attempts::ended(store, &row, row.attempts, &end)?;
        let step = next(&row.standing, Event::FoundArmed)?;
        moved(store, &row, &step, None, None)?;
    }
    Ok(armed.len() as u64)
}

/// All requests in this state.
fn in_state(store: &Store, state: State) -> Result<Vec<RequestId>, LedgerError> {
    // No index lists armed requests, and after most runs there are none.
    if store.sums.in_state(state) == 0 {
        return Ok(Vec::new());
    }
    let mut select = store.conn.prepare("SELECT id FROM request WHERE state = ?1")?;
    let found = select.query_map([state.code()], |row| row.get(0).map(RequestId))?;
    Ok(found.collect::<Result<_, _>>()?)
}
