//! Writes the outputs, as files that are complete or absent. This module decides what a reader may rely on: a part gets
//! its name only when it is complete and on disk, the same rows give the same bytes, and the manifest names the valid
//! parts.
//!
//! | file | noun |
//! |---|---|
//! | `table` | schema, column, cell |
//! | `writer` | a table being written |
//! | `parquet_rows`, `jsonl_rows` | its two formats |
//! | `new_file` | a file that appears complete |
//! | `datasets` | the columns of results, failures, pending and skipped |
//! | `dataset_rows` | one row of each |
//! | `column_name` | the name of a column in the outputs |
//! | `manifest`, `totals` | the valid parts, and the counts that must add up |
//! | `claim` | the ledger that an output folder belongs to |
//! | `images` | images of answers as files |
//! | `folder` | the output folder: access rights, README, leftovers |

mod claim;
mod column_name;
mod dataset_rows;
mod datasets;
mod error;
mod folder;
mod images;
mod jsonl_rows;
mod manifest;
mod new_file;
mod parquet_rows;
mod snapshot;
mod table;
mod totals;
mod writer;

pub use claim::{Owner, claim, claimed_by, refuse_inside_another, verify};
pub use column_name::column_name;
pub use dataset_rows::{
    AnswerSource, FailureRow, Head, OutputMode, PendingReason, PendingRow, ResultRow, SkippedRow, result_id,
};
pub use datasets::{failures_schema, pending_schema, results_schema, skipped_schema};
pub use error::SinkError;
pub use folder::{has_other_results, is_published, next_snapshot, set_aside, sweep, used, write_readme};
pub use images::{ImageFile, ImageOutput, image_files, write_image};
pub use jsonl_rows::JsonlRows;
pub use manifest::{ColumnType, Dataset, DatasetKind, MANIFEST_NAME, MANIFEST_VERSION, Manifest, Part};
pub use new_file::{create_folder, sync_folder};
pub use snapshot::{SNAPSHOT_ROWS_MAX, SnapshotWriter};
pub use table::{Column, Kind, OutputFormat, Schema, TableCell};
pub use totals::{CheckTotals, InputTotals, SourceTotals};
pub use writer::{TableWriter, WrittenFile};
