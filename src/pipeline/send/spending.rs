//! What a run may spend: which request the budget refused, and which key is on trial.

use super::context::Candidate;
use crate::model::{RequestId, Stop, budget::BudgetRefusal};
use std::collections::VecDeque;

#[derive(Default)]
pub struct Spending {
    /// The budget refused this request: nothing is sent until nothing is under way.
    pub blocked: Option<(BudgetRefusal, RequestId)>,
    /// The refused request is tried once more, alone.
    pub alone: bool,
    /// The budget is spent: only what holds its price already is sent.
    pub spent: Option<BudgetRefusal>,
    /// A key was given up for a cached 402, and no request was answered since.
    pub key_on_trial: Option<RequestId>,
    /// Requests that were refused like it, and wait to see what becomes of it.
    pub behind_trial: VecDeque<Candidate>,
    /// The stop that was kept for the next run.
    kept: Option<Stop>,
}

impl Spending {
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

    pub fn refused(&mut self, refusal: BudgetRefusal, request: RequestId) {
        self.blocked.get_or_insert((refusal, request));
    }

    /// The first of these stops that the next run has to heed, where it is not kept yet.
    pub fn keep(&mut self, stops: &[Stop]) -> Option<Stop> {
        let stop = stops.iter().find(|stop| stop.is_kept())?;
        if self.kept.as_ref() == Some(stop) {
            return None;
        }
        self.kept = Some(stop.clone());
        Some(stop.clone())
    }

    /// A request waits until the trial of another one's key is over.
    pub fn wait_for_trial(&mut self, one: Candidate) {
        self.behind_trial.push_back(Candidate { is_repeat: true, ..one });
    }

    /// The trial is over: the next request is sent, and has the next trial where it is refused again.
    pub fn next_trial(&mut self) -> Option<Candidate> {
        let next = self.behind_trial.pop_front()?;
        self.key_on_trial = Some(next.request);
        Some(next)
    }

    /// Nothing of a check is sent any more: a trial of one of its keys ends without a result.
    pub fn leave_out(&mut self, check: &str) {
        self.behind_trial.retain(|one| one.check != check);
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
    use crate::model::Credits;

    #[test]
    fn while_the_budget_refuses_nothing_is_sent_then_one_alone_then_all() {
        let mut spending = Spending::default();
        assert_eq!(spending.room(16), 16);
        spending.refused(BudgetRefusal::Unread, RequestId(1));
        spending.alone = true;
        assert_eq!(spending.room(16), 0);
        spending.blocked = None;
        assert_eq!(spending.room(16), 1);
        spending.alone = false;
        assert_eq!(spending.room(16), 16);
    }

    #[test]
    fn a_key_trial_ends_when_its_own_request_is_sent_and_passes_to_the_next_one() {
        let mut spending = Spending { key_on_trial: Some(RequestId(1)), ..Spending::default() };
        spending.wait_for_trial(Candidate::new(RequestId(2), "x".to_owned()));
        spending.leaves(RequestId(2));
        assert_eq!(spending.key_on_trial, Some(RequestId(1)), "another one left");
        spending.leaves(RequestId(1));
        assert_eq!(spending.key_on_trial, None);
        let next = spending.next_trial().unwrap();
        assert_eq!((next.request, next.is_repeat, spending.key_on_trial), (RequestId(2), true, Some(RequestId(2))));
        assert!(spending.next_trial().is_none());
    }

    #[test]
    fn a_stop_is_kept_for_the_next_run_once_and_the_first_of_several_counts() {
        let price = |stated| Stop::Price { check: "x".to_owned(), stated, table: Credits(1), request: None };
        let (first, second) = (price(Credits(2)), price(Credits(3)));
        let mut spending = Spending::default();
        assert_eq!(spending.keep(&[]), None);
        assert_eq!(spending.keep(&[Stop::TimeIsUp, Stop::Interrupted]), None, "the next run goes on");
        assert_eq!(spending.keep(&[Stop::TimeIsUp, first.clone()]), Some(first.clone()));
        assert_eq!(spending.keep(&[Stop::TimeIsUp, first.clone(), second.clone()]), None, "it is kept already");
        assert_eq!(spending.keep(std::slice::from_ref(&second)), Some(second));
    }
}
