//! Judges answers that are already paid for by the current rules, from the ledger alone. Answers that are in no part yet
//! become results if the rules recognise them, and need no person if all their matches were accepted before. Rows of existing
//! parts stay as they are, and are only compared. Judging can be interrupted, and continues at the next publication.

use super::{Judging, Publisher, RowRules, project::Projected};
use crate::{
    error::Error,
    ledger::{AskFate, AskView, LedgerError, LedgerPart, Reading},
    model::{RequestId, Verdict},
};
use std::sync::atomic::Ordering;

/// The number of answers that are judged in one transaction. Only one answer is in memory at a time.
const BATCH: usize = 200;

impl Publisher {
    /// Judges the answers that wait for it.
    pub(super) fn judge_waiting(&self, reading: &Reading) -> Result<(), Error> {
        while !self.is_interrupted() {
            let mut judged: Vec<(RequestId, bool)> = Vec::new();
            reading.to_judge(BATCH, |answer| -> Result<(), Error> {
                // All uses of a check in a campaign have the same rules.
                let check = self.projector.checks().find(|(_, check)| check.check() == answer.check);
                let (_, check) = check.ok_or_else(|| {
                    LedgerError::Damaged("an answer belongs to a check that the campaign does not have".to_owned())
                })?;
                judged.push((answer.request, check.current.recognises(&answer)));
                Ok(())
            })?;
            if judged.is_empty() {
                break;
            }
            self.ledger.judged(judged)?;
        }
        Ok(())
    }

    /// Counts the rows of existing parts that the current rules judge differently.
    pub(super) fn compare_parts(&self, reading: &Reading) -> Result<(), Error> {
        for (part, rules) in reading.parts_to_compare()? {
            let differing = self.differing(reading, &part)?;
            if self.is_interrupted() {
                break;
            }
            self.ledger.compared(part.id, rules, differing)?;
        }
        Ok(())
    }

    fn differing(&self, reading: &Reading, part: &LedgerPart) -> Result<u64, Error> {
        let check = self.projector.check(Some(part.check_use))?;
        let published = self.projector.rules_of(check, part.rules, reading)?;
        let mut differing = 0;
        reading.part_heads(part, |ask| -> Result<(), Error> {
            if !self.is_interrupted() {
                differing += u64::from(differs(check, &published, &ask)?);
            }
            Ok(())
        })?;
        Ok(differing)
    }

    /// Records which asks of a new part, which is made with these rules, are accepted. `asks` are its asks, if they are at hand.
    ///
    /// # Errors
    /// The decisions or the ledger cannot be read, or it cannot be written.
    pub(super) fn accept(
        &self,
        reading: &Reading,
        (part, asks): (&LedgerPart, Option<&[i64]>),
        rules: &RowRules,
    ) -> Result<(), Error> {
        let Some(decisions) = self.decisions.now(reading)?.filter(|decisions| decisions.head().count > 0) else {
            return Ok(());
        };
        if !rules.has_matches() || reading.has_decisions(part.id)? {
            return Ok(());
        }
        let mode = self.mode(reading.sums()?.simulated);
        let mut accepted = Vec::new();
        reading.part_asks(part, asks, |ask| -> Result<(), Error> {
            if is_for_review(&ask) {
                accepted.extend(
                    self.projector.accepted(Some(rules), mode, &ask, &decisions)?.map(|numbers| (ask.id, numbers)),
                );
            }
            Ok(())
        })?;
        Ok(self.ledger.accept(part.id, decisions.head().clone(), accepted)?)
    }

    /// From now on nothing is judged, so that publishing ends soon.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

fn differs(check: &Projected, published: &RowRules, ask: &AskView<'_>) -> Result<bool, Error> {
    let AskFate::Request(request) = &ask.fate else { return Ok(false) };
    let Some(answer) = &request.answer else { return Ok(false) };
    let before = published.read(ask, request, answer, Judging::Recorded)?.judgement;
    Ok(check.current.read(ask, request, answer, Judging::Anew)?.judgement != before)
}

/// Whether a person has to look at the answer, as far as it is recorded.
fn is_for_review(ask: &AskView<'_>) -> bool {
    let AskFate::Request(request) = &ask.fate else { return false };
    request.judged_again || request.answer.as_ref().is_some_and(|answer| answer.verdict == Verdict::Review)
}
