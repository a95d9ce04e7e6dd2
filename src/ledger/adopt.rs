//! Taking what the charge book says of a request that another ledger has sent: the lost ledger of the same partition, a newer copy
//! of this ledger, or the ledger of another partition.

use super::{
    Ledger, LedgerError,
    amount::Amounts,
    answers::{self, AnswerRecord, Heard},
    arm::{digest, request_row},
    ask_ends::charged,
    attempts,
    compression::{ANSWER_BYTES_MAX, decompress},
    reading::failure_of,
    record::{AnswerHead, JobRecord, Record},
    request_row::RequestRow,
    settle::note_failure,
    store::Store,
    untold::untold,
};
use crate::model::{
    Credits, Failure, IdempotencyKey, Judgement, RequestId, Verdict,
    key::hex,
    shared_request::Told,
    state::{Event, Standing, State},
    transitions::next,
};
use rusqlite::params;

/// A request that the book knows more of.
#[derive(Debug, Clone)]
pub struct Adoption {
    pub request: RequestId,
    pub told: Told,
    /// Whether this ledger books the charge, because its own partition sent the request.
    pub with_charge: bool,
}

/// An adoption whose record was read.
struct Read {
    adoption: Adoption,
    record: Record,
    failure: Option<Failure>,
    answer: Option<AnswerRecord>,
}

impl Ledger {
    /// Takes what the book says of requests. Returns the states of those that were taken. A record that cannot be read is not,
    /// and neither is one in doubt whose body the book does not have and that differs: a key has one body.
    pub async fn adopt(&self, adoptions: Vec<Adoption>, now_us: i64) -> Result<Vec<(RequestId, State)>, LedgerError> {
        // Read before anything is written: one bad record must not undo what others commit.
        let read: Vec<Read> = adoptions.into_iter().filter_map(read).collect();
        if read.is_empty() {
            return Ok(Vec::new());
        }
        self.write(move |store| {
            let mut adopted = Vec::with_capacity(read.len());
            for one in &read {
                adopted.extend(adopt(store, one, now_us)?.map(|state| (one.adoption.request, state)));
            }
            Ok(adopted)
        })
        .await
    }
}

fn read(adoption: Adoption) -> Option<Read> {
    let RequestId(request) = adoption.request;
    let unreadable = |what: &str| {
        tracing::warn!(
            "request {request} is in the charge book, but {what} cannot be read; use the same release on all machines"
        );
    };
    let Told { state, record, answer, .. } = &adoption.told;
    let record: Record = serde_json::from_str(record).map_err(|_| unreadable("its record")).ok()?;
    let failure = record.failure.as_deref().map(failure_of).transpose().map_err(|_| unreadable("its failure")).ok()?;
    if *state == State::Failed && failure.is_none() {
        unreadable("its failure");
        return None;
    }
    let answer = match state {
        State::Answered => Some(answer_of(&record, answer.as_deref()).or_else(|| {
            unreadable("its answer");
            None
        })?),
        _ => None,
    };
    Some(Read { adoption, record, failure, answer })
}

fn answer_of(record: &Record, body: Option<&[u8]>) -> Option<AnswerRecord> {
    let (head, (verdict, finding)) = (record.answer.as_ref()?, record.judgement.as_ref()?);
    let judgement = Judgement { verdict: Verdict::from_word(verdict)?, finding: finding.clone() };
    Some(AnswerRecord {
        requested_at_us: head.requested_at,
        request_id: head.request_id.clone(),
        judgement,
        dataset: head.dataset.clone(),
        body: decompress(body?, ANSWER_BYTES_MAX).ok()?,
    })
}

/// What a request becomes.
struct Adopted {
    state: State,
    unproven: u32,
    held: Credits,
    charged: Credits,
    attempts: u32,
    judgement: Option<Judgement>,
    is_elsewhere: bool,
}

/// Takes what the book says of a request. Returns its state; `None` if it stays as it is.
fn adopt(store: &mut Store, read: &Read, now_us: i64) -> Result<Option<State>, LedgerError> {
    let Read { adoption: Adoption { request, told, with_charge }, record, failure, answer } = read;
    let row = request_row(store, *request)?;
    let (own_digest, before, check): (Vec<u8>, Credits, String) = store
        .conn
        .prepare_cached("SELECT digest, charged, check_name FROM request WHERE id = ?1")?
        .query_row([request.0], |row| Ok((row.get(0)?, row.credits(1)?, row.get(2)?)))?;
    let body = told.body.as_ref().filter(|body| hex(&digest(body)) == record.digest);
    let is_sent_again = matches!(told.state, State::Planned | State::Armed | State::InDoubt | State::Repeating);
    if hex(&own_digest) != record.digest && is_sent_again && body.is_none() {
        tracing::warn!("request {} is in doubt in the charge book with another body, and is not sent here", request.0);
        return Ok(None);
    }
    if let Some(simulated) = record.simulated
        && *store.sums.simulated.get_or_insert(simulated) != simulated
    {
        tracing::warn!("request {} was answered by the other side in the charge book, and is not taken", request.0);
        return Ok(None);
    }
    let (mut state, mut unproven) = (told.state, record.unproven);
    if state == State::Armed {
        // The process that armed it is gone, as at the start of a run.
        let step = next(&Standing { state, unproven, ..row.standing }, Event::FoundArmed)?;
        (state, unproven) = (step.state, step.unproven);
    }
    let (held, charge) = match with_charge {
        true => (told.held, before.max(told.charged)),
        false => (Credits::ZERO, before),
    };
    let judgement = match (answer, &record.answer) {
        (Some(answer), Some(head)) => {
            let AnswerHead { http_status, latency_ms, completed_at, .. } = *head;
            *store.sums.answers.entry(check.clone()).or_default() += 1;
            let heard = Heard { http_status, latency_ms, now_us: completed_at };
            let judgement = answers::keep(store, (*request, &check), answer, heard)?;
            // The rules of this campaign judge it before it is published.
            store.conn.prepare_cached("INSERT OR IGNORE INTO unjudged VALUES (?1)")?.execute([request.0])?;
            Some(judgement)
        }
        _ => None,
    };
    let account = &mut store.sums.account;
    let used_before = row.standing.held + before;
    account.held = (account.held + held).saturating_sub(row.standing.held);
    account.charged = (account.charged + charge).saturating_sub(before);
    account.armed = account.armed + (held + charge).saturating_sub(used_before);
    charged(store, row.first_check, before, charge);
    let attempts = told.attempts.max(row.attempts);
    store.sums.attempts += u64::from(attempts - row.attempts);
    store.sums.moved(row.standing.state, state)?;
    let is_elsewhere = !with_charge && state.is_settled();
    let adopted = Adopted { state, unproven, held, charged: charge, attempts, judgement, is_elsewhere };
    write(store, &row, (told, record), &adopted)?;
    if let Some(body) = body.filter(|_| hex(&own_digest) != record.digest) {
        let sql = "UPDATE request SET body = ?2, digest = ?3 WHERE id = ?1";
        store.conn.prepare_cached(sql)?.execute(params![request.0, body, digest(body)])?;
    }
    if told.attempts >= row.attempts.max(1) && !state.is_settled() {
        attempts::of_another(
            store,
            &row,
            (attempts, told.generation),
            (record.met_no_route, record.stated_charge),
            record.first_armed_at.unwrap_or(now_us),
        )?;
    }
    keep_others(store, request.0, state, record, &check, now_us)?;
    if *with_charge && before > told.charged {
        untold(store, request.0)?;
    }
    if state == State::Failed {
        note_failure(store, *request, failure.as_ref())?;
    }
    if !state.is_settled() {
        store.sums.completed_at_us = None;
    }
    Ok(Some(state))
}

fn write(
    store: &Store,
    row: &RequestRow,
    (told, record): (&Told, &Record),
    adopted: &Adopted,
) -> Result<(), LedgerError> {
    let sql = "UPDATE request SET state = ?2, unproven = ?3, held = ?4, charged = ?5, attempts = ?6, generation = ?7,
               cached_refusals = ?8, refusals_in_row = ?9, unclear = ?10, price = ?11, possibly_charged = ?12,
               first_armed_at = ?13, first_armed_at_server = ?14, not_before = ?15, scope = ?16, path = ?17, key = ?18,
               failure = ?19, verdict = ?20, finding = ?21,
               last_attempt = iif(?6 > attempts, ?22, last_attempt),
               revision = max(revision, ?23), elsewhere = ?24 WHERE id = ?1";
    let key = record.key.as_deref().and_then(IdempotencyKey::from_text);
    let Adopted { state, unproven, held, charged, attempts, judgement, is_elsewhere } = adopted;
    store.conn.prepare_cached(sql)?.execute(params![
        row.id,
        state.code(),
        unproven,
        held.0 as i64,
        charged.0 as i64,
        attempts,
        told.generation,
        record.cached_refusals,
        record.refusals_in_row,
        record.unclear,
        record.price.0 as i64,
        record.possibly_charged,
        record.first_armed_at,
        record.first_armed_at_server,
        record.not_before,
        record.scope,
        record.path,
        key.as_ref().map(|key| key.as_bytes().to_vec()),
        record.failure,
        judgement.as_ref().map(|judgement| judgement.verdict.as_str()),
        judgement.as_ref().map(|judgement| judgement.finding.as_str()),
        store.sums.attempts as i64,
        told.revision,
        is_elsewhere
    ])?;
    Ok(())
}

/// Takes the job and the upload of a request.
fn keep_others(
    store: &mut Store,
    request: i64,
    state: State,
    record: &Record,
    check: &str,
    now_us: i64,
) -> Result<(), LedgerError> {
    if let Some(JobRecord { job_id, accepted_at, accepted_at_server, charged }) = &record.job {
        let poll_at = (state == State::Submitted).then_some(now_us);
        let sql = "INSERT OR REPLACE INTO job
                   (request, job_id, accepted_at, accepted_at_server, polled_at, poll_at, charged)
                   VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6)";
        let values = params![request, job_id, accepted_at, accepted_at_server, poll_at, charged.0 as i64];
        store.conn.prepare_cached(sql)?.execute(values)?;
        if state == State::Submitted {
            *store.sums.answers.entry(check.to_owned()).or_default() += 1;
        }
    }
    if let Some((generation, reference, made_at)) = &record.upload {
        let sql = "INSERT OR REPLACE INTO upload (request, generation, reference, made_at) VALUES (?1, ?2, ?3, ?4)";
        store.conn.prepare_cached(sql)?.execute(params![request, generation, reference, made_at])?;
    }
    Ok(())
}
