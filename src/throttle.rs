//! The throttle: the one gate all HTTP messages pass. It owns the decision how the two limits of the service become a
//! schedule, and that after a push-back nothing is sent before its time.
//!
//! `governor` counts; its own waiting ignores tokio's paused clock, so it is asked with a clock over tokio's time and the
//! waiting is tokio's sleep.

use crate::model::{
    Permit,
    planted::{Bug, planted},
};
use governor::{
    Quota, RateLimiter,
    clock::Clock as GovernorClock,
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::{InMemoryState, NotKeyed},
};
use std::{
    num::NonZeroU32,
    sync::{Mutex as SyncMutex, PoisonError},
    time::Duration,
};
use tokio::{sync::Mutex, time::Instant};

/// The service's limits. Service-api, Limits: 60 a minute, burstable to 120.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Messages a minute in the long run.
    pub per_minute: u32,
    /// Messages in any minute at most.
    pub per_minute_max: u32,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate { per_minute: 60, per_minute_max: 120 }
    }
}

/// How full the bucket is at the start: an existing ledger starts empty, so that a restart never bursts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    Full,
    Empty,
}

/// What a rate comes to: one message a `period`, and `burst` messages saved up at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Schedule {
    period: Duration,
    burst: NonZeroU32,
}

const MINUTE: Duration = Duration::from_secs(60);
/// A bucket fills in a year at most: `governor` cannot count for ever.
const FILLING_MAX: Duration = Duration::from_secs(365 * 24 * 3_600);

/// The difference of the two limits is the bucket. A few cells stay in reserve, a quarter of a second's worth and at least
/// two, because messages do not arrive at the service as evenly as they leave here. Without room for a bucket the period is
/// a little longer than the limit asks, for the same reason.
fn schedule(rate: Rate) -> Schedule {
    let per_minute = rate.per_minute.min(rate.per_minute_max).max(1);
    let reserve = (per_minute / 240).max(2);
    let steady = if planted(Bug::BurstOnTop) { 0 } else { per_minute };
    let bucket = rate.per_minute_max.saturating_sub(steady).saturating_sub(reserve);
    let period = MINUTE / per_minute;
    let countable = u32::try_from(FILLING_MAX.as_nanos() / period.as_nanos()).unwrap_or(u32::MAX);
    match NonZeroU32::new(bucket.min(countable)) {
        Some(burst) => Schedule { period, burst },
        None => Schedule { period: MINUTE.mul_f64(1.02) / per_minute, burst: NonZeroU32::MIN },
    }
}

/// Tokio's time as `governor` reads it.
#[derive(Debug, Clone)]
struct TokioClock(Instant);

impl GovernorClock for TokioClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

/// The gate of one API key.
pub struct Throttle {
    limiter: RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Nanos>>,
    clock: TokioClock,
    /// Whoever waits first is admitted first.
    turn: Mutex<()>,
    paused_until: SyncMutex<Option<Instant>>,
}

impl Throttle {
    pub fn new(rate: Rate, bucket: Bucket) -> Throttle {
        let Schedule { period, burst } = schedule(rate);
        let quota = Quota::with_period(period).expect("a minute over a rate is more than nothing").allow_burst(burst);
        let clock = TokioClock(Instant::now());
        let limiter = RateLimiter::direct_with_clock(quota, clock.clone());
        if bucket == Bucket::Empty {
            // Taking the whole bucket at once always fits a new limiter.
            let taken = limiter.check_n(burst);
            debug_assert!(matches!(taken, Ok(Ok(()))));
        }
        Throttle { limiter, clock, turn: Mutex::new(()), paused_until: SyncMutex::new(None) }
    }

    /// Waits for a place in the schedule and an open gate.
    pub async fn admit(&self) -> Permit {
        let _turn = self.turn.lock().await;
        loop {
            if let Some(until) = self.paused_until() {
                tokio::time::sleep_until(until).await;
                continue;
            }
            match self.limiter.check() {
                Ok(()) => return Permit::issue(),
                Err(not_yet) => tokio::time::sleep(not_yet.wait_time_from(self.clock.now())).await,
            }
        }
    }

    /// Closes the gate until `until`, unless it is closed for longer already.
    pub fn pause_until(&self, until: Instant) {
        let mut paused = self.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
        *paused = (*paused).max(Some(until));
    }

    /// Until when the gate is closed; `None` where it is open. Looked at again just before each write.
    pub fn paused_until(&self) -> Option<Instant> {
        let paused = self.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
        paused.filter(|until| *until > Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most messages in any window of a minute.
    fn most_in_a_minute(times: &[Instant]) -> usize {
        times.iter().map(|from| times.iter().filter(|at| *at >= from && **at < *from + MINUTE).count()).max().unwrap()
    }

    async fn admitted(rate: Rate, bucket: Bucket, count: usize) -> Vec<Instant> {
        let throttle = Throttle::new(rate, bucket);
        let mut times = Vec::new();
        for _ in 0..count {
            let _permit = throttle.admit().await;
            times.push(Instant::now());
        }
        times
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_minute_holds_the_documented_120_less_the_reserve() {
        let times = admitted(Rate::default(), Bucket::Full, 400).await;
        let most = most_in_a_minute(&times);
        assert!((116..=120).contains(&most), "{most}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_bucket_never_bursts() {
        let times = admitted(Rate::default(), Bucket::Empty, 200).await;
        assert!(most_in_a_minute(&times) <= 61);
    }

    #[tokio::test(start_paused = true)]
    async fn without_room_for_a_bucket_the_limit_holds_all_the_same() {
        for (per_minute, per_minute_max) in [(60, 60), (60, 61), (1, 1), (2, 2), (120, 60)] {
            let times = admitted(Rate { per_minute, per_minute_max }, Bucket::Full, 150).await;
            let most = most_in_a_minute(&times);
            assert!(most <= per_minute_max as usize, "{per_minute}/{per_minute_max}: {most}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn thousands_a_second_are_reached() {
        let start = Instant::now();
        admitted(Rate { per_minute: 600_000, per_minute_max: 720_000 }, Bucket::Empty, 20_000).await;
        let seconds = start.elapsed().as_secs_f64();
        assert!((1.9..2.2).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_closes_the_gate_and_the_longest_counts() {
        let throttle = Throttle::new(Rate::default(), Bucket::Full);
        let start = Instant::now();
        throttle.pause_until(start + Duration::from_secs(9));
        throttle.pause_until(start + Duration::from_secs(3));
        let _permit = throttle.admit().await;
        assert_eq!(start.elapsed().as_secs(), 9);
        assert!(throttle.paused_until().is_none());
    }
}
