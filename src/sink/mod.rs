//! Writes the outputs, as files that are complete or absent. This module decides what a reader may rely on: a part gets
//! its name only when it is complete and on disk, the same rows give the same bytes, and the manifest names the valid
//! parts.
//!
//! | file | noun |
//! |---|---|
//! | `table` | schema, column, cell |
//! | `writer` | a table being written |
//! | `parquet_rows`, `jsonl_rows`, `csv_rows` | its formats |
//! | `file_format` | which of them |
//! | `record_batches` | rows as the batches of Parquet and of Arrow streams |
//! | `arrow_rows` | rows as an Arrow stream |
//! | `spreadsheet_text` | text that no spreadsheet program takes for a formula |
//! | `workbook` | tables as the sheets of one workbook |
//! | `new_file` | a file that appears complete |
//! | `datasets` | the columns of results, failures, pending and skipped, with their cells |
//! | `ddl` | the same as tables of a database |
//! | `dataset_rows` | one row of each |
//! | `empty_part` | the part of a check without results |
//! | `column_name` | the name of a column in the outputs |
//! | `manifest`, `totals` | the valid parts, and the counts that must add up |
//! | `published` | a folder that was published, to be read |
//! | `claim` | the ledger that an output folder belongs to |
//! | `images` | images of answers as files |
//! | `folder` | the output folder: access rights, README, leftovers |

mod arrow_rows;
mod claim;
mod column_name;
mod csv_rows;
mod dataset_rows;
mod datasets;
mod ddl;
mod empty_part;
mod error;
mod file_format;
mod folder;
mod images;
mod jsonl_rows;
mod manifest;
mod new_file;
mod parquet_rows;
mod published;
mod record_batches;
mod snapshot;
mod spreadsheet_text;
mod table;
mod totals;
mod workbook;
mod writer;

pub use arrow_rows::ArrowRows;
pub use claim::{Owner, claim, claimed_by, refuse_inside_another, verify};
pub use column_name::column_name;
pub use dataset_rows::{
    AnswerSource, FailureRow, Head, OutputMode, PendingReason, PendingRow, ResultRow, SkippedRow, result_id,
};
pub use datasets::{
    AnswerOutput, HEAD_COLUMNS, ResultForm, VERDICT_COLUMNS, answers_schema, failures_schema, kind_of, pending_schema,
    results_schema, skipped_schema,
};
pub use ddl::{Engine, NewTable, create_table};
pub use empty_part::empty_part;
pub use error::SinkError;
pub use file_format::FileFormat;
pub use folder::{
    FAILURES_CSV, FAILURES_CSV_TEMPORARY, has_other_results, is_published, next_snapshot, remove_published, set_aside,
    sweep, used, write_readme,
};
pub use images::{ImageFile, ImageOutput, image_files, listed, write_image};
pub use jsonl_rows::JsonlRows;
pub use manifest::{
    ColumnType, Dataset, DatasetKind, LedgerMark, MANIFEST_NAME, MANIFEST_VERSION, Manifest, Part, Selected,
};
pub use new_file::{NewFile, create_folder};
pub use published::{PublishedFolder, jsonl_cells};
pub use snapshot::{SNAPSHOT_ROWS_MAX, SnapshotWriter};
pub use spreadsheet_text::{BYTE_ORDER_MARK, harmless, unmarked};
pub use table::{Column, ColumnOf, Kind, OutputFormat, Schema, TableCell};
pub use totals::{AskCounts, CheckTotals, InputTotals, MappingTotals, SourceTotals};
pub use workbook::{CELL_CHARACTERS_MAX, Workbook, WrittenWorkbook};
pub use writer::{TableWriter, WrittenFile, write_file};
