//! Answers of an earlier campaign: read from its ledger, and taken into this one in place of a request. They cost nothing, and
//! do not show that the service works today.

use super::{
    Ledger, LedgerError, Reading,
    amount::Amounts,
    answers::{self, AnswerRecord, Heard},
    store::Store,
};
use crate::model::{IdempotencyKey, Judgement, RequestId, Verdict, question::question_of, state::State};
use rusqlite::{OptionalExtension, Row, params};
use serde_json::{Map, Value};

/// An answer of an earlier campaign.
#[derive(Clone)]
pub struct EarlierAnswer {
    /// The campaign that sent the request.
    pub campaign: String,
    /// When it came, in microseconds since 1970.
    pub completed_at_us: i64,
    /// It belongs to another request.
    pub is_crossed: bool,
    pub http_status: u16,
    pub latency_ms: u64,
    pub record: AnswerRecord,
}

/// What a request asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub request: RequestId,
    /// The catalogue name of the check.
    pub check: String,
    pub fields: Map<String, Value>,
    /// The body that would be sent.
    pub body: Vec<u8>,
}

impl Reading {
    /// Whether answers of this campaign are used here.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn reuses_answers_of(&self, campaign: &str) -> Result<bool, LedgerError> {
        Ok(self.conn.prepare_cached("SELECT 1 FROM reused WHERE campaign = ?1 LIMIT 1")?.exists([campaign])?)
    }

    /// What these requests ask.
    pub fn questions(&self, requests: &[RequestId]) -> Result<Vec<Question>, LedgerError> {
        let mut select = self.conn.prepare_cached("SELECT check_name, fields, body FROM request WHERE id = ?1")?;
        let mut one = |request: RequestId| {
            let found = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get(2)?));
            let (check, fields, body) = select.query_row([request.0], found)?;
            let fields = serde_json::from_str(&fields).map_err(|_| damaged_request("fields"))?;
            Ok(Question { request, check, fields, body })
        };
        requests.iter().map(|request| one(*request)).collect()
    }

    /// The answer to the request with this first key, if it asks the same. `campaign` is the name of this campaign.
    pub fn earlier_answer(
        &self,
        campaign: &str,
        key: &IdempotencyKey,
        (check, body): (&str, &[u8]),
    ) -> Result<Option<EarlierAnswer>, LedgerError> {
        let sql =
            "SELECT check_name, request.body, verdict, finding, http_status, latency_ms, requested_at, completed_at,
                          answer.request_id, answer.body,
                          (SELECT version FROM dataset_of_answer d WHERE d.request = request.id),
                          (SELECT campaign FROM reused WHERE reused.request = request.id),
                          EXISTS (SELECT 1 FROM crossed WHERE crossed.request = request.id)
                   FROM request JOIN answer ON answer.request = request.id WHERE first_key = ?1 AND state = ?2";
        let mut select = self.conn.prepare_cached(sql)?;
        let mut rows = select.query(params![key.as_bytes(), State::Answered.code()])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        // Fixed fields and defaults are not part of the key.
        if row.get::<_, String>(0)? != check || question_of(&row.get::<_, Vec<u8>>(1)?) != question_of(body) {
            return Ok(None);
        }
        let verdict = Verdict::from_word(&row.get::<_, String>(2)?).ok_or_else(|| damaged_request("verdict"))?;
        let body: Vec<u8> = row.get(9)?;
        Ok(Some(EarlierAnswer {
            campaign: row.get::<_, Option<String>>(11)?.unwrap_or_else(|| campaign.to_owned()),
            completed_at_us: row.get(7)?,
            is_crossed: row.get(12)?,
            http_status: row.get(4)?,
            latency_ms: row.amount(5)?,
            record: AnswerRecord {
                requested_at_us: row.get(6)?,
                request_id: row.get(8)?,
                judgement: Judgement { verdict, finding: row.get(3)? },
                dataset: row.get(10)?,
                body: self.answers.decompress(&self.conn, &body)?,
            },
        }))
    }

    /// The state of a request.
    pub fn state_of_request(&self, request: RequestId) -> Result<State, LedgerError> {
        let sql = "SELECT state FROM request WHERE id = ?1";
        let code: i64 = self.conn.prepare_cached(sql)?.query_row([request.0], |row| row.get(0))?;
        State::from_code(code).ok_or_else(|| damaged_request("state"))
    }

    /// The number of requests that were not sent, because an earlier campaign has the answer.
    pub fn reused(&self) -> Result<u64, LedgerError> {
        Ok(self.conn.query_row("SELECT count(*) FROM reused", [], |row| row.amount(0))?)
    }
}

impl Ledger {
    /// Takes answers of an earlier campaign in place of requests that were never sent, or are proven uncharged. Returns those that were taken.
    pub async fn reuse(&self, answers: Vec<(RequestId, EarlierAnswer)>) -> Result<Vec<RequestId>, LedgerError> {
        if answers.is_empty() {
            return Ok(Vec::new());
        }
        self.write(move |store| {
            let mut taken = Vec::with_capacity(answers.len());
            for (request, answer) in &answers {
                if take(store, *request, answer)? {
                    taken.push(*request);
                }
            }
            Ok(taken)
        })
        .await
    }
}

fn damaged_request(what: &str) -> LedgerError {
    LedgerError::Damaged(format!("a request's {what} cannot be read"))
}

fn take(store: &mut Store, request: RequestId, earlier: &EarlierAnswer) -> Result<bool, LedgerError> {
    let sql = "SELECT check_name FROM request WHERE id = ?1 AND state = ?2 AND held = 0 AND charged = 0
               AND unproven = 0";
    let check: Option<String> = store
        .conn
        .prepare_cached(sql)?
        .query_row(params![request.0, State::Planned.code()], |row| row.get(0))
        .optional()?;
    let Some(check) = check else { return Ok(false) };
    let EarlierAnswer { http_status, latency_ms, completed_at_us, .. } = *earlier;
    let heard = Heard { http_status, latency_ms, now_us: completed_at_us };
    let judgement = answers::keep(store, (request, &check), &earlier.record, heard)?;
    // The rules of this campaign judge it before it is published.
    store.conn.prepare_cached("INSERT OR IGNORE INTO unjudged VALUES (?1)")?.execute([request.0])?;
    let sql = "UPDATE request SET state = ?2, verdict = ?3, finding = ?4, elsewhere = 1 WHERE id = ?1";
    let values = params![request.0, State::Answered.code(), judgement.verdict.as_str(), judgement.finding];
    store.conn.prepare_cached(sql)?.execute(values)?;
    let sql = "INSERT INTO reused (request, campaign) VALUES (?1, ?2)";
    store.conn.prepare_cached(sql)?.execute(params![request.0, earlier.campaign])?;
    store.sums.moved(State::Planned, State::Answered)?;
    Ok(true)
}
