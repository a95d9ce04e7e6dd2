//! Why a Parquet file cannot be read.

use crate::source::{COLUMNS_MAX, JSON_DEPTH_MAX};
use std::io;

/// Why a Parquet file, or the rest of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ParquetFault {
    #[error(
        "expected an intact Parquet file, found one whose {what} is damaged or incomplete; write the file again, or \
         convert it to CSV or JSON Lines"
    )]
    Damaged { what: &'static str },
    #[error("expected a Parquet file without encryption, found an encrypted one; save a copy without encryption")]
    Encrypted,
    #[error(
        "expected a Parquet file without compression, or with zstd, snappy or gzip, found one with {found}; write it \
         again with one of these"
    )]
    Compression { found: String },
    #[error(
        "column `{column}`: values of the type {found} are not supported; convert the column to text, or remove it"
    )]
    Type { column: String, found: String },
    #[error("expected columns, found none")]
    NoColumns,
    #[error("expected at most {COLUMNS_MAX} columns, found {found}")]
    TooManyColumns { found: usize },
    #[error("columns {first} and {second} have the same name; rename one of them")]
    DuplicateColumn { first: usize, second: usize },
    #[error("expected at most {JSON_DEPTH_MAX} levels of nested columns, found more")]
    TooDeep,
    #[error("expected {what} of at most {max}, found more; write the file again with smaller row groups and pages")]
    TooLarge { what: &'static str, max: &'static str },
    #[error("reading the Parquet file failed: {0}")]
    Io(io::Error),
    /// The parquet crate panics at some damaged pages.
    #[error("the Parquet file cannot be decoded, so it is probably damaged; write it again, or convert it to CSV")]
    BrokeOff,
}

impl From<io::Error> for ParquetFault {
    fn from(fault: io::Error) -> ParquetFault {
        match fault.kind() {
            io::ErrorKind::UnexpectedEof => ParquetFault::Damaged { what: "end" },
            _ => ParquetFault::Io(fault),
        }
    }
}
