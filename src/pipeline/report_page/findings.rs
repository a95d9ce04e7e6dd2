//! The verdicts and findings of the published rows. The ledger counts verdicts; a finding also depends on the rules of a
//! part and on what each row expected, so each answer is read by the rules of its part, one at a time. The result
//! is what the result files contain.

use crate::{
    error::Error,
    ledger::{AskFate, Reading},
    model::Verdict,
    pipeline::{
        campaign::recorded::campaign_of,
        publish::{project::Projector, row_rules::Judging},
    },
};
use std::{collections::BTreeMap, path::Path};

/// The most findings of one check that are counted apart. Catalogues have fewer; a declaration of the user may not.
const FINDINGS_MAX: usize = 200;
/// The name of all further findings together.
pub const OTHERS: &str = "(other findings)";

/// The published rows of a check by verdict and finding.
pub type Findings = BTreeMap<(Verdict, String), u64>;

/// The findings of all finished parts, by the check in the campaign.
///
/// # Errors
/// The ledger or its settings cannot be read.
pub fn findings(reading: &Reading, out: &Path) -> Result<BTreeMap<i64, Findings>, Error> {
    let mut by_check: BTreeMap<i64, Findings> = BTreeMap::new();
    let parts: Vec<_> = reading.parts()?.into_iter().filter(|part| part.written.is_some()).collect();
    if parts.is_empty() {
        return Ok(by_check);
    }
    let campaign = campaign_of(reading, reading.path(), out, None)?;
    let projector = Projector::new(&campaign, reading.check_uses()?)?;
    for part in &parts {
        let check = projector.check(Some(part.check_use))?;
        let rules = projector.rules_of(check, part.rules, reading)?;
        let findings = by_check.entry(part.check_use).or_default();
        reading.part_heads(part, |ask| -> Result<(), Error> {
            if let AskFate::Request(request) = &ask.fate
                && let Some(answer) = &request.answer
            {
                let judgement = rules.read(&ask, request, answer, Judging::Recorded)?.judgement;
                count(findings, judgement.verdict, judgement.finding);
            }
            Ok(())
        })?;
    }
    Ok(by_check)
}

fn count(findings: &mut Findings, verdict: Verdict, finding: String) {
    let is_known = findings.contains_key(&(verdict, finding.clone()));
    let finding = if is_known || findings.len() < FINDINGS_MAX { finding } else { OTHERS.to_owned() };
    *findings.entry((verdict, finding)).or_default() += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_beyond_the_limit_are_counted_together() {
        let mut findings = Findings::new();
        for number in 0..FINDINGS_MAX + 10 {
            count(&mut findings, Verdict::Review, format!("finding_{number}"));
        }
        count(&mut findings, Verdict::Review, "finding_0".to_owned());
        assert_eq!(findings[&(Verdict::Review, OTHERS.to_owned())], 10);
        assert_eq!(findings[&(Verdict::Review, "finding_0".to_owned())], 2);
        assert_eq!(findings.values().sum::<u64>(), FINDINGS_MAX as u64 + 11);
    }
}
