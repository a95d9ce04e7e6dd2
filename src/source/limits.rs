//! How large an input may be, and where a split ends.

/// Records of one split, at most.
pub const SPLIT_ROWS_MAX: usize = 1_000;
/// Bytes of input after which a split ends with the record under way.
pub const SPLIT_BYTES_MAX: u64 = 4 << 20;
/// How long a split of a slow stream waits for more records after its first.
pub const SPLIT_WAIT: std::time::Duration = std::time::Duration::from_secs(1);
/// Bytes of one CSV cell, or of one JSON value of a row, at most.
pub const FIELD_BYTES_MAX: usize = 1 << 20;
/// Bytes decompressed for each packed byte, at most, after the first [`RATIO_FREE_BYTES`].
pub const RATIO_MAX: u64 = 200;
/// Bytes that may be decompressed whatever the ratio.
pub const RATIO_FREE_BYTES: u64 = 1 << 20;
/// Raw bytes of one record without its line end, at most.
pub const ROW_BYTES_MAX: u64 = 16 << 20;
/// Bytes after which a record that has not ended stops the reading: a shorter one above [`ROW_BYTES_MAX`] is a failure of
/// its row, and its rest is skipped.
pub const UNENDED_BYTES_MAX: u64 = 256 << 20;
/// Columns of a source, at most.
pub const COLUMNS_MAX: usize = 1_024;
/// Values in a JSON row, at most: the row itself, its lists and objects, and all that is in them. In memory a value takes up
/// to 200 bytes, however short its text is.
pub const JSON_VALUES_MAX: usize = 100_000;
/// Values of JSON rows after which a split ends with the record under way.
pub const SPLIT_VALUES_MAX: usize = 50_000;
/// Lists and objects inside one another in a JSON row, the row itself counted, at most.
pub const JSON_DEPTH_MAX: usize = 64;
