//! See `checks::jsonl`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::jsonl::check(data));
