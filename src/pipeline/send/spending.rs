//! What a run may spend: which request the budget refused, and which key is on trial.

use super::attempt::Try;
use crate::model::{RequestId, Stop, budget::Refusal};
use std::collections::VecDeque;

#[derive(Default)]
pub struct Purse {
    /// The budget refused this request: nothing is sent until nothing is under way.
    pub blocked: Option<(Refusal, RequestId)>,
    /// The refused request is tried once more, alone.
    pub alone: bool,
    /// The budget is spent: only what holds its price already is sent.
    pub spent: Option<Refusal>,
    /// A key was given up for a cached 402, and no request was answered since.
    pub key_on_trial: Option<RequestId>,
    /// Requests that were refused like it, and wait to see what becomes of it.
    pub behind_trial: VecDeque<Try>,
    /// The stop that was kept for the next run.
    pub kept: Option<Stop>,
}

impl Purse {
    /// How many requests may be under way, of `all` places.
    pub fn room(&self, all: usize) -> usize {
        match self.blocked {
            Some(_) => 0,
            None if self.alone => 1,
            None => all,
        }
    }

    /// Whether the budget allows nothing new in this run.
    pub fn is_spent(&self) -> bool {
        self.spent.is_some()
    }

    /// Why the run ends, where the budget is spent.
    pub fn spent(&mut self) -> Option<Stop> {
        self.spent.take().map(Stop::Budget)
    }

    pub fn refused(&mut self, refusal: Refusal, request: RequestId) {
        self.blocked.get_or_insert((refusal, request));
    }

    /// A request waits until the trial of another one's key is over.
    pub fn wait_for_trial(&mut self, one: Try) {
        self.behind_trial.push_back(Try { is_repeat: true, ..one });
    }

    /// The trial is over: the next request is sent, and has the next trial where it is refused again.
    pub fn next_trial(&mut self) -> Option<Try> {
        let next = self.behind_trial.pop_front()?;
        self.key_on_trial = Some(next.request);
        Some(next)
    }

    /// Nothing of a check is sent any more: a trial of one of its keys ends without a result.
    pub fn leave_out(&mut self, check: &str) {
        self.behind_trial.retain(|one| one.sold != check);
        self.key_on_trial = None;
    }

    /// A request is not sent again in this run: a trial of its key ends without a result, and another may try.
    pub fn leaves(&mut self, request: RequestId) {
        self.key_on_trial = self.key_on_trial.filter(|on_trial| *on_trial != request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_while_the_budget_refuses_and_then_one_alone_and_then_all() {
        let mut purse = Purse::default();
        assert_eq!(purse.room(16), 16);
        purse.refused(Refusal::Unread, RequestId(1));
        purse.alone = true;
        assert_eq!(purse.room(16), 0);
        purse.blocked = None;
        assert_eq!(purse.room(16), 1);
        purse.alone = false;
        assert_eq!(purse.room(16), 16);
    }

    #[test]
    fn a_trial_of_a_key_ends_where_its_own_request_leaves_and_the_next_one_has_it() {
        let mut purse = Purse { key_on_trial: Some(RequestId(1)), ..Purse::default() };
        purse.wait_for_trial(Try::new(RequestId(2), "x".to_owned()));
        purse.leaves(RequestId(2));
        assert_eq!(purse.key_on_trial, Some(RequestId(1)), "another one left");
        purse.leaves(RequestId(1));
        assert_eq!(purse.key_on_trial, None);
        let next = purse.next_trial().unwrap();
        assert_eq!((next.request, next.is_repeat, purse.key_on_trial), (RequestId(2), true, Some(RequestId(2))));
        assert!(purse.next_trial().is_none());
    }
}
