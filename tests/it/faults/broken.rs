//! One broken run and the runs after it, judged by three witnesses: the service's book, the ledger, and the outputs.

use super::{
    case::{Case, Layer, Shape},
    preload::Preload,
    setup::{Setup, Told},
};
use crate::support::{onlooker::Onlooker, service::lifted};
use rescreen::simulator::Settings;
use std::{collections::BTreeMap, time::Duration};

/// What is in doubt after the fault is settled by the next run; more are a sign of trouble.
const LATER_RUNS_MAX: u32 = 3;

/// Some rows failed, and everything else is there.
const COMPLETE: i32 = 3;
const STORAGE: i32 = 11;
/// By its own signal.
const ABORTED: i32 = -6;

/// What came of a case.
pub struct Broken {
    /// The run came to the point that was to fail.
    pub met: bool,
    pub code: i32,
    /// Submissions the service received until it stopped.
    pub sent: u64,
    pub violations: Vec<String>,
}

/// How often a run without a fault passes each point or makes each call: the fewest of three runs, because a slow one may
/// publish once more.
pub fn counts(layer: Layer, shape: Shape, preload: Option<&Preload>) -> BTreeMap<String, u64> {
    let mut fewest: BTreeMap<String, u64> = BTreeMap::new();
    for _ in 0..3 {
        let setup = Setup::new(shape, preload, lifted());
        let said = setup.run_with(layer, None).exits(COMPLETE);
        assert_eq!(setup.at_the_end(), Vec::<String>::new());
        for (kind, count) in Told::of(&said).counts() {
            fewest.entry(kind).and_modify(|fewest| *fewest = count.min(*fewest)).or_insert(count);
        }
    }
    fewest
}

/// What a run without a fault puts at the mercy of the power: files renamed, and checks sent, before what they stand on was
/// on the disk.
///
/// # Panics
/// The library has not seen every check, or no file was renamed: then it has nothing to say.
pub fn unsynced(shape: Shape, preload: &Preload) -> [(&'static str, u64); 2] {
    let setup = Setup::new(shape, Some(preload), lifted());
    let told = Told::of(&setup.run_with(Layer::System, None).exits(COMPLETE));
    assert_eq!(told.count("sent"), setup.sent(), "checks the library saw, and the service");
    assert!(told.count("rename") > 0);
    ["renamed-unsynced", "sent-unsynced"].map(|name| (name, told.count(name)))
}

impl Broken {
    /// Runs into the fault, then runs on without it, and compares what the witnesses say.
    pub fn tried(case: &Case, preload: Option<&Preload>) -> Broken {
        Broken::at(&Setup::new(case.shape, preload, lifted()), case)
    }

    /// The same while answers come slowly.
    pub fn tried_slowly(case: &Case, latency: Duration) -> Broken {
        Broken::at(&Setup::new(case.shape, None, Settings { latency, ..lifted() }), case)
    }

    fn at(setup: &Setup, case: &Case) -> Broken {
        let mut violations = Vec::new();
        let mut onlooker = Onlooker::of(&setup.out());
        let said = setup.run_with(case.layer, Some(&case.fault));
        let told = Told::of(&said);
        let met = told.count("failed") > 0;
        // SQLite tries some calls again, and some are made in passing: then everything must be there all the same.
        let survived = said.code == COMPLETE && case.layer == Layer::System;
        match met {
            true if said.code == if case.kills() { ABORTED } else { STORAGE } => {}
            true if survived => violations.extend(setup.at_the_end()),
            false if said.code == COMPLETE => {}
            _ => violations.push(format!("exit code {}, met: {met}:\n{}", said.code, said.stderr)),
        }
        let sent = setup.sent();
        violations.extend(setup.sent_beyond_the_ledger(case, sent, &told));
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
        let at = told.failed_at();
        let violations = violations.into_iter().map(|fault| format!("RESCREEN_FAULT_CASE={case} ({at}): {fault}"));
        Broken { met, code, sent, violations: violations.collect() }
    }
}
