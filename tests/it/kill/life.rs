//! The lives of a run: for how long it may live, and what it was at when it was killed. All of it follows from the seed.

use std::time::Duration;

/// One run, until it is killed.
#[derive(Debug, Clone, Copy)]
pub struct Life {
    /// Killed so long after its start.
    pub lasts: Duration,
    /// Told to drain and publish after this (`--for`): the only way to be killed while it publishes.
    pub drains_after: Option<Duration>,
}

/// How a life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Killed(Phase),
    /// By itself, with this exit code.
    Exited(i32),
}

/// What a run was at when it was killed, as far as it left traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing was taken and nothing was sent by it.
    Start,
    /// Rows were being taken.
    Intake,
    /// Requests were being sent.
    Sending,
    /// Files were being written.
    Publishing,
}

/// A small generator (SplitMix64): the harness must not change with a crate's version.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        least + most.saturating_sub(least).mul_f64(share)
    }

    /// The life before kill number `number` of `kills`. The first quarter is short: only there is a start with nothing, and
    /// rows to take. Of the others every third drains and is killed about when it publishes, and the rest send. `mean` is
    /// what a life lasts in the long run, at most.
    pub fn life(&mut self, number: u32, kills: u32, mean: Duration) -> Life {
        let ms = Duration::from_millis;
        if number < kills / 4 {
            return Life { lasts: self.between(ms(0), ms(250)), drains_after: None };
        }
        match self.next() % 3 {
            0 => {
                let drains_after = self.between(ms(100), mean);
                Life { lasts: drains_after + self.between(ms(20), ms(220)), drains_after: Some(drains_after) }
            }
            _ => Life { lasts: self.between(ms(20), mean * 2), drains_after: None },
        }
    }
}
