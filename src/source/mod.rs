//! Read: CSV, JSON lines and spreadsheets, packed or not, from a file or a stream, in splits. The room's one decision is
//! what a record is: a row, or a failure with its position. Values stay what they were (`0012`, `1.10`), nothing is
//! repaired, and memory does not grow with the input (of a spreadsheet, with its distinct texts; see `workbook`).
//!
//! Offsets and digests are those of the text as the readers of records see it: decompressed, in UTF-8, and of a spreadsheet the
//! rows of its sheet as CSV. So a book goes on where it was though it was packed anew, and a changed value is found in
//! each form.
//!
//! | file | what it holds |
//! |---|---|
//! | `reader` | the source being read, split by split |
//! | `open` | how a file or a stream is opened, and what is refused |
//! | `detect` | format and delimiter |
//! | `resume` | what was read before, compared with what is there now |
//! | `completed_line` | the rest of a line that was completed after it was read |
//! | `options`, `limits` | what the user says about a source, and how large it may be |
//! | `bytes/cursor` | the bytes: offset, line, running digest, stalls |
//! | `bytes/compression`, `bytes/encoding` | gzip and zstd; how text is encoded |
//! | `records/csv`, `records/jsonl` | records of CSV and of JSON lines |
//! | `records/header` | the names of the columns |
//! | `records/json_object` | a JSON object without loss |
//! | `records/content`, `records/damaged` | text or cells; what is kept of a record that cannot be a row |
//! | `xlsx/workbook` | a spreadsheet, and which of its sheets is read |
//! | `xlsx/preflight`, `xlsx/cell_ref` | how large a spreadsheet may be inside, and which cell references are valid |
//! | `xlsx/csv_text` | the rows of a sheet as CSV |

mod bytes;
mod completed_line;
mod detect;
mod error;
mod limits;
mod open;
mod options;
mod reader;
mod records;
mod resume;
mod xlsx;

pub use bytes::encoding::Encoding;
pub use detect::Format;
pub use error::SourceError;
pub use limits::{
    COLUMNS_MAX, FIELD_BYTES_MAX, JSON_DEPTH_MAX, JSON_VALUES_MAX, RATIO_FREE_BYTES, RATIO_MAX, ROW_BYTES_MAX,
    SPLIT_BYTES_MAX, SPLIT_ROWS_MAX, SPLIT_VALUES_MAX, SPLIT_WAIT, UNENDED_BYTES_MAX,
};
pub use options::{Origin, SourceOptions};
pub use reader::{SourceReader, Split};
pub use records::header::{Columns, HeaderLine};
pub use resume::KnownSource;
pub use xlsx::fault::SheetFault;
