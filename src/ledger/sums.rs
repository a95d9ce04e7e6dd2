//! The sums of a ledger: amounts and counts, updated in the same transactions as the rows they sum. Status, budget and
//! progress therefore never count rows.

use super::{
    DatasetSeen, LedgerError, ServiceMove,
    check_sums::{CheckSums, UNREADABLE_ROWS},
};
use crate::model::{
    Credits, FailureCode, RequestId,
    budget::Account,
    clock::APART_MAX_US,
    state::{HoldChange, State},
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum of a count. No ledger comes near it, and it is far from an overflow.
pub(super) const COUNT_MAX: u64 = 1 << 53;

/// The amounts, counts and pauses of one ledger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    pub account: Account,
    /// Whether answers come from the simulator; `None` until the first reply. This never changes afterwards.
    pub simulated: Option<bool>,
    /// The partition of the campaign that it is in a charge book; `None` if its campaign shares no account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// The book that was told last, with the timeline of its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book: Option<String>,
    /// Ingested rows, including unreadable ones.
    pub rows: u64,
    /// Rows that could not be read. Each is one failure for all checks.
    pub unreadable: u64,
    /// Asks of readable rows.
    pub asks: u64,
    /// Asks that could not be mapped.
    pub unmapped: u64,
    pub skipped: u64,
    /// Requests by state.
    pub requests: BTreeMap<State, u64>,
    /// Requests that no ask has any more, because its row was corrected. They keep what was recorded about them.
    #[serde(default)]
    pub without_ask: u64,
    /// HTTP exchanges for requests.
    pub attempts: u64,
    pub answers_unrecognised: u64,
    /// The asks of each check of the campaign by its id. Rows that could not be read are under [`UNREADABLE_ROWS`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<i64, CheckSums>,
    /// The number of answers and of accepted jobs by catalogue name of the check. Such a check has the right route.
    #[serde(default)]
    pub answers: BTreeMap<String, u64>,
    /// The checks of which the service has told the state of a job, so that the route of their jobs is right.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub jobs_known: BTreeSet<String>,
    /// The versions of the service's list that answers were made with, by check, in the order of their first answer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub datasets: BTreeMap<String, Vec<DatasetSeen>>,
    /// The addresses that the service moved to, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_moves: Vec<ServiceMove>,
    /// The highest price seen for each check, if it was above the price table.
    #[serde(default)]
    pub highest_prices: BTreeMap<String, SeenPrice>,
    /// A time in microseconds since 1970, after which the balance fell by more than our own requests explain. A refusal
    /// since then may have been charged.
    #[serde(default)]
    pub unexplained_since_us: Option<i64>,
    /// Why the last run stopped, if running again would repeat the fault.
    #[serde(default)]
    pub stop: Option<KeptStop>,
    /// A run stopped because the answers that it may have paid for could not be read, and nothing was answered since. No
    /// new request is sent before one of those is answered.
    #[serde(default)]
    pub new_wait: bool,
    /// No request is sent before this time.
    pub paused_until_us: Option<i64>,
    /// When that pause was set, by this machine's clock.
    #[serde(default)]
    pub paused_at_us: Option<i64>,
    /// Checks that are limited alone, and until when nothing of them is sent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paused_checks: BTreeMap<String, i64>,
    /// The service's clock minus this machine's, in microseconds, as last seen.
    pub server_offset_us: Option<i64>,
    /// When the last ask was accounted for.
    pub completed_at_us: Option<i64>,
}

/// A price above the price table that a reply stated for a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPrice {
    /// The price that was stated.
    pub price: Credits,
    /// The price in the price table at that time; `None` if it is not known. If the user changes the table, the new
    /// table price counts.
    pub table: Option<Credits>,
    /// The request whose reply stated it; `None` if it is not known.
    #[serde(default)]
    pub request: Option<RequestId>,
}

/// A stop that is recorded for the next run, which sends nothing until the cause has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptStop {
    /// The exit code of the stop.
    pub exit_code: u8,
    /// What happened, and what to do about it.
    pub message: String,
    /// Digest of the settings that decide whether it would happen again: prices, limits, mapping, declarations, guards
    /// and API key.
    pub settings: String,
    /// When it happened, in microseconds since 1970.
    pub at_us: i64,
    /// The flag that removes the cause, with its value, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<(String, String)>,
}

/// A change of the pause of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckPause {
    /// No request of the check is sent before this time, in microseconds since 1970.
    Until(i64),
    /// The check is not limited any more.
    Over,
}

impl Sums {
    pub(super) fn check(&mut self, check_use: Option<i64>) -> &mut CheckSums {
        self.checks.entry(check_use.unwrap_or(UNREADABLE_ROWS)).or_default()
    }

    /// Failed asks of all checks by failure code, with the rows that could not be read.
    pub fn failures(&self) -> BTreeMap<FailureCode, u64> {
        let mut all = BTreeMap::new();
        for (code, count) in self.checks.values().flat_map(|check| &check.failures) {
            *all.entry(*code).or_default() += count;
        }
        all
    }

    /// Whether the sums of the checks add up to those of the campaign.
    pub(super) fn checks_add_up(&self) -> bool {
        let sum = |of: fn(&CheckSums) -> u64| -> u64 {
            self.checks.iter().filter(|(id, _)| **id != UNREADABLE_ROWS).map(|(_, check)| of(check)).sum()
        };
        let unreadable = self.checks.get(&UNREADABLE_ROWS).map_or(0, CheckSums::failed);
        let charged: u64 = self.checks.values().map(|check| check.charged.0).sum();
        let is_mapped = sum(CheckSums::failed) >= self.unmapped;
        sum(|check| check.asks) == self.asks
            && sum(|check| check.skipped) == self.skipped
            && (unreadable, charged) == (self.unreadable, self.account.charged.0)
            && is_mapped
    }

    /// Whether a check was ever answered.
    pub fn was_answered(&self, check: &str) -> bool {
        self.answers.get(check).is_some_and(|answers| *answers > 0)
    }

    /// Records that a balance is this far below what our own requests explain. Call it before the balance becomes the
    /// last reading.
    pub(super) fn fell(&mut self, by: Credits) {
        if let Some(reading) = self.account.reading.filter(|_| by > Credits::ZERO) {
            self.unexplained_since_us.get_or_insert(reading.at_us);
        }
    }

    /// Keeps the longer of two pauses. A pause that was set in the future is replaced.
    pub(super) fn pause(&mut self, until_us: Option<i64>, now_us: i64) {
        let future = self.paused_at_us.is_some_and(|at| at.saturating_sub(now_us) > APART_MAX_US);
        if until_us > self.paused_until_us || until_us.is_some() && future {
            (self.paused_until_us, self.paused_at_us) = (until_us, Some(now_us));
        }
    }

    /// Keeps what a reply changes about the pause of a check.
    pub(super) fn pause_check(&mut self, check: &str, change: Option<CheckPause>) {
        match change {
            Some(CheckPause::Until(until_us)) => drop(self.paused_checks.insert(check.to_owned(), until_us)),
            Some(CheckPause::Over) => drop(self.paused_checks.remove(check)),
            None => {}
        }
    }

    /// The number of requests in this state.
    pub fn in_state(&self, state: State) -> u64 {
        self.requests.get(&state).copied().unwrap_or(0)
    }

    /// The number of all requests.
    pub fn requests(&self) -> u64 {
        self.requests.values().sum()
    }

    /// The number of asks that another ask's request answers, for free.
    pub fn duplicates(&self) -> u64 {
        let with_request = self.asks.saturating_sub(self.unmapped + self.skipped);
        with_request.saturating_sub(self.requests().saturating_sub(self.without_ask))
    }

    /// The number of requests that are neither answered nor failed.
    pub fn open(&self) -> u64 {
        self.requests.iter().filter(|(state, _)| !state.is_settled()).map(|(_, count)| count).sum()
    }

    /// Whether all counts are possible, so that each can still be incremented.
    pub(super) fn are_possible(&self) -> bool {
        let Sums { rows, unreadable, asks, unmapped, skipped, without_ask, attempts, answers_unrecognised, .. } = self;
        let counts = [rows, unreadable, asks, unmapped, skipped, without_ask, attempts, answers_unrecognised];
        let of_checks = self.checks.values().flat_map(CheckSums::counts);
        let mut counts = counts.into_iter().chain(self.requests.values()).copied().chain(of_checks);
        counts.all(|count| count <= COUNT_MAX)
    }

    /// Moves a request from one state to another. It is an error if it was not counted in the first one.
    pub(super) fn moved(&mut self, from: State, to: State) -> Result<(), LedgerError> {
        let uncounted =
            || LedgerError::Damaged(format!("a request is {}, but the sums count no such request", from.as_str()));
        let left = self.requests.entry(from).or_default();
        *left = left.checked_sub(1).ok_or_else(uncounted)?;
        *self.requests.entry(to).or_default() += 1;
        Ok(())
    }

    /// Applies a change of holds and charges to the account.
    pub(super) fn book(&mut self, change: &HoldChange) {
        let account = &mut self.account;
        account.held = (account.held + change.added).saturating_sub(change.freed);
        account.armed = account.armed + change.added;
        account.charged = account.charged + change.charged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_two_pauses_is_kept_and_one_set_in_the_future_is_replaced() {
        let mut sums = Sums::default();
        sums.pause(Some(50), 10);
        sums.pause(Some(40), 20);
        sums.pause(None, 30);
        assert_eq!((sums.paused_until_us, sums.paused_at_us), (Some(50), Some(10)));
        sums.pause(Some(60), 20);
        assert_eq!((sums.paused_until_us, sums.paused_at_us), (Some(60), Some(20)));
        sums.pause(Some(5), 20 - APART_MAX_US);
        assert_eq!(sums.paused_until_us, Some(60), "two clocks may differ by this much");
        sums.pause(None, 19 - APART_MAX_US);
        assert_eq!(sums.paused_until_us, Some(60), "the pause stays as it was");
        sums.pause(Some(5), 19 - APART_MAX_US);
        assert_eq!(sums.paused_until_us, Some(5));
    }

    #[test]
    fn a_request_that_is_not_counted_in_the_state_it_leaves_is_damage() {
        let mut sums = Sums { requests: BTreeMap::from([(State::Planned, 1)]), ..Sums::default() };
        sums.moved(State::Planned, State::Armed).unwrap();
        assert_eq!((sums.in_state(State::Planned), sums.in_state(State::Armed), sums.requests()), (0, 1, 1));
        assert!(matches!(sums.moved(State::Planned, State::Armed), Err(LedgerError::Damaged(_))));
    }

    #[test]
    fn an_unexplained_fall_is_kept_from_the_first_reading_before_it() {
        let mut sums = Sums::default();
        sums.fell(Credits(1));
        assert_eq!(sums.unexplained_since_us, None, "nothing was read yet");
        sums.account.reading = Some(Account::default().reading(Credits(9), 7));
        sums.fell(Credits::ZERO);
        assert_eq!(sums.unexplained_since_us, None);
        sums.fell(Credits(1));
        sums.account.reading = Some(Account::default().reading(Credits(8), 8));
        sums.fell(Credits(1));
        assert_eq!(sums.unexplained_since_us, Some(7));
    }
}
