//! What the charge book has of a request: enough for another ledger to go on with it. This module makes the record of a
//! request, and knows what the book was not told yet. [`adopt`](super::adopt) takes such a record.

use super::{
    Ledger, LedgerError, Reading,
    amount::Amounts,
    arm::{ArmOrder, met_no_route, price_to_hold, request_row},
    attempts,
    compression::{Level, compress},
    dictionary::AnswerDecompressors,
};
use crate::model::{
    Credits, IdempotencyKey, RequestId,
    key::hex,
    shared_request::{Known, Told},
    state::{Hold, State},
};
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

/// What a ledger knows of a request, beside what [`Told`] says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) unproven: u32,
    pub(super) cached_refusals: u32,
    pub(super) refusals_in_row: u32,
    pub(super) unclear: u32,
    pub(super) price: Credits,
    pub(super) possibly_charged: bool,
    /// A reply under the current key stated a charge.
    #[serde(default)]
    pub(super) stated_charge: bool,
    /// Every attempt under the current key met no route.
    #[serde(default)]
    pub(super) met_no_route: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_armed_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_armed_at_server: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) not_before: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scope: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    /// The key of a later generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    /// Whether the simulator has answered in this ledger; `None` before the first reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) simulated: Option<bool>,
    /// Of the body.
    pub(super) digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) judgement: Option<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<AnswerHead>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) job: Option<JobRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) upload: Option<(u32, String, i64)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AnswerHead {
    pub(super) http_status: u16,
    pub(super) latency_ms: u64,
    pub(super) requested_at: i64,
    pub(super) completed_at: i64,
    pub(super) request_id: Option<String>,
    pub(super) dataset: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JobRecord {
    pub(super) job_id: String,
    pub(super) accepted_at: i64,
    pub(super) accepted_at_server: Option<i64>,
    pub(super) charged: Credits,
}

/// A change that the book was not told.
pub struct Untold {
    /// A later change of the request has another number.
    pub change: i64,
    /// `None` if it is gone: a row that was never sent was edited.
    pub told: Option<Told>,
}

/// The most bytes of answers and bodies that are told at once, except for a single one.
const TOLD_BYTES_MAX: usize = 8 << 20;

impl Ledger {
    /// What the book is told before a request is armed: its line as it will then be, and what it will hold in addition.
    pub async fn about_to_arm(&self, order: ArmOrder) -> Result<(Told, Credits), LedgerError> {
        self.write(move |store| {
            let row = request_row(store, order.request)?;
            let price = price_to_hold(store, &row, &order);
            let change = Hold::Take.apply(row.standing.held, price);
            let (told, mut record) = found(&store.conn, order.request)?;
            let is_first = row.standing.state == State::Planned;
            if is_first && row.is_forgotten(&order, store.sums.server_offset_us) {
                (record.first_armed_at, record.first_armed_at_server) = (None, None);
            }
            if record.first_armed_at.is_none() {
                record.first_armed_at_server =
                    store.sums.server_offset_us.map(|offset| order.now_us.saturating_add(offset));
            }
            record.price = price;
            record.first_armed_at = record.first_armed_at.or(Some(order.now_us));
            record.scope = record.scope.filter(|_| !is_first).or(Some(order.scope));
            record.path = record.path.filter(|_| !(is_first || record.met_no_route)).or(Some(order.path));
            // This attempt may meet one.
            record.met_no_route = false;
            let (attempts, revision) = (told.attempts.saturating_add(1), told.revision.saturating_add(1));
            let (state, held) = (State::Armed, change.held);
            let told = Told { state, attempts, revision, held, record: text_of(&record), answer: None, ..told };
            Ok((told, change.added))
        })
        .await
    }
}

impl Reading {
    /// What the book was not told yet, oldest first, without these requests.
    pub fn untold(&self, count: usize, except: &[RequestId]) -> Result<Vec<Untold>, LedgerError> {
        let sql = "SELECT change, request FROM untold ORDER BY change LIMIT ?1";
        let mut select = self.conn.prepare_cached(sql)?;
        let found =
            select.query_map([(count + except.len()) as i64], |row| Ok((row.get(0)?, RequestId(row.get(1)?))))?;
        let found: Vec<(i64, RequestId)> = found.collect::<Result<_, _>>()?;
        let (mut untold, mut bytes) = (Vec::new(), 0);
        for (change, request) in found.into_iter().filter(|(_, request)| !except.contains(request)).take(count) {
            let told = self.told(request)?;
            let bytes_of = |told: &Told| [&told.answer, &told.body].into_iter().flatten().map(Vec::len).sum::<usize>();
            bytes += told.as_ref().map_or(0, bytes_of);
            if bytes > TOLD_BYTES_MAX && !untold.is_empty() {
                break;
            }
            untold.push(Untold { change, told });
        }
        Ok(untold)
    }

    fn told(&self, request: RequestId) -> Result<Option<Told>, LedgerError> {
        let Some((mut told, record)) = told(&self.conn, request)? else { return Ok(None) };
        told.record = text_of(&record);
        told.answer = answer_of(&self.conn, &self.answers, request)?;
        // What is settled is never sent again.
        told.body = told.body.filter(|_| !told.state.is_settled());
        Ok(Some(told))
    }

    /// How far this ledger is with these requests, and their first keys.
    pub fn known(&self, requests: &[RequestId]) -> Result<Vec<(RequestId, IdempotencyKey, Known)>, LedgerError> {
        let sql = "SELECT first_key, attempts, generation, revision FROM request WHERE id = ?1";
        let mut select = self.conn.prepare_cached(sql)?;
        let mut one = |request: RequestId| {
            let read = |row: &rusqlite::Row<'_>| {
                let known = Known { attempts: row.get(1)?, generation: row.get(2)?, revision: row.get(3)? };
                Ok((row.get::<_, Vec<u8>>(0)?, known))
            };
            let (key, known) = select.query_row([request.0], read)?;
            Ok((request, key_of(&key)?, known))
        };
        requests.iter().map(|request| one(*request)).collect()
    }
}

fn text_of(record: &Record) -> String {
    serde_json::to_string(record).expect("a record is plain text")
}

fn key_of(bytes: &[u8]) -> Result<IdempotencyKey, LedgerError> {
    IdempotencyKey::from_slice(bytes).ok_or_else(|| LedgerError::Damaged("a key cannot be read".to_owned()))
}

/// What a ledger has of a request, without its answer.
fn told(conn: &Connection, request: RequestId) -> Result<Option<(Told, Record)>, LedgerError> {
    let sql = "SELECT first_key, state, attempts, generation, held, charged, unproven, cached_refusals, refusals_in_row,
               unclear, price, possibly_charged, first_armed_at, first_armed_at_server, not_before, scope, path, key, digest,
               failure, verdict, finding, revision, body, (SELECT sums ->> '$.simulated' FROM campaign)
               FROM request WHERE id = ?1";
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query([request.0])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let key: Option<Vec<u8>> = row.get(17)?;
    let judgement: (Option<String>, Option<String>) = (row.get(20)?, row.get(21)?);
    let damaged = || LedgerError::Damaged("the state of a request".to_owned());
    let told = Told {
        key: key_of(&row.get::<_, Vec<u8>>(0)?)?,
        state: State::from_code(row.get(1)?).ok_or_else(damaged)?,
        attempts: row.get(2)?,
        generation: row.get(3)?,
        revision: row.get(22)?,
        held: row.credits(4)?,
        charged: row.credits(5)?,
        record: String::new(),
        body: row.get(23)?,
        answer: None,
    };
    let is_open = told.attempts > 0 && !told.state.is_settled();
    let record = Record {
        unproven: row.get(6)?,
        cached_refusals: row.get(7)?,
        refusals_in_row: row.get(8)?,
        unclear: row.get(9)?,
        price: row.credits(10)?,
        possibly_charged: row.get(11)?,
        stated_charge: is_open && attempts::stated_charge(conn, request.0, told.generation)?,
        met_no_route: is_open
            && told.state != State::Armed
            && met_no_route(conn, request.0, (told.generation, told.attempts))?,
        first_armed_at: row.get(12)?,
        first_armed_at_server: row.get(13)?,
        not_before: row.get(14)?,
        scope: row.get(15)?,
        path: row.get(16)?,
        key: key.map(|key| key_of(&key)).transpose()?.map(|key| key.to_string()),
        simulated: row.get(24)?,
        digest: hex(&row.get::<_, Vec<u8>>(18)?),
        failure: row.get(19)?,
        judgement: judgement.0.zip(judgement.1),
        answer: answer_head(conn, request)?,
        job: job(conn, request)?,
        upload: upload(conn, request)?,
    };
    Ok(Some((told, record)))
}

/// The same, for a request that exists.
fn found(conn: &Connection, request: RequestId) -> Result<(Told, Record), LedgerError> {
    told(conn, request)?.ok_or_else(|| LedgerError::Damaged(format!("there is no request {}", request.0)))
}

fn answer_head(conn: &Connection, request: RequestId) -> Result<Option<AnswerHead>, LedgerError> {
    let sql = "SELECT http_status, latency_ms, requested_at, completed_at, request_id,
               (SELECT version FROM dataset_of_answer d WHERE d.request = answer.request) FROM answer WHERE request = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(AnswerHead {
            http_status: row.get(0)?,
            latency_ms: row.amount(1)?,
            requested_at: row.get(2)?,
            completed_at: row.get(3)?,
            request_id: row.get(4)?,
            dataset: row.get(5)?,
        })
    };
    Ok(conn.prepare_cached(sql)?.query_row([request.0], read).optional()?)
}

fn answer_of(
    conn: &Connection,
    answers: &AnswerDecompressors,
    request: RequestId,
) -> Result<Option<Vec<u8>>, LedgerError> {
    let mut select = conn.prepare_cached("SELECT body FROM answer WHERE request = ?1")?;
    let stored: Option<Vec<u8>> = select.query_row([request.0], |row| row.get(0)).optional()?;
    // The dictionary of this ledger is not in the book.
    let plain = stored.map(|stored| answers.decompress(conn, &stored)).transpose()?;
    Ok(plain.map(|plain| compress(&plain, Level::Answer)))
}

fn job(conn: &Connection, request: RequestId) -> Result<Option<JobRecord>, LedgerError> {
    let sql = "SELECT job_id, accepted_at, accepted_at_server, charged FROM job WHERE request = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        let (job_id, accepted_at, accepted_at_server) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(JobRecord { job_id, accepted_at, accepted_at_server, charged: row.credits(3)? })
    };
    Ok(conn.prepare_cached(sql)?.query_row([request.0], read).optional()?)
}

fn upload(conn: &Connection, request: RequestId) -> Result<Option<(u32, String, i64)>, LedgerError> {
    let sql = "SELECT generation, reference, made_at FROM upload WHERE request = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    Ok(conn.prepare_cached(sql)?.query_row([request.0], read).optional()?)
}
