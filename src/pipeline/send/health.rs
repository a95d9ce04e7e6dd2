//! What the attempts say about the service rather than about their requests: is it there, and is our clock to be trusted?
//! Either way the answer is a reading of the account, with nothing under way.

use super::attempt::Attempted;

/// Exchanges in a row without a working service, after which the account is read. That costs nothing and stops nothing
/// where the account can be read, so one request that is tried again and again may cause it.
const BREAKER_AFTER: u32 = 5;

/// The service as a run sees it.
#[derive(Debug, Default)]
pub struct Health {
    /// Exchanges in a row without a working service.
    broken: u32,
    /// Replies came that are not JSON.
    not_json: bool,
    /// Our clock was set, or the machine slept, since the service told the time.
    clock_moved: bool,
    was_read: bool,
}

impl Health {
    /// Takes in an attempt.
    pub fn observe(&mut self, attempted: &Attempted) {
        self.broken = if attempted.is_outage() { self.broken + 1 } else { 0 };
    }

    /// Nothing is sent before the account was read.
    pub fn needs_reading(&self) -> bool {
        self.broken >= BREAKER_AFTER || self.not_json || self.clock_moved
    }

    /// What our clock says of the service's is not to be trusted before the service tells the time again.
    pub fn clock_moved(&mut self) {
        self.clock_moved = true;
    }

    /// Whether this is the service at all, the account must tell.
    pub fn not_json(&mut self) {
        self.not_json = true;
    }

    /// Whether the account was read in this run.
    pub fn was_read(&self) -> bool {
        self.was_read
    }

    /// The account was read just now.
    pub fn read(&mut self) {
        *self = Health { was_read: true, ..Health::default() };
    }
}
