//! See `checks::screening`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::screening::check(data));
