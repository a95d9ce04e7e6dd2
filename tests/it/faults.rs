//! Storage that fails: every write, fsync, rename and ledger commit of a small campaign fails in its turn, once or for good,
//! and so does the process just after each commit. The program stops with exit code 11 before the next send; run again,
//! it goes on and completes, and nothing is paid twice. `make faults` runs it: it needs the feature `fault-points`.

mod broken;

use broken::{Broken, Case, PERSONS};
use std::{
    collections::BTreeMap,
    sync::{Mutex, atomic::AtomicUsize, atomic::Ordering},
    time::{Duration, Instant},
};

/// Commits are grouped by what happens to wait, so a run may pass a few more or fewer than the one that was counted.
const MORE: u64 = 3;

#[test]
#[ignore = "takes real time; make faults"]
fn storage_that_fails_stops_the_run_and_another_run_completes_it() {
    let begun = Instant::now();
    let counts = broken::counts();
    let wanted = std::env::var("RESCREEN_FAULT_CASE").ok();
    let cases = cases(&counts).into_iter().filter(|case| wanted.as_ref().is_none_or(|wanted| case.0 == *wanted));
    let cases: Vec<Case> = cases.collect();
    let (next, tried) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let broken = Broken::tried(case);
                    tried.lock().unwrap().push((case, broken));
                }
            });
        }
    });
    let tried: Vec<(&Case, Broken)> = tried.into_inner().unwrap().into_iter().filter(|(_, one)| one.met).collect();
    let of = |point: &str| tried.iter().filter(|(case, _)| case.0.starts_with(&format!("{point}:"))).count();
    let mut codes: BTreeMap<i32, usize> = BTreeMap::new();
    for (_, one) in &tried {
        *codes.entry(one.code).or_default() += 1;
    }
    let violations: Vec<String> = tried.iter().flat_map(|(_, one)| one.violations.clone()).collect();
    println!(
        "storage faults: {} cases ({} writes, {} fsyncs, {} renames, {} commits, {} just after a commit), {} violations, \
         {:.0} s; again: make faults",
        tried.len(),
        of("write"),
        of("sync") + of("sync-folder"),
        of("rename"),
        of("commit"),
        of("after-commit"),
        violations.len(),
        begun.elapsed().as_secs_f64(),
    );
    assert!(violations.is_empty(), "exit codes {codes:?}\n{}", violations.join("\n"));
    let last_met = |point: &str, number: u64| {
        let begins = format!("{point}:{number}:");
        tried.iter().any(|(case, _)| case.0.starts_with(&begins))
    };
    // The harness shows something only while it gets to the end of what a run passes.
    for (point, count) in counts.iter().filter(|_| wanted.is_none()) {
        assert!(*count > 0 && (1..=*count).rev().take(4).any(|number| last_met(point, number)), "{point}: {count}");
    }
}

#[test]
#[ignore = "takes real time; make faults"]
fn outputs_that_cannot_be_written_stop_the_run_while_answers_still_come_in() {
    // The first fsync of a run that publishes in its middle; the disk is well again at the next publication.
    let case = Case("sync:1:once:enospc".to_owned());
    let broken = Broken::tried_slowly(&case, Duration::from_millis(400));
    assert!(broken.met && broken.violations.is_empty(), "{:#?}", broken.violations);
    assert!(broken.sent < PERSONS, "all {} were sent after the outputs had failed", broken.sent);
}

/// Every pass of every point, once and for good, by turns for a broken and for a full disk.
fn cases(counts: &BTreeMap<String, u64>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (point, count) in counts {
        for number in 1..=count + MORE {
            for (at, how) in ["once", "forever"].into_iter().enumerate() {
                let error = if (number + at as u64).is_multiple_of(2) { "enospc" } else { "eio" };
                cases.push(Case(format!("{point}:{number}:{how}:{error}")));
            }
        }
    }
    cases
}
