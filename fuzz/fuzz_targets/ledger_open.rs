//! See `checks::ledger_open`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::ledger_open::check(data));
