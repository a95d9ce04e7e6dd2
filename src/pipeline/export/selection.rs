//! Which asks an export keeps. A limit to verdicts keeps results only; a limit to checks keeps rows that could not be
//! read, because they count for all checks.

use super::{order::ExportOrder, standing::Standing};
use crate::{error::Error, ledger::CheckUseRow, model::Verdict, pipeline::compare::ChangedRows};
use std::collections::BTreeMap;

/// What an export is limited to.
pub struct Selection<'a> {
    verdicts: &'a [Verdict],
    /// The numbers of the checks in the ledger; `None` are all.
    checks: Option<Vec<i64>>,
    changed: Option<ChangedRows>,
}

impl<'a> Selection<'a> {
    /// # Errors
    /// The campaign has no such check.
    pub fn of(
        order: &'a ExportOrder<'_>,
        known: &BTreeMap<i64, CheckUseRow>,
        changed: Option<ChangedRows>,
    ) -> Result<Selection<'a>, Error> {
        let checks = order.chosen_checks(known)?;
        Ok(Selection { verdicts: &order.verdicts, checks, changed })
    }

    /// Whether asks of a check are kept. `None` is a row that could not be read.
    pub fn has_check(&self, check_use: Option<i64>) -> bool {
        let (Some(chosen), Some(check)) = (&self.checks, check_use) else { return true };
        chosen.contains(&check)
    }

    /// Whether failures, pending and skipped asks are kept too.
    pub fn has_every_standing(&self) -> bool {
        self.verdicts.is_empty()
    }

    /// Whether an ask is kept. `result_id` identifies it in the outputs.
    pub fn keeps(&self, check_use: Option<i64>, standing: &Standing, result_id: impl FnOnce() -> String) -> bool {
        let has_verdict = match standing {
            _ if self.verdicts.is_empty() => true,
            Standing::Result(verdict) => self.verdicts.contains(verdict),
            _ => false,
        };
        let has_changed = || self.changed.as_ref().is_none_or(|changed| changed.get(&result_id()).is_some());
        has_verdict && self.has_check(check_use) && has_changed()
    }

    /// The rows that changed since an earlier round, if only they are kept.
    pub fn changed(&self) -> Option<&ChangedRows> {
        self.changed.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::FailureCode, sink::PendingReason};

    #[test]
    fn each_limit_keeps_what_it_names() {
        let review = Standing::Result(Verdict::Review);
        let failed = Standing::Failed(FailureCode::RaggedRow);
        let all = Selection { verdicts: &[], checks: None, changed: None };
        let worklist = Selection { verdicts: &[Verdict::Review, Verdict::Adverse], checks: None, changed: None };
        let of_check = Selection { verdicts: &[], checks: Some(vec![1]), changed: None };
        let unchanged = Selection { verdicts: &[], checks: None, changed: Some(ChangedRows::default()) };
        for (selection, expected) in [
            (&all, [true, true, true, true, true, true]),
            (&worklist, [true, false, false, false, false, true]),
            (&of_check, [true, true, true, true, true, false]),
            (&unchanged, [false; 6]),
        ] {
            let kept = |check, standing: &Standing| selection.keeps(check, standing, || "9d".repeat(16));
            let found = [
                kept(Some(1), &review),
                kept(Some(1), &Standing::Result(Verdict::Clear)),
                kept(Some(1), &Standing::Pending(PendingReason::Unsent)),
                kept(Some(1), &Standing::Skipped),
                kept(None, &failed),
                kept(Some(2), &review),
            ];
            assert_eq!(found, expected);
        }
    }
}
