//! The spending state of a run: the request that the budget refused, and the key that is on trial.

use super::context::Candidate;
use crate::model::{RequestId, Stop, budget::BudgetRefusal};
use std::collections::VecDeque;

#[derive(Default)]
pub struct Spending {
    /// The budget refused this request. Nothing is sent until all attempts in flight have ended.
    pub blocked: Option<(BudgetRefusal, RequestId)>,
    /// The refused request is tried again, alone.
    pub alone: bool,
    /// The budget is spent. Only requests whose price is already held are sent.
    pub spent: Option<BudgetRefusal>,
    /// The request that got a new key because of a cached 402, while no request was answered since.
    pub key_on_trial: Option<RequestId>,
    /// Requests with the same refusal, which wait for the result of the trial.
    pub behind_trial: VecDeque<Candidate>,
    /// The stop that was recorded for the next run.
    kept: Option<Stop>,
}

impl Spending {
    /// How many requests may be in flight, where `all` is the configured maximum.
    pub fn room(&self, all: usize) -> usize {
        match self.blocked {
            Some(_) => 0,
            None if self.alone => 1,
            None => all,
        }
    }

    /// Whether the budget allows no new requests in this run.
    pub fn is_spent(&self) -> bool {
        self.spent.is_some()
    }

    /// The stop, if the budget is spent.
    pub fn spent(&mut self) -> Option<Stop> {
        self.spent.take().map(Stop::Budget)
    }

    pub fn refused(&mut self, refusal: BudgetRefusal, request: RequestId) {
        self.blocked.get_or_insert((refusal, request));
    }

    /// The first of these stops that must be recorded for the next run, if it is not recorded yet.
    pub fn keep<'a>(&mut self, stops: impl IntoIterator<Item = &'a Stop>) -> Option<Stop> {
        let stop = stops.into_iter().find(|stop| stop.is_kept())?;
        if self.kept.as_ref() == Some(stop) {
            return None;
        }
        self.kept = Some(stop.clone());
        Some(stop.clone())
    }

    /// Lets a request wait until the trial of another request's key is over.
    pub fn wait_for_trial(&mut self, candidate: Candidate) {
        self.behind_trial.push_back(Candidate { is_repeat: true, ..candidate });
    }

    /// Ends the trial and returns the next request to send. It starts the next trial.
    pub fn next_trial(&mut self) -> Option<Candidate> {
        let next = self.behind_trial.pop_front()?;
        self.key_on_trial = Some(next.request);
        Some(next)
    }

    /// Removes the requests of a check that is no longer sent, and ends the trial without a result.
    pub fn leave_out(&mut self, check: &str) {
        self.behind_trial.retain(|one| one.check != check);
        self.key_on_trial = None;
    }

    /// Ends the trial of a request that is not sent again in this run, so that another request may start one.
    pub fn leaves(&mut self, request: RequestId) {
        self.key_on_trial = self.key_on_trial.filter(|on_trial| *on_trial != request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Credits;

    #[test]
    fn nothing_is_sent_while_the_budget_refuses_then_one_alone_then_all() {
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
    fn a_trial_of_a_key_ends_with_its_own_request_and_the_next_request_takes_over() {
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
    fn a_stop_is_recorded_once_for_the_next_run_and_the_first_of_several_counts() {
        let price = |stated| Stop::Price { check: "x".to_owned(), stated, table: Credits(1), request: None };
        let (first, second) = (price(Credits(2)), price(Credits(3)));
        let mut spending = Spending::default();
        assert_eq!(spending.keep(&[]), None);
        assert_eq!(spending.keep(&[Stop::TimeIsUp, Stop::Interrupted]), None, "the next run continues");
        assert_eq!(spending.keep(&[Stop::TimeIsUp, first.clone()]), Some(first.clone()));
        assert_eq!(spending.keep(&[Stop::TimeIsUp, first.clone(), second.clone()]), None, "it is already recorded");
        assert_eq!(spending.keep(std::slice::from_ref(&second)), Some(second));
    }
}
