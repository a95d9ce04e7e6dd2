//! Read: CSV, JSON lines and spreadsheets, packed or not, from a file or a stream, in splits. The room's one decision is
//! what a record is: a row, or a failure with its position. Values stay what they were (`0012`, `1.10`), nothing is
//! repaired, and memory does not grow with the input (of a spreadsheet, with its distinct texts; see `workbook`).
//!
//! Offsets and digests are those of the text as the readers of records see it: unpacked, in UTF-8, and of a spreadsheet the
//! rows of its sheet as CSV. So a book goes on where it was though it was packed anew, and a changed value is found in
//! each form.
//!
//! | file | noun |
//! |---|---|
//! | `reader` | the source being read, split by split |
//! | `known` | what was read before, compared with what is there now |
//! | `rest` | the rest of a line that was completed after it was read |
//! | `door` | what comes in, and what is refused |
//! | `packing` | gzip and zstd |
//! | `encoding` | how text is written |
//! | `workbook` | a spreadsheet, and which of its sheets is read |
//! | `measure` | how large a spreadsheet may be inside |
//! | `place` | the cells and ranges there may be in it |
//! | `sheet` | the rows of a sheet as CSV |
//! | `letters` | what the bytes stand for |
//! | `input` | the bytes: offset, line, running digest, stalls |
//! | `layout` | format and delimiter |
//! | `header` | the names of the columns |
//! | `delimited` | records of CSV |
//! | `lines` | records of JSON lines |
//! | `exact_json` | a JSON object without loss |
//! | `damage` | what is kept of a record that cannot be a row |

mod bytes;
mod damage;
mod delimited;
mod door;
mod encoding;
mod error;
mod exact_json;
mod header;
mod input;
mod known;
mod layout;
mod letters;
mod lines;
mod measure;
mod options;
mod packing;
mod place;
mod reader;
mod rest;
mod sheet;
mod sheet_fault;
mod workbook;

pub use encoding::Encoding;
pub use error::SourceError;
pub use header::{Columns, HeaderLine};
pub use known::Known;
pub use layout::Format;
pub use options::{Origin, SourceOptions};
pub use reader::{SourceReader, Split};
pub use sheet_fault::SheetFault;

/// Records of one split, at most.
pub const SPLIT_ROWS_MAX: usize = 1_000;
/// Bytes of input after which a split ends with the record under way.
pub const SPLIT_BYTES_MAX: u64 = 4 << 20;
/// How long a split of a slow stream waits for more records after its first.
pub const SPLIT_WAIT: std::time::Duration = std::time::Duration::from_secs(1);
/// Bytes of one CSV cell, or of one JSON value of a row, at most.
pub const FIELD_BYTES_MAX: usize = 1 << 20;
/// Bytes unpacked for each packed byte, at most, after the first [`RATIO_FREE_BYTES`].
pub const RATIO_MAX: u64 = 200;
/// Bytes that may be unpacked whatever the ratio.
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

/// Ctrl-Z, with which DOS ends a text: alone behind the last line end it is no row; anywhere else it is part of a value.
const END_MARK: u8 = 0x1a;

/// How the JSON library marks texts of its own. An object with such a name in it is read back as something else, from the
/// ledger and from the outputs, so no column may be called so.
const NAME_RESERVED: &str = "$serde_json::private::";

/// What a reader of records came to.
enum Step {
    Record(crate::model::Record),
    /// Nothing more before the deadline; what was read of the next record is kept.
    Stalled,
    /// The input is over.
    Ended,
}
