//! See `checks::reply`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::reply::check(data));
