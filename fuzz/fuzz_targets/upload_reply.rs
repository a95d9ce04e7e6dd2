//! See `checks::upload_reply`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::upload_reply::check(data));
