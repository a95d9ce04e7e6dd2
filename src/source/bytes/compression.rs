//! Compressed sources: gzip (of any number of members) and zstd, detected by the file extension or the first bytes.
//! Decompression is limited to 200 bytes per compressed byte, after the first MiB, so that a small file cannot fill a
//! disk.
//!
//! Bytes decompressed before a fault are returned first: rows before a damaged place are read.

use super::Bytes;
use crate::source::{RATIO_FREE_BYTES, RATIO_MAX};
use flate2::bufread::MultiGzDecoder;
use std::{
    fmt,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

const COMPRESSED_BUFFER_BYTES: usize = 64 << 10;
/// Bytes decompressed at once. Up to this many may be lost before a damaged place.
const DECOMPRESSED_BYTES: usize = 16 << 10;

/// The compression of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zstd,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        })
    }
}

impl Compression {
    /// The compression indicated by the file extension, else by the first bytes.
    pub fn of(extension: &str, start: &[u8]) -> Option<Compression> {
        match extension {
            "gz" => Some(Compression::Gzip),
            "zst" => Some(Compression::Zstd),
            _ if start.starts_with(b"\x1f\x8b") => Some(Compression::Gzip),
            _ if start.starts_with(b"\x28\xb5\x2f\xfd") => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// The path of the decompressed file: `book.csv` for `book.csv.gz`; the path itself if it has another extension.
    pub fn inner_path(path: &Path, extension: &str) -> PathBuf {
        if matches!(extension, "gz" | "zst") { path.with_extension("") } else { path.to_owned() }
    }

    pub fn decompress(self, compressed: Bytes) -> io::Result<Bytes> {
        let compressed = Compressed {
            bytes: BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, compressed),
            taken: 0,
            broken: false,
        };
        let decoder = match self {
            Compression::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(compressed))),
            Compression::Zstd => Decoder::Zstd(Box::new(zstd::Decoder::with_buffer(compressed)?)),
        };
        Ok(Box::new(Decompressed { compression: self, decoder, bytes: 0 }))
    }
}

/// Why decompression stopped.
#[derive(Debug, thiserror::Error)]
enum CompressionFault {
    #[error(
        "the {compression} file is damaged or truncated near its byte {compressed_bytes} ({fault}); supply a complete \
         copy"
    )]
    Damaged {
        compression: Compression,
        compressed_bytes: u64,
        #[source]
        fault: io::Error,
    },
    #[error(
        "expected at most {RATIO_MAX} bytes out of each byte of the {compression} file, found more at its byte \
         {compressed_bytes}; if the file is correct, decompress it first"
    )]
    TooDense { compression: Compression, compressed_bytes: u64 },
}

/// The compressed bytes, counted when they are used rather than when they are read.
struct Compressed {
    bytes: BufReader<Bytes>,
    taken: u64,
    /// Reading the compressed bytes failed.
    broken: bool,
}

impl BufRead for Compressed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let filled = self.bytes.fill_buf();
        self.broken = filled.as_ref().is_err_and(|fault| fault.kind() != io::ErrorKind::Interrupted);
        filled
    }

    fn consume(&mut self, count: usize) {
        self.taken += count as u64;
        self.bytes.consume(count);
    }
}

impl Read for Compressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        buffer[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

enum Decoder {
    Gzip(Box<MultiGzDecoder<Compressed>>),
    Zstd(Box<zstd::Decoder<'static, Compressed>>),
}

impl Decoder {
    fn compressed(&self) -> &Compressed {
        match self {
            Decoder::Gzip(gzip) => gzip.get_ref(),
            Decoder::Zstd(zstd) => zstd.get_ref(),
        }
    }
}

/// Whether this many decompressed bytes are too many for this many compressed ones.
pub fn is_too_dense(decompressed_bytes: u64, compressed_bytes: u64) -> bool {
    decompressed_bytes > RATIO_FREE_BYTES.max(compressed_bytes.saturating_mul(RATIO_MAX))
}

struct Decompressed {
    compression: Compression,
    decoder: Decoder,
    bytes: u64,
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(DECOMPRESSED_BYTES);
        let buffer = &mut buffer[..length];
        let read = match &mut self.decoder {
            Decoder::Gzip(gzip) => gzip.read(buffer),
            Decoder::Zstd(zstd) => zstd.read(buffer),
        };
        let (compression, compressed) = (self.compression, self.decoder.compressed());
        let compressed_bytes = compressed.taken;
        match read {
            Ok(count) => {
                self.bytes += count as u64;
                if is_too_dense(self.bytes, compressed_bytes) {
                    return Err(io::Error::other(CompressionFault::TooDense { compression, compressed_bytes }));
                }
                Ok(count)
            }
            Err(fault) if compressed.broken || fault.kind() == io::ErrorKind::Interrupted => Err(fault),
            Err(fault) => Err(io::Error::other(CompressionFault::Damaged { compression, compressed_bytes, fault })),
        }
    }
}

#[cfg(test)]
#[path = "compression_tests.rs"]
mod tests;
