//! Derived from attempts: whether the service is reachable, and whether our clock can be trusted. In
//! both cases, the account's balance is requested while no request is in flight to find out.

use super::attempt_end::Attempt;

/// After this many consecutive exchanges in which the service did not work, the balance is requested. That is free and
/// does not stop the run if it succeeds, so repeated attempts of a single request may also trigger it.
const BREAKER_AFTER: u32 = 5;

/// The service as a run sees it.
#[derive(Debug, Default)]
pub struct Health {
    /// The number of consecutive exchanges in which the service did not work.
    broken: u32,
    /// Some replies could not be read, or were not the service's.
    not_read: bool,
    /// Our clock was set, or the machine slept, since the clock was last compared with the service's.
    clock_moved: bool,
    was_read: bool,
}

impl Health {
    /// Records an attempt.
    pub fn observe(&mut self, attempted: &Attempt) {
        self.broken = if attempted.is_outage() { self.broken + 1 } else { 0 };
    }

    /// Whether the account must be read before anything else is sent.
    pub fn needs_reading(&self) -> bool {
        self.broken >= BREAKER_AFTER || self.not_read || self.clock_moved
    }

    /// Records that our clock cannot be trusted until it is compared with the service's again.
    pub fn clock_moved(&mut self) {
        self.clock_moved = true;
    }

    /// Records replies that cannot be read or are not the service's. Reading the account shows whether this is the service at all.
    pub fn not_read(&mut self) {
        self.not_read = true;
    }

    /// Whether the account was read in this run.
    pub fn was_read(&self) -> bool {
        self.was_read
    }

    /// Records that the account was just read.
    pub fn read(&mut self) {
        *self = Health { was_read: true, ..Health::default() };
    }
}
