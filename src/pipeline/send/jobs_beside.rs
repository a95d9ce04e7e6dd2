//! The jobs beside a proof of a price. The service may charge them at any time, so they can explain why the balance fell
//! during the proof.

use crate::model::Credits;
use std::collections::BTreeMap;

/// The jobs beside a proof.
#[derive(Debug, Default)]
pub struct JobsBeside {
    /// Those without a result now.
    pub open: u64,
    /// Credits booked in this run for jobs that have ended: all of them, those until the balance was last read, and those
    /// until it was read before the current proof.
    pub charged: Credits,
    charged_at_reading: Credits,
    charged_before: Credits,
    /// The number of consecutive proofs of a check that were unclear because of jobs.
    pub unclear: BTreeMap<String, usize>,
}

impl JobsBeside {
    /// Records that the balance was read.
    pub fn balance_is_read(&mut self) {
        self.charged_at_reading = self.charged;
    }

    /// Records that a proof begins. The balance before it is the one that was read last.
    pub fn proof_begins(&mut self) {
        self.charged_before = self.charged_at_reading;
    }

    /// Credits booked for jobs since the balance was read before the current proof.
    pub fn booked(&self) -> Credits {
        self.charged.saturating_sub(self.charged_before)
    }

    /// Whether jobs explain a fall during the current proof. Unlike a request in doubt, they may do so every time.
    pub fn explain(&self) -> bool {
        self.open > 0 || self.booked() > Credits::ZERO
    }

    /// Records a proof that jobs made unclear. Returns the number of such proofs of the check in a row.
    pub fn unclear_again(&mut self, check: &str) -> usize {
        let times = self.unclear.entry(check.to_owned()).or_default();
        *times += 1;
        *times
    }
}
