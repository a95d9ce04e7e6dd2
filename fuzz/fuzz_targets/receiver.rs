//! See `checks::receiver`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::receiver::check(data));
