//! What happened when, for the report: attempts and charges over time, how long answers took, and what duplicates
//! saved. Each function is one query whose rows are counted by SQLite or handed out one by one, so that memory does not
//! grow with the campaign.

use super::{LedgerError, Reading, amount::Amounts, attempts::EVERY_ATTEMPT};
use crate::model::{
    Credits, IdempotencyKey,
    state::{Outcome, State},
};
use rusqlite::{Row, params};
use std::collections::BTreeMap;

/// When the first and the last attempt began, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptSpan {
    pub first_us: i64,
    pub last_us: i64,
}

/// A time at which credits were charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChargeAt {
    /// The check in the campaign; `None` if the ledger does not say.
    pub check_use: Option<i64>,
    /// When the answer came, else when the last attempt ended, in microseconds since 1970. `None` if neither is recorded.
    pub at_us: Option<i64>,
    pub credits: Credits,
}

/// What a request was charged, and what identifies it at the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerCharge {
    /// The catalogue name of the check.
    pub check: String,
    /// The key of its current generation.
    pub key: IdempotencyKey,
    /// Its first and current key, the service's id of the exchange, and the id of its job.
    pub ids: Vec<String>,
    pub state: State,
    pub charged: Credits,
    /// Where its first row is, unless the row was corrected.
    pub source: Option<String>,
    pub row_number: Option<u64>,
}

/// Asks of one check that share the request of another row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shared {
    pub asks: u64,
    /// What their requests were charged. Each ask would have cost it again.
    pub credits: Credits,
}

impl Reading {
    /// When the first and the last attempt began; `None` if nothing was sent.
    pub fn attempt_span(&self) -> Result<Option<AttemptSpan>, LedgerError> {
        let span = |row: &Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
        let sql = format!("SELECT min(armed_at), max(armed_at) FROM {EVERY_ATTEMPT}");
        let (first, last) = self.conn.query_row(&sql, [], span)?;
        Ok(first.zip(last).map(|(first_us, last_us)| AttemptSpan { first_us, last_us }))
    }

    /// The number of attempts that began in each interval of this length, in microseconds. Intervals count from 1970, and
    /// are given in order, those without an attempt not at all.
    pub fn attempts_in(&self, interval_us: i64, mut each: impl FnMut(i64, u64)) -> Result<(), LedgerError> {
        let sql = format!("SELECT armed_at / ?1, count(*) FROM {EVERY_ATTEMPT} GROUP BY 1 ORDER BY 1");
        let mut select = self.conn.prepare(&sql)?;
        let mut rows = select.query([interval_us.max(1)])?;
        while let Some(row) = rows.next()? {
            each(row.get(0)?, row.amount(1)?);
        }
        Ok(())
    }

    /// Every attempt: when it began, in microseconds since 1970, and whether it brought the answer.
    pub fn every_attempt(&self, mut each: impl FnMut(i64, bool)) -> Result<(), LedgerError> {
        let mut select = self.conn.prepare(&format!("SELECT armed_at, outcome IS ?1 FROM {EVERY_ATTEMPT}"))?;
        let mut rows = select.query([Outcome::Answered { stated: None }.as_str()])?;
        while let Some(row) = rows.next()? {
            each(row.get(0)?, row.get(1)?);
        }
        Ok(())
    }

    /// Every charge. Their sum is what the campaign was charged.
    pub fn every_charge(&self, mut each: impl FnMut(ChargeAt)) -> Result<(), LedgerError> {
        let sql = "SELECT ask.check_use, coalesce(answer.completed_at,
                              (SELECT max(armed_at + 1000 * coalesce(latency_ms, 0)) FROM attempt
                               WHERE attempt.request = request.id)), request.charged
                   FROM request LEFT JOIN ask ON ask.id = request.first_ask
                   LEFT JOIN answer ON answer.request = request.id WHERE request.charged <> 0";
        let mut select = self.conn.prepare(sql)?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let credits = row.credits(2)?;
            each(ChargeAt { check_use: row.get(0)?, at_us: row.get(1)?, credits });
        }
        Ok(())
    }

    /// What each request was charged, in the order in which they were made.
    ///
    /// # Errors
    /// The ledger cannot be read, or `each` failed.
    pub fn ledger_charges<E: From<LedgerError>>(
        &self,
        each: impl FnMut(LedgerCharge) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT request.check_name, first_key, key, iif(reused.request IS NULL, answer.request_id, NULL), job.job_id,
                          state, request.charged, source.name,
                          split.next_row_number - split.rows + ask.row_index
                   FROM request LEFT JOIN answer ON answer.request = request.id LEFT JOIN job ON job.request = request.id
                        LEFT JOIN reused ON reused.request = request.id
                        LEFT JOIN ask ON ask.id = request.first_ask AND ask.request = request.id
                        LEFT JOIN split ON split.id = ask.split LEFT JOIN source ON source.id = split.source
                   ORDER BY request.id";
        self.every(sql, ledger_charge, each)
    }

    /// How long the last exchange of each answered request took: the check in the campaign, milliseconds, and the number
    /// of requests. The times of a check are given in ascending order.
    pub fn answer_latencies(&self, mut each: impl FnMut(Option<i64>, u64, u64)) -> Result<(), LedgerError> {
        let sql = "SELECT ask.check_use, answer.latency_ms, count(*)
                   FROM answer JOIN request ON request.id = answer.request LEFT JOIN ask ON ask.id = request.first_ask
                   WHERE request.state = ?1 GROUP BY 1, 2 ORDER BY 1, 2";
        let mut select = self.conn.prepare(sql)?;
        let mut rows = select.query([State::Answered.code()])?;
        while let Some(row) = rows.next()? {
            each(row.get(0)?, row.amount(1)?, row.amount(2)?);
        }
        Ok(())
    }

    /// The asks of each check that share the request of an earlier row.
    pub fn shared(&self) -> Result<BTreeMap<i64, Shared>, LedgerError> {
        let sql = "SELECT coalesce(ask.check_use, 0), count(*), sum(request.charged)
                   FROM ask JOIN request ON request.id = ask.request WHERE ask.id <> request.first_ask GROUP BY 1";
        let mut select = self.conn.prepare(sql)?;
        let shared = select.query_map([], |row| {
            let (asks, credits) = (row.amount(1)?, row.amount(2)?);
            Ok((row.get(0)?, Shared { asks, credits: Credits(credits) }))
        })?;
        Ok(shared.collect::<Result<_, _>>()?)
    }

    /// The asks that wait, by check in the campaign and by the state of their request. Answered ones are in no part yet.
    pub fn waiting(&self) -> Result<BTreeMap<(i64, State), u64>, LedgerError> {
        let sql = "SELECT coalesce(ask.check_use, 0), request.state, count(*)
                   FROM ask JOIN request ON request.id = ask.request
                   WHERE request.state NOT IN (?1, ?2) OR (request.state = ?2 AND ask.part IS NULL) GROUP BY 1, 2";
        let mut select = self.conn.prepare(sql)?;
        let mut rows = select.query(params![State::Failed.code(), State::Answered.code()])?;
        let mut waiting = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let code: i64 = row.get(1)?;
            let unknown = || LedgerError::Damaged(format!("a request has the unknown state {code}"));
            let state = State::from_code(code).ok_or_else(unknown)?;
            waiting.insert((row.get(0)?, state), row.amount(2)?);
        }
        Ok(waiting)
    }
}

fn ledger_charge(row: &Row<'_>) -> Result<LedgerCharge, LedgerError> {
    let damaged = |what: &str| LedgerError::Damaged(format!("a request's {what} cannot be read"));
    let key_of = |bytes: Vec<u8>| IdempotencyKey::from_slice(&bytes).ok_or_else(|| damaged("key"));
    let first = key_of(row.get(1)?)?;
    let key = row.get::<_, Option<Vec<u8>>>(2)?.map(key_of).transpose()?;
    let named: [Option<String>; 2] = [row.get(3)?, row.get(4)?];
    let keys = std::iter::once(first).chain(key).map(|key| key.to_string());
    Ok(LedgerCharge {
        check: row.get(0)?,
        key: key.unwrap_or(first),
        ids: keys.chain(named.into_iter().flatten()).collect(),
        state: State::from_code(row.get(5)?).ok_or_else(|| damaged("state"))?,
        charged: row.credits(6)?,
        source: row.get(7)?,
        row_number: row.amount_if_any(8)?,
    })
}
