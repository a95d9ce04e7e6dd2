//! The counts of an export: those of the whole campaign, judged by the current rules, whatever the export is limited to.

use super::standing::Standing;
use crate::{error::Error, ledger::Reading, pipeline::publish::project::Projector, sink::CheckTotals};
use std::collections::BTreeMap;

/// The counts by check.
pub struct Tally(BTreeMap<i64, CheckTotals>);

impl Tally {
    pub fn new(projector: &Projector) -> Tally {
        let empty = |check: &str| CheckTotals { check: check.to_owned(), ..CheckTotals::default() };
        Tally(projector.checks().map(|(id, check)| (id, empty(&check.name))).collect())
    }

    /// Counts an ask. A row that could not be read is an ask of no check.
    pub fn count(&mut self, check_use: Option<i64>, standing: &Standing) {
        let Some(totals) = check_use.and_then(|id| self.0.get_mut(&id)) else { return };
        totals.asks += 1;
        match standing {
            Standing::Skipped => totals.skipped += 1,
            Standing::Failed(_) => totals.failures += 1,
            Standing::Pending(_) => totals.pending += 1,
            Standing::Result(verdict) => {
                totals.results += 1;
                *totals.by_verdict.entry(verdict.as_str().to_owned()).or_default() += 1;
            }
        }
    }

    /// The counts in the order of the campaign, with purged asks and the credits that were charged.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn totals(mut self, reading: &Reading) -> Result<Vec<CheckTotals>, Error> {
        for (id, counts) in reading.counts()? {
            if let Some(totals) = id.and_then(|id| self.0.get_mut(&id)) {
                totals.credits = counts.credits.0;
                // Their asks are gone from the ledger's list.
                totals.purged = counts.purged;
                totals.asks += counts.purged;
            }
        }
        Ok(self.0.into_values().collect())
    }
}
