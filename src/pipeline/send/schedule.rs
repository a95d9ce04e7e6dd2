//! Decides which request is sent next: a new one, one of an earlier run, or one that is due again.

use super::{context::Candidate, moment::Moment};
use crate::model::RequestId;
use std::collections::{BTreeMap, VecDeque};

/// While both wait, a repeat gets its turn after this many new requests: rows that the service fails for ever must not take
/// the time of the others.
const NEW_PER_REPEAT: i64 = 3;

/// The requests that wait for their turn. While new requests wait, at most a quarter of the requests sent, and of those in
/// flight, are repeats.
#[derive(Default)]
pub struct Schedule {
    /// Requests that were never sent.
    pub new: VecDeque<Candidate>,
    /// Requests that an earlier run sent.
    pub sent_before: VecDeque<Candidate>,
    /// Requests that this run sent before and that are due again, in the order in which they became due.
    due: VecDeque<Candidate>,
    /// Requests that are postponed until a moment.
    postponed: BTreeMap<(Moment, RequestId), Candidate>,
    /// The number of repeats in flight.
    repeats: usize,
    /// The maximum number of repeats in flight while new requests wait.
    repeats_max: usize,
    /// The number of new requests sent since the last turn of a repeat.
    new_since_repeat: i64,
}

impl Schedule {
    /// An empty schedule for at most `in_flight` concurrent requests.
    pub fn new(in_flight: usize) -> Schedule {
        Schedule { repeats_max: (in_flight / 4).max(1), ..Schedule::default() }
    }

    fn next_is_repeat(&self) -> bool {
        match (self.new.is_empty(), self.due.is_empty() && self.sent_before.is_empty()) {
            (_, true) => false,
            (true, false) => true,
            (false, false) => self.new_since_repeat >= NEW_PER_REPEAT && self.repeats < self.repeats_max,
        }
    }

    /// The request that is sent next.
    pub fn next(&self) -> Option<&Candidate> {
        if self.next_is_repeat() { self.due.front().or(self.sent_before.front()) } else { self.new.front() }
    }

    /// Takes the request that is sent next.
    pub fn take(&mut self) -> Option<Candidate> {
        let is_repeat = self.next_is_repeat();
        let mut candidate = if is_repeat {
            self.due.pop_front().or_else(|| self.sent_before.pop_front())
        } else {
            self.new.pop_front()
        }?;
        let others_wait =
            if is_repeat { !self.new.is_empty() } else { !self.due.is_empty() || !self.sent_before.is_empty() };
        candidate.turn = match is_repeat {
            false if others_wait && self.new_since_repeat < NEW_PER_REPEAT => 1,
            true if others_wait => -self.new_since_repeat,
            _ => 0,
        };
        self.new_since_repeat += candidate.turn;
        self.repeats += usize::from(candidate.is_repeat);
        Some(candidate)
    }

    /// Records that a taken request is no longer in flight.
    pub fn ended(&mut self, candidate: &Candidate) {
        self.repeats -= usize::from(candidate.is_repeat);
    }

    /// Records that no request is in flight any more.
    pub fn all_ended(&mut self) {
        self.repeats = 0;
    }

    /// Puts a request before the others of its kind.
    pub fn put_first(&mut self, candidate: Candidate) {
        if candidate.is_repeat { self.due.push_front(candidate) } else { self.new.push_front(candidate) }
    }

    /// Returns a request that was taken but not sent. It gets its turn again.
    pub fn take_back(&mut self, candidate: Candidate) {
        self.new_since_repeat -= candidate.turn;
        self.put_first(candidate);
    }

    /// Puts a request after those that are due again.
    pub fn put_last(&mut self, candidate: Candidate) {
        self.due.push_back(candidate);
    }

    /// Postpones a request that was sent until a moment.
    pub fn postpone(&mut self, until: Moment, candidate: Candidate) {
        self.postponed.insert((until, candidate.request), Candidate { is_repeat: true, ..candidate });
    }

    /// Postpones a request that was taken but not sent. Its kind gets its turn again.
    pub fn hold_back(&mut self, until: Moment, candidate: Candidate) {
        self.new_since_repeat -= candidate.turn;
        self.postponed.insert((until, candidate.request), candidate);
    }

    /// The number of postponed requests of a check.
    pub fn postponed_of(&self, check: &str) -> usize {
        self.postponed.values().filter(|one| one.check == check).count()
    }

    /// The number of postponed requests.
    pub fn postponed_count(&self) -> usize {
        self.postponed.len()
    }

    /// When the next postponed request is due.
    pub fn next_due(&self) -> Option<Moment> {
        self.postponed.keys().next().map(|(due, _)| *due)
    }

    /// Moves postponed requests that are due now behind the others of their kind.
    pub fn wake(&mut self, now: Moment) {
        while let Some(first) = self.postponed.first_entry().filter(|first| first.key().0 <= now) {
            let candidate = first.remove();
            if candidate.is_repeat { self.due.push_back(candidate) } else { self.new.push_back(candidate) }
        }
    }

    /// Whether a request waits, and until when if it is postponed.
    pub fn due_of(&self, request: RequestId) -> Option<Option<Moment>> {
        let postponed = self.postponed.keys().find(|(_, candidate)| *candidate == request);
        let mut waiting = self.new.iter().chain(&self.sent_before).chain(&self.due);
        postponed
            .map(|(due, _)| Some(*due))
            .or_else(|| waiting.any(|candidate| candidate.request == request).then_some(None))
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.next().is_none() && self.postponed.is_empty()
    }

    /// Keeps only the waiting requests for which `keep` returns `true`.
    pub fn retain(&mut self, keep: impl Fn(&Candidate) -> bool) {
        self.new.retain(&keep);
        self.sent_before.retain(&keep);
        self.due.retain(&keep);
        self.postponed.retain(|_, candidate| keep(candidate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn new(id: i64) -> Candidate {
        Candidate::new(RequestId(id), "a".to_owned())
    }

    fn repeat(id: i64) -> Candidate {
        Candidate { is_repeat: true, ..new(id) }
    }

    /// The order in which requests are sent while no attempt ends.
    fn leaving(schedule: &mut Schedule) -> Vec<i64> {
        std::iter::from_fn(|| schedule.take()).map(|one| one.request.0).collect()
    }

    #[test]
    fn a_repeat_follows_three_new_requests_until_a_quarter_of_the_slots_are_repeats() {
        let mut schedule = Schedule::new(8);
        schedule.new.extend((1..=10).map(new));
        (11..=14).for_each(|id| schedule.put_last(repeat(id)));
        assert_eq!(leaving(&mut schedule), [1, 2, 3, 11, 4, 5, 6, 12, 7, 8, 9, 10, 13, 14]);
    }

    #[test]
    fn a_repeat_that_ended_makes_room_for_the_next_one() {
        let mut schedule = Schedule::new(1);
        schedule.new.extend((1..=8).map(new));
        (11..=12).for_each(|id| schedule.put_last(repeat(id)));
        let first: Vec<Candidate> = (0..7).filter_map(|_| schedule.take()).collect();
        assert_eq!(first.iter().map(|one| one.request.0).collect::<Vec<_>>(), [1, 2, 3, 11, 4, 5, 6]);
        assert_eq!(schedule.next().unwrap().request.0, 7, "the only repeat allowed is in flight");
        schedule.ended(&first[3]);
        assert_eq!(leaving(&mut schedule), [12, 7, 8]);
    }

    #[test]
    fn a_request_that_was_not_sent_keeps_the_turn_of_its_kind() {
        // Several requests are taken at a time. The first one is sent, and its reply closes the gate before the others
        // are.
        for (places, others) in [(4, 2), (6, 6), (64, 5)] {
            let mut schedule = Schedule::new(places);
            schedule.new.extend((1..=90).map(new));
            (101..=190).for_each(|id| schedule.put_last(repeat(id)));
            let mut ahead = 0_i64;
            for round in 0..60 {
                let first = schedule.take().unwrap();
                ahead += if first.is_repeat { -NEW_PER_REPEAT } else { 1 };
                assert!(ahead.abs() <= NEW_PER_REPEAT + 1, "one kind is {ahead} ahead in round {round}");
                schedule.ended(&first);
                let mut taken: Vec<Candidate> = (0..others).filter_map(|_| schedule.take()).collect();
                let middle = if round % 2 == 0 { 0 } else { others / 2 };
                taken.rotate_left(middle);
                for candidate in taken {
                    schedule.ended(&candidate);
                    schedule.take_back(candidate);
                }
            }
        }
    }

    #[test]
    fn requests_of_this_run_are_repeated_before_those_of_an_earlier_run() {
        let mut schedule = Schedule::new(8);
        schedule.sent_before.extend((11..=12).map(repeat));
        schedule.put_last(repeat(21));
        schedule.put_first(repeat(22));
        assert_eq!(leaving(&mut schedule), [22, 21, 11, 12]);
    }

    #[test]
    fn postponed_requests_are_due_at_their_time_and_after_those_due_before() {
        let (mut schedule, now) = (Schedule::new(8), Moment::START);
        let second = Duration::from_secs(1);
        schedule.postpone(now + second * 2, new(2));
        schedule.postpone(now + second, new(1));
        schedule.postpone(now + second * 3, new(3));
        assert_eq!((schedule.next_due(), schedule.postponed_count()), (Some(now + second), 3));
        schedule.wake(now);
        assert!(schedule.next().is_none() && !schedule.is_empty());
        schedule.put_last(repeat(9));
        schedule.wake(now + second * 2);
        assert!(schedule.next().unwrap().is_repeat);
        assert_eq!(leaving(&mut schedule), [9, 1, 2]);
        assert_eq!(schedule.next_due(), Some(now + second * 3));
        schedule.retain(|one| one.request.0 != 3);
        assert!(schedule.is_empty());
    }
}
