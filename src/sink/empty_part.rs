//! The part of a check that has no results yet. It has all columns and no row, so that a query of the check finds a table.
//! It stays when there are other parts: a part that was published once is removed only by a purge.

use super::{DatasetKind, OutputFormat, Part, Schema, SinkError, TableWriter};
use std::path::Path;

/// The number of the part. Those with rows begin at 1.
pub(super) const EMPTY_PART_NUMBER: u64 = 0;

/// The path of the part in an output folder.
fn empty_part_path(kind: DatasetKind, check: &str, format: OutputFormat) -> String {
    format!("{}/{check}/part-{EMPTY_PART_NUMBER:06}.{}", kind.as_str(), format.extension())
}

/// The empty part of the results or answers of a check, if the check has no other part or already has an empty one. It is written if it is missing.
///
/// # Errors
/// It cannot be written, or another file has its name.
pub fn empty_part(
    out: &Path,
    kind: DatasetKind,
    check: &str,
    format: OutputFormat,
    schema: &Schema,
    has_others: bool,
) -> Result<Option<Part>, SinkError> {
    let path = empty_part_path(kind, check, format);
    let file = out.join(&path);
    if has_others && std::fs::symlink_metadata(&file).is_err() {
        return Ok(None);
    }
    // The same bytes as before, so an existing file stays.
    let written = TableWriter::create(&file, format, schema)?.finish()?;
    Ok(Some(Part::of(path, written)))
}
