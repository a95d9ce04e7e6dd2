//! What the report of a run says about why it stopped, and about rows that failed.

use super::{report::RunReport, wording::grouped};
use crate::{
    ledger::FailuresByCode,
    model::{ExitCode, FailureCode, Stop, budget::BudgetRefusal},
    sink::{FAILURES_CSV, Manifest},
};
use std::collections::BTreeMap;

/// How many reasons of rejected rows are shown.
const REASONS_SHOWN: usize = 3;

impl RunReport {
    /// Why the run stopped, with the commonest reasons if too many rows were rejected.
    pub fn stopped(&self) -> Vec<String> {
        let stopped = |stop: &Stop| match stop {
            Stop::TooManyErrors { .. } => {
                let failures = self.out.join("failures");
                let message = stop.to_string().replace("failures/", &format!("{}/", failures.display()));
                [vec![format!("stopped: {message}")], self.reasons.lines(REASONS_SHOWN)].concat()
            }
            Stop::Budget(BudgetRefusal::Limit { limit, .. }) if self.sufficient_limit > Some(*limit) => {
                let sufficient = self.sufficient_limit.unwrap_or_default();
                vec![format!("stopped: {stop}: {} suffices for everything that was read", grouped(sufficient.0))]
            }
            stop => vec![format!("stopped: {stop}")],
        };
        self.sent.stops.iter().flat_map(stopped).collect()
    }

    /// That rows failed, if the exit code says only that.
    pub fn failed(&self) -> Option<String> {
        let is_all = self.exit_code == ExitCode::Failures;
        is_all.then(|| {
            let (failed, all) = (grouped(self.failures()), grouped(self.sums.asks + self.sums.unreadable));
            let has_csv = |manifest: &Manifest| manifest.files.iter().any(|file| file.path == FAILURES_CSV);
            let see =
                self.out.join(if self.manifest.as_ref().is_some_and(has_csv) { FAILURES_CSV } else { "failures" });
            format!("{failed} of {all} asks failed{}; see {}", self.codes(), see.display())
        })
    }

    /// ` (22 attempts_over, 1 invalid_value)`
    fn codes(&self) -> String {
        let shown = self.by_code.iter().take(REASONS_SHOWN);
        let mut codes: Vec<String> =
            shown.map(|(code, count)| format!("{} {}", grouped(*count), code.as_str())).collect();
        let others: u64 = self.by_code.iter().skip(REASONS_SHOWN).map(|(_, count)| count).sum();
        codes.extend((others > 0).then(|| format!("{} others", grouped(others))));
        if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) }
    }
}

/// The failed asks of all checks by code, the commonest first.
pub fn commonest(failures: FailuresByCode) -> Vec<(FailureCode, u64)> {
    let mut by_code: BTreeMap<FailureCode, u64> = BTreeMap::new();
    for (code, count) in failures.into_values().flatten() {
        *by_code.entry(code).or_default() += count;
    }
    let mut by_code: Vec<(FailureCode, u64)> = by_code.into_iter().collect();
    by_code.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    by_code
}
