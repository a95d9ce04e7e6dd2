//! See `checks::template`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::template::check(data));
