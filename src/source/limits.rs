//! Limits of an input, and of a split.

/// Maximum records in a split.
pub const SPLIT_ROWS_MAX: usize = 1_000;
/// Bytes of input after which a split ends with the current record.
pub const SPLIT_BYTES_MAX: u64 = 4 << 20;
/// How long a split of a slow stream waits for more records after the first one.
pub const SPLIT_WAIT: std::time::Duration = std::time::Duration::from_secs(1);
/// Maximum bytes of one CSV cell, or of one JSON value of a row.
pub const FIELD_BYTES_MAX: usize = 1 << 20;
/// Maximum decompressed bytes per compressed byte, after the first [`RATIO_FREE_BYTES`].
pub const RATIO_MAX: u64 = 200;
/// Bytes that may be decompressed at any ratio.
pub const RATIO_FREE_BYTES: u64 = 1 << 20;
/// Maximum raw bytes of one record, without its line end.
pub const ROW_BYTES_MAX: u64 = 16 << 20;
/// Bytes after which a record that has not ended stops the reading. A shorter one above [`ROW_BYTES_MAX`] fails its
/// row, and the rest of it is skipped.
pub const UNENDED_BYTES_MAX: u64 = 256 << 20;
/// Maximum columns of a source.
pub const COLUMNS_MAX: usize = 1_024;
/// Maximum values in a JSON row: the row itself, its lists and objects, and everything in them. In memory a value takes
/// up to 200 bytes, however short its text is.
pub const JSON_VALUES_MAX: usize = 100_000;
/// Values of JSON rows after which a split ends with the current record.
pub const SPLIT_VALUES_MAX: usize = 50_000;
/// Maximum nesting depth of lists and objects in a JSON row, including the row itself.
pub const JSON_DEPTH_MAX: usize = 64;
