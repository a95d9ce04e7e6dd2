//! The sums of a ledger: money and counts, kept in the same transactions as what they sum, so that status, budget and
//! progress cost nothing however many rows there are.

use super::{LedgerError, SeenPrice};
use crate::model::{
    Credits,
    budget::Account,
    clock::APART_MAX_US,
    planted::{Bug, planted},
    state::{HoldChange, State},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// More than any ledger counts, and far from where a number ends.
pub(super) const COUNT_MAX: u64 = 1 << 53;

/// Money, counts and pauses of one ledger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    pub account: Account,
    /// Whether answers come from the simulator; unknown until the service was met. A ledger never changes sides.
    pub simulated: Option<bool>,
    /// Rows taken, unreadable ones too.
    pub rows: u64,
    /// Rows that could not be read: one failure each, for all checks.
    pub unreadable: u64,
    /// Asks of readable rows.
    pub asks: u64,
    /// Asks that could not be mapped.
    pub unmapped: u64,
    pub skipped: u64,
    /// Requests by state.
    pub requests: BTreeMap<State, u64>,
    /// HTTP exchanges for requests.
    pub attempts: u64,
    pub answers_unrecognised: u64,
    /// Answers by check, by its catalogue name: a check that was answered has the right route.
    #[serde(default)]
    pub answers: BTreeMap<String, u64>,
    /// The highest price that a check was seen to cost, where it was above the price table.
    #[serde(default)]
    pub highest_prices: BTreeMap<String, SeenPrice>,
    /// The balance fell by more than our own requests explain at some moment after this one, in microseconds since 1970: a
    /// refusal since then may have been charged.
    #[serde(default)]
    pub unexplained_since_us: Option<i64>,
    /// Why the last run stopped, where running again would repeat the fault.
    #[serde(default)]
    pub stop: Option<KeptStop>,
    /// No request is sent before this moment.
    pub paused_until_us: Option<i64>,
    /// When that pause was set, by this machine's clock.
    #[serde(default)]
    pub paused_at_us: Option<i64>,
    /// Server clock less this machine's, in microseconds, as last seen.
    pub server_offset_us: Option<i64>,
    /// When the last ask was accounted for.
    pub completed_at_us: Option<i64>,
}

/// A stop that the next run heeds: it sends nothing until what was wrong has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptStop {
    /// The exit code it gave.
    pub exit_code: u8,
    /// What happened and what to do about it.
    pub message: String,
    /// Digest of what decides whether it would happen again: prices, limits, mapping, declarations, guards and API key.
    pub settings: String,
    /// When, in microseconds since 1970.
    pub at_us: i64,
}

impl Sums {
    /// Whether a check was ever answered.
    pub fn was_answered(&self, check: &str) -> bool {
        self.answers.get(check).is_some_and(|answers| *answers > 0)
    }

    /// Notes that a balance is so far below what our own requests explain. Call it before the balance is the last reading.
    pub(super) fn fell(&mut self, by: Credits) {
        if let Some(reading) = self.account.reading.filter(|_| by > Credits::ZERO) {
            self.unexplained_since_us.get_or_insert(reading.at_us);
        }
    }

    /// Keeps the longer of two pauses; one that was set in the future gives way.
    pub(super) fn pause(&mut self, until_us: Option<i64>, now_us: i64) {
        let future = self.paused_at_us.is_some_and(|at| at.saturating_sub(now_us) > APART_MAX_US);
        if until_us > self.paused_until_us || until_us.is_some() && future {
            (self.paused_until_us, self.paused_at_us) = (until_us, Some(now_us));
        }
    }

    /// How many requests stand in this state.
    pub fn in_state(&self, state: State) -> u64 {
        self.requests.get(&state).copied().unwrap_or(0)
    }

    /// All requests.
    pub fn requests(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Requests that are neither answered nor failed.
    pub fn open(&self) -> u64 {
        self.requests.iter().filter(|(state, _)| !state.is_settled()).map(|(_, count)| count).sum()
    }

    /// Whether these can be the counts of a ledger: one more of anything can still be counted.
    pub(super) fn are_possible(&self) -> bool {
        let Sums { rows, unreadable, asks, unmapped, skipped, attempts, answers_unrecognised, .. } = self;
        let counts = [rows, unreadable, asks, unmapped, skipped, attempts, answers_unrecognised];
        counts.into_iter().chain(self.requests.values()).all(|count| *count <= COUNT_MAX)
    }

    /// Counts a request in another state; an error where it was not counted in the one it leaves.
    pub(super) fn moved(&mut self, from: State, to: State) -> Result<(), LedgerError> {
        let uncounted = || LedgerError::Damaged(format!("a request is {}, and its sums count none", from.as_str()));
        let left = self.requests.entry(from).or_default();
        *left = left.checked_sub(1).ok_or_else(uncounted)?;
        *self.requests.entry(to).or_default() += 1;
        Ok(())
    }

    /// Books what a move changes in the money.
    pub(super) fn book(&mut self, change: &HoldChange) {
        let account = &mut self.account;
        let freed =
            if planted(Bug::ChargeKeepsHold) && change.charged > Credits::ZERO { Credits::ZERO } else { change.freed };
        account.held = (account.held + change.added).saturating_sub(freed);
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
        assert_eq!(sums.paused_until_us, Some(60), "two clocks may differ by so much");
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
