//! The sums of a ledger: money and counts, kept in the same transactions as what they sum, so that status, budget and
//! progress cost nothing however many rows there are.

use super::LedgerError;
use crate::model::{
    budget::Account,
    planted::{Bug, planted},
    state::{Hold, State},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// More than any ledger counts, and far from where a number ends.
const COUNT_MAX: u64 = 1 << 53;

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
    /// No request is sent before this moment.
    pub paused_until_us: Option<i64>,
    /// Server clock less this machine's, in microseconds, as last seen.
    pub server_offset_us: Option<i64>,
    /// When the last ask was accounted for.
    pub completed_at_us: Option<i64>,
}

impl Sums {
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

    /// Moves money as a move says: `held` is what the request holds, `price` what it would hold.
    pub(super) fn money(&mut self, hold: Hold, held: crate::model::Credits, price: crate::model::Credits) {
        let account = &mut self.account;
        match hold {
            Hold::Keep => {}
            // What is held already is part of the price.
            Hold::Take => {
                let more = price.saturating_sub(held);
                account.held = account.held + more;
                account.armed = account.armed + more;
            }
            Hold::Release => account.held = account.held.saturating_sub(held),
            Hold::Charge(charge) => {
                let freed = if planted(Bug::ChargeKeepsHold) { crate::model::Credits::ZERO } else { held };
                account.held = account.held.saturating_sub(freed);
                account.charged = account.charged + charge;
            }
        }
    }
}
