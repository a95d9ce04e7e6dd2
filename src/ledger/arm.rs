//! Arming: in one transaction before the first byte is sent, checks the age of the key and the API key, holds the price
//! and records the attempt. Only arming issues receipts. `moved` is the only place where a move of the state machine
//! becomes rows and sums.

use super::{
    Ledger, LedgerError,
    ask_ends::{asks_ended, charged, end_of},
    attempts,
    check_sums::AskEnd,
    jobs,
    request_row::{COLUMN_COUNT, COLUMNS, RequestRow},
    store::Store,
    untold::untold,
};
use crate::catalogue::BodyShape;
use crate::model::{
    Credits, IdempotencyKey, Judgement, Mode, Receipt, RequestId,
    budget::{Allowance, BudgetRefusal},
    clock::{APART_MAX_US, LIFE_MARGIN_US, are_apart, hours_us, usable_life_us},
    state::{Event, Hold, HoldChange, IllegalMove, KeyAge, Move, Outcome, Standing, State},
    transitions::next,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The longest time that the service can ask to wait before a request is repeated.
const NOT_BEFORE_MAX_US: i64 = 24 * 3_600 * 1_000_000;

/// The input of arming a request.
#[derive(Debug, Clone)]
pub struct ArmOrder {
    pub mode: Mode,
    pub request: RequestId,
    /// The catalogue name of its check.
    pub check: String,
    /// The price in the price table.
    pub price: Credits,
    /// The credits that a job of this check holds; zero if it is never answered by a job.
    pub job_hold: Credits,
    pub allowance: Allowance,
    /// Fingerprint of the API key in use.
    pub scope: String,
    /// The configured route. A request in doubt keeps the route it was sent to, unless that route never existed.
    pub path: String,
    /// All routes of its check. Requests are sent to these routes only.
    pub routes: Arc<[String]>,
    /// The bodies that its declaration makes. A body of an earlier declaration is not sent for the first time.
    pub shape: Arc<BodyShape>,
    pub key_life_hours: u32,
    pub now_us: i64,
    /// The most that may be held for it beyond what is held already, where other ledgers have a say; `None` if this ledger
    /// alone decides.
    pub room: Option<Credits>,
}

/// Why a request is not armed.
#[derive(Debug)]
pub enum NotArmed {
    /// The budget refuses it; nothing was changed.
    Refused(BudgetRefusal),
    /// Its key has expired, and a person must decide.
    Quarantined,
    /// The service asked not to repeat it before this time, in microseconds since 1970; nothing was changed.
    NotBefore(i64),
    /// The declaration of its check does not make this body, for this reason; nothing was changed.
    OtherBody(String),
    /// It must not be sent now, for this reason; nothing was changed.
    Withheld(IllegalMove),
    /// Its price rose since room was taken for it; nothing was changed.
    NoRoom,
}

impl RequestRow {
    pub(super) fn key(&self) -> IdempotencyKey {
        self.key.unwrap_or(self.first_key)
    }

    /// Whether no attempt of this request is in doubt, and the service has forgotten its key by both clocks. Then the
    /// lifetime of the key starts again.
    pub(super) fn is_forgotten(&self, order: &ArmOrder, server_offset_us: Option<i64>) -> bool {
        let forgotten_us = hours_us(order.key_life_hours).saturating_add(LIFE_MARGIN_US);
        let age = |now: i64, first: i64| now.saturating_sub(first) > forgotten_us;
        let here = self.first_armed_at.is_some_and(|first| age(order.now_us, first));
        let there = match (self.first_armed_at_server, server_offset_us) {
            (Some(first), Some(offset)) => age(order.now_us.saturating_add(offset), first),
            _ => here,
        };
        self.standing.unproven == 0 && here && there
    }

    /// The age of a request's key, by this machine's clock and by the service's clock. It is disputed if the two clocks
    /// are too far apart and give different results.
    fn key_age(&self, now_us: i64, server_offset_us: Option<i64>, key_life_hours: u32) -> KeyAge {
        let Some(first_armed_at) = self.first_armed_at else { return KeyAge::Alive };
        let age_here = now_us.saturating_sub(first_armed_at);
        let age_there = match (self.first_armed_at_server, server_offset_us) {
            (Some(first), Some(offset)) => now_us.saturating_add(offset).saturating_sub(first),
            _ => age_here,
        };
        let life_us = usable_life_us(key_life_hours);
        // The age of a key from the future is not known.
        let is_future = |age: i64| age < -APART_MAX_US;
        let is_alive = |age: i64| (-APART_MAX_US..life_us).contains(&age);
        match (is_alive(age_here), is_alive(age_there)) {
            (true, true) => KeyAge::Alive,
            // Our clock was ahead when the key was made and has been corrected. The service's clock gives the age.
            (false, true) if is_future(age_here) && !server_offset_us.is_some_and(are_apart) => KeyAge::Alive,
            (false, false) => KeyAge::Over,
            _ if server_offset_us.is_some_and(are_apart) => KeyAge::Disputed,
            _ => KeyAge::Over,
        }
    }
}

/// The price that an attempt holds. A request in doubt already holds its price. If the price rose, only the difference is
/// added.
pub(super) fn price_to_hold(store: &Store, row: &RequestRow, order: &ArmOrder) -> Credits {
    let price = store.sums.price_to_hold(&order.check, order.price).max(order.job_hold);
    if row.standing.state == State::Planned { price } else { price.max(row.standing.price) }
}

impl Ledger {
    /// Waits until everything that was asked of the ledger before is recorded.
    pub async fn recorded(&self) -> Result<(), LedgerError> {
        self.write(|_| Ok(())).await
    }

    /// Arms a request: after this returns a receipt, the hold and the attempt are durable.
    pub async fn arm(&self, order: ArmOrder) -> Result<Result<Receipt, NotArmed>, LedgerError> {
        self.write(move |store| arm(store, &order)).await
    }
}

pub(super) fn arm(store: &mut Store, order: &ArmOrder) -> Result<Result<Receipt, NotArmed>, LedgerError> {
    let (mut row, body) = request_to_arm(store, order.request)?;
    // In sandbox nothing is charged, and the service's clock is not checked before a repeat.
    let offset_us = store.sums.server_offset_us.filter(|_| order.mode == Mode::Production);
    let age = row.key_age(order.now_us, offset_us, order.key_life_hours);
    let same_api_key = row.scope.as_ref().is_none_or(|scope| *scope == order.scope);
    let step = match next(&row.standing, Event::Arm { age, same_api_key }) {
        Ok(step) => step,
        Err(IllegalMove::KeyLifeOver) => {
            let over = next(&row.standing, Event::LifeOver)?;
            moved(store, &row, &over, None, None)?;
            return Ok(Err(NotArmed::Quarantined));
        }
        // An index listed the request as waiting to be sent.
        Err(IllegalMove::NoSuchMove { state, .. }) => {
            let RequestId(id) = order.request;
            let fault = format!("the row and the send index of request {id} disagree: {}", state.as_str());
            return Err(LedgerError::Damaged(fault));
        }
        Err(withheld) => return Ok(Err(NotArmed::Withheld(withheld))),
    };
    // A time too far in the future comes from a wrong clock and is ignored.
    let not_before =
        row.not_before.filter(|until| (0..NOT_BEFORE_MAX_US).contains(&until.saturating_sub(order.now_us)));
    if let Some(until_us) = not_before {
        return Ok(Err(NotArmed::NotBefore(until_us)));
    }
    let first = row.standing.state == State::Planned;
    let price = price_to_hold(store, &row, order);
    let path = match &row.path {
        Some(path)
            if !first
                && *path != order.path
                && !met_no_route(&store.conn, row.id, (row.standing.generation, row.attempts))? =>
        {
            path
        }
        _ => &order.path,
    };
    // A route from the ledger is untrusted data. Only the declaration decides where requests are sent.
    if *path != order.path && !order.routes.contains(path) {
        return Ok(Err(NotArmed::Withheld(IllegalMove::OtherRoute)));
    }
    // A request in doubt is repeated as it is, to its own route.
    let is_repeat = !first && row.path.as_ref() == Some(path);
    if let Err(differs) = order.shape.check(&body).or_else(|differs| if is_repeat { Ok(()) } else { Err(differs) }) {
        return Ok(Err(NotArmed::OtherBody(differs)));
    }
    let path = path.clone();
    let more = Hold::Take.apply(row.standing.held, price).added;
    if order.room.is_some_and(|room| more > room) {
        return Ok(Err(NotArmed::NoRoom));
    }
    if let Err(refusal) = store.sums.account.admit(more, &order.allowance) {
        return Ok(Err(NotArmed::Refused(refusal)));
    }
    row.standing.price = price;
    if first && row.is_forgotten(order, offset_us) {
        (row.first_armed_at, row.first_armed_at_server) = (None, None);
    }
    let number = row.attempts.saturating_add(1);
    attempts::begun(store, &row, number, order.now_us)?;
    let change = counted(store, &row, &step)?;
    store.sums.attempts += 1;
    if first {
        let server_us = store.sums.server_offset_us.map(|offset| order.now_us.saturating_add(offset));
        row.first_armed_at.get_or_insert(order.now_us);
        row.first_armed_at_server = row.first_armed_at_server.or(server_us);
        row.scope = Some(order.scope.clone());
    }
    row.path = Some(path.clone());
    row.attempts = number;
    let Move { state, unproven, possibly_charged, .. } = step;
    row.standing = Standing { state, unproven, possibly_charged, held: change.held, least: price, ..row.standing };
    let sql =
        "UPDATE request SET state = ?2, unproven = ?3, held = ?4, possibly_charged = ?5, attempts = ?6, price = ?7,
               first_armed_at = ?8, first_armed_at_server = ?9, scope = ?10, path = ?11, last_attempt = ?12,
               revision = revision + ?13, elsewhere = 0 WHERE id = ?1";
    store.conn.prepare_cached(sql)?.execute(params![
        row.id,
        state.code(),
        unproven,
        change.held.0 as i64,
        possibly_charged,
        number,
        price.0 as i64,
        row.first_armed_at,
        row.first_armed_at_server,
        row.scope,
        row.path,
        store.sums.attempts as i64,
        // The book was told before.
        store.sums.partition.is_some()
    ])?;
    let receipt = Receipt::issue(order.request, number, row.key(), path, body, price);
    store.armed.insert(row.id, row);
    Ok(Ok(receipt))
}

/// Whether every attempt under this key got a 404, a 405 or a redirect. Then the request may be sent to the current
/// route.
pub(super) fn met_no_route(
    conn: &Connection,
    request: i64,
    (generation, attempts): (u32, u32),
) -> Result<bool, LedgerError> {
    let sql = "SELECT 1 FROM attempt WHERE request = ?1 AND generation = ?2 AND number <= ?3 AND outcome IS NOT ?4";
    let values = params![request, generation, attempts, Outcome::Misrouted.as_str()];
    Ok(!conn.prepare_cached(sql)?.exists(values)?)
}

/// The first 16 bytes of a body's SHA-256.
pub(super) fn digest(body: &[u8]) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.copy_from_slice(&Sha256::digest(body)[..16]);
    digest
}

/// The row of a request that is moved. Whoever takes it must write every change of it.
pub(super) fn request_row(store: &mut Store, request: RequestId) -> Result<RequestRow, LedgerError> {
    if let Some(row) = store.armed.remove(&request.0) {
        return Ok(row);
    }
    let sql = format!("SELECT {COLUMNS} FROM request WHERE id = ?1");
    let found =
        store.conn.prepare_cached(&sql)?.query_row([request.0], |row| RequestRow::read(request, row)).optional()?;
    found.ok_or_else(|| absent(request))
}

/// The row of a request, and the exact bytes to send, compared with the digest that was recorded when they were ingested.
fn request_to_arm(store: &mut Store, request: RequestId) -> Result<(RequestRow, Vec<u8>), LedgerError> {
    store.armed.remove(&request.0);
    let sql = format!("SELECT {COLUMNS}, body, digest FROM request WHERE id = ?1");
    let read = |row: &Row<'_>| {
        let (body, kept): (Vec<u8>, Vec<u8>) = (row.get(COLUMN_COUNT)?, row.get(COLUMN_COUNT + 1)?);
        Ok((RequestRow::read(request, row)?, body, kept))
    };
    let found = store.conn.prepare_cached(&sql)?.query_row([request.0], read).optional()?;
    let (row, body, kept) = found.ok_or_else(|| absent(request))?;
    if digest(&body) != *kept {
        return Err(LedgerError::Damaged(format!("the body of request {} is not the one that was ingested", row.id)));
    }
    Ok((row, body))
}

fn absent(RequestId(request): RequestId) -> LedgerError {
    LedgerError::Damaged(format!("there is no request {request}"))
}

/// Applies a move to the request's row and to the sums. `key` is the key of the next generation, if the move needs one.
/// `judgement` is that of the answer that the move brings.
pub(super) fn moved(
    store: &mut Store,
    row: &RequestRow,
    step: &Move,
    key: Option<IdempotencyKey>,
    judgement: Option<&Judgement>,
) -> Result<(), LedgerError> {
    let change = counted(store, row, step)?;
    untold(store, row.id)?;
    let standing = &row.standing;
    store
        .conn
        .prepare_cached(
            "UPDATE request SET state = ?2, unproven = ?3, held = ?4, charged = charged + ?5, possibly_charged = ?6,
             verdict = coalesce(?7, verdict), finding = coalesce(?8, finding) WHERE id = ?1",
        )?
        .execute(params![
            row.id,
            step.state.code(),
            step.unproven,
            change.held.0 as i64,
            change.charged.0 as i64,
            step.possibly_charged,
            judgement.map(|judgement| judgement.verdict.as_str()),
            judgement.map(|judgement| judgement.finding.as_str())
        ])?;
    if standing.state == State::Submitted && step.state != State::Submitted {
        jobs::ended(store, row.id)?;
    }
    if let Hold::Raise(so_far) = step.hold {
        let sql = "UPDATE request SET price = ?2 WHERE id = ?1";
        store.conn.prepare_cached(sql)?.execute(params![row.id, so_far.0 as i64])?;
    }
    if step.next_generation {
        let key = key.ok_or_else(|| LedgerError::Damaged("a new generation has no key".to_owned()))?;
        store
            .conn
            .prepare_cached(
                "UPDATE request SET generation = generation + 1, cached_refusals = cached_refusals + ?2,
                 refusals_in_row = 0, unclear = 0, not_before = NULL, first_armed_at = NULL,
                 first_armed_at_server = NULL, scope = NULL, failure = NULL, key = ?3 WHERE id = ?1",
            )?
            .execute(params![row.id, step.cached_refusal, key.as_bytes()])?;
    }
    Ok(())
}

/// Applies a move of a request to the sums, and returns how its credits change.
pub(super) fn counted(store: &mut Store, row: &RequestRow, step: &Move) -> Result<HoldChange, LedgerError> {
    let standing = &row.standing;
    let change = step.hold.apply(standing.held, standing.price);
    store.sums.book(&change);
    if change.charged > Credits::ZERO {
        charged(store, row.first_check, Credits::ZERO, change.charged);
    }
    if standing.state == State::Failed {
        // If it fails again, the new failure is counted in its place.
        let failed = end_of(&store.conn, RequestId(row.id))?;
        asks_ended(store, RequestId(row.id), failed, AskEnd::Open)?;
    }
    store.sums.moved(standing.state, step.state)?;
    if !step.state.is_settled() {
        store.sums.completed_at_us = None;
    }
    Ok(change)
}

#[cfg(test)]
#[path = "arm_tests.rs"]
mod tests;
