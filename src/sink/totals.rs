//! The counts of a campaign, and the check that every ask is in exactly one dataset. A manifest may say `complete` only
//! if they add up.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The asks of one check, by dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckTotals {
    /// The check's name in the campaign.
    pub check: String,
    /// Rows that could be read.
    pub asks: u64,
    pub results: u64,
    pub failures: u64,
    pub pending: u64,
    pub skipped: u64,
    /// Asks of rows that were purged. They are in no dataset any more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub purged: u64,
    /// Credits charged, also for what was purged.
    pub credits: u64,
    /// Results by verdict.
    pub by_verdict: BTreeMap<String, u64>,
}

impl CheckTotals {
    /// Checks that results, failures, pending, skipped and purged asks add up to the asks, and the verdicts to the results.
    pub fn accounts(&self) -> Result<(), String> {
        let CheckTotals { check, asks, results, failures, pending, skipped, purged, .. } = self;
        let found: u128 =
            [results, failures, pending, skipped, purged].into_iter().map(|count| u128::from(*count)).sum();
        if found != u128::from(*asks) {
            return Err(format!(
                "check `{check}`: expected {asks} asks, found {results} results + {failures} failures + {pending} pending \
                 + {skipped} skipped + {purged} purged = {found}"
            ));
        }
        let by_verdict: u128 = self.by_verdict.values().map(|count| u128::from(*count)).sum();
        if by_verdict != u128::from(*results) {
            return Err(format!("check `{check}`: expected {results} results, found verdicts for {by_verdict}"));
        }
        Ok(())
    }
}

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The asks of all checks, by dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskCounts {
    pub results: u64,
    /// Also the rows that could not be read.
    pub failures: u64,
    pub pending: u64,
    pub skipped: u64,
}

impl AskCounts {
    pub fn of(totals: &[CheckTotals], unreadable_rows: u64) -> AskCounts {
        let sum = |count: fn(&CheckTotals) -> u64| totals.iter().map(count).sum::<u64>();
        AskCounts {
            results: sum(|totals| totals.results),
            failures: sum(|totals| totals.failures) + unreadable_rows,
            pending: sum(|totals| totals.pending),
            skipped: sum(|totals| totals.skipped),
        }
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InputTotals {
    /// Records, including unreadable ones.
    pub rows: u64,
    /// Records that could not be read. Each is one failure, which counts for all checks.
    pub unreadable_rows: u64,
    /// Records that could not be read and were purged. They are not among `unreadable_rows`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub purged_unreadable_rows: u64,
    pub sources: Vec<SourceTotals>,
}

/// What was read of one source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceTotals {
    pub name: String,
    pub rows: u64,
    pub bytes: u64,
    /// SHA-256 of these bytes, in hexadecimal.
    pub sha256: String,
    /// Whether it was read to the end.
    pub complete: bool,
}

/// The rows of a check that were read with one of its mappings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingTotals {
    pub check: String,
    /// When the first run with it began, in ISO 8601, UTC.
    pub since: String,
    pub rows: u64,
}
