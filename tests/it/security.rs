//! The promise: whatever the server or the environment does, API key and subjects go nowhere else, nothing is sent
//! without the ledger, and memory stays bounded. The server is hand-written and does what no honest server does.

mod columns;
mod names;
mod output;
mod process;
mod replies;
mod surroundings;
mod terminal;
mod tls;
mod trust;
mod wire;

use crate::support::{
    ran::{Attempt, Ran},
    world::World,
};
use wire::Wire;

/// A world with this server, one request at a time.
fn world(rows: usize, wire: &Wire) -> World {
    World::new().rows(rows).in_flight(1).sending_to(&wire.url, wire.arrivals())
}

fn outcomes(ran: &Ran) -> Vec<String> {
    ran.attempts().into_iter().map(|Attempt { outcome, .. }| outcome).collect()
}
