//! The events that wait for their delivery: which are due when, and what a failed attempt means. It knows no network
//! and no content, so that the schedule can be tested alone.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

/// The service's description, Delivery rules: the times between a failed attempt and the next one. After the last one,
/// the event is given up. The description does not say whether a time counts from the first failure or from the
/// previous one; the previous one is assumed.
const RETRIES: [Duration; 7] = [
    Duration::from_secs(60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 3_600),
    Duration::from_secs(6 * 3_600),
    Duration::from_secs(12 * 3_600),
    Duration::from_secs(24 * 3_600),
];
/// The most attempts at the same time. Further ones wait.
const UNDER_WAY_MAX: usize = 16;

/// Events that wait, and attempts that are under way, by number.
#[derive(Debug)]
pub(super) struct Outbox {
    time_scale: u32,
    /// The number of the next event. It never starts again, so a late report cannot be taken for another attempt's.
    next: u64,
    /// By the time when they are due, in microseconds since 1970.
    waiting: BTreeMap<(i64, u64), Event>,
    under_way: HashMap<u64, Event>,
}

/// An event, and how its delivery went so far.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Event {
    job: String,
    failures: usize,
    /// It is delivered again after it was accepted.
    again: bool,
}

impl Outbox {
    /// An empty one. It numbers its events from `first`; the times between attempts are divided by `time_scale`.
    pub(super) fn new(time_scale: u32, first: u64) -> Outbox {
        Outbox { time_scale: time_scale.max(1), next: first, waiting: BTreeMap::new(), under_way: HashMap::new() }
    }

    /// The number of the next event.
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// Adds the event of a job, to be delivered from `due_us` on; `again` delivers it a second time.
    pub(super) fn add(&mut self, job: &str, due_us: i64, again: bool) {
        self.wait(due_us, Event { job: job.to_owned(), failures: 0, again });
    }

    /// Forgets the attempts for a job that have not begun.
    pub(super) fn forget(&mut self, job: &str) {
        self.waiting.retain(|_, event| event.job != job);
    }

    fn wait(&mut self, due_us: i64, event: Event) {
        self.waiting.insert((due_us, self.next), event);
        self.next += 1;
    }

    /// Begins the next attempt that is due: its number and its job. `None` if none is due, or too many are under way.
    pub(super) fn begin(&mut self, now_us: i64) -> Option<(u64, String)> {
        let next = self.waiting.first_entry()?;
        let (due_us, number) = *next.key();
        if due_us > now_us || self.under_way.len() >= UNDER_WAY_MAX {
            return None;
        }
        let event = next.remove();
        let job = event.job.clone();
        self.under_way.insert(number, event);
        Some((number, job))
    }

    /// When the next attempt is due. `None` if none waits, or too many are under way.
    pub(super) fn next_due_us(&self) -> Option<i64> {
        let next = self.waiting.first_key_value().map(|((due_us, _), _)| *due_us);
        next.filter(|_| self.under_way.len() < UNDER_WAY_MAX)
    }

    /// Ends an attempt. Whether it was under way.
    pub(super) fn end(&mut self, number: u64, accepted: bool, now_us: i64) -> bool {
        let Some(event) = self.under_way.remove(&number) else { return false };
        if accepted && event.again {
            self.wait(now_us, Event { again: false, failures: 0, ..event });
        } else if let (false, Some(time)) = (accepted, RETRIES.get(event.failures)) {
            let time_us = i64::try_from((*time / self.time_scale).as_micros()).unwrap_or(i64::MAX);
            self.wait(now_us.saturating_add(time_us), Event { failures: event.failures + 1, ..event });
        }
        true
    }

    /// Whether the first attempt for a job has not ended.
    pub(super) fn is_unsent(&self, job: &str) -> bool {
        self.waiting.values().chain(self.under_way.values()).any(|event| event.job == job && event.failures == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_US: i64 = 1_000_000;

    /// Fails every attempt as soon as it is due, and returns the seconds of the attempts.
    fn attempts(time_scale: u32) -> Vec<i64> {
        let mut outbox = Outbox::new(time_scale, 0);
        outbox.add("job_1", 0, false);
        let mut at = Vec::new();
        while let Some(due_us) = outbox.next_due_us() {
            assert_eq!(outbox.begin(due_us - 1), None, "not before");
            let (number, job) = outbox.begin(due_us).unwrap();
            assert_eq!(job, "job_1");
            at.push(due_us / SECOND_US);
            assert!(outbox.end(number, false, due_us));
        }
        at
    }

    #[test]
    fn a_failed_delivery_is_repeated_at_the_documented_times_and_then_given_up() {
        assert_eq!(attempts(1), [0, 60, 360, 2_160, 9_360, 30_960, 74_160, 160_560]);
        assert_eq!(attempts(60), [0, 1, 6, 36, 156, 516, 1_236, 2_676], "a minute is played in a second");
    }

    #[test]
    fn an_accepted_delivery_is_the_last_one() {
        let mut outbox = Outbox::new(1, 0);
        outbox.add("job_1", 5, false);
        let (number, _) = outbox.begin(5).unwrap();
        assert!(outbox.is_unsent("job_1") && !outbox.is_unsent("job_2"));
        assert!(outbox.end(number, true, 6));
        assert_eq!((outbox.next_due_us(), outbox.is_unsent("job_1")), (None, false));
        assert!(!outbox.end(number, false, 7), "it has ended already");
    }

    #[test]
    fn an_event_that_comes_twice_is_repeated_once_after_it_was_accepted() {
        let mut outbox = Outbox::new(1, 0);
        outbox.add("job_1", 0, true);
        let mut begun = 0;
        while let Some((number, _)) = outbox.begin(i64::MAX) {
            begun += 1;
            // The first attempt fails.
            outbox.end(number, begun > 1, 0);
        }
        assert_eq!(begun, 3);
    }

    #[test]
    fn sixteen_attempts_are_under_way_at_once_and_the_earliest_go_first() {
        let mut outbox = Outbox::new(1, 0);
        (0..20).for_each(|job| outbox.add(&format!("job_{job}"), 100 - job, false));
        let begun: Vec<(u64, String)> = std::iter::from_fn(|| outbox.begin(100)).collect();
        assert_eq!(begun.len(), 16);
        assert_eq!((begun[0].1.as_str(), begun[15].1.as_str()), ("job_19", "job_4"));
        assert_eq!(outbox.next_due_us(), None, "there is no room");
        outbox.end(begun[3].0, true, 100);
        assert_eq!(outbox.next_due_us(), Some(97));
        assert_eq!(outbox.begin(100).unwrap().1, "job_3");
    }

    #[test]
    fn attempts_that_have_not_begun_can_be_forgotten() {
        let mut outbox = Outbox::new(1, 0);
        outbox.add("job_1", 0, false);
        let (number, _) = outbox.begin(0).unwrap();
        outbox.end(number, false, 0);
        outbox.add("job_2", 7, false);
        outbox.forget("job_1");
        assert_eq!(outbox.next_due_us(), Some(7));
    }
}
