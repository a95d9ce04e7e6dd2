//! Decompression at its limit, and of damaged files.

use super::*;
use flate2::{Compression as GzipLevel, write::GzEncoder};
use std::io::{Cursor, Write};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut compressed = GzEncoder::new(Vec::new(), GzipLevel::best());
    compressed.write_all(text).unwrap();
    compressed.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    let mut compressed = zstd::Encoder::new(Vec::new(), 3).unwrap();
    // As the program `zstd` does by default.
    compressed.include_checksum(true).unwrap();
    compressed.write_all(text).unwrap();
    compressed.finish().unwrap()
}

/// The bytes before the end or the fault, and the fault.
fn decompressed(compression: Compression, compressed: &[u8]) -> (Vec<u8>, Option<String>) {
    let mut text = Vec::new();
    let mut bytes = compression.decompress(Box::new(Cursor::new(compressed.to_vec()))).unwrap();
    let fault = bytes.read_to_end(&mut text).err().map(|fault| fault.to_string());
    (text, fault)
}

/// Bytes that hardly compress.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[test]
fn a_compression_is_detected_by_the_extension_or_the_first_bytes() {
    assert_eq!(Compression::of("gz", b"id,name"), Some(Compression::Gzip));
    assert_eq!(Compression::of("csv", &gzip(b"x")), Some(Compression::Gzip));
    assert_eq!(Compression::of("", &zstd(b"x")), Some(Compression::Zstd));
    assert_eq!(Compression::of("csv", b"id,name"), None);
    assert_eq!(Compression::inner_path(Path::new("a/book.csv.gz"), "gz"), Path::new("a/book.csv"));
    assert_eq!(Compression::inner_path(Path::new("a/book.csv"), "csv"), Path::new("a/book.csv"));
}

#[test]
fn several_members_and_frames_are_read() {
    for (compression, pack) in [(Compression::Gzip, gzip as fn(&[u8]) -> Vec<u8>), (Compression::Zstd, zstd)] {
        let compressed = [pack(b"id\n1\n"), pack(b""), pack(b"2\n")].concat();
        assert_eq!(decompressed(compression, &compressed), (b"id\n1\n2\n".to_vec(), None));
    }
}

#[test]
fn bytes_before_a_damaged_place_are_returned_and_the_place_is_named() {
    let text = noise(1 << 20);
    for (compression, pack) in [(Compression::Gzip, gzip as fn(&[u8]) -> Vec<u8>), (Compression::Zstd, zstd)] {
        let whole = pack(&text);
        for keep in [whole.len() / 2, whole.len() - 1] {
            let (before, fault) = decompressed(compression, &whole[..keep]);
            let fault = fault.unwrap();
            assert!(before.len() > keep / 2 && text.starts_with(&before), "{compression} {keep}: {}", before.len());
            assert!(
                fault.starts_with(&format!("the {compression} file is damaged or truncated near its byte ")),
                "{fault}"
            );
        }
        let mut turned = whole.clone();
        let last = turned.len() - 6;
        turned[last] ^= 0x55;
        assert!(decompressed(compression, &turned).1.is_some(), "{compression}: a turned byte");
        let (before, fault) = decompressed(compression, &[whole, b"garbage".to_vec()].concat());
        assert_eq!(
            (before.len(), fault.is_some()),
            (text.len(), true),
            "{compression}: garbage after the end is not returned"
        );
    }
    assert!(decompressed(Compression::Gzip, b"").1.is_some());
    assert!(decompressed(Compression::Gzip, b"id,name\n").1.unwrap().contains("byte"));
}

#[test]
fn two_hundred_bytes_for_one_are_accepted_and_one_more_is_not() {
    let zeros = |count: u64| zstd(&vec![0; usize::try_from(count).unwrap()]);
    assert_eq!(decompressed(Compression::Zstd, &zeros(RATIO_FREE_BYTES)).1, None, "the first MiB is free");
    let (before, fault) = decompressed(Compression::Zstd, &zeros(RATIO_FREE_BYTES + 1));
    assert!(before.len() as u64 <= RATIO_FREE_BYTES);
    assert!(fault.unwrap().starts_with("expected at most 200 bytes out of each byte of the zstd file"));

    // Above the first MiB, each compressed byte allows 200.
    let compressed_bytes = 1 << 20;
    assert!(!is_too_dense(RATIO_MAX * compressed_bytes, compressed_bytes));
    assert!(is_too_dense(RATIO_MAX * compressed_bytes + 1, compressed_bytes));
    let start = noise(8 << 10);
    for (percent, refused) in [(98, false), (102, true)] {
        let count = start.len() as u64 * RATIO_MAX * percent / 100;
        let (_, fault) = decompressed(Compression::Zstd, &[zstd(&start), zeros(count)].concat());
        assert_eq!(fault.is_some(), refused, "{percent} %: {fault:?}");
    }
}

#[test]
fn a_gzip_bomb_stops_early() {
    let compressed = gzip(&vec![0; 64 << 20]);
    let (before, fault) = decompressed(Compression::Gzip, &compressed);
    assert!(before.len() < 2 << 20, "{}", before.len());
    assert!(fault.unwrap().contains("decompress it first"));
}
