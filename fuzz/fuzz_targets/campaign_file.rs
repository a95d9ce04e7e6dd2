//! See `checks::campaign_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::campaign_file::check(data));
