//! The source of the current time: the machine's clock, or one that a test drives.

use jiff::Timestamp;
use std::sync::Arc;

/// A wall clock.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that shows what a function returns.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Clock {
        Clock(Arc::new(now))
    }

    /// The machine's own clock.
    pub fn system() -> Clock {
        Clock::new(Timestamp::now)
    }

    /// The current time, UTC.
    pub(super) fn now(&self) -> Timestamp {
        (self.0)()
    }

    /// The current time in microseconds since 1970.
    pub(super) fn now_us(&self) -> i64 {
        self.now().as_microsecond()
    }
}
