//! Where "now" comes from. Every room is handed a clock, so that a test can run an eleven-day campaign under tokio's
//! paused time with the wall clock moving in step.

use jiff::Timestamp;
use tokio::time::Instant;

/// The wall clock of a process.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// The machine's own clock.
    System,
    /// A clock that starts at `origin` and moves with tokio's time.
    Driven { origin: Timestamp, started: Instant },
}

impl Clock {
    /// A clock that reads `origin` now and moves with tokio's time, paused or not.
    pub fn driven(origin: Timestamp) -> Clock {
        Clock::Driven { origin, started: Instant::now() }
    }

    /// The time of day, UTC.
    pub fn now(&self) -> Timestamp {
        match self {
            Clock::System => Timestamp::now(),
            Clock::Driven { origin, started } => {
                let elapsed = jiff::SignedDuration::try_from(started.elapsed()).unwrap_or(jiff::SignedDuration::MAX);
                origin.checked_add(elapsed).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// The time of day as the ledger stores it: microseconds since 1970, UTC.
    pub fn now_us(&self) -> i64 {
        self.now().as_microsecond()
    }
}

/// A moment as a person here reads it.
pub fn local_time(at_us: i64) -> String {
    match Timestamp::from_microsecond(at_us) {
        Ok(at) => at.to_zoned(jiff::tz::TimeZone::system()).strftime("%-d %b %Y %H:%M").to_string(),
        Err(_) => "a time out of reach".to_owned(),
    }
}
