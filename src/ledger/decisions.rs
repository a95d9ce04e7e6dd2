//! The decisions of persons as the ledger records them, for the report. Decisions of one kind, person and reason are one
//! entry, because one command can decide about thousands of requests.

use super::{LedgerError, Reading, amount::Amounts};
use rusqlite::Row;

/// The longest text of a decision that is read, in characters.
const TEXT_MAX: i64 = 2_000;

/// Decisions of one kind that one person made for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionsMade {
    /// `write_off`, `send_again` or `charge`.
    pub decision: String,
    pub reason: String,
    pub decided_by: String,
    pub requests: u64,
    /// When the first and the last of them were made, in microseconds since 1970.
    pub first_us: i64,
    pub last_us: i64,
    /// The charges before and after, if the decision corrected them.
    pub charged: Option<(u64, u64)>,
}

impl Reading {
    /// The first decisions, and the number of all entries.
    pub fn decisions(&self, count_max: u64) -> Result<(Vec<DecisionsMade>, u64), LedgerError> {
        let sql = "SELECT substr(decision, 1, ?1), substr(reason, 1, ?1), substr(decided_by, 1, ?1), count(*),
                          min(decided_at), max(decided_at), sum(charged_before), sum(charged_after),
                          count(*) OVER ()
                   FROM decision GROUP BY 1, 2, 3 ORDER BY min(decided_at), min(id) LIMIT ?2";
        let mut select = self.conn.prepare(sql)?;
        let mut all = 0;
        let mut rows = select.query([TEXT_MAX, i64::try_from(count_max).unwrap_or(i64::MAX)])?;
        let mut made = Vec::new();
        while let Some(row) = rows.next()? {
            made.push(made_of(row)?);
            all = row.amount(8)?;
        }
        Ok((made, all))
    }
}

fn made_of(row: &Row<'_>) -> Result<DecisionsMade, rusqlite::Error> {
    Ok(DecisionsMade {
        decision: row.get(0)?,
        reason: row.get(1)?,
        decided_by: row.get(2)?,
        requests: row.amount(3)?,
        first_us: row.get(4)?,
        last_us: row.get(5)?,
        charged: row.amount_if_any(6)?.zip(row.amount_if_any(7)?),
    })
}
