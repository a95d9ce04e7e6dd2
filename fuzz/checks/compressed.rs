//! Any bytes as a compressed file, and any text compressed. Damaged or not, it gives rows and failures, and finally an
//! end or a fault. A text that was compressed in several members is read like the text itself, with the same
//! checkpoints.

use super::records;
use flate2::{Compression, write::GzEncoder};
use rescreen::source::Format;
use std::io::Write;

pub fn check(data: &[u8]) {
    let options = records::options(Format::Csv);
    records::check(data, &options);
    if data.starts_with(b"\x1f\x8b") || data.starts_with(b"\x28\xb5\x2f\xfd") || data.starts_with(b"PK") {
        // A file that is compressed twice is refused.
        return;
    }
    let plain = records::take(data, &options, usize::MAX);
    let (first, second) = data.split_at(data.len() / 3);
    for compress in [gzip, zstd] {
        let compressed = [compress(first), compress(second)].concat();
        assert_eq!(records::take(&compressed, &options, usize::MAX), plain, "compressed text is read like plain text");
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    compressed.write_all(text).and_then(|()| compressed.finish()).expect("writing to memory does not fail")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).expect("writing to memory does not fail")
}
