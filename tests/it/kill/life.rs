//! The runs of the kill test: how long each lasts before it is killed, and what it was doing then. The durations follow
//! from the seed.

use crate::support::rng::Rng;
use std::time::Duration;

/// One start of the program, until it is killed.
#[derive(Debug, Clone, Copy)]
pub struct Life {
    /// Killed this long after its start, or after its first message.
    pub lasts: Duration,
    /// Time counts from the first message, because on a slow machine a start takes longer than a life.
    pub from_first_message: bool,
    /// Told to drain and publish after this (`--for`), which is the only way to be killed while publishing.
    pub drains_after: Option<Duration>,
    /// It is `collect`, which asks for jobs and sends no request for the first time.
    pub collects: bool,
}

/// How a life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Killed(Phase),
    /// Exited with this code.
    Exited(i32),
}

/// What a run was doing when it was killed, as far as it left traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing was ingested or sent yet.
    Start,
    /// Rows were being ingested.
    Intake,
    /// Requests were being sent.
    Sending,
    /// Jobs were being asked for, and nothing was sent.
    Jobs,
    /// Files were being written.
    Publishing,
}

impl Life {
    /// The life before kill number `number` of `kills`. The first quarter of them is short, because only at the
    /// beginning a start finds an empty folder and ingests rows. Of the others, about one in three drains and is killed
    /// at about the time when it publishes, and the rest send. The mean duration of a life is at most `mean`.
    pub fn before(number: u32, kills: u32, mean: Duration, rng: &mut Rng) -> Life {
        let ms = Duration::from_millis;
        let life = |lasts| Life { lasts, from_first_message: false, drains_after: None, collects: false };
        if number < kills / 4 {
            return life(between(ms(0), ms(250), rng));
        }
        match rng.roll() % 3 {
            0 => {
                let drains_after = between(ms(100), mean, rng);
                let lasts = drains_after + between(ms(20), ms(220), rng);
                Life { drains_after: Some(drains_after), ..life(lasts) }
            }
            _ => Life { from_first_message: true, ..life(between(ms(20), mean * 2, rng)) },
        }
    }

    /// The life of a `collect`. About one in three drains and is killed at about the time when it publishes.
    pub fn of_collect(rng: &mut Rng) -> Life {
        let ms = Duration::from_millis;
        let drains_after = rng.roll().is_multiple_of(3).then(|| between(ms(100), ms(600), rng));
        let lasts = drains_after.unwrap_or_default() + between(ms(0), ms(250), rng);
        Life { lasts, from_first_message: drains_after.is_none(), drains_after, collects: true }
    }
}

fn between(least: Duration, most: Duration, rng: &mut Rng) -> Duration {
    let share = (rng.roll() >> 11) as f64 / (1_u64 << 53) as f64;
    least + most.saturating_sub(least).mul_f64(share)
}
