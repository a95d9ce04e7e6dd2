//! Answers as they are recorded: the raw answer, its verdict, and whether it belongs to another request.

use super::{
    LedgerError,
    compression::{Level, compress},
    datasets,
    store::Store,
};
use crate::model::{Judgement, RequestId, Verdict};
use rusqlite::params;
use uuid::Uuid;

/// A final answer as it is recorded.
#[derive(Clone)]
pub struct AnswerRecord {
    pub requested_at_us: i64,
    /// The service's id of the exchange.
    pub request_id: Option<String>,
    pub judgement: Judgement,
    /// The version of the service's list that it was made with, if it names one.
    pub dataset: Option<String>,
    /// The raw answer.
    pub body: Vec<u8>,
}

/// How the reply with an answer came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    pub(super) http_status: u16,
    pub(super) latency_ms: u64,
    pub(super) now_us: i64,
}

/// Records the answer of a request that is answered now.
pub(super) fn keep(
    store: &mut Store,
    request: RequestId,
    answer: &AnswerRecord,
    heard: Heard,
) -> Result<(), LedgerError> {
    if answer.judgement.verdict == Verdict::Unrecognised {
        store.sums.answers_unrecognised += 1;
    }
    if let Some(version) = &answer.dataset {
        let check = check_of(store, request)?;
        datasets::note(store.sums.datasets.entry(check).or_default(), version, heard.now_us);
        let sql = "INSERT OR REPLACE INTO dataset_of_answer VALUES (?1, ?2)";
        store.conn.prepare_cached(sql)?.execute(params![request.0, version])?;
    }
    store
        .conn
        .prepare_cached(
            "INSERT INTO answer (request, http_status, latency_ms, requested_at, completed_at, request_id, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            request.0,
            heard.http_status,
            heard.latency_ms as i64,
            answer.requested_at_us,
            heard.now_us,
            answer.request_id,
            compress(&answer.body, Level::Answer)
        ])?;
    let judgement = if is_of_another(store, request, answer)? {
        store.conn.prepare_cached("INSERT INTO crossed VALUES (?1)")?.execute([request.0])?;
        answer.judgement.clone().doubted("echo_mismatch")
    } else {
        answer.judgement.clone()
    };
    let sql = "UPDATE request SET verdict = ?2, finding = ?3 WHERE id = ?1";
    store.conn.prepare_cached(sql)?.execute(params![request.0, judgement.verdict.as_str(), judgement.finding])?;
    store.conn.prepare_cached("INSERT INTO unpublished VALUES (?1)")?.execute([request.0])?;
    if judgement.verdict == Verdict::Unrecognised {
        store.conn.prepare_cached("INSERT INTO unrecognised VALUES (?1)")?.execute([request.0])?;
    }
    Ok(())
}

fn check_of(store: &Store, request: RequestId) -> Result<String, LedgerError> {
    let sql = "SELECT check_name FROM request WHERE id = ?1";
    Ok(store.conn.prepare_cached(sql)?.query_row([request.0], |row| row.get(0))?)
}

/// Whether an answer belongs to another request of this ledger. Services may echo the key as `requestId`.
fn is_of_another(store: &Store, request: RequestId, answer: &AnswerRecord) -> Result<bool, LedgerError> {
    let id = answer.request_id.as_deref().and_then(|id| Uuid::try_parse(id).ok());
    let Some(id) = id else { return Ok(false) };
    let sql = "SELECT 1 FROM request WHERE first_key = ?1 AND id <> ?2 UNION ALL SELECT 1 FROM request WHERE key = ?1 AND id <> ?2";
    Ok(store.conn.prepare_cached(sql)?.exists(params![id.as_bytes(), request.0])?)
}
