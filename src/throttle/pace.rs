//! Decides when the next request may be sent. `governor` decides the pace, and the count of the last minute decides
//! whether the minute has room. Both use one record, so that it can be kept in memory or in a file that processes
//! share.

use super::{record::Record, schedule::Schedule};
use governor::{
    Quota, RateLimiter,
    clock::Clock as GovernorClock,
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::{NotKeyed, StateStore},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// A number that `governor` reads as its clock or its state. It is set before each call.
#[derive(Debug, Clone, Default)]
struct SharedNumber(Arc<AtomicU64>);

impl SharedNumber {
    fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl GovernorClock for SharedNumber {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.get().into()
    }
}

impl StateStore for SharedNumber {
    type Key = NotKeyed;

    fn measure_and_replace<T, F, E>(&self, _key: &NotKeyed, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let (decided, arrival) = decide(Some(self.get().into()))?;
        self.set(arrival.as_u64());
        Ok(decided)
    }
}

/// A change to the record. The result is the slot in which the request counts from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// Admit a request.
    New,
    /// Move a request that was admitted and counted in this slot to now, because it is sent only now.
    Late(u64),
    /// Forget a request that was counted in this slot and is not sent.
    Nothing(u64),
}

type Limiter = RateLimiter<NotKeyed, SharedNumber, SharedNumber, NoOpMiddleware<Nanos>>;

/// A schedule, applied to one request at a time. Only one caller uses it at a time.
pub(super) struct Pace {
    pub(super) schedule: Schedule,
    limiter: Limiter,
    /// For late requests. Each was admitted before, so only the number sent at once matters.
    late: Limiter,
    now: SharedNumber,
    arrival: SharedNumber,
    late_arrival: SharedNumber,
}

impl Pace {
    pub(super) fn new(schedule: Schedule) -> Pace {
        let quota = Quota::with_period(schedule.period.max(Duration::from_nanos(1))).expect("a nanosecond or more");
        // All start at zero, so that `governor` counts from zero as the record does.
        let (now, arrival, late_arrival) = (SharedNumber::default(), SharedNumber::default(), SharedNumber::default());
        let limiter = RateLimiter::new(quota.allow_burst(schedule.burst), arrival.clone(), now.clone());
        let late = RateLimiter::new(quota.allow_burst(schedule.late_burst), late_arrival.clone(), now.clone());
        Pace { schedule, limiter, late, now, arrival, late_arrival }
    }

    /// Makes the change, or returns how long to wait before the next try. The record changes only if the change is
    /// made.
    pub(super) fn take(&mut self, record: &mut Record, now_ns: u64, want: Want) -> Result<u64, Duration> {
        record.pass_to(now_ns);
        self.now.set(now_ns);
        let wait = |not_yet: governor::NotUntil<Nanos>| not_yet.wait_time_from(now_ns.into());
        match want {
            Want::New => {
                record.full_for(now_ns, self.schedule.most).map_or(Ok(()), Err)?;
                self.arrival.set(record.arrival_ns);
                self.limiter.check().map_err(wait)?;
                record.arrival_ns = self.arrival.get();
                Ok(record.count())
            }
            Want::Late(slot) => {
                // Its own count is removed, so it does not use up the limit.
                let most = self.schedule.most.saturating_add(u64::from(record.counts(slot)));
                record.full_for(now_ns, most).map_or(Ok(()), Err)?;
                if self.late_arrival.get() > self.schedule.late_by(now_ns) {
                    // The clock was set back.
                    self.late_arrival.set(now_ns);
                }
                self.late.check().map_err(wait)?;
                record.uncount(slot);
                Ok(record.count())
            }
            Want::Nothing(slot) => {
                record.uncount(slot);
                Ok(slot)
            }
        }
    }
}
