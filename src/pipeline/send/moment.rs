//! The time of a run, as its decisions see it. It only grows, whatever the clock is set to, and needs no clock to be made.

use std::{ops::Add, time::Duration};

/// A moment of a run. Earlier moments than its start exist too: an hour counts what an earlier run has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

/// The start of each run: long enough after zero that what counts from before it has a moment.
const START: Duration = Duration::from_secs(24 * 3_600);

impl Moment {
    /// The start of a run.
    pub const START: Moment = Moment(START);

    /// How long after the start of the run this is.
    pub fn since_start(self) -> Duration {
        self.0.saturating_sub(START)
    }

    /// How long after another moment this is; zero if it is before it.
    pub fn since(self, before: Moment) -> Duration {
        self.0.saturating_sub(before.0)
    }

    /// This long before; `None` if that is more than a day before the start.
    pub fn checked_sub(self, time: Duration) -> Option<Moment> {
        self.0.checked_sub(time).map(Moment)
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, time: Duration) -> Moment {
        Moment(self.0.saturating_add(time))
    }
}
