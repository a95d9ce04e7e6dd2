//! Credits: what the service charges in. Whole numbers, never negative.

use serde::{Deserialize, Serialize};
use std::{fmt, iter::Sum, ops::Add, str::FromStr};

/// A number of the service's credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Credits(pub u64);

impl Credits {
    pub const ZERO: Credits = Credits(0);
    /// The most a service is believed to state: 2^53 - 1. More than any account holds, and little enough for the ledger to
    /// keep the sum of all that a run has under way.
    pub const STATED_MAX: Credits = Credits((1 << 53) - 1);

    /// Subtraction that stops at zero.
    pub fn saturating_sub(self, other: Credits) -> Credits {
        Credits(self.0.saturating_sub(other.0))
    }

    /// The price of `count` requests at this price each; the largest number where that overflows.
    pub fn times(self, count: u64) -> Credits {
        Credits(self.0.saturating_mul(count))
    }
}

impl Add for Credits {
    type Output = Credits;

    fn add(self, other: Credits) -> Credits {
        Credits(self.0.saturating_add(other.0))
    }
}

impl Sum for Credits {
    fn sum<I: Iterator<Item = Credits>>(iter: I) -> Credits {
        iter.fold(Credits::ZERO, Add::add)
    }
}

impl fmt::Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Credits {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Credits, Self::Err> {
        text.parse().map(Credits)
    }
}
