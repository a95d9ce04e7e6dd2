//! Reads CSV, JSON Lines, spreadsheets, Parquet and Arrow data, compressed or not, from a file or a stream, in splits. This module decides
//! what a record is: a row, or a failure with its position. Values stay unchanged (`0012`, `1.10`), nothing is
//! repaired, and memory does not grow with the input (for a spreadsheet it grows with its shared strings; see
//! `workbook`).
//!
//! Offsets and digests refer to the text as the record readers see it: decompressed, in UTF-8, for a spreadsheet the rows
//! of its sheet as CSV, and for Parquet and Arrow data the rows as JSON Lines. So a campaign resumes at the same place even if its input was compressed again, and a
//! changed value is detected in every format.
//!
//! | file | contents |
//! |---|---|
//! | `reader` | the source being read, split by split |
//! | `open` | how a file or a stream is opened, and what is refused |
//! | `detect` | detection of format and delimiter |
//! | `footer` | the last rows, which are not read |
//! | `resume` | comparison of the input with what was read before |
//! | `completed_line` | the rest of a line that was completed after it was read |
//! | `options`, `limits` | the options of a source, and its limits |
//! | `bytes/cursor` | the bytes: offset, line, running digest, stalls |
//! | `bytes/compression`, `bytes/encoding` | gzip and zstd; text encodings |
//! | `records/csv`, `records/jsonl` | records of CSV and of JSON Lines |
//! | `records/header` | the column names |
//! | `records/json_object` | lossless JSON objects |
//! | `records/shapes` | empty rows, rows of several lines and hidden rows, counted |
//! | `records/content`, `records/damaged` | text or cells; what is kept of a record that is not a row |
//! | `xlsx/workbook` | spreadsheets, and which sheet is read |
//! | `xlsx/preflight`, `xlsx/cell_ref` | the limits of a spreadsheet's contents, and which cell references are valid |
//! | `xlsx/hidden` | which rows of a sheet are hidden |
//! | `xlsx/csv_text` | the rows of a sheet as CSV |
//! | `sample`, `sample/table`, `sample/spread` | a sample of a source; where its table is; rows from its middle |
//! | `bytes/in_thread` | a file that is read in a thread |
//! | `parquet`, `arrow_stream` | Parquet files; streams and files of Arrow data |

mod arrow_stream;
mod bytes;
mod completed_line;
mod detect;
mod error;
mod footer;
mod limits;
mod open;
mod options;
mod parquet;
mod reader;
mod records;
mod resume;
pub mod sample;
mod xlsx;

pub use arrow_stream::{ArrowFault, STREAM_START as ARROW_STREAM_START};
pub use bytes::encoding::Encoding;
pub use detect::Format;
pub use error::SourceError;
pub use limits::{
    COLUMNS_MAX, FIELD_BYTES_MAX, JSON_DEPTH_MAX, JSON_VALUES_MAX, RATIO_FREE_BYTES, RATIO_MAX, ROW_BYTES_MAX,
    SPLIT_BYTES_MAX, SPLIT_ROWS_MAX, SPLIT_VALUES_MAX, SPLIT_WAIT, UNENDED_BYTES_MAX,
};
pub use options::{Origin, SourceOptions};
pub use parquet::fault::ParquetFault;
pub use parquet::table::batches as parquet_batches;
pub use reader::{SourceReader, Split};
pub use records::header::{Columns, HeaderLine};
pub use records::shapes::{HiddenRows, RowShapes};
pub use resume::KnownSource;
pub use xlsx::fault::SheetFault;
