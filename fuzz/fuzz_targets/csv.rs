//! See `checks::csv`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::csv::check(data));
