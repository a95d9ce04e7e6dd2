//! One broken run and the runs after it, judged by three witnesses: the service's charge book, the ledger, and the
//! outputs.

use super::{
    case::{Case, Layer, Shape},
    preload::Preload,
    setup::{LayerReport, Setup},
};
use crate::support::{onlooker::Onlooker, service::lifted};
use rescreen::simulator::Settings;
use std::{collections::BTreeMap, time::Duration};

/// The next run settles the requests in doubt after a fault. More runs are a sign of trouble.
const LATER_RUNS_MAX: u32 = 3;

/// Some rows failed, and everything else is complete.
const COMPLETE: i32 = 3;
const STORAGE: i32 = 11;
/// Killed by its own signal.
const ABORTED: i32 = -6;

/// The result of a case.
pub struct Broken {
    /// The run reached the point that was to fail.
    pub met: bool,
    pub code: i32,
    /// Requests the service received until the run stopped.
    pub sent: u64,
    pub violations: Vec<String>,
}

/// How often a run without a fault passes each point or makes each call: the fewest of three runs, because a slow run
/// may publish one time more.
pub fn counts(layer: Layer, shape: Shape, preload: Option<&Preload>) -> BTreeMap<String, u64> {
    let mut fewest: BTreeMap<String, u64> = BTreeMap::new();
    for _ in 0..3 {
        let setup = Setup::new(shape, preload, lifted());
        let said = setup.run_with(layer, None).exits(COMPLETE);
        assert_eq!(setup.at_the_end(), Vec::<String>::new());
        for (kind, count) in LayerReport::of(&said).counts() {
            fewest.entry(kind).and_modify(|fewest| *fewest = count.min(*fewest)).or_insert(count);
        }
    }
    fewest
}

/// What a run without a fault would lose in a power failure: files that were renamed and checks that were sent before
/// the data they depend on was on disk.
///
/// # Panics
/// The library has not seen every check, or no file was renamed: then the result means nothing.
pub fn unsynced(shape: Shape, preload: &Preload) -> [(&'static str, u64); 2] {
    let setup = Setup::new(shape, Some(preload), lifted());
    let reported = LayerReport::of(&setup.run_with(Layer::System, None).exits(COMPLETE));
    assert_eq!(reported.count("sent"), setup.sent(), "checks the library saw, and the service");
    assert!(reported.count("rename") > 0);
    ["renamed-unsynced", "sent-unsynced"].map(|name| (name, reported.count(name)))
}

impl Broken {
    /// Runs with the fault, then without it, and compares what the witnesses say.
    pub fn tried(case: &Case, preload: Option<&Preload>) -> Broken {
        Broken::at(&Setup::new(case.shape, preload, lifted()), case)
    }

    /// The same with slow answers.
    pub fn tried_slowly(case: &Case, latency: Duration) -> Broken {
        Broken::at(&Setup::new(case.shape, None, Settings { latency, ..lifted() }), case)
    }

    fn at(setup: &Setup, case: &Case) -> Broken {
        let mut violations = Vec::new();
        let mut onlooker = Onlooker::of(&setup.out());
        let said = setup.run_with(case.layer, Some(&case.fault));
        let reported = LayerReport::of(&said);
        let met = reported.count("failed") > 0;
        // SQLite retries some calls and does not depend on others. Then the run must be complete.
        let survived = said.code == COMPLETE && case.layer == Layer::System;
        match met {
            true if said.code == if case.kills() { ABORTED } else { STORAGE } => {}
            true if survived => violations.extend(setup.at_the_end()),
            false if said.code == COMPLETE => {}
            _ => violations.push(format!("exit code {}, met: {met}:\n{}", said.code, said.stderr)),
        }
        let sent = setup.sent();
        violations.extend(setup.sent_beyond_the_ledger(case, sent, &reported));
        violations.extend(onlooker.look());
        let code = said.code;
        let mut last = said;
        for _ in 0..LATER_RUNS_MAX {
            last = setup.run();
            violations.extend(onlooker.look());
            if last.code == COMPLETE {
                break;
            }
        }
        if last.code != COMPLETE {
            violations.push(format!("the last run ended with {}:\n{}", last.code, last.stderr));
        }
        violations.extend(setup.at_the_end());
        let at = reported.failed_at();
        let violations = violations.into_iter().map(|fault| format!("RESCREEN_FAULT_CASE={case} ({at}): {fault}"));
        Broken { met, code, sent, violations: violations.collect() }
    }
}
