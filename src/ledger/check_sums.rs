//! The sums of one check: how many of its asks there are, and what became of them. They are a part of the ledger's sums
//! and change in the same transactions as the rows. Progress and the manifest of a run under way need no other counts.

use super::{LedgerError, amount::Amounts};
use crate::model::{Credits, FailureCode, Verdict};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The check of rows that could not be read, which are one failure for all checks.
pub const UNREADABLE_ROWS: i64 = 0;

/// The asks of one check of the campaign, and what they cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSums {
    pub asks: u64,
    pub skipped: u64,
    /// Failed asks by failure code.
    pub failures: BTreeMap<FailureCode, u64>,
    /// Answered asks by verdict: that of the published row, and before the row is published that of the answer alone.
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Asks in a result part.
    pub published: u64,
    /// What was charged for requests whose first ask is of this check.
    pub charged: Credits,
}

/// What became of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskEnd {
    /// Its request is neither answered nor failed.
    Open,
    Skipped,
    Failed(FailureCode),
    Answered(Verdict),
}

impl CheckSums {
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    pub fn answered(&self) -> u64 {
        self.verdicts.values().sum()
    }

    /// Asks that are neither results, failures nor skipped.
    pub fn pending(&self) -> u64 {
        self.asks.saturating_sub(self.skipped + self.failed() + self.published)
    }

    /// Counts asks that ended like this.
    pub(super) fn add(&mut self, end: AskEnd, asks: u64) {
        match end {
            AskEnd::Open => {}
            AskEnd::Skipped => self.skipped += asks,
            AskEnd::Failed(code) => *self.failures.entry(code).or_default() += asks,
            AskEnd::Answered(verdict) => *self.verdicts.entry(verdict).or_default() += asks,
        }
    }

    /// Takes back what [`CheckSums::add`] counted.
    fn remove(&mut self, end: AskEnd, asks: u64) {
        match end {
            AskEnd::Open => {}
            AskEnd::Skipped => self.skipped = self.skipped.saturating_sub(asks),
            AskEnd::Failed(code) => remove(&mut self.failures, code, asks),
            AskEnd::Answered(verdict) => remove(&mut self.verdicts, verdict, asks),
        }
    }

    pub(super) fn change(&mut self, from: AskEnd, to: AskEnd, asks: u64) {
        self.remove(from, asks);
        self.add(to, asks);
    }

    /// Replaces the verdicts of answers by those of the published rows, which also depend on what each row expects.
    pub(super) fn republish(&mut self, answers: &BTreeMap<Verdict, u64>, rows: &BTreeMap<Verdict, u64>) {
        answers.iter().for_each(|(verdict, asks)| remove(&mut self.verdicts, *verdict, *asks));
        rows.iter().for_each(|(verdict, asks)| *self.verdicts.entry(*verdict).or_default() += asks);
    }

    /// All counts, to check that each is possible.
    pub(super) fn counts(&self) -> impl Iterator<Item = u64> {
        let single = [self.asks, self.skipped, self.published, self.charged.0];
        single.into_iter().chain(self.failures.values().copied()).chain(self.verdicts.values().copied())
    }
}

/// A count of 0 has no entry, so that equal sums are equal.
fn remove<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, asks: u64) {
    let Some(count) = counts.get_mut(&key) else { return };
    *count = count.saturating_sub(asks);
    if *count == 0 {
        counts.remove(&key);
    }
}

/// The credits charged by check: that of the first ask of each request, also if that ask was purged. Rows that could not be read
/// have none.
pub(super) const CHARGED: &str =
    "SELECT coalesce(ask.check_use, purged_ask.check_use), sum(request.charged) FROM request
     LEFT JOIN ask ON ask.id = request.first_ask LEFT JOIN purged_ask ON purged_ask.ask = request.first_ask
     WHERE request.charged <> 0 AND (ask.id IS NOT NULL OR purged_ask.ask IS NOT NULL) GROUP BY 1";

/// The sums of the checks, counted from the rows.
pub(super) fn recounted(conn: &Connection) -> Result<BTreeMap<i64, CheckSums>, LedgerError> {
    let mut checks: BTreeMap<i64, CheckSums> = BTreeMap::new();
    let mut select =
        conn.prepare("SELECT coalesce(check_use, 0), count(*), count(skipped), count(part) FROM ask GROUP BY 1")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let check = checks.entry(row.get(0)?).or_default();
        (check.asks, check.skipped, check.published) = (row.amount(1)?, row.amount(2)?, row.amount(3)?);
    }
    let mut select = conn.prepare(
        "SELECT coalesce(check_use, 0), coalesce(ask.failure, request.failure) ->> '$.code', count(*)
         FROM ask LEFT JOIN request ON request.id = ask.request
         WHERE ask.failure IS NOT NULL OR request.state = 11 GROUP BY 1, 2",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let word: Option<String> = row.get(1)?;
        let code = FailureCode::ALL.into_iter().find(|code| Some(code.as_str()) == word.as_deref());
        let code = code.ok_or_else(|| LedgerError::Damaged("a failure has an unknown code".to_owned()))?;
        checks.entry(row.get(0)?).or_default().add(AskEnd::Failed(code), row.amount(2)?);
    }
    // The verdict of a published row also depends on what the row expects, so it is taken from its part.
    let mut select = conn.prepare(
        "SELECT coalesce(check_use, 0), verdict, count(*) FROM ask JOIN request ON request.id = ask.request
         WHERE state = 10 AND (part IS NULL OR (SELECT bytes FROM part WHERE part.id = ask.part) IS NULL)
         GROUP BY 1, 2 UNION ALL
         SELECT part.check_use, each.key, sum(each.value) FROM part, json_each(part.verdicts) AS each GROUP BY 1, 2",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let word: String = row.get(1)?;
        let verdict = Verdict::from_word(&word);
        let verdict = verdict.ok_or_else(|| LedgerError::Damaged("an answer has an unknown verdict".to_owned()))?;
        checks.entry(row.get(0)?).or_default().add(AskEnd::Answered(verdict), row.amount(2)?);
    }
    let mut select = conn.prepare(CHARGED)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let check = row.get::<_, Option<i64>>(0)?.unwrap_or(UNREADABLE_ROWS);
        checks.entry(check).or_default().charged = Credits(row.amount(1)?);
    }
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_moves_between_counts_and_a_count_of_zero_leaves_no_entry() {
        let mut check = CheckSums { asks: 3, ..CheckSums::default() };
        check.add(AskEnd::Failed(FailureCode::Refused), 2);
        assert_eq!((check.failed(), check.pending()), (2, 1));
        check.change(AskEnd::Failed(FailureCode::Refused), AskEnd::Open, 2);
        assert_eq!((check.failures.len(), check.pending()), (0, 3));
        check.change(AskEnd::Open, AskEnd::Answered(Verdict::Clear), 2);
        check.published = 2;
        check.republish(&BTreeMap::from([(Verdict::Clear, 2)]), &BTreeMap::from([(Verdict::Review, 2)]));
        assert_eq!(check.verdicts, BTreeMap::from([(Verdict::Review, 2)]));
        assert_eq!((check.answered(), check.pending()), (2, 1));
    }
}
