//! The asks of a campaign by dataset, counted row by row, as the last publication of a run does.

use super::{LedgerError, Reading, amount::Amounts, check_sums::CHARGED, reading::DATASET};
use crate::model::Credits;
use std::collections::BTreeMap;

/// The number of asks of a check in each dataset, and their cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub results: u64,
    pub failures: u64,
    pub pending: u64,
    pub skipped: u64,
    /// Asks of rows that were purged. What they cost is among the credits.
    pub purged: u64,
    pub credits: Credits,
    pub by_verdict: BTreeMap<String, u64>,
}

impl Counts {
    /// All asks.
    pub fn asks(&self) -> u64 {
        self.results + self.failures + self.pending + self.skipped + self.purged
    }
}

impl Reading {
    /// The counts of asks by check. Rows that could not be read are under `None`.
    pub fn counts(&self) -> Result<BTreeMap<Option<i64>, Counts>, LedgerError> {
        let mut counts: BTreeMap<Option<i64>, Counts> = BTreeMap::new();
        let mut select = self.conn.prepare(&format!(
            "SELECT ask.check_use, {DATASET} AS place, count(*)
             FROM ask LEFT JOIN request ON request.id = ask.request GROUP BY 1, 2"
        ))?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let of_check = counts.entry(row.get(0)?).or_default();
            let count = row.amount(2)?;
            match row.get_ref(1)?.as_str().unwrap_or_default() {
                "failures" => of_check.failures += count,
                "skipped" => of_check.skipped += count,
                "pending" => of_check.pending += count,
                _ => of_check.results += count,
            }
        }
        let mut select = self.conn.prepare("SELECT check_use, count(*) FROM purged_ask GROUP BY 1")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            counts.entry(row.get(0)?).or_default().purged = row.amount(1)?;
        }
        for (check_use, by_verdict) in self.verdicts()? {
            counts.entry(Some(check_use)).or_default().by_verdict = by_verdict;
        }
        let mut select = self.conn.prepare(CHARGED)?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            counts.entry(row.get(0)?).or_default().credits = row.credits(1)?;
        }
        Ok(counts)
    }

    /// The published rows of each check by verdict, from the written parts, because the verdict of a row also depends on
    /// what the row expected.
    pub fn verdicts(&self) -> Result<BTreeMap<i64, BTreeMap<String, u64>>, LedgerError> {
        let mut counts: BTreeMap<i64, BTreeMap<String, u64>> = BTreeMap::new();
        let mut select = self.conn.prepare("SELECT check_use, verdicts FROM part WHERE verdicts IS NOT NULL")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let verdicts: BTreeMap<String, u64> = serde_json::from_str(row.get_ref(1)?.as_str().unwrap_or_default())
                .map_err(|error| LedgerError::Damaged(format!("the verdicts of a part: {error}")))?;
            let of_check = counts.entry(row.get(0)?).or_default();
            for (verdict, count) in verdicts {
                let sum = of_check.entry(verdict).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        Ok(counts)
    }
}
