//! The promise: the ledger is a set of files, and a change to one of them is noticed before the next request is sent. A
//! lost log, a lost ledger, a removed lock file and a moved folder are named, with what to do, and nothing is silently
//! started again.

mod fencing;
mod lost;
mod sums;
mod upgrade;

use crate::{
    cli::Workspace,
    support::{
        program::{Said, UnderWay, wait_until},
        service::lifted,
    },
};
use rescreen::simulator::{ChargeStated, Settings};
use std::{path::PathBuf, time::Duration};

/// Replies come slowly, so that a run is under way for some seconds. They state their charge, so that no run waits for
/// a balance to show it.
fn slow(rows: usize) -> Workspace {
    let charge_stated = Some(ChargeStated::Used);
    Workspace::with(rows, Settings { latency: Duration::from_millis(40), charge_stated, ..lifted() })
}

fn charges(workspace: &Workspace) -> u64 {
    workspace.service.simulator.stats().charges
}

fn out(workspace: &Workspace) -> PathBuf {
    workspace.path().join("out/2026-11")
}

/// A run of which at least `least` charges are made.
fn under_way(workspace: &Workspace, least: u64) -> UnderWay {
    let before = charges(workspace);
    let run = UnderWay::start(&mut workspace.production("run", &["--yes", "--in-flight", "2"]));
    wait_until("charges", || charges(workspace) >= before + least);
    run
}

/// A run that was killed after some charges.
fn killed(workspace: &Workspace) {
    let run = under_way(workspace, 6);
    run.signal("KILL");
    assert_eq!(run.wait().code, -9);
}

/// This run finishes the campaign, and every row was paid once.
fn finishes(workspace: &Workspace, said: Said, rows: u64) {
    said.exits(0);
    let stats = workspace.service.simulator.stats();
    assert_eq!((stats.charges, stats.double_charges), (rows, 0));
    let status: serde_json::Value =
        serde_json::from_str(&workspace.say(&["status", "--json"]).exits(0).stdout).unwrap();
    assert_eq!(status["credits"]["charged"], rows);
    assert_eq!(status["credits"]["held"], 0);
}
