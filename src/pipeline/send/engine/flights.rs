//! The requests in flight, and when the place of one is free for another. The place of an ordinary answer is free when the
//! answer is heard, before it is recorded. Any other reply keeps its place until the run has decided what it means, so a
//! risen price or a fault costs no more than the requests that are in flight when it is heard.

use crate::{
    model::{Credits, RequestId, budget::Account, state::Outcome},
    pipeline::send::{
        attempt_end::Heard,
        prices::{Prices, is_stated_in_full},
    },
};
use std::collections::BTreeMap;

impl Heard {
    /// Whether it is an answer that needs no decision. `waiting` is the number of such answers that are not recorded yet.
    fn is_ordinary(&self, prices: &Prices, account: &Account, waiting: usize) -> bool {
        let Outcome::Answered { stated } = self.outcome else { return false };
        let is_explained = |balance| account.unexplained_fall(balance) == Credits::ZERO;
        self.is_recognised
            && stated.unwrap_or_default() <= self.price
            && self.remaining.is_none_or(is_explained)
            && (is_stated_in_full(stated, self.price) || prices.has_room_for_unstated(waiting))
    }
}

/// The requests in flight, until they are settled.
#[derive(Debug, Default)]
pub struct Flights {
    /// Whether an ordinary answer to it was heard.
    by_request: BTreeMap<RequestId, bool>,
    heard: usize,
}

impl Flights {
    pub fn len(&self) -> usize {
        self.by_request.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_request.is_empty()
    }

    /// Whether there is a place for another request if `room` may be in flight. One that is sent alone waits until all
    /// others are settled.
    pub fn has_place(&self, room: usize, is_alone: bool) -> bool {
        let free = if is_alone { 0 } else { self.heard.min(room) };
        self.len() < room + free
    }

    /// Whether a request is in flight.
    pub fn has(&self, request: RequestId) -> bool {
        self.by_request.contains_key(&request)
    }

    pub fn started(&mut self, request: RequestId) {
        self.by_request.insert(request, false);
    }

    /// Records a reply. It means nothing for a request that was given up.
    pub fn heard(&mut self, heard: &Heard, prices: &Prices, account: &Account) {
        let is_ordinary = heard.is_ordinary(prices, account, self.heard);
        if let Some(was_heard) = self.by_request.get_mut(&heard.request).filter(|was_heard| is_ordinary && !**was_heard)
        {
            *was_heard = true;
            self.heard += 1;
        }
    }

    pub fn ended(&mut self, request: RequestId) {
        self.heard -= usize::from(self.by_request.remove(&request) == Some(true));
    }

    /// No reply is waited for any more.
    pub fn all_ended(&mut self) {
        *self = Flights::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Mode, pipeline::send::moment::Moment};

    const PRICE: Credits = Credits(5);

    fn heard(request: i64, stated: Option<u64>) -> Heard {
        let outcome = Outcome::Answered { stated: stated.map(Credits) };
        Heard { request: RequestId(request), outcome, price: PRICE, remaining: None, is_recognised: true }
    }

    /// How many places are free of two, with both taken, after this was heard.
    fn freed(heard: &Heard) -> usize {
        let prices = Prices::new(Mode::Production, false, Moment::START);
        let mut flights = Flights::default();
        (1..=2).for_each(|id| flights.started(RequestId(id)));
        flights.heard(heard, &prices, &Account::default());
        usize::from(flights.has_place(2, false))
    }

    #[test]
    fn only_an_ordinary_answer_frees_its_place_before_it_is_recorded() {
        let ordinary = heard(1, Some(5));
        assert_eq!([freed(&ordinary), freed(&heard(1, Some(0))), freed(&heard(1, None))], [1, 1, 1]);
        assert_eq!(freed(&heard(1, Some(6))), 0, "it costs more than its price");
        assert_eq!(freed(&Heard { is_recognised: false, ..ordinary }), 0);
        for outcome in [Outcome::Unknown, Outcome::ChargedRefusal { stated: Some(PRICE) }, Outcome::RateLimited] {
            assert_eq!(freed(&Heard { outcome, ..ordinary }), 0, "{outcome:?}");
        }
        assert_eq!(freed(&heard(3, Some(5))), 0, "it was given up");
    }

    #[test]
    fn a_balance_that_nothing_explains_frees_no_place() {
        let prices = Prices::new(Mode::Production, false, Moment::START);
        let account = Account { held: PRICE, ..Account::default() };
        let account = Account { reading: Some(account.reading(Credits(100), 0)), ..account };
        let left = |left| Heard { remaining: Some(Credits(left)), ..heard(1, Some(5)) };
        assert!(left(95).is_ordinary(&prices, &account, 0), "the hold explains it");
        assert!(!left(94).is_ordinary(&prices, &account, 0));
    }

    #[test]
    fn answers_that_show_no_charge_do_not_delay_the_next_reading() {
        let prices = Prices::new(Mode::Production, false, Moment::START);
        let is_ordinary = |waiting| heard(1, None).is_ordinary(&prices, &Account::default(), waiting);
        assert!(is_ordinary(99) && !is_ordinary(100));
        assert!(heard(1, Some(5)).is_ordinary(&prices, &Account::default(), 1_000));
        for stated in [0, 4] {
            assert!(
                !heard(1, Some(stated)).is_ordinary(&prices, &Account::default(), 100),
                "{stated} is not the price"
            );
        }
    }

    #[test]
    fn a_free_place_is_taken_once_and_never_by_a_request_that_is_sent_alone() {
        let prices = Prices::new(Mode::Production, false, Moment::START);
        let mut flights = Flights::default();
        (1..=2).for_each(|id| flights.started(RequestId(id)));
        assert!(!flights.has_place(2, false));
        for _ in 0..2 {
            flights.heard(&heard(1, Some(5)), &prices, &Account::default());
        }
        assert!(flights.has_place(2, false) && !flights.has_place(2, true) && !flights.has_place(1, true));
        flights.started(RequestId(3));
        assert!(!flights.has_place(2, false));
        flights.ended(RequestId(1));
        assert_eq!((flights.len(), flights.has_place(2, false)), (2, false));
        flights.ended(RequestId(3));
        assert!(flights.has_place(2, false));
        let mut only = Flights::default();
        only.started(RequestId(1));
        only.heard(&heard(1, Some(5)), &prices, &Account::default());
        assert!(only.has_place(1, false) && !only.has_place(1, true), "also where one place is all there is");
    }
}
