//! The tree of a plan's counts: from the rows of the input to the requests that a run would send. Each level is the sum
//! of its parts.

use crate::model::state::State;

/// The counts of a plan. `rows` are `unreadable` and readable rows. Each check is asked for each readable row; the asks
/// are the sum of all fields below them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tree {
    pub rows: u64,
    /// Rows that cannot be read. Each is one failure for all checks.
    pub unreadable: u64,
    /// The asks of the readable rows: one for each row and check.
    pub asks: u64,
    /// Asks that `when` leaves out.
    pub skipped: u64,
    /// Asks that cannot be mapped.
    pub rejected: u64,
    /// Asks that share the request of another ask.
    pub duplicates: u64,
    /// Requests that an earlier run settled: answered or failed.
    pub settled: u64,
    /// Requests that the service accepted as jobs.
    pub jobs: u64,
    /// Requests that wait for a decision.
    pub quarantined: u64,
    /// Requests of rows that an earlier run read with another mapping. These rows keep the requests of that mapping.
    pub kept: u64,
    /// Requests that are not sent, because an earlier round has the answer.
    pub reused: u64,
    /// Requests in doubt, which are sent again with the same key. Their price is held already.
    pub in_doubt: u64,
    /// Requests that a run would send for the first time, or again after they were proven uncharged.
    pub to_send: u64,
}

/// What became of the request of an ask before this plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// The ledger does not have it.
    New,
    /// The ledger has it, and it waits to be sent.
    Planned,
    InDoubt,
    Job,
    Settled,
    Quarantined,
    /// The ledger does not have it, but has its row.
    Kept,
    /// The ledger does not have it, and an earlier round has the answer.
    Reused,
    /// It waits to be sent, and an earlier round has the answer.
    PlannedReused,
}

impl Standing {
    pub const ALL: [Standing; 9] = [
        Standing::New,
        Standing::Planned,
        Standing::InDoubt,
        Standing::Job,
        Standing::Settled,
        Standing::Quarantined,
        Standing::Kept,
        Standing::Reused,
        Standing::PlannedReused,
    ];

    /// By the state in the ledger. `is_known_row` if an earlier run has read the row and could map the check on it.
    pub fn new(state: Option<State>, is_known_row: bool) -> Standing {
        match state {
            None if is_known_row => Standing::Kept,
            None => Standing::New,
            Some(State::Planned) => Standing::Planned,
            Some(State::Armed | State::InDoubt | State::Repeating) => Standing::InDoubt,
            Some(State::Submitted) => Standing::Job,
            Some(State::Answered | State::Failed) => Standing::Settled,
            Some(State::Quarantined) => Standing::Quarantined,
        }
    }

    /// The same, if an earlier round has the answer.
    pub fn reused(self) -> Standing {
        match self {
            Standing::New => Standing::Reused,
            Standing::Planned => Standing::PlannedReused,
            other => other,
        }
    }

    /// Whether a run sends it and holds its price.
    pub fn is_sent(self) -> bool {
        matches!(self, Standing::New | Standing::Planned)
    }
}

impl Tree {
    /// The rows that can be read.
    pub fn readable(&self) -> u64 {
        self.rows - self.unreadable
    }

    /// The number of distinct requests of the input.
    pub fn requests(&self) -> u64 {
        self.settled + self.jobs + self.quarantined + self.kept + self.reused + self.in_doubt + self.to_send
    }

    /// Whether a run has nothing left to send or to wait for.
    pub fn is_settled(&self) -> bool {
        self.jobs + self.quarantined + self.reused + self.in_doubt + self.to_send == 0
    }

    /// Counts distinct requests.
    pub(super) fn add_requests(&mut self, standing: Standing, count: u64) {
        let place = match standing {
            Standing::New | Standing::Planned => &mut self.to_send,
            Standing::InDoubt => &mut self.in_doubt,
            Standing::Job => &mut self.jobs,
            Standing::Settled => &mut self.settled,
            Standing::Quarantined => &mut self.quarantined,
            Standing::Kept => &mut self.kept,
            Standing::Reused | Standing::PlannedReused => &mut self.reused,
        };
        *place += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_of_a_request_has_its_place_in_the_tree() {
        let mut tree = Tree::default();
        for state in State::ALL {
            tree.add_requests(Standing::new(Some(state), true), 1);
        }
        tree.add_requests(Standing::new(None, false), 10);
        tree.add_requests(Standing::new(None, true), 100);
        let Tree { to_send, in_doubt, jobs, settled, quarantined, kept, .. } = tree;
        assert_eq!((to_send, in_doubt, jobs, settled, quarantined, kept), (11, 3, 1, 2, 1, 100));
        assert_eq!(tree.requests(), 118);
    }
}
