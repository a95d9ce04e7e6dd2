//! The promise: whatever the other end or the surroundings do, key and subject go nowhere else, nothing is sent behind the
//! ledger's back, and memory stays bounded. The other end is a hand-made server that does what no honest one does.

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

/// A world whose service is this wire, one request at a time.
fn world(rows: usize, wire: &Wire) -> World {
    let world = World::new().rows(rows).in_flight(1).arriving(wire.arrivals());
    world.campaign(|file| file.service.url = Some(wire.url.clone()))
}

fn outcomes(ran: &Ran) -> Vec<String> {
    ran.attempts().into_iter().map(|Attempt { outcome, .. }| outcome).collect()
}
