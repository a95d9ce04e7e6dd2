//! The credits of an account: the sums of its partitions, and the last reading of the balance.

use super::{
    BookError,
    worker::{Book, Line, account_is_gone, text_of},
};
use crate::model::{
    Credits, Stop,
    budget::BalanceReading,
    shared_account::Version,
    shared_budget::{Seen, Shared, Totals},
};
use tokio_postgres::{Row, types::ToSql};

impl Book {
    /// What all partitions have used.
    ///
    /// # Errors
    /// The book was away for a minute, or another worker has taken the partition over.
    pub async fn seen(&self) -> Result<Seen, BookError> {
        let sql = "SELECT a.money, rescreen.timeline(), a.reading,
                   coalesce(sum(p.charged), 0)::int8, coalesce(sum(p.held), 0)::int8, coalesce(sum(p.armed), 0)::int8,
                   coalesce(sum(p.charged) FILTER (WHERE p.campaign = o.campaign AND p.mode = o.mode), 0)::int8,
                   coalesce(sum(p.held) FILTER (WHERE p.campaign = o.campaign AND p.mode = o.mode), 0)::int8,
                   coalesce(sum(p.armed) FILTER (WHERE p.campaign = o.campaign AND p.mode = o.mode), 0)::int8,
                   o.turn, o.token, (SELECT id::text FROM rescreen.book) || ' ' || o.id || ' ' || rescreen.timeline()
                   FROM rescreen.account a JOIN rescreen.partition o ON o.id = $2 JOIN rescreen.partition p ON p.account = a.id
                   WHERE a.id = $1 GROUP BY a.id, o.id";
        let rows = self.asked(Line::Credits, sql, &[&self.account, &self.own_partition()?.id]).await?;
        let row = rows.first().ok_or_else(account_is_gone)?;
        Ok(Seen {
            version: Version { number: row.try_get(0)?, timeline: row.try_get(1)? },
            place: row.try_get(11)?,
            turn: self.turn(row, 9)?,
            shared: Shared {
                all: totals(row, 3)?,
                of_campaign: totals(row, 6)?,
                reading: reading_of(row.try_get(2)?)?,
            },
        })
    }

    /// Records a reading of the balance, unless a partition holds more since, and stops all other workers if there is a reason.
    /// Returns whether it was written.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn balance(
        &self,
        seen: &Seen,
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
    Ok(Totals { charged: credits(0)?, held: credits(1)?, armed: credits(2)? })
}

fn reading_of(text: Option<String>) -> Result<Option<BalanceReading>, BookError> {
    let Some(text) = text else { return Ok(None) };
    let unreadable = |_| BookError::Refused("its last reading of the balance cannot be read".to_owned());
    serde_json::from_str(&text).map(Some).map_err(unreadable)
}

pub(super) fn column(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}
