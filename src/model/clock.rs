//! The source of the current time. Every module is passed a clock, so that a test can run an eleven-day campaign under
//! tokio's paused time with the wall clock moving in step, or being set during the run.

use jiff::{SignedDuration, Timestamp};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicI64, Ordering},
};
use tokio::time::Instant;

/// This many hours in microseconds. At most the largest number, so that a wrong one never becomes negative.
pub fn hours_us(hours: u32) -> i64 {
    i64::from(hours).saturating_mul(3_600_000_000)
}

/// A request in doubt is not sent again in the last two hours of its key's lifetime.
pub const LIFE_MARGIN_US: i64 = 2 * 3_600 * 1_000_000;

/// How long a request in doubt may be sent again under a key with this lifetime, in microseconds.
pub fn usable_life_us(key_life_hours: u32) -> i64 {
    hours_us(key_life_hours).saturating_sub(LIFE_MARGIN_US)
}

/// The wall clock of a process.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// The machine's own clock.
    System,
    /// A clock that starts at `origin` and moves with tokio's time; `set` is the number of seconds by which it was set
    /// since.
    Driven { origin: Timestamp, started: Instant, set: &'static AtomicI64 },
}

/// The adjustment of a clock that is never set.
static NEVER_SET: AtomicI64 = AtomicI64::new(0);

impl Clock {
    /// A clock that reads `origin` now and moves with tokio's time, paused or not.
    pub fn driven(origin: Timestamp) -> Clock {
        Clock::driven_from(origin, Instant::now())
    }

    /// A clock that read `origin` at `started` and moves with tokio's time.
    pub fn driven_from(origin: Timestamp, started: Instant) -> Clock {
        Clock::Driven { origin, started, set: &NEVER_SET }
    }

    /// The current time, UTC.
    pub fn now(&self) -> Timestamp {
        match self {
            Clock::System => Timestamp::now(),
            Clock::Driven { origin, started, set } => {
                let elapsed = SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX);
                let set = SignedDuration::from_secs(set.load(Ordering::Relaxed));
                origin.checked_add(elapsed.saturating_add(set)).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// The current time as the ledger stores it: microseconds since 1970, UTC.
    pub fn now_us(&self) -> i64 {
        self.now().as_microsecond()
    }
}

/// A reading of a clock together with a monotonic timer. It later shows whether the clock was set, or the machine
/// slept.
#[derive(Debug, Clone, Copy)]
pub struct ClockSample {
    clock_us: i64,
    timer: Instant,
}

impl ClockSample {
    pub fn now(clock: &Clock) -> ClockSample {
        ClockSample { clock_us: clock.now_us(), timer: Instant::now() }
    }

    /// Whether clock and timer have diverged since. If so, an earlier comparison of this clock with another one is no
    /// longer valid.
    pub fn has_moved(&self, clock: &Clock) -> bool {
        let timer_us = i64::try_from(self.timer.elapsed().as_micros()).unwrap_or(i64::MAX);
        are_apart(clock.now_us().saturating_sub(self.clock_us).saturating_sub(timer_us))
    }
}

/// Detects whether this machine's clock was set, or the machine slept, since it was last compared with the service's.
#[derive(Debug)]
pub struct ClockWatch {
    clock: Clock,
    compared: Mutex<Option<ClockSample>>,
    /// False in sandbox, where nothing is charged and the clocks are not compared.
    watches: bool,
}

impl ClockWatch {
    pub fn new(clock: Clock, watches: bool) -> ClockWatch {
        ClockWatch { clock, compared: Mutex::default(), watches }
    }

    /// Records that the clock was compared with the service's at that moment, and that the ledger has the result.
    pub fn compared(&self, compared: ClockSample) {
        *self.compared.lock().unwrap_or_else(PoisonError::into_inner) = Some(compared);
    }

    /// Whether the clock must be compared with the service's again before the age of keys can be judged.
    pub fn has_moved(&self) -> bool {
        let compared = *self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        self.watches && compared.is_some_and(|compared| compared.has_moved(&self.clock))
    }
}

/// The maximum difference of two clocks that can both judge the age of a key: five minutes.
pub const APART_MAX_US: i64 = 5 * 60 * 1_000_000;

/// Whether a difference of two clocks, in microseconds, exceeds [`APART_MAX_US`].
pub fn are_apart(offset_us: i64) -> bool {
    offset_us.unsigned_abs() > APART_MAX_US.unsigned_abs()
}

/// A time as text, in the local time zone.
pub fn local_time(at_us: i64) -> String {
    match Timestamp::from_microsecond(at_us) {
        Ok(at) => at.to_zoned(jiff::tz::TimeZone::system()).strftime("%-d %b %Y %H:%M").to_string(),
        Err(_) => "a time out of range".to_owned(),
    }
}

/// The name of the local time zone, such as `SAST`, now.
pub fn local_zone() -> String {
    Timestamp::now().to_zoned(jiff::tz::TimeZone::system()).strftime("%Z").to_string()
}

/// A time in the format of ISO 8601, in UTC: `2026-11-03T08:15:00Z`. `None` if it is out of range.
pub fn utc_time(at_us: i64) -> Option<String> {
    Timestamp::from_microsecond(at_us).ok().map(|at| at.to_string())
}

/// Serializes a time as text in the format of [`utc_time`].
pub mod utc {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(at_us: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        super::utc_time(*at_us).unwrap_or_default().serialize(serializer)
    }

    /// # Errors
    /// It is not a time.
    /// The same for a time that may be absent.
    pub fn optional<S: Serializer>(at_us: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
        match at_us {
            Some(at_us) => serialize(at_us, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Timestamp::as_microsecond).map_err(|_| D::Error::custom("expected a time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_number_of_hours_never_becomes_a_negative_time() {
        assert_eq!((hours_us(0), hours_us(72)), (0, 259_200_000_000));
        assert_eq!((hours_us(2_562_047_789), hours_us(u32::MAX)), (i64::MAX, i64::MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_or_a_machine_that_slept_is_noticed_and_time_that_passes_is_not() {
        static SET: AtomicI64 = AtomicI64::new(0);
        let clock = Clock::Driven { origin: Timestamp::UNIX_EPOCH, started: Instant::now(), set: &SET };
        let compared = ClockSample::now(&clock);
        tokio::time::advance(Duration::from_secs(80 * 3_600)).await;
        for (seconds, moved) in [(0, false), (300, false), (-300, false), (301, true), (-301, true), (86_400, true)] {
            SET.store(seconds, Ordering::Relaxed);
            assert_eq!(compared.has_moved(&clock), moved, "{seconds} s");
        }
    }
}
