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

/// While so many wait, nothing else is read.
const WAITING_MAX: usize = 4_096;

/// Requests that wait for the list of their check.
#[derive(Default)]
pub struct ForList {
    waiting: Vec<Candidate>,
    /// The request of each check that is sent to learn it.
    asked: BTreeMap<String, RequestId>,
    /// Checks whose answers name no list any more.
    unnamed: BTreeSet<String>,
}

impl ForList {
    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether enough wait.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_MAX
    }

    /// Takes the answers of an earlier round to requests of a page that were not charged, and those requests off the page. Checks
    /// that `is_left_out` names are not sent any more, so they learn nothing. `is_held` says whether a request waits for its turn
    /// or is under way. Returns whether it took any.
    ///
    /// # Errors
    /// A ledger cannot be read or written.
    pub async fn take(
        &mut self,
        (earlier, ledger): (&EarlierRound, &Ledger),
        page: &mut Page,
        is_left_out: impl Fn(&str) -> bool,
        is_held: impl Fn(RequestId) -> bool,
    ) -> Result<bool, Error> {
        // Before the list is looked for: an answer that comes in between is not missed.
        let mut being_asked = self.being_asked(ledger, is_held)?;
        let mut candidates = std::mem::take(&mut self.waiting);
        candidates.append(&mut page.new);
        candidates.extend(page.again.extract_if(.., |candidate| !candidate.in_doubt));
        let (parked, candidates): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|candidate| being_asked.contains(&candidate.check));
        let requests: Vec<RequestId> = candidates.iter().map(|candidate| candidate.request).collect();
        let Taken { requests: taken, need_list } = earlier.take(ledger, &requests, &self.unnamed).await?;
        let mut waiting = Vec::new();
        for candidate in candidates.into_iter().filter(|candidate| !taken.contains(&candidate.request)) {
            match need_list.contains(&candidate.request) {
                true => waiting.push(candidate),
                false => put(page, candidate),
            }
        }
        // What is not known of them yet is found when the list is.
        self.waiting = parked.into_iter().filter(|candidate| !is_left_out(&candidate.check)).collect();
        for candidate in waiting.into_iter().filter(|candidate| !is_left_out(&candidate.check)) {
            if !being_asked.insert(candidate.check.clone()) {
                self.waiting.push(candidate);
                continue;
            }
            // A request that is sent anyway says it for nothing.
            let other = page.new.iter().find(|other| other.check == candidate.check).map(|other| other.request);
            self.asked.insert(candidate.check.clone(), other.unwrap_or(candidate.request));
            match other {
                Some(_) => self.waiting.push(candidate),
                None => put(page, candidate),
            }
        }
        page.is_dry &= self.is_empty();
        Ok(!taken.is_empty())
    }

    /// The checks of which a request is under way, or waits for its turn, whose answer will say which list there is.
    fn being_asked(&mut self, ledger: &Ledger, is_held: impl Fn(RequestId) -> bool) -> Result<BTreeSet<String>, Error> {
        if self.asked.is_empty() {
            return Ok(BTreeSet::new());
        }
        let reading = ledger.reading()?;
        let mut checks = BTreeSet::new();
        for (check, request) in &self.asked {
            match reading.state_of_request(*request)? {
                State::Armed | State::Submitted => drop(checks.insert(check.clone())),
                State::Answered => drop(self.unnamed.insert(check.clone())),
                // It is sent again, or was given up: then another one is asked.
                _ if is_held(*request) => drop(checks.insert(check.clone())),
                _ => {}
            }
        }
        self.asked.retain(|check, _| checks.contains(check));
        Ok(checks)
    }
}

/// Puts a request back where it was.
fn put(page: &mut Page, candidate: Candidate) {
    if candidate.is_of_earlier_run { page.again.push(candidate) } else { page.new.push(candidate) }
}
