//! The promise: the ledger is a set of files, and a change to one of them is noticed before the next request is sent. A
//! lost log, a lost ledger, a removed lock file and a moved folder are named, with what to do, and nothing is silently
//! started again.

mod fencing;
mod lost;
mod sums;

use crate::{
    cli::Desk,
    support::{
        program::{Said, UnderWay, wait_until},
        service::lifted,
    },
};
use rescreen::simulator::{ChargeStated, Settings};
use std::{path::PathBuf, time::Duration};

/// Replies come slowly, so that a run is under way for some seconds. They state their charge, so that no run waits for
/// a balance to show it.
fn slow(rows: usize) -> Desk {
    let charge_stated = Some(ChargeStated::Used);
    Desk::with(rows, Settings { latency: Duration::from_millis(40), charge_stated, ..lifted() })
}

fn charges(desk: &Desk) -> u64 {
    desk.service.simulator.stats().charges
}

fn out(desk: &Desk) -> PathBuf {
    desk.path().join("out/2026-11")
}

/// A run of which at least `least` charges are made.
fn under_way(desk: &Desk, least: u64) -> UnderWay {
    let before = charges(desk);
    let run = UnderWay::start(&mut desk.production("run", &["--yes", "--in-flight", "2"]));
    wait_until("charges", || charges(desk) >= before + least);
    run
}

/// A run that was killed after some charges.
fn killed(desk: &Desk) {
    let run = under_way(desk, 6);
    run.signal("KILL");
    assert_eq!(run.wait().code, -9);
}

/// This run finishes the campaign, and every row was paid once.
fn finishes(desk: &Desk, said: Said, rows: u64) {
    said.exits(0);
    let stats = desk.service.simulator.stats();
    assert_eq!((stats.charges, stats.double_charges), (rows, 0));
    let status: serde_json::Value = serde_json::from_str(&desk.say(&["status", "--json"]).exits(0).stdout).unwrap();
    assert_eq!(status["credits_charged"], rows);
    assert_eq!(status["credits_held"], 0);
}
