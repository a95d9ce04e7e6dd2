//! The datasets of an export as files: parts as in the campaign, or one file for each dataset. A dataset without a row has
//! one empty file, so that a query always finds its columns.

use super::table::Table;
use crate::{
    error::Error,
    pipeline::publish::PART_ROWS_MAX,
    sink::{DatasetKind, FileFormat, Part, SNAPSHOT_ROWS_MAX, Schema, TableCell, TableWriter},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The files being written.
pub struct PartFiles {
    out: PathBuf,
    format: FileFormat,
    is_single: bool,
    datasets: BTreeMap<Table, Parts>,
}

/// The files of one dataset.
struct Parts {
    kind: DatasetKind,
    check: Option<String>,
    schema: Schema,
    parts: Vec<Part>,
    /// The path, the rows and the writer of the file being written.
    open: Option<(String, u64, TableWriter)>,
}

impl PartFiles {
    pub fn new(out: &Path, format: FileFormat, is_single: bool) -> PartFiles {
        PartFiles { out: out.to_owned(), format, is_single, datasets: BTreeMap::new() }
    }

    /// Adds a dataset. `check` is the name of the check of results.
    pub fn add(&mut self, table: Table, check: Option<&str>, schema: Schema) {
        let (kind, check) = (table.kind(), check.map(str::to_owned));
        self.datasets.insert(table, Parts { kind, check, schema, parts: Vec::new(), open: None });
    }

    /// Adds a row to a dataset.
    ///
    /// # Errors
    /// A storage error.
    pub fn write(&mut self, table: Table, row: Vec<TableCell>) -> Result<(), Error> {
        let Some(parts) = self.datasets.get_mut(&table) else { return Ok(()) };
        let rows_max = match (self.is_single, parts.kind) {
            (true, _) => u64::MAX,
            (false, DatasetKind::Results) => PART_ROWS_MAX,
            (false, _) => SNAPSHOT_ROWS_MAX,
        };
        parts.write(&self.out, self.format, self.is_single, rows_max, Some(row))
    }

    /// Ends all files, and returns the parts of each dataset, in order.
    ///
    /// # Errors
    /// A storage error.
    pub fn finish(self) -> Result<Vec<(Table, Schema, Vec<Part>)>, Error> {
        let mut datasets = Vec::new();
        for (table, mut parts) in self.datasets {
            if parts.parts.is_empty() && parts.open.is_none() {
                parts.write(&self.out, self.format, self.is_single, 1, None)?;
            }
            parts.end_part()?;
            datasets.push((table, parts.schema, parts.parts));
        }
        Ok(datasets)
    }
}

impl Parts {
    /// Adds a row, or only begins a file.
    fn write(
        &mut self,
        out: &Path,
        format: FileFormat,
        is_single: bool,
        rows_max: u64,
        row: Option<Vec<TableCell>>,
    ) -> Result<(), Error> {
        if self.open.as_ref().is_some_and(|(_, rows, _)| *rows == rows_max) {
            self.end_part()?;
        }
        if self.open.is_none() {
            let path = self.path(format, is_single);
            let writer = TableWriter::create(&out.join(&path), format, &self.schema)?;
            self.open = Some((path, 0, writer));
        }
        if let (Some((_, rows, writer)), Some(row)) = (&mut self.open, row) {
            *rows += 1;
            writer.write_row(row)?;
        }
        Ok(())
    }

    /// The path of the next file.
    fn path(&self, format: FileFormat, is_single: bool) -> String {
        let folder = match &self.check {
            Some(check) => format!("{}/{check}", self.kind.as_str()),
            None => self.kind.as_str().to_owned(),
        };
        let extension = format.extension();
        if is_single {
            format!("{folder}.{extension}")
        } else {
            format!("{folder}/part-{:06}.{extension}", self.parts.len() + 1)
        }
    }

    fn end_part(&mut self) -> Result<(), Error> {
        if let Some((path, _, writer)) = self.open.take() {
            self.parts.push(Part::of(path, writer.finish()?));
        }
        Ok(())
    }
}
