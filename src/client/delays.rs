//! How long to wait before a request is tried again: exponential delays with full jitter. The schedule comes from
//! `backoff`, which is unmaintained and therefore used only in this file. The jitter is seeded, so that a run can be
//! repeated.

use crate::model::rng::Rng;
use backoff::{ExponentialBackoff, ExponentialBackoffBuilder, backoff::Backoff};
use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(60);
/// Full jitter can be close to zero, and two attempts in the same instant are useless.
const LEAST: Duration = Duration::from_millis(100);

/// The delays of one request in one run.
pub struct Delays {
    schedule: ExponentialBackoff,
    rng: Rng,
}

impl Delays {
    pub fn new(seed: u64) -> Delays {
        let schedule = ExponentialBackoffBuilder::new()
            .with_initial_interval(FIRST)
            .with_max_interval(MOST)
            .with_multiplier(2.0)
            .with_randomization_factor(0.0)
            .with_max_elapsed_time(None)
            .build();
        Delays { schedule, rng: Rng::new(seed) }
    }

    /// A random delay between 100 ms and the next exponential delay.
    pub fn next_delay(&mut self) -> Duration {
        let ceiling = self.schedule.next_backoff().unwrap_or(MOST);
        ceiling.mul_f64(self.rng.fraction()).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_stay_under_an_exponential_ceiling_that_ends_at_a_minute() {
        for seed in 0..200 {
            let mut delays = Delays::new(seed);
            for ceiling in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
                let delay = delays.next_delay();
                assert!(delay >= LEAST && delay <= Duration::from_secs(ceiling), "{delay:?} of {ceiling}");
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_delays_and_another_seed_others() {
        let delays = |seed| {
            let mut delays = Delays::new(seed);
            [delays.next_delay(), delays.next_delay(), delays.next_delay()]
        };
        assert_eq!(delays(7), delays(7));
        assert_ne!(delays(7), delays(8));
    }
}
