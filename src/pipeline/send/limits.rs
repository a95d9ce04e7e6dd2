//! Limits of single checks beside the rate of the account: the most requests in flight, and the most in an hour. They
//! say how long a request waits; the send loop keeps the time.

use super::{limit::Limit, moment::Moment};
use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

const HOUR: Duration = Duration::from_secs(3_600);
/// How long a request waits for another one of its check to end.
const FULL: Duration = Duration::from_millis(250);

/// What each check has in flight, and when it was sent in the last hour.
#[derive(Debug, Default)]
pub struct Limits {
    by_check: BTreeMap<String, Used>,
}

#[derive(Debug, Default)]
struct Used {
    limit: Limit,
    in_flight: u32,
    /// Only kept if there is a limit per hour. Times of an earlier run are as old as the ledger says.
    sent: VecDeque<Moment>,
}

impl Limits {
    /// The limits of the checks of a run. `sent_before` is how long ago each request of a check was sent in the last
    /// hour, by any run of the campaign.
    ///
    /// # Errors
    /// That of `sent_before`: a limit per hour does not hold if it is not known what was sent.
    pub fn new<'a, E>(
        limits: impl IntoIterator<Item = (&'a String, Limit)>,
        sent_before: impl Fn(&str) -> Result<Vec<Duration>, E>,
        now: Moment,
    ) -> Result<Limits, E> {
        let mut by_check = BTreeMap::new();
        for (name, limit) in limits.into_iter().filter(|(_, limit)| *limit != Limit::default()) {
            let sent = limit.per_hour.map(|_| sent_before(name)).transpose()?.unwrap_or_default();
            let mut sent: Vec<Moment> = sent.into_iter().filter_map(|ago| now.checked_sub(ago)).collect();
            sent.sort_unstable();
            by_check.insert(name.clone(), Used { limit, in_flight: 0, sent: sent.into() });
        }
        Ok(Limits { by_check })
    }

    /// How long a request of this check must wait; `None` if it may be sent now.
    pub fn wait(&mut self, check: &str, now: Moment) -> Option<Duration> {
        let used = self.by_check.get_mut(check)?;
        while used.sent.front().is_some_and(|at| now.since(*at) >= HOUR) {
            used.sent.pop_front();
        }
        if used.limit.in_flight.is_some_and(|most| used.in_flight >= most) {
            return Some(FULL);
        }
        let most = used.limit.per_hour? as usize;
        let over = used.sent.len().checked_sub(most)?;
        // The request that makes room is the one that leaves the hour when enough others have.
        used.sent.get(over).map(|at| HOUR.saturating_sub(now.since(*at)))
    }

    /// The checks that must wait now.
    pub fn waiting(&mut self, now: Moment) -> Vec<String> {
        let names: Vec<String> = self.by_check.keys().cloned().collect();
        names.into_iter().filter(|name| self.wait(name, now).is_some()).collect()
    }

    /// Counts a request that is sent.
    pub fn started(&mut self, check: &str, now: Moment) {
        if let Some(used) = self.by_check.get_mut(check) {
            used.in_flight += 1;
            if used.limit.per_hour.is_some() {
                used.sent.push_back(now);
            }
        }
    }

    /// Counts a request that has ended.
    pub fn ended(&mut self, check: &str) {
        if let Some(used) = self.by_check.get_mut(check) {
            used.in_flight = used.in_flight.saturating_sub(1);
        }
    }

    /// No request is in flight any more.
    pub fn all_ended(&mut self) {
        self.by_check.values_mut().for_each(|used| used.in_flight = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(limit: Limit, sent: Vec<Moment>) -> Limits {
        Limits { by_check: [("c".to_owned(), Used { limit, in_flight: 0, sent: sent.into() })].into() }
    }

    #[test]
    fn no_more_are_in_flight_than_allowed() {
        let now = Moment::START;
        let mut limits = limits(Limit { in_flight: Some(2), per_hour: None }, Vec::new());
        for _ in 0..2 {
            assert_eq!(limits.wait("c", now), None);
            limits.started("c", now);
        }
        assert_eq!(limits.wait("c", now), Some(FULL));
        assert_eq!(limits.wait("other", now), None);
        limits.ended("c");
        assert_eq!(limits.wait("c", now), None);
    }

    #[test]
    fn no_more_are_sent_in_any_hour_than_allowed() {
        let mut limits = limits(Limit { per_hour: Some(2), in_flight: None }, Vec::new());
        let mut now = Moment::START;
        limits.started("c", now);
        now = now + Duration::from_secs(600);
        limits.started("c", now);
        limits.ended("c");
        assert_eq!(limits.wait("c", now), Some(Duration::from_secs(3_000)), "until the first leaves the hour");
        now = now + Duration::from_secs(3_000);
        assert_eq!(limits.wait("c", now), None);
        limits.started("c", now);
        assert_eq!(limits.wait("c", now), Some(Duration::from_secs(600)));
    }

    #[test]
    fn a_limit_per_hour_is_not_made_if_the_ledger_cannot_say_what_was_sent() {
        let name = "c".to_owned();
        let made = |per_hour| {
            let limit = Limit { per_hour, in_flight: Some(1) };
            Limits::new([(&name, limit)], |_| Err("unreadable"), Moment::START).map(drop)
        };
        assert_eq!(made(Some(2)), Err("unreadable"));
        assert_eq!(made(None), Ok(()), "nothing is read for a check without such a limit");
    }

    #[test]
    fn what_an_earlier_run_sent_counts() {
        let now = Moment::START;
        let ago = |seconds| now.checked_sub(Duration::from_secs(seconds)).expect("a moment within a day");
        let mut limits = limits(Limit { per_hour: Some(2), in_flight: None }, vec![ago(3_000), ago(1_000), ago(500)]);
        assert_eq!(limits.wait("c", now), Some(Duration::from_secs(2_600)), "the second of three must leave, too");
    }
}
