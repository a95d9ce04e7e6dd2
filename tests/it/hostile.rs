//! The promise: a service that misbehaves in ways that our own simulator does not know never charges twice, never
//! charges above the limit unnoticed, and never stops a campaign for good. The servers here are written by hand over
//! TCP. They share no code with the simulator, keep their own charge book, and serve the real binary, whose ledger is
//! read in plain SQL. `make hostile` runs them all.

mod answers;
mod book;
mod campaign;
mod charges;
mod clock;
mod clocks;
mod codings;
mod credits;
mod echoed_key;
mod field;
mod files;
mod folders;
mod inputs;
mod job_ids;
mod job_money;
mod jobs;
mod later_runs;
mod ledger;
mod messages;
mod neighbours;
mod numbers;
mod oddities;
mod prices;
mod progress;
mod proofs;
mod receipts;
mod refusals;
mod reply;
mod script;
mod server;
mod timed;
mod unstated_charges;
mod wire;

use campaign::Campaign;
use reply::Reply;
use script::{Asked, Hostile, Stated};
use serde_json::json;
use server::Service;

/// Tries cases concurrently, because most of their time is waiting.
fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, test: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            let test = &test;
            scope.spawn(move || test(case));
        }
    });
}
