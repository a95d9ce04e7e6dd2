//! See `checks::retry_after`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::retry_after::check(data));
