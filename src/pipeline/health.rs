//! What the attempts say about the service rather than about their requests: is it there, and does somebody else spend from
//! the account? Either way the answer is a look at the account, with nothing under way.

use super::flight::Attempted;
use crate::model::Credits;
use std::time::Duration;
use tokio::time::Instant;

/// So many exchanges in a row without a working service open the breaker.
const BREAKER_AFTER: u32 = 5;
/// A drifting balance is read again this often at most.
const DRIFT_EVERY: Duration = Duration::from_secs(60);

/// The service as a run sees it.
#[derive(Debug, Default)]
pub struct Health {
    /// Exchanges in a row without a working service.
    broken: u32,
    /// A reply stated a balance below what our own requests explain.
    drifted: bool,
    /// Our clock was set, or the machine slept, since the service told the time.
    clock_moved: bool,
    looked: Option<Instant>,
}

impl Health {
    /// Takes in an attempt. `least` is the lowest balance our own requests explain, where that is known.
    pub fn saw(&mut self, attempted: &Attempted, least: Option<Credits>) {
        self.broken = if attempted.is_outage() { self.broken + 1 } else { 0 };
        let moved = matches!((attempted.remaining, least), (Some(stated), Some(least)) if stated < least);
        let lately = self.looked.is_some_and(|at| at.elapsed() < DRIFT_EVERY);
        self.drifted |= moved && !lately;
    }

    /// Nothing is sent before the account was looked at.
    pub fn wants_a_look(&self) -> bool {
        self.broken >= BREAKER_AFTER || self.drifted || self.clock_moved
    }

    /// What our clock says of the service's is not to be trusted before the service tells the time again.
    pub fn clock_moved(&mut self) {
        self.clock_moved = true;
    }

    pub fn was_looked_at(&self) -> bool {
        self.looked.is_some()
    }

    /// The account was looked at just now.
    pub fn looked(&mut self) {
        *self = Health { looked: Some(Instant::now()), ..Health::default() };
    }
}
