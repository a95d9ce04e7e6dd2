//! See `checks::compressed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::compressed::check(data));
