//! See `checks::job`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::job::check(data));
