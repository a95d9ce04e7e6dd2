//! See `checks::file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::file::check(data));
