//! The end of a split: what the reader needs to continue after it, and to detect that the part before it has changed.

use serde::{Deserialize, Serialize};

/// The end of a split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Bytes of the source up to here: of the decompressed text in UTF-8, or of the rows of a sheet as CSV.
    pub end_offset: u64,
    /// The physical line of the next byte, from 1.
    pub end_line: u64,
    /// The number of the next record, from 1.
    pub next_row_number: u64,
    /// SHA-256 of the bytes `0..end_offset`.
    pub sha256: [u8; 32],
}
