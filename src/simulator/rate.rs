//! The rate limit of one API key: a token bucket for the steady rate and a sliding window for the maximum in any
//! minute. Both are strict, with one allowance: a limit per minute does not restrict the spacing of requests within
//! five seconds.

use std::collections::VecDeque;

const MINUTE_US: u64 = 60_000_000;

/// Above this rate a window counts in steps of a millisecond, so that its memory is bounded.
const EXACT_PER_MINUTE_MAX: u32 = 100_000;

/// The bucket has room for at least the requests of a twelfth of a minute. If the two limits are equal, a bucket of
/// their difference would refuse a request that arrives a millisecond early.
const BUCKETS_PER_MINUTE: u32 = 12;

/// The service's two limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) per_minute: u32,
    pub(super) per_minute_max: u32,
}

impl Limits {
    fn grain_us(self) -> u64 {
        if self.per_minute_max <= EXACT_PER_MINUTE_MAX { 1 } else { 1_000 }
    }

    fn burst(self) -> u64 {
        let difference = self.per_minute_max.saturating_sub(self.per_minute);
        u64::from(difference.max(self.per_minute.div_ceil(BUCKETS_PER_MINUTE)).max(1))
    }
}

/// The requests that arrived in the last minute.
#[derive(Debug, Clone)]
pub(super) struct Window {
    grain_us: u64,
    arrivals: VecDeque<(u64, u32)>,
    count: u64,
}

impl Window {
    pub(super) fn new(limits: Limits) -> Window {
        Window { grain_us: limits.grain_us(), arrivals: VecDeque::new(), count: 0 }
    }

    /// Counts an arrival and returns the number of arrivals in the minute that ends now, including this one.
    pub(super) fn record(&mut self, now_us: u64) -> u64 {
        self.forget(now_us);
        let step = now_us - now_us % self.grain_us;
        match self.arrivals.back_mut() {
            Some((at, count)) if *at == step => *count += 1,
            _ => self.arrivals.push_back((step, 1)),
        }
        self.count += 1;
        self.count
    }

    /// Microseconds until fewer than `most` are left in the window; 0 if that is already so.
    fn wait_us(&mut self, now_us: u64, most: u64) -> u64 {
        self.forget(now_us);
        let mut surplus = (self.count + 1).saturating_sub(most.max(1));
        for (at, count) in &self.arrivals {
            if surplus == 0 {
                break;
            }
            surplus = surplus.saturating_sub(u64::from(*count));
            if surplus == 0 {
                return (at + self.grain_us - 1 + MINUTE_US).saturating_sub(now_us);
            }
        }
        0
    }

    fn forget(&mut self, now_us: u64) {
        while let Some((at, count)) = self.arrivals.front()
            && at + self.grain_us - 1 + MINUTE_US <= now_us
        {
            self.count -= u64::from(*count);
            self.arrivals.pop_front();
        }
    }
}

/// What one API key has used of its limit.
#[derive(Debug, Clone)]
pub(super) struct Rate {
    limits: Limits,
    accepted: Window,
    /// Tokens in the bucket times the microseconds of a minute: refilled by `per_minute` each microsecond.
    level: u64,
    refilled_us: u64,
}

impl Rate {
    pub(super) fn new(limits: Limits, now_us: u64) -> Rate {
        Rate { limits, accepted: Window::new(limits), level: limits.burst() * MINUTE_US, refilled_us: now_us }
    }

    /// Admits a request, or returns after how many whole seconds the next one would be admitted.
    pub(super) fn admit(&mut self, now_us: u64) -> Result<(), u64> {
        let per_minute = u64::from(self.limits.per_minute.max(1));
        let refill = now_us.saturating_sub(self.refilled_us).saturating_mul(per_minute);
        self.level = self.level.saturating_add(refill).min(self.limits.burst() * MINUTE_US);
        self.refilled_us = now_us;

        let bucket_us = MINUTE_US.saturating_sub(self.level).div_ceil(per_minute);
        let window_us = self.accepted.wait_us(now_us, u64::from(self.limits.per_minute_max));
        match bucket_us.max(window_us) {
            0 => {
                self.level -= MINUTE_US;
                self.accepted.record(now_us);
                Ok(())
            }
            wait_us => Err(wait_us.div_ceil(1_000_000)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_US: u64 = 1_000_000;
    const DOCUMENTED: Limits = Limits { per_minute: 60, per_minute_max: 120 };

    fn admitted(rate: &mut Rate, times_us: impl Iterator<Item = u64>) -> usize {
        times_us.filter(|now_us| rate.admit(*now_us).is_ok()).count()
    }

    #[test]
    fn a_greedy_caller_gets_120_in_the_first_minute_and_60_in_the_next() {
        let mut rate = Rate::new(DOCUMENTED, 0);
        let tenths = |from: u64, to: u64| (from * 10..to * 10).map(|tenth| tenth * SECOND_US / 10);
        assert_eq!(admitted(&mut rate, tenths(0, 60)), 119, "60 at once, and then one per second");
        assert_eq!(admitted(&mut rate, tenths(60, 120)), 60);
    }

    #[test]
    fn no_minute_has_more_than_the_maximum() {
        let mut rate = Rate::new(DOCUMENTED, 0);
        let taken: Vec<u64> = (0..30_000).map(|step| step * 10_007).filter(|now| rate.admit(*now).is_ok()).collect();
        for (first, at) in taken.iter().enumerate() {
            assert!(taken[first..].iter().take_while(|later| **later < at + MINUTE_US).count() <= 120);
        }
    }

    #[test]
    fn the_stated_wait_is_long_enough() {
        let mut rate = Rate::new(Limits { per_minute: 6, per_minute_max: 8 }, 0);
        assert_eq!(admitted(&mut rate, [0, 1].into_iter()), 2);
        let wait_s = rate.admit(2).unwrap_err();
        assert_eq!(wait_s, 10);
        assert!(rate.admit(2 + wait_s * SECOND_US).is_ok());
    }

    #[test]
    fn a_high_limit_is_counted_in_steps_and_stays_small() {
        let mut rate = Rate::new(Limits { per_minute: 6_000_000, per_minute_max: 12_000_000 }, 0);
        assert_eq!(admitted(&mut rate, (0..2_000_000).map(|at| at * 10)), 2_000_000);
        assert!(rate.accepted.arrivals.len() <= 20_001);
    }

    #[test]
    fn an_even_pace_with_late_messages_is_not_refused_where_the_limits_are_alike() {
        for per_minute in [60, 600, 6_000, 30_000, 600_000] {
            let limits = Limits { per_minute, per_minute_max: per_minute };
            let (mut rate, count) = (Rate::new(limits, 0), u64::from(per_minute) * 2);
            // 60.25 seconds for each minute's requests, each of them up to 200 ms late.
            let times = (0..count).map(|at| at * 60_250_000 / u64::from(per_minute) + at * 7_919 % 200 * 1_000);
            let mut times: Vec<u64> = times.collect();
            times.sort_unstable();
            assert_eq!(admitted(&mut rate, times.into_iter()) as u64, count, "{per_minute}");
        }
    }

    #[test]
    fn one_message_above_the_maximum_of_a_minute_is_refused_at_every_rate() {
        for per_minute in [60, 6_000, 30_000, 600_000] {
            let limits = Limits { per_minute, per_minute_max: per_minute };
            let mut rate = Rate::new(limits, 0);
            let times = (0..u64::from(per_minute)).map(|at| at * 59_900_000 / u64::from(per_minute));
            let taken = admitted(&mut rate, times) as u32;
            assert_eq!(taken, per_minute, "a minute's requests in less than a minute");
            assert!(rate.admit(59_990_000).is_err(), "{per_minute}");
        }
    }

    #[test]
    fn the_long_run_average_does_not_exceed_the_sustained_rate() {
        for limits in [DOCUMENTED, Limits { per_minute: 600, per_minute_max: 600 }] {
            let mut rate = Rate::new(limits, 0);
            let taken = admitted(&mut rate, (0..60_000).map(|step| step * 10_000)) as u64;
            let (minutes, burst) = (10, limits.burst());
            assert!(taken <= burst + minutes * u64::from(limits.per_minute), "{taken}");
            assert!(taken + 1 >= minutes * u64::from(limits.per_minute), "{taken}");
        }
    }
}
