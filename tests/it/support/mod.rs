//! Shared test support: a world with a campaign in it, the service it sends to, the outputs it leaves, and the program.

pub mod allocated;
pub mod answering;
pub mod arrow;
pub mod book;
pub mod compiled;
pub mod data;
pub mod dialects;
pub mod door;
pub mod folder;
pub mod http;
pub mod listener_process;
pub mod onlooker;
pub mod paused;
#[cfg(all(unix, feature = "book-postgres"))]
pub mod postgres;
pub mod program;
pub mod ran;
pub mod rng;
pub mod rounds;
pub mod schema;
pub mod service;
pub mod simulator_process;
pub mod tables;
pub mod wire_tap;
pub mod world;

use std::{env, str::FromStr};

/// The API key of every test: long enough that its last three characters may be shown.
pub const API_KEY: &str = "sk-planted-marker-4c1";

/// The number in an environment variable; `None` if the variable is not set, or empty.
pub fn number_given<T: FromStr>(variable: &str) -> Option<T> {
    let text = env::var(variable).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: expected a number")))
}
