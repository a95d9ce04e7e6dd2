//! The promise: the ledger is a set of files, and a change to one of them is noticed before the next request is sent. A
//! lost log, a lost ledger, a removed lock file and a moved folder are named, with what to do, and nothing is silently
//! started again.

mod fencing;
mod lost;
mod read_only;
mod sums;
mod version;

use crate::{
    cli::Workspace,
    support::program::{Said, UnderWay},
};
use std::path::PathBuf;

/// The checks that are answered, and those whose replies are held back, when a run is under way.
const ANSWERED: u64 = 6;
const IN_FLIGHT: u64 = 2;
const ARRIVED: u64 = ANSWERED + IN_FLIGHT;

/// A run is under way here until it is told to go on.
fn held(rows: usize) -> Workspace {
    Workspace::that_answers_only(ANSWERED, rows)
}

fn charges(workspace: &Workspace) -> u64 {
    workspace.service.simulator.stats().charges
}

fn out(workspace: &Workspace) -> PathBuf {
    workspace.path().join("out/2026-11")
}

/// A run of which some charges are made, and the replies to the last ones are held back.
fn under_way(workspace: &Workspace) -> UnderWay {
    workspace.under_way(IN_FLIGHT, ARRIVED, &[])
}

/// A run that was killed after some charges. The service answers from now on.
fn killed(workspace: &Workspace) {
    let run = under_way(workspace);
    run.signal("KILL");
    assert_eq!(run.ends().code, -9);
    assert_eq!(charges(workspace), ARRIVED);
    workspace.service.answers_all();
}

/// This run finishes the campaign, and every row was paid once.
fn finishes(workspace: &Workspace, said: Said, rows: u64) {
    said.exits(0);
    let stats = workspace.service.simulator.stats();
    assert_eq!((stats.charges, stats.double_charges), (rows, 0));
    let status = workspace.status();
    assert_eq!(status["credits"]["charged"], rows);
    assert_eq!(status["credits"]["held"], 0);
}
