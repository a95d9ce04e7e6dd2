//! See `checks::encoded`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::encoded::check(data));
