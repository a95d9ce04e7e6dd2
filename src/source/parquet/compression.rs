//! The decompression of a page into exactly the bytes that its header states.

use super::{fault::ParquetFault, snappy};
use flate2::read::MultiGzDecoder;
use parquet::basic::Compression;
use std::io::Read;

const DAMAGED: ParquetFault = ParquetFault::Damaged { what: "compressed data" };

/// Refuses a compression that is not supported.
pub fn check(compression: Compression) -> Result<(), ParquetFault> {
    match compression {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_) => Ok(()),
        other => {
            let name = other.to_string();
            let found = name.split('(').next().unwrap_or_default().to_lowercase();
            Err(ParquetFault::Compression { found })
        }
    }
}

/// Decompresses a part of a page. The caller has limited `length`.
pub fn decompress(compression: Compression, bytes: &[u8], length: usize) -> Result<Vec<u8>, ParquetFault> {
    // A page without values may have no bytes, not even those of an empty stream.
    if length == 0 {
        return Ok(Vec::new());
    }
    let out = match compression {
        Compression::UNCOMPRESSED => bytes.to_vec(),
        Compression::SNAPPY => snappy::decompress(bytes, length).ok_or(DAMAGED)?,
        Compression::GZIP(_) => up_to(MultiGzDecoder::new(bytes), length)?,
        Compression::ZSTD(_) => zstd::bulk::decompress(bytes, length).map_err(|_| DAMAGED)?,
        other => return check(other).and(Err(DAMAGED)),
    };
    if out.len() == length { Ok(out) } else { Err(DAMAGED) }
}

/// Reads at most one byte more than `length`.
fn up_to(reader: impl Read, length: usize) -> Result<Vec<u8>, ParquetFault> {
    let mut out = Vec::with_capacity(length);
    reader.take(length as u64 + 1).read_to_end(&mut out).map_err(|_| DAMAGED)?;
    Ok(out)
}
