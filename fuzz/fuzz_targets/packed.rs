//! See `checks::packed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::packed::check(data));
