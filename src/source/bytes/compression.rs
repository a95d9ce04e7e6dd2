//! Compressed sources: gzip (of any number of members) and zstd, told by the end of the name or by the first bytes. It decides
//! how far unpacking may go: 200 bytes for each packed one, after a first MiB, so that a small file cannot fill a disk.
//!
//! What was decompressed before a fault is given first: rows before a damaged place are rows.

use super::Bytes;
use crate::source::{RATIO_FREE_BYTES, RATIO_MAX};
use flate2::bufread::MultiGzDecoder;
use std::{
    fmt,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

const COMPRESSED_BUFFER_BYTES: usize = 64 << 10;
/// Bytes decompressed at once: so many may be lost before a damaged place.
const UNPACKED_BYTES: usize = 16 << 10;

/// How a source is packed.
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
    /// By the end of the name, else by the first bytes.
    pub fn of(ending: &str, start: &[u8]) -> Option<Compression> {
        match ending {
            "gz" => Some(Compression::Gzip),
            "zst" => Some(Compression::Zstd),
            _ if start.starts_with(b"\x1f\x8b") => Some(Compression::Gzip),
            _ if start.starts_with(b"\x28\xb5\x2f\xfd") => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// The name of what is packed: `book.csv` for `book.csv.gz`, and the name itself where it does not say.
    pub fn inner_path(path: &Path, ending: &str) -> PathBuf {
        if matches!(ending, "gz" | "zst") { path.with_extension("") } else { path.to_owned() }
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
        Ok(Box::new(Unpacked { compression: self, decoder, bytes: 0 }))
    }
}

/// What stops unpacking.
#[derive(Debug, thiserror::Error)]
enum PackingFault {
    #[error("the {compression} file is damaged or cut off near its byte {packed_bytes} ({fault}); bring a whole copy")]
    Damaged {
        compression: Compression,
        packed_bytes: u64,
        #[source]
        fault: io::Error,
    },
    #[error(
        "expected at most {RATIO_MAX} bytes out of each byte of the {compression} file, found more by its byte \
         {packed_bytes}; if it is what it should be, unpack it first"
    )]
    TooDense { compression: Compression, packed_bytes: u64 },
}

/// The packed bytes, counted as they are used and not as they are read.
struct Compressed {
    bytes: BufReader<Bytes>,
    taken: u64,
    /// The reading itself failed.
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

/// Whether so many bytes are too many out of so few.
pub fn is_too_dense(unpacked_bytes: u64, packed_bytes: u64) -> bool {
    unpacked_bytes > RATIO_FREE_BYTES.max(packed_bytes.saturating_mul(RATIO_MAX))
}

struct Unpacked {
    compression: Compression,
    decoder: Decoder,
    bytes: u64,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(UNPACKED_BYTES);
        let buffer = &mut buffer[..room];
        let read = match &mut self.decoder {
            Decoder::Gzip(gzip) => gzip.read(buffer),
            Decoder::Zstd(zstd) => zstd.read(buffer),
        };
        let (compression, compressed) = (self.compression, self.decoder.compressed());
        let packed_bytes = compressed.taken;
        match read {
            Ok(count) => {
                self.bytes += count as u64;
                if is_too_dense(self.bytes, packed_bytes) {
                    return Err(io::Error::other(PackingFault::TooDense { compression, packed_bytes }));
                }
                Ok(count)
            }
            Err(fault) if compressed.broken || fault.kind() == io::ErrorKind::Interrupted => Err(fault),
            Err(fault) => Err(io::Error::other(PackingFault::Damaged { compression, packed_bytes, fault })),
        }
    }
}

#[cfg(test)]
#[path = "compression_tests.rs"]
mod tests;
