//! See `checks::sheet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::sheet::check(data));
