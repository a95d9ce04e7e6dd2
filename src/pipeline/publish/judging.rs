//! Judges answers that are already paid for by the current rules, from the ledger alone. Answers that are in no part yet
//! become results if the rules recognise them. Rows of existing parts stay as they are, and are only compared. Both can
//! be interrupted between two batches, and continue at the next publication.

use super::{Judging, Publisher, project::Projected};
use crate::{
    error::Error,
    ledger::{AskFate, AskView, LedgerError, LedgerPart, Reading},
    model::RequestId,
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

    /// From now on nothing is judged, so that publishing ends soon.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

fn differs(check: &Projected, published: &super::RowRules, ask: &AskView<'_>) -> Result<bool, Error> {
    let AskFate::Request(request) = &ask.fate else { return Ok(false) };
    let Some(answer) = &request.answer else { return Ok(false) };
    let before = published.read(ask, request, answer, Judging::Recorded)?.judgement;
    Ok(check.current.read(ask, request, answer, Judging::Anew)?.judgement != before)
}
