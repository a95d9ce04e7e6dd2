//! Answers as they are recorded: the raw answer, its verdict, and whether it belongs to another request. Also the replies
//! that could not be read as answers.

use super::{LedgerError, Reading, ask_ends::asks_ended, check_sums::AskEnd, compression, datasets, store::Store};
use crate::model::{IdempotencyKey, Judgement, RequestId, Verdict, state::State};
use rusqlite::{Row, params};
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

/// The last reply to a request that could not be read as an answer.
pub struct UnreadReply {
    pub request: RequestId,
    /// The catalogue's name.
    pub check: String,
    /// The state of the request today.
    pub state: State,
    pub key: IdempotencyKey,
    pub http_status: u16,
    pub received_at_us: i64,
    pub body: Vec<u8>,
}

impl Reading {
    /// The replies that could not be read as answers, in the order of their requests.
    ///
    /// # Errors
    /// The ledger cannot be read, or `each` failed.
    pub fn unread_replies<E: From<LedgerError>>(
        &self,
        each: impl FnMut(UnreadReply) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT unreadable.request, check_name, state, coalesce(key, first_key), http_status, received_at,
                          unreadable.body
                   FROM unreadable JOIN request ON request.id = unreadable.request ORDER BY 1";
        self.every(sql, unread_reply, each)
    }
}

fn unread_reply(row: &Row<'_>) -> Result<UnreadReply, LedgerError> {
    let damaged = |what: &str| LedgerError::Damaged(format!("the {what} of a reply that is kept cannot be read"));
    let body: Vec<u8> = row.get(6)?;
    Ok(UnreadReply {
        request: RequestId(row.get(0)?),
        check: row.get(1)?,
        state: State::from_code(row.get(2)?).ok_or_else(|| damaged("state"))?,
        key: IdempotencyKey::from_slice(&row.get::<_, Vec<u8>>(3)?).ok_or_else(|| damaged("key"))?,
        http_status: row.get(4)?,
        received_at_us: row.get(5)?,
        body: compression::decompress(&body, compression::ANSWER_BYTES_MAX).map_err(|_| damaged("body"))?,
    })
}
