//! What the ledger says about the progress of a campaign, in addition to its sums: verdicts by check, failures by code
//! and the rate of the last minutes. The cost of each query depends on the parts, the failures and a fixed number of
//! answers, never on the rows of the campaign, because `rescreen status` is used while a run is writing.

use super::{LedgerError, Reading, amount::Amounts};
use crate::model::{FailureCode, state::State};
use rusqlite::params;
use std::collections::BTreeMap;

/// How many of the newest answers the rate is counted from.
const RECENT_MAX: i64 = 2_000;
/// Fewer answers say too little about the rate to expect: the first requests of a run are sent one by one.
const RECENT_MIN: i64 = 10;

/// The number of failed asks by code, by the name of the check in the campaign. Rows that could not be read are under
/// `None`.
pub type FailuresByCode = BTreeMap<Option<String>, BTreeMap<FailureCode, u64>>;

/// The rows of one check that are in result files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The name of the check in the campaign.
    pub check: String,
    pub rows: u64,
    pub by_verdict: BTreeMap<String, u64>,
}

impl Reading {
    /// The rows in result files, by check, in the order of the campaign.
    pub fn published(&self) -> Result<Vec<Published>, LedgerError> {
        let sql = "SELECT check_use.name, part.rows, part.verdicts FROM check_use LEFT JOIN part
                   ON part.check_use = check_use.id AND part.verdicts IS NOT NULL ORDER BY check_use.id";
        let mut select = self.conn.prepare(sql)?;
        let mut rows = select.query([])?;
        let mut published: Vec<Published> = Vec::new();
        while let Some(row) = rows.next()? {
            let check: String = row.get(0)?;
            if published.last().is_none_or(|last| last.check != check) {
                published.push(Published { check, rows: 0, by_verdict: BTreeMap::new() });
            }
            let Some(verdicts) = row.get::<_, Option<String>>(2)? else { continue };
            let verdicts: BTreeMap<String, u64> = serde_json::from_str(&verdicts)
                .map_err(|error| LedgerError::Damaged(format!("the verdicts of a part: {error}")))?;
            let Some(of_check) = published.last_mut() else { continue };
            of_check.rows = of_check.rows.saturating_add(row.amount(1)?);
            for (verdict, count) in verdicts {
                let sum = of_check.by_verdict.entry(verdict).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        Ok(published)
    }

    /// When the last answer came, in microseconds since 1970. It reads every answer.
    pub fn last_answer_us(&self) -> Result<Option<i64>, LedgerError> {
        Ok(self.conn.query_row("SELECT max(completed_at) FROM answer", [], |row| row.get(0))?)
    }

    /// The number of failed asks by check and code.
    pub fn failures_by_code(&self) -> Result<FailuresByCode, LedgerError> {
        // The failures of rows and those of requests are found by an index each.
        let sql = "SELECT check_use.name, code, sum(n) FROM (
                       SELECT check_use, CASE WHEN json_valid(failure) THEN failure ->> '$.code' END AS code, count(*) AS n
                       FROM ask WHERE failure IS NOT NULL GROUP BY 1, 2
                       UNION ALL
                       SELECT ask.check_use,
                              CASE WHEN json_valid(request.failure) THEN request.failure ->> '$.code' END, count(*)
                       FROM request JOIN ask ON ask.request = request.id
                       WHERE request.state = ?1 AND request.state NOT IN (1, 10) GROUP BY 1, 2
                   ) LEFT JOIN check_use ON check_use.id = check_use GROUP BY 1, 2";
        let mut select = self.conn.prepare(sql)?;
        let mut rows = select.query(params![State::Failed.code()])?;
        let mut failures = FailuresByCode::new();
        while let Some(row) = rows.next()? {
            let code: Option<String> = row.get(1)?;
            let known = FailureCode::ALL.into_iter().find(|known| Some(known.as_str()) == code.as_deref());
            let known = known.ok_or_else(|| LedgerError::Damaged("a failure has an unknown code".to_owned()))?;
            *failures.entry(row.get(0)?).or_default().entry(known).or_default() += row.amount(2)?;
        }
        Ok(failures)
    }

    /// When the oldest request in one of these states was first sent under its key, in microseconds since 1970.
    pub fn oldest_in(&self, states: &[State]) -> Result<Option<i64>, LedgerError> {
        let sought = self.in_states(states)?;
        let sql = format!("SELECT min(first_armed_at) FROM request WHERE {sought}");
        Ok(self.conn.query_row(&sql, [], |row| row.get(0))?)
    }

    /// The answers a minute since a time, or since a later one if there were very many. `None` if there were too few to
    /// tell.
    pub fn rate_since(&self, since_us: i64, now_us: i64) -> Result<Option<f64>, LedgerError> {
        // Requests are sent in the order of their ids, so the newest answers have the largest ones.
        let sql = "SELECT count(*), min(completed_at) FROM
                       (SELECT completed_at FROM answer ORDER BY request DESC LIMIT ?1)
                   WHERE completed_at > ?2 AND completed_at <= ?3";
        let counted = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?));
        let (count, oldest) = self.conn.query_row(sql, params![RECENT_MAX, since_us, now_us], counted)?;
        let since_us = oldest.filter(|_| count == RECENT_MAX).unwrap_or(since_us);
        let minutes = now_us.saturating_sub(since_us).max(1) as f64 / 60e6;
        Ok((count >= RECENT_MIN).then_some(count as f64 / minutes))
    }
}
