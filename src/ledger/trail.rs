//! The trail of a campaign: what became of each ask and each request, without anything that a row or an answer says about a
//! person. It is read for evidence.

use super::{
    LedgerError, Reading,
    amount::Amounts,
    reading::{DATASET, failure_of},
};
use crate::model::{Credits, FailureCode, IdempotencyKey, RequestId, clock::utc, key::hex, state::State};
use rusqlite::Row;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What became of an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskTrail {
    pub source: String,
    #[serde(rename = "row")]
    pub row_number: u64,
    /// The name of the check in the campaign; `None` for a row that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The dataset that it is in: `results`, `failures`, `pending` or `skipped`; the one that it was in, if it was purged.
    pub dataset: String,
    /// Its row was purged.
    #[serde(default, skip_serializing_if = "is_false")]
    pub purged: bool,
    /// The path of the result part that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureCode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// The charge for the request, if it is its first ask.
    pub credits: Credits,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTrail {
    #[serde(rename = "request")]
    pub id: RequestId,
    /// The catalogue name of the check.
    pub check: String,
    /// The key of its current generation.
    pub key: String,
    pub generation: u32,
    pub state: State,
    pub charged: Credits,
    pub held: Credits,
    pub possibly_charged: bool,
    /// Its content and answer were purged. Without a key secret, its key is a random mark since then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub purged: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureCode>,
    /// How often it was sent. A first attempt that is in flight is not among `attempts` yet.
    pub sent: u64,
    pub attempts: Vec<AttemptTrail>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerTrail>,
    /// The campaign that sent it, if this one uses its answer again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused_from: Option<String>,
}

/// An HTTP exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptTrail {
    pub number: u64,
    pub generation: u32,
    #[serde(rename = "armed_at", with = "utc")]
    pub armed_at_us: i64,
    /// `None` while it is in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
}

/// An answer, by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerTrail {
    #[serde(rename = "completed_at", with = "utc")]
    pub completed_at_us: i64,
    /// The service's id of the exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The raw answer; `None` once it was purged.
    #[serde(flatten)]
    pub content: Option<AnswerContent>,
}

/// The size and digest of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerContent {
    pub bytes: u64,
    /// SHA-256 of the raw answer, in hexadecimal.
    pub sha256: String,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Reading {
    /// What became of each ask, in input order.
    ///
    /// # Errors
    /// The ledger cannot be read, or `each` failed.
    pub fn ask_trail<E: From<LedgerError>>(&self, each: impl FnMut(AskTrail) -> Result<(), E>) -> Result<(), E> {
        let sql = format!(
            "SELECT source.name, split.next_row_number - split.rows + one.row_index, check_use.name, dataset,
                    part.path, code, request.id, iif(request.first_ask = one.id, request.charged, 0), is_purged
             FROM (SELECT ask.id, split, row_index, check_use, request, {DATASET} AS dataset, part,
                          coalesce(ask.failure, request.failure) ->> '$.code' AS code, 0 AS is_purged
                   FROM ask LEFT JOIN request ON request.id = ask.request
                   UNION ALL
                   SELECT ask, split, row_index, check_use, request, dataset, NULL, failure, 1 FROM purged_ask) AS one
             JOIN split ON split.id = one.split JOIN source ON source.id = split.source
             LEFT JOIN check_use ON check_use.id = one.check_use
             LEFT JOIN request ON request.id = one.request LEFT JOIN part ON part.id = one.part
             ORDER BY one.id"
        );
        self.every(&sql, ask_trail, each)
    }

    /// What became of each request, in the order in which they were made.
    ///
    /// # Errors
    /// The ledger cannot be read, or `each` failed.
    pub fn request_trail<E: From<LedgerError>>(
        &self,
        each: impl FnMut(RequestTrail) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT request.id, check_name, coalesce(key, first_key), generation, state, charged, held,
                          possibly_charged <> 0 OR unproven > 0, failure, attempts, answer.completed_at, answer.request_id,
                          answer.body, reused.campaign, purged_request.request IS NOT NULL
                   FROM request LEFT JOIN answer ON answer.request = request.id
                                LEFT JOIN purged_request ON purged_request.request = request.id
                                LEFT JOIN reused ON reused.request = request.id
                   ORDER BY request.id";
        self.every(sql, |row| self.request_of(row), each)
    }

    fn request_of(&self, row: &Row<'_>) -> Result<RequestTrail, LedgerError> {
        let damaged = |what: &str| LedgerError::Damaged(format!("a request's {what} cannot be read"));
        let id = RequestId(row.get(0)?);
        let state = State::from_code(row.get(4)?).ok_or_else(|| damaged("state"))?;
        let failure = row.get::<_, Option<String>>(8)?.filter(|_| state == State::Failed);
        let purged: bool = row.get(14)?;
        let answer = match (row.get(10)?, row.get::<_, Option<Vec<u8>>>(12)?) {
            (Some(completed_at_us), Some(stored)) => {
                let body = if purged { None } else { Some(self.answers.decompress(&self.conn, &stored)?) };
                let content =
                    body.map(|body| AnswerContent { bytes: body.len() as u64, sha256: hex(&Sha256::digest(&body)) });
                Some(AnswerTrail { completed_at_us, request_id: row.get(11)?, content })
            }
            _ => None,
        };
        Ok(RequestTrail {
            id,
            check: row.get(1)?,
            key: IdempotencyKey::from_slice(&row.get::<_, Vec<u8>>(2)?).ok_or_else(|| damaged("key"))?.to_string(),
            generation: row.get(3)?,
            state,
            charged: row.credits(5)?,
            held: row.credits(6)?,
            possibly_charged: row.get(7)?,
            purged,
            failure: failure.map(|text| failure_of(&text)).transpose()?.map(|failure| failure.code),
            sent: row.amount(9)?,
            attempts: self.attempts_of(id)?,
            answer,
            reused_from: row.get(13)?,
        })
    }

    fn attempts_of(&self, request: RequestId) -> Result<Vec<AttemptTrail>, LedgerError> {
        let sql = "SELECT number, generation, armed_at, outcome, http_status, latency_ms FROM attempt
                   WHERE request = ?1 ORDER BY number";
        let mut select = self.conn.prepare_cached(sql)?;
        let attempts = select.query_map([request.0], |row| {
            Ok(AttemptTrail {
                number: row.amount(0)?,
                generation: row.get(1)?,
                armed_at_us: row.get(2)?,
                outcome: row.get(3)?,
                http_status: row.get(4)?,
                latency_ms: row.amount_if_any(5)?,
            })
        })?;
        Ok(attempts.collect::<Result<_, _>>()?)
    }
}

fn ask_trail(row: &Row<'_>) -> Result<AskTrail, LedgerError> {
    let dataset: String = row.get(3)?;
    let failure = row.get::<_, Option<String>>(5)?.filter(|_| dataset == "failures");
    let unknown = || LedgerError::Damaged("a failure has an unknown code".to_owned());
    let known = |word: String| FailureCode::ALL.into_iter().find(|code| code.as_str() == word).ok_or_else(unknown);
    Ok(AskTrail {
        source: row.get(0)?,
        row_number: row.amount(1)?,
        check: row.get(2)?,
        part: row.get(4)?,
        failure: failure.map(known).transpose()?,
        dataset,
        purged: row.get(8)?,
        request: row.get::<_, Option<i64>>(6)?.map(RequestId),
        credits: row.amount_if_any(7)?.map_or(Credits::ZERO, Credits),
    })
}
