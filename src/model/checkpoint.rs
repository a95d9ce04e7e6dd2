//! Where a split ended: what the reader needs to continue after it, and to see that what it read has not changed.

use serde::{Deserialize, Serialize};

/// Where a split ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Bytes of the source up to here: of the text in UTF-8, unpacked; of a sheet, of its rows as CSV.
    pub end_offset: u64,
    /// The physical line on which the next byte stands, from 1.
    pub end_line: u64,
    /// The number the next record will have, from 1.
    pub next_row_number: u64,
    /// SHA-256 of the bytes `0..end_offset`.
    pub sha256: [u8; 32],
}
