//! How long exchanges took: a histogram, and the rate of requests that end. Both are for display and metrics only.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The upper bounds of the buckets, in milliseconds. An exchange is given up after two minutes.
pub const BOUNDS_MS: [u64; 12] = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 20_000, 40_000, 60_000, 120_000];

/// A histogram of the times that exchanges took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Latencies {
    /// The number of exchanges in each bucket, and of those above all bounds.
    pub buckets: [u64; BOUNDS_MS.len() + 1],
    pub sum_ms: u64,
}

impl Latencies {
    pub fn record(&mut self, latency_ms: u64) {
        let bucket = BOUNDS_MS.iter().position(|bound| latency_ms <= *bound).unwrap_or(BOUNDS_MS.len());
        self.buckets[bucket] += 1;
        self.sum_ms = self.sum_ms.saturating_add(latency_ms);
    }

    /// The number of exchanges.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// The latencies of a run, which all its attempts record.
#[derive(Default)]
pub struct SharedLatencies(Mutex<Latencies>);

impl SharedLatencies {
    pub fn record(&self, latency_ms: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).record(latency_ms);
    }

    pub fn read(&self) -> Latencies {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time over which the rate is measured.
const RATE_OVER: Duration = Duration::from_secs(180);
/// The least time between two samples.
const SAMPLE_EVERY: Duration = Duration::from_secs(2);
/// A rate is known after this time if this many requests have ended, and after a minute in any case.
const KNOWN_AFTER: (Duration, u64) = (Duration::from_secs(5), 10);

/// Measures how many requests end per minute.
#[derive(Default)]
pub struct RateMeter {
    samples: VecDeque<(Instant, u64)>,
}

impl RateMeter {
    /// Notes how many requests have ended so far. Returns the rate per minute, once it is known.
    pub fn note(&mut self, now: Instant, ended: u64) -> Option<f64> {
        while self.samples.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= RATE_OVER) {
            self.samples.pop_front();
        }
        if self.samples.back().is_none_or(|(at, _)| now.duration_since(*at) >= SAMPLE_EVERY) {
            self.samples.push_back((now, ended));
        }
        let (since, before) = *self.samples.front()?;
        let (time, more) = (now.duration_since(since), ended.saturating_sub(before));
        let is_known = (time >= KNOWN_AFTER.0 && more >= KNOWN_AFTER.1) || time >= Duration::from_secs(60);
        is_known.then(|| more as f64 * 60.0 / time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_counted_in_the_first_bucket_that_holds_it() {
        let mut latencies = Latencies::default();
        [50, 51, 120_000, 120_001].into_iter().for_each(|latency_ms| latencies.record(latency_ms));
        assert_eq!((latencies.buckets[0], latencies.buckets[1], latencies.count()), (1, 1, 4));
        assert_eq!((latencies.buckets[11], latencies.buckets[12], latencies.sum_ms), (1, 1, 240_102));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_is_told_only_once_it_is_known_and_follows_the_last_minutes() {
        let (mut meter, start) = (RateMeter::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(meter.note(at(0), 100), None, "what an earlier run did does not count");
        assert_eq!(meter.note(at(4), 120), None, "too early");
        assert_eq!(meter.note(at(6), 105), None, "too few");
        assert_eq!(meter.note(at(10), 110), Some(60.0));
        assert_eq!(meter.note(at(60), 110), Some(10.0));
        for second in (60..1_000).step_by(10) {
            meter.note(at(second), 110);
        }
        assert_eq!(meter.note(at(1_000), 110), Some(0.0), "nothing has ended for three minutes");
    }
}
