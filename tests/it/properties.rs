//! Properties that hold for every key, body, request, schedule and CSV file, tried on random ones. A few cases by
//! default, more with `PROPTEST_CASES`. A failing case is shrunk and printed.

mod csv_reader;
mod keys;
mod requests;
mod schedule;

use crate::support::number_given;
use proptest::test_runner::Config;
use rescreen::model::{
    Credits,
    state::{Hold, Move, Standing},
};
use std::{
    process::Command,
    time::{Instant, SystemTime},
};

/// The default number of cases. Nothing is written to the source folder.
pub(crate) fn cases(cases: u32) -> Config {
    let cases = number_given("PROPTEST_CASES").unwrap_or(cases);
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// The state of a request after a move, as the ledger applies it, and the credits it is charged.
fn moved(before: &Standing, step: &Move) -> (Standing, u64) {
    let (held, charge) = match step.hold {
        Hold::Keep => (before.held, 0),
        Hold::Take => (before.price, 0),
        Hold::Raise(so_far) => (so_far, 0),
        Hold::Release => (Credits::ZERO, 0),
        Hold::Charge(charge) => (Credits::ZERO, charge.0),
    };
    let standing = Standing {
        state: step.state,
        unproven: step.unproven,
        generation: before.generation + u32::from(step.next_generation),
        cached_refusals: before.cached_refusals + u32::from(step.cached_refusal),
        unclear: before.unclear,
        held,
        price: if let Hold::Raise(so_far) = step.hold { so_far } else { before.price },
        least: before.least,
        possibly_charged: step.possibly_charged,
    };
    (standing, charge)
}

/// The properties by the cost of one case: for this many cases of a key, one case is tried here.
const LONG_RUN: [(&str, u64); 4] = [
    ("properties::keys", 1),
    ("properties::requests", 10),
    ("properties::schedule", 1_000),
    // One case of this is a hundred files.
    ("properties::csv_reader", 20_000),
];

#[test]
#[ignore = "takes minutes; make properties"]
fn a_long_run_finds_no_violation() {
    let cases: u64 = number_given("PROPTEST_CASES").unwrap_or(1_000_000);
    let from_clock = || SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970").as_secs();
    let seed: u64 = number_given("PROPTEST_RNG_SEED").unwrap_or_else(from_clock);
    let begun = Instant::now();
    let (mut tried, mut violations) = (Vec::new(), Vec::new());
    for (name, share) in LONG_RUN {
        let cases = (cases / share).max(1);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--test-threads", "2", name]);
        command.env("PROPTEST_CASES", cases.to_string()).env("PROPTEST_RNG_SEED", seed.to_string());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        tried.push(format!("{cases} each of {}", name.trim_start_matches("properties::")));
        if !output.status.success() || passed(&said) == 0 {
            violations.push(format!("{name}:\n{said}"));
        }
    }
    println!(
        "properties: cases {}, {} violations, {:.0} s; again: PROPTEST_CASES={cases} PROPTEST_RNG_SEED={seed} make properties",
        tried.join(", "),
        violations.len(),
        begun.elapsed().as_secs_f64(),
    );
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// How many tests a finished test program says have passed. A name that no longer exists selects none.
fn passed(said: &str) -> u64 {
    let passed = |line: &str| line.strip_prefix("test result: ok. ")?.split_once(" passed")?.0.parse().ok();
    said.lines().find_map(passed).unwrap_or_default()
}

#[test]
fn a_long_run_without_tests_is_not_a_success() {
    assert_eq!(passed("running 3 tests\n...\ntest result: ok. 3 passed; 0 failed; 0 ignored"), 3);
    assert_eq!(passed("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 385 filtered out"), 0);
    assert_eq!(passed(""), 0);
}
