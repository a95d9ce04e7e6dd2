//! Properties: what holds for every key, body, request, schedule and CSV file, tried on random ones. A few cases by default,
//! more with `PROPTEST_CASES`; a failing case is shrunk and printed.

mod csv_reader;
mod keys;
mod requests;
mod schedule;

use proptest::test_runner::Config;

/// So many cases where nobody asks for more; nothing is written beside the sources.
fn cases(cases: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    Config { cases: asked.unwrap_or(cases), failure_persistence: None, ..Config::default() }
}
