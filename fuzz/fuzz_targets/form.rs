//! See `checks::form`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::form::check(data));
