//! The credits of an account, by ledger. A ledger states its totals before it arms a request, and they are written only if
//! no other ledger has stated new ones since they were decided.

use super::{
    BookError,
    worker::{Book, Line, account_is_gone, text_of},
};
use crate::model::{
    Credits, Stop,
    budget::BalanceReading,
    shared_account::{LedgerName, Version},
    shared_budget::{Others, Stated, Totals},
};
use tokio_postgres::{Row, types::ToSql};

impl Book {
    /// What the ledgers have stated.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn stated(&self, ledger: &LedgerName) -> Result<Stated, BookError> {
        let sql = "SELECT a.money, rescreen.timeline(), a.reading,
                   coalesce(max(l.times) FILTER (WHERE l.id = $2), 0)::int8,
                   coalesce(max(l.attempts) FILTER (WHERE l.id = $2), 0)::int8,
                   coalesce(sum(l.charged) FILTER (WHERE l.id <> $2), 0)::int8,
                   coalesce(sum(l.held) FILTER (WHERE l.id <> $2), 0)::int8,
                   coalesce(sum(l.armed) FILTER (WHERE l.id <> $2), 0)::int8,
                   coalesce(sum(l.charged) FILTER (WHERE l.id <> $2 AND l.campaign = $3 AND l.mode = $4), 0)::int8,
                   coalesce(sum(l.held) FILTER (WHERE l.id <> $2 AND l.campaign = $3 AND l.mode = $4), 0)::int8,
                   coalesce(sum(l.armed) FILTER (WHERE l.id <> $2 AND l.campaign = $3 AND l.mode = $4), 0)::int8
                   FROM rescreen.account a LEFT JOIN rescreen.ledger l ON l.account = a.id WHERE a.id = $1 GROUP BY a.id";
        let rows = self
            .asked(Line::Credits, sql, &[&self.account, &ledger.id, &ledger.campaign, &ledger.mode.as_str()])
            .await?;
        let row = rows.first().ok_or_else(account_is_gone)?;
        Ok(Stated {
            version: Version { number: row.try_get(0)?, timeline: row.try_get(1)? },
            times: row.try_get(3)?,
            attempts: u64::try_from(row.try_get::<_, i64>(4)?).unwrap_or_default(),
            others: Others {
                all: totals(row, 5)?,
                of_campaign: totals(row, 8)?,
                reading: reading_of(row.try_get(2)?)?,
            },
        })
    }

    /// States what this ledger has used and is about to use, unless another has stated more since. Returns whether it was
    /// written.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn state(&self, ledger: &LedgerName, seen: &Stated, own: Totals) -> Result<bool, BookError> {
        let sql = "WITH here AS (UPDATE rescreen.account SET money = money + 1 WHERE id = $1 AND money = $2
                                 AND rescreen.timeline() = $3 RETURNING id)
                   INSERT INTO rescreen.ledger AS l (id, account, campaign, mode, charged, held, armed, attempts, times)
                   SELECT $4, id, $5, $6, $7, $8, $9, $10, $11 FROM here
                   ON CONFLICT (account, id) DO UPDATE SET charged = excluded.charged, held = excluded.held,
                   armed = excluded.armed, attempts = excluded.attempts, times = excluded.times,
                   stated_at = clock_timestamp() WHERE l.times < excluded.times RETURNING l.id";
        let [charged, held, armed] = [own.charged, own.held, own.armed].map(|credits| column(credits.0));
        let (attempts, times) = (column(own.attempts), seen.times.saturating_add(1));
        let Version { number, timeline } = &seen.version;
        let LedgerName { id, campaign, mode } = ledger;
        let mode = mode.as_str();
        let written = self
            .asked(
                Line::Credits,
                sql,
                &[&self.account, number, timeline, id, campaign, &mode, &charged, &held, &armed, &attempts, &times],
            )
            .await?;
        Ok(!written.is_empty())
    }

    /// Records a reading of the balance, unless a ledger has stated more since, and stops all other workers if there is a
    /// reason. Returns whether it was written.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn balance(
        &self,
        seen: &Stated,
        reading: &BalanceReading,
        reason: Option<&Stop>,
    ) -> Result<bool, BookError> {
        let sql = "WITH here AS (UPDATE rescreen.account SET money = money + 1, version = version + 1, reading = $4,
                                 halt = coalesce(halt, $5) WHERE id = $1 AND money = $2
                                 AND rescreen.timeline() = $3 RETURNING id),
                   noted AS (INSERT INTO rescreen.note (account, who, what, why)
                             SELECT id, $6, 'halted', $7 FROM here WHERE $7::text IS NOT NULL)
                   SELECT id FROM here";
        let Version { number, timeline } = &seen.version;
        let halt = reason.map(|reason| self.halt_for(reason, reading.at_us));
        let halted = halt.as_ref().map(text_of).transpose()?;
        let (who, why) = halt.as_ref().map(|halt| (&halt.worker, &halt.message)).unzip();
        let text = text_of(reading)?;
        let values: [&(dyn ToSql + Sync); 7] = [&self.account, number, timeline, &text, &halted, &who, &why];
        let is_written = !self.asked(Line::Credits, sql, &values).await?.is_empty();
        if is_written && halt.is_some() {
            self.has_halted();
        }
        Ok(is_written)
    }
}

fn totals(row: &Row, first: usize) -> Result<Totals, BookError> {
    let credits = |at: usize| -> Result<Credits, BookError> {
        let credits: i64 = row.try_get(first + at)?;
        u64::try_from(credits).map(Credits).map_err(|_| BookError::Refused("it has a negative amount".to_owned()))
    };
    Ok(Totals { charged: credits(0)?, held: credits(1)?, armed: credits(2)?, attempts: 0 })
}

fn reading_of(text: Option<String>) -> Result<Option<BalanceReading>, BookError> {
    let Some(text) = text else { return Ok(None) };
    let unreadable = |_| BookError::Refused("its last reading of the balance cannot be read".to_owned());
    serde_json::from_str(&text).map(Some).map_err(unreadable)
}

fn column(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}
