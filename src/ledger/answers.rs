//! Answers as they are recorded: the raw answer, its verdict, and whether it belongs to another request.

use super::{LedgerError, ask_ends::asks_ended, check_sums::AskEnd, datasets, store::Store};
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

/// Records the answer of a request of this check that is answered now. Returns the judgement on it.
pub(super) fn keep(
    store: &mut Store,
    (request, check): (RequestId, &str),
    answer: &AnswerRecord,
    heard: Heard,
) -> Result<Judgement, LedgerError> {
    if let Some(version) = &answer.dataset {
        if let Some(seen) = store.sums.datasets.get_mut(check) {
            datasets::note(seen, version, heard.now_us);
        } else {
            datasets::note(store.sums.datasets.entry(check.to_owned()).or_default(), version, heard.now_us);
        }
        let sql = "INSERT OR REPLACE INTO dataset_of_answer VALUES (?1, ?2)";
        store.conn.prepare_cached(sql)?.execute(params![request.0, version])?;
    }
    let body = store.compressors.compress(&store.conn, check, &answer.body)?;
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
            body
        ])?;
    let mut judgement = answer.judgement.clone();
    if is_of_another(store, request, answer)? {
        store.conn.prepare_cached("INSERT INTO crossed VALUES (?1)")?.execute([request.0])?;
        judgement = judgement.doubted("echo_mismatch");
    }
    store.conn.prepare_cached("INSERT INTO unpublished VALUES (?1)")?.execute([request.0])?;
    if answer.judgement.verdict == Verdict::Unrecognised {
        store.sums.answers_unrecognised += 1;
    }
    if judgement.verdict == Verdict::Unrecognised {
        store.conn.prepare_cached("INSERT INTO unrecognised VALUES (?1)")?.execute([request.0])?;
    }
    asks_ended(store, request, AskEnd::Open, AskEnd::Answered(judgement.verdict))?;
    Ok(judgement)
}

/// Whether an answer belongs to another request of this ledger. Services may echo the key as `requestId`.
fn is_of_another(store: &Store, request: RequestId, answer: &AnswerRecord) -> Result<bool, LedgerError> {
    let id = answer.request_id.as_deref().and_then(|id| Uuid::try_parse(id).ok());
    let Some(id) = id else { return Ok(false) };
    let sql = "SELECT 1 FROM request WHERE first_key = ?1 AND id <> ?2 UNION ALL SELECT 1 FROM request WHERE key = ?1 AND id <> ?2";
    Ok(store.conn.prepare_cached(sql)?.exists(params![id.as_bytes(), request.0])?)
}
