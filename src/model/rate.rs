//! The rate of an account.

use std::fmt;

/// The service's limits. The service's description, Limits: 60 a minute, with bursts up to 120.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Steady rate, in requests per minute.
    pub per_minute: u32,
    /// The most requests in any minute.
    pub per_minute_max: u32,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate { per_minute: 60, per_minute_max: 120 }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at most {} in any", self.per_minute, self.per_minute_max)
    }
}
