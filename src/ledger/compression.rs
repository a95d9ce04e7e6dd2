//! Compression of split rows and answers in the ledger. Each thread keeps its zstd contexts, because creating one costs
//! more than compressing most answers.

use std::{cell::RefCell, io};
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe::get_frame_content_size,
};

/// The maximum size of an answer, in bytes: a reply has at most 32 MiB, and each invalid byte becomes three bytes of
/// text.
pub(super) const ANSWER_BYTES_MAX: usize = 96 << 20;
/// The maximum size of the rows of a split, in bytes: 4 MiB and one row of 16 MiB, and JSON may escape each character
/// as six.
pub(super) const ROWS_BYTES_MAX: usize = 256 << 20;

/// The compression level.
#[derive(Debug, Clone, Copy)]
pub(super) enum Level {
    Rows = 1,
    Answer = 3,
}

thread_local! {
    static COMPRESSOR: RefCell<Compressor<'static>> = RefCell::new(Compressor::default());
    static DECOMPRESSOR: RefCell<Decompressor<'static>> = RefCell::new(Decompressor::default());
}

pub(super) fn compress(bytes: &[u8], level: Level) -> Vec<u8> {
    let compressed = COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.set_compression_level(level as i32)?;
        compressor.include_checksum(true)?;
        compressor.compress(bytes)
    });
    compressed.expect("compressing memory to memory does not fail")
}

/// Decompresses the output of [`compress`].
///
/// # Errors
/// The bytes are not valid, or the result would be larger than `bytes_max`.
pub(super) fn decompress(compressed: &[u8], bytes_max: usize) -> io::Result<Vec<u8>> {
    let length = content_size(compressed, bytes_max)?;
    DECOMPRESSOR.with_borrow_mut(|decompressor| decompressor.decompress(compressed, length))
}

/// The size of what a frame restores to. It comes from bytes that may be damaged, so it is checked before memory is
/// allocated.
///
/// # Errors
/// The frame does not state its size, or the size is larger than `bytes_max`.
pub(super) fn content_size(compressed: &[u8], bytes_max: usize) -> io::Result<usize> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    let length = get_frame_content_size(compressed).map_err(|_| damaged())?.ok_or_else(damaged)?;
    usize::try_from(length).ok().filter(|length| *length <= bytes_max).ok_or_else(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_data_is_restored_and_damage_is_an_error() {
        for text in [String::new(), "one answer".to_owned(), "0".repeat(3 << 20)] {
            for level in [Level::Rows, Level::Answer] {
                let compressed = compress(text.as_bytes(), level);
                assert_eq!(decompress(&compressed, ROWS_BYTES_MAX).unwrap(), text.as_bytes());
                assert!(decompress(&compressed[..compressed.len() - 1], ROWS_BYTES_MAX).is_err());
            }
        }
        assert!(decompress(b"", 9).is_err() && decompress(b"no frame of zstd", 9).is_err());
        // A single-segment frame whose header states a content size of 8 bytes that are all 0xff.
        let endless = [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0][..], &[0xff; 8], &[1, 0, 0]].concat();
        assert!(decompress(&endless, ROWS_BYTES_MAX).is_err());
    }

    #[test]
    fn content_above_the_limit_is_damage_and_content_at_the_limit_is_not() {
        let compressed = compress(b"12345", Level::Rows);
        assert_eq!(decompress(&compressed, 5).unwrap(), b"12345");
        assert_eq!(decompress(&compressed, 6).unwrap(), b"12345");
        assert!(decompress(&compressed, 4).is_err());
    }
}
