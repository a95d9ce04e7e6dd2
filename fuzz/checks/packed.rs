//! Any bytes as a packed file, and any text packed: damaged or not it is rows, failures, and at last an end or a fault; a
//! text that was packed, in as many members as you like, is read like the text itself, to its checkpoints.

use super::records;
use flate2::{Compression, write::GzEncoder};
use rescreen::source::Format;
use std::io::Write;

pub fn check(data: &[u8]) {
    let options = records::options(Format::Csv);
    records::check(data, &options);
    if data.starts_with(b"\x1f\x8b") || data.starts_with(b"\x28\xb5\x2f\xfd") || data.starts_with(b"PK") {
        // Packed twice is refused.
        return;
    }
    let plain = records::take(data, &options, usize::MAX);
    let (first, second) = data.split_at(data.len() / 3);
    for pack in [gzip, zstd] {
        let packed = [pack(first), pack(second)].concat();
        assert_eq!(records::take(&packed, &options, usize::MAX), plain, "packed like plain");
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text).and_then(|()| packed.finish()).expect("memory takes what is packed")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).expect("memory takes what is packed")
}
