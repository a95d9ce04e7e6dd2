//! See `checks::delivery`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::delivery::check(data));
