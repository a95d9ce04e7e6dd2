//! What is measured, how often and on how many rows. The environment sets it, so that one command is enough and a smoke
//! test takes seconds. This module sets the defaults.

use std::{env, fmt::Display, str::FromStr};

/// The values of `BENCH_PARTS`, `BENCH_STATES`, `BENCH_PAIRS`, `BENCH_ROWS`, `BENCH_LARGE` and `BENCH_PIN`.
#[derive(Debug)]
pub struct Parameters {
    /// Names of parts; empty means all.
    parts: Vec<String>,
    /// What the services of pairs state about credits; empty means all.
    states: Vec<String>,
    /// How many times rescreen and the bare client take turns.
    pub pairs: usize,
    /// No run has more rows than this.
    rows_max: u64,
    /// The rows of each run in a pair.
    pub pair_rows: u64,
    /// Whether memory is also measured with 10,000,000 rows, which takes most of an hour.
    pub large: bool,
    /// Whether, in pairs, the client is pinned to one core and the service to the others.
    pub pin: bool,
}

impl Parameters {
    pub fn read() -> Parameters {
        let rows: Option<u64> = number("BENCH_ROWS");
        Parameters {
            parts: names("BENCH_PARTS"),
            states: names("BENCH_STATES"),
            pairs: number("BENCH_PAIRS").unwrap_or(3),
            rows_max: rows.unwrap_or(u64::MAX),
            pair_rows: rows.unwrap_or(30_000),
            large: number("BENCH_LARGE").unwrap_or(0) != 0,
            pin: number("BENCH_PIN").unwrap_or(1) != 0,
        }
    }

    pub fn wants(&self, part: &str) -> bool {
        is_named(&self.parts, part)
    }

    pub fn wants_states(&self, states: &str) -> bool {
        is_named(&self.states, states)
    }

    /// This number of rows, or the most that are allowed.
    pub fn rows(&self, wanted: u64) -> u64 {
        wanted.min(self.rows_max)
    }

    /// Each of these sizes once, limited to the most that are allowed.
    pub fn sizes(&self, wanted: &[u64]) -> Vec<u64> {
        let mut sizes: Vec<u64> = wanted.iter().map(|rows| self.rows(*rows)).collect();
        sizes.dedup();
        sizes
    }
}

/// The names in a list that is separated by commas or spaces.
fn names(variable: &str) -> Vec<String> {
    let list = env::var(variable).unwrap_or_default();
    list.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Whether a list has this name, or none.
fn is_named(list: &[String], name: &str) -> bool {
    list.is_empty() || list.iter().any(|listed| listed == name)
}

fn number<N: FromStr<Err: Display>>(name: &str) -> Option<N> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|fault| panic!("{name}: expected a number: {fault}")))
}
