//! See `checks::manifest`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::manifest::check(data));
