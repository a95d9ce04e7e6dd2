//! Requests that an earlier round has answered with a list that may have changed since. One of them is sent. Its answer says which
//! list there is now, and decides about the others.

use super::{context::Candidate, queue::Page};
use crate::{
    error::Error,
    ledger::Ledger,
    model::{RequestId, state::State},
    pipeline::reuse::{EarlierRound, Taken},
};
use std::collections::{BTreeMap, BTreeSet};

/// Requests that wait for the list of their check.
#[derive(Default)]
pub struct ForList {
    waiting: Vec<Candidate>,
    /// The request of each check that is sent to learn it.
    asked: BTreeMap<String, RequestId>,
}

impl ForList {
    /// Whether none waits. Until then, nothing else is read.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes the answers of an earlier round to requests of a page that were never sent, and those requests off the page. Checks that
    /// `is_left_out` names are not sent any more, so they learn nothing. Returns whether it took any.
    ///
    /// # Errors
    /// A ledger cannot be read or written.
    pub async fn take(
        &mut self,
        earlier: &EarlierRound,
        ledger: &Ledger,
        page: &mut Page,
        is_left_out: impl Fn(&str) -> bool,
    ) -> Result<bool, Error> {
        let mut candidates = std::mem::take(&mut self.waiting);
        candidates.append(&mut page.new);
        let requests: Vec<RequestId> = candidates.iter().map(|candidate| candidate.request).collect();
        // Before the list is looked for: an answer that comes in between is not missed.
        let mut being_asked = self.being_asked(ledger)?;
        let Taken { requests: taken, need_list } = earlier.take(ledger, &requests).await?;
        candidates.retain(|candidate| !taken.contains(&candidate.request));
        let (waiting, open): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|candidate| need_list.contains(&candidate.request));
        page.new = open;
        for candidate in waiting.into_iter().filter(|candidate| !is_left_out(&candidate.check)) {
            if being_asked.contains(&candidate.check) {
                self.waiting.push(candidate);
                continue;
            }
            being_asked.insert(candidate.check.clone());
            // A request that is sent anyway says it for nothing.
            let other = page.new.iter().find(|other| other.check == candidate.check).map(|other| other.request);
            self.asked.insert(candidate.check.clone(), other.unwrap_or(candidate.request));
            let place = if other.is_some() { &mut self.waiting } else { &mut page.new };
            place.push(candidate);
        }
        page.is_dry &= self.is_empty();
        Ok(!taken.is_empty())
    }

    /// The checks of which a request is under way, or waits for its turn, whose answer will say which list there is.
    fn being_asked(&self, ledger: &Ledger) -> Result<BTreeSet<String>, Error> {
        if self.asked.is_empty() {
            return Ok(BTreeSet::new());
        }
        let reading = ledger.reading()?;
        let mut checks = BTreeSet::new();
        for (check, request) in &self.asked {
            let (state, attempts) = reading.state_and_attempts(*request)?;
            if state == State::Armed || state == State::Planned && attempts == 0 {
                checks.insert(check.clone());
            }
        }
        Ok(checks)
    }
}
