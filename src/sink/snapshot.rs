//! A snapshot being written: one table in one or more parts. A part ends after a fixed number of rows, because
//! row-group metadata is buffered until the footer is written.

use super::{DatasetKind, OutputFormat, Part, Schema, SinkError, TableCell, TableWriter};
use std::path::Path;

/// The most rows in one part of a snapshot.
pub const SNAPSHOT_ROWS_MAX: u64 = 250_000;

/// A snapshot being written. Its parts appear one after another, and are valid once a manifest names them.
pub struct SnapshotWriter<'a> {
    out: &'a Path,
    kind: DatasetKind,
    format: OutputFormat,
    schema: &'a Schema,
    rows_max: u64,
    number: u64,
    rows: u64,
    part: TableWriter,
    parts: Vec<Part>,
}

impl<'a> SnapshotWriter<'a> {
    /// Begins a snapshot. Its first part has this number, and the others count up from it. There is at least one part.
    pub fn create(
        out: &'a Path,
        kind: DatasetKind,
        number: u64,
        format: OutputFormat,
        schema: &'a Schema,
    ) -> Result<SnapshotWriter<'a>, SinkError> {
        let part = TableWriter::create(&out.join(path(kind, number, format)), format, schema)?;
        let rows_max = SNAPSHOT_ROWS_MAX;
        Ok(SnapshotWriter { out, kind, format, schema, rows_max, number, rows: 0, part, parts: Vec::new() })
    }

    /// Adds a row: one cell for each column of the schema.
    pub fn write_row(&mut self, row: Vec<TableCell>) -> Result<(), SinkError> {
        if self.rows == self.rows_max {
            let next = path(self.kind, self.number + 1, self.format);
            let next = TableWriter::create(&self.out.join(next), self.format, self.schema)?;
            let full = std::mem::replace(&mut self.part, next);
            self.parts.push(Part::of(path(self.kind, self.number, self.format), full.finish()?));
            (self.number, self.rows) = (self.number + 1, 0);
        }
        self.rows += 1;
        self.part.write_row(row)
    }

    /// Publishes the last part, and returns all parts in order.
    pub fn finish(mut self) -> Result<Vec<Part>, SinkError> {
        self.parts.push(Part::of(path(self.kind, self.number, self.format), self.part.finish()?));
        Ok(self.parts)
    }
}

fn path(kind: DatasetKind, number: u64, format: OutputFormat) -> String {
    format!("{}/part-{number:06}.{}", kind.as_str(), format.extension())
}

#[cfg(test)]
mod tests {
    use super::{super::skipped_schema, *};

    fn written(rows: u64, format: OutputFormat) -> Vec<(String, u64)> {
        let folder = tempfile::tempdir().unwrap();
        let schema = skipped_schema();
        let mut writer = SnapshotWriter::create(folder.path(), DatasetKind::Skipped, 7, format, &schema).unwrap();
        writer.rows_max = 3;
        for row in 0..rows {
            let text = |text: &str| TableCell::text(text);
            let id = format!("{row}");
            let mut cells = [&id, "c", "sandbox", "aml", "s", "when", "book.csv"].map(text).to_vec();
            cells.push(TableCell::integer(row));
            writer.write_row(cells).unwrap();
        }
        let parts = writer.finish().unwrap();
        for part in &parts {
            assert_eq!(std::fs::metadata(folder.path().join(&part.path)).unwrap().len(), part.bytes);
        }
        parts.into_iter().map(|part| (part.path, part.rows)).collect()
    }

    #[test]
    fn a_snapshot_has_the_parts_it_needs_and_one_when_empty() {
        let named = |number: u64, rows: u64| (format!("skipped/part-{number:06}.parquet"), rows);
        assert_eq!(written(0, OutputFormat::Parquet), [named(7, 0)]);
        assert_eq!(written(3, OutputFormat::Parquet), [named(7, 3)]);
        assert_eq!(written(7, OutputFormat::Parquet), [named(7, 3), named(8, 3), named(9, 1)]);
        assert_eq!(written(4, OutputFormat::Jsonl).len(), 2);
    }
}
