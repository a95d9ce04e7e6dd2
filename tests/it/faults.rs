//! Storage that fails. In the program's layer, every write, fsync, rename and ledger commit of a small campaign fails
//! in turn, once or permanently. The process also fails just after each commit, and is killed at each of these points.
//! In the system layer, the system calls of the process fail, including SQLite's. The program stops with exit code 11
//! before the next send. Run again, it resumes and completes, and nothing is paid twice. Run with `make faults`, which
//! needs the feature `harness`.

mod broken;
mod case;
mod preload;
mod setup;

use broken::Broken;
use case::{Case, Layer, Measure, Shape, cases};
use preload::Preload;
use setup::PERSONS;
use std::{
    collections::BTreeMap,
    sync::{Mutex, atomic::AtomicUsize, atomic::Ordering},
    time::{Duration, Instant},
};

/// All passes, in each way.
const ALL: Measure = Measure { all_ways_max: u64::MAX, tried_max: u64::MAX };

#[test]
#[ignore = "takes real time; make faults"]
fn failing_storage_stops_the_run_and_another_run_completes_it() {
    sweep(Layer::Program, Shape::Plain, ALL, None);
    sweep(Layer::Program, Shape::Documents, ALL, None);
}

#[test]
#[ignore = "takes real time; make faults"]
fn failing_system_calls_stop_the_run_and_another_run_completes_it() {
    let Some(preload) = preload("storage calls are not made to fail here") else { return };
    let (plain, two_checks) = match std::env::var_os("RESCREEN_FAULTS_ALL") {
        Some(_) => (ALL, ALL),
        None => (Measure { all_ways_max: 25, tried_max: 120 }, Measure { all_ways_max: 0, tried_max: 24 }),
    };
    sweep(Layer::System, Shape::Plain, plain, Some(&preload));
    sweep(Layer::System, Shape::TwoChecks, two_checks, Some(&preload));
}

#[test]
#[ignore = "takes real time; make faults"]
fn data_is_on_disk_before_a_rename_or_a_send_that_depends_on_it() {
    let Some(preload) = preload("storage calls are not watched here") else { return };
    for shape in [Shape::Plain, Shape::TwoChecks] {
        let unsynced = broken::unsynced(shape, &preload);
        println!("power, {shape:?}: {unsynced:?}");
        assert!(unsynced.iter().all(|(_, count)| *count == 0), "{shape:?}: {unsynced:?}");
    }
}

#[test]
#[ignore = "takes real time; make faults"]
fn outputs_that_cannot_be_written_stop_the_run_while_answers_still_come_in() {
    // The first fsync of a run that publishes during the run. At the next publication the disk works again.
    let case = Case { layer: Layer::Program, shape: Shape::Plain, fault: "sync:1:once:enospc".to_owned() };
    let broken = Broken::tried_slowly(&case, Duration::from_millis(400));
    assert!(broken.met && broken.violations.is_empty(), "{:#?}", broken.violations);
    assert!(broken.sent < PERSONS, "all {} were sent after the outputs had failed", broken.sent);
}

/// The library that makes calls fail. On a machine without a compiler or without glibc the test is skipped and says so.
/// In CI, which has both, it fails instead, because a test that is silently skipped there protects nothing.
fn preload(what_is_missing: &str) -> Option<Preload> {
    match Preload::built() {
        Ok(preload) => Some(preload),
        Err(reason) => {
            assert!(std::env::var_os("CI").is_none(), "in CI this must run, and {what_is_missing}: {reason}");
            println!("SKIPPED: {what_is_missing}: {reason}");
            None
        }
    }
}

/// Counts the passes, tries the cases, and prints the result in one line.
fn sweep(layer: Layer, shape: Shape, measure: Measure, preload: Option<&Preload>) {
    let begun = Instant::now();
    let counts = broken::counts(layer, shape, preload);
    let wanted = std::env::var("RESCREEN_FAULT_CASE").ok();
    let mut cases = cases(layer, shape, &counts, measure);
    if let Some(wanted) = &wanted {
        cases.retain(|case| case.to_string() == *wanted);
    }
    let tried = try_all(&cases, preload);
    let of = |kind: &str| tried.iter().filter(|(case, _)| case.is_of_kind(kind)).count();
    let kinds: Vec<String> = counts.iter().map(|(kind, count)| format!("{} {kind} of {count}", of(kind))).collect();
    let mut codes: BTreeMap<i32, usize> = BTreeMap::new();
    for (_, one) in &tried {
        *codes.entry(one.code).or_default() += 1;
    }
    let violations: Vec<&str> = tried.iter().flat_map(|(_, one)| &one.violations).map(String::as_str).collect();
    println!(
        "storage faults, {layer:?}, {shape:?}: {} cases ({}), exit codes {codes:?}, {} violations, {:.0} s; again: make faults",
        tried.len(),
        kinds.join(", "),
        violations.len(),
        begun.elapsed().as_secs_f64(),
    );
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    // The harness proves something only if its cases reach the end of a run, give or take a few passes. A first run has
    // nothing stale to remove.
    for (kind, count) in counts.iter().filter(|(kind, count)| wanted.is_none() && (**count > 0 || *kind != "remove")) {
        let last = tried.iter().filter(|(case, _)| case.is_of_kind(kind)).map(|(case, _)| case.number()).max();
        assert!(last.is_some_and(|last| last + 4 > count - count / 4), "{kind}: {last:?} of {count}");
    }
}

/// The results of the cases whose fault was reached.
fn try_all<'a>(cases: &'a [Case], preload: Option<&Preload>) -> Vec<(&'a Case, Broken)> {
    let (next, tried) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let broken = Broken::tried(case, preload);
                    tried.lock().unwrap().push((case, broken));
                }
            });
        }
    });
    tried.into_inner().unwrap().into_iter().filter(|(_, one)| one.met).collect()
}
