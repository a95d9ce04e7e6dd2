//! What the ledger keeps packed: the rows of a split and the answers. A thread keeps its zstd contexts, for making one
//! costs more than most answers do.

use std::{cell::RefCell, io};
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe::get_frame_content_size,
};

/// Bytes of an answer, at most: a reply has 32 MiB, and each byte that is not text becomes three.
pub(super) const ANSWER_BYTES_MAX: usize = 96 << 20;
/// Bytes of the rows of a split, at most: 4 MiB and one row of 16 MiB, each character of which JSON may spell with six.
pub(super) const ROWS_BYTES_MAX: usize = 256 << 20;

/// How much of the time to spend on how little room.
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
        compressor.compress(bytes)
    });
    compressed.expect("compressing memory to memory does not fail")
}

/// What was packed.
///
/// # Errors
/// These bytes are not what [`pack`] gave.
pub(super) fn decompress(compressed: &[u8], bytes_max: usize) -> io::Result<Vec<u8>> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    let length = get_frame_content_size(compressed).map_err(|_| damaged())?.ok_or_else(damaged)?;
    let length = usize::try_from(length).map_err(|_| damaged())?;
    // Memory is not given on the word of bytes that may be damaged.
    if length > bytes_max {
        return Err(damaged());
    }
    DECOMPRESSOR.with_borrow_mut(|decompressor| decompressor.decompress(compressed, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_text_decompresses_and_damage_is_reported() {
        for text in [String::new(), "one answer".to_owned(), "0".repeat(3 << 20)] {
            for level in [Level::Rows, Level::Answer] {
                let compressed = compress(text.as_bytes(), level);
                assert_eq!(decompress(&compressed, ROWS_BYTES_MAX).unwrap(), text.as_bytes());
                assert!(decompress(&compressed[..compressed.len() - 1], ROWS_BYTES_MAX).is_err());
            }
        }
        assert!(decompress(b"", 9).is_err() && decompress(b"no frame of zstd", 9).is_err());
        // A frame of one segment whose header states a length of 8 bytes that are all ones.
        let endless = [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0][..], &[0xff; 8], &[1, 0, 0]].concat();
        assert!(decompress(&endless, ROWS_BYTES_MAX).is_err());
    }
}
