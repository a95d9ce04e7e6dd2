//! A snapshot being written: one table in one or more parts. A part ends after a fixed number of rows, because
//! row-group metadata is buffered until the footer is written.

use super::{
    DatasetKind, OutputFormat, Part, Schema, SinkError, TableCell, TableWriter, folder::snapshot_number,
    new_file::digest,
};
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

    /// Publishes the last part, and returns all parts in order. If the `earlier` parts have the same content and are
    /// still there, they are returned, so that a reader that knows them finds nothing new. The next sweep removes the others.
    pub fn finish(mut self, earlier: &[Part]) -> Result<Vec<Part>, SinkError> {
        self.parts.push(Part::of(path(self.kind, self.number, self.format), self.part.finish()?));
        let content = |part: &Part| (part.rows, part.bytes, part.sha256.clone());
        let is_same = earlier.iter().map(content).eq(self.parts.iter().map(content));
        // A manifest that was changed could name any file.
        let is_there = |part: &Part| {
            let name = part.path.strip_prefix(self.kind.as_str()).and_then(|name| name.strip_prefix('/'));
            name.and_then(snapshot_number).is_some()
                && digest(&self.out.join(&part.path)).is_ok_and(|found| found == part.sha256)
        };
        Ok(if is_same && earlier.iter().all(is_there) { earlier.to_vec() } else { self.parts })
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
        let parts = writer.finish(&[]).unwrap();
        for part in &parts {
            assert_eq!(std::fs::metadata(folder.path().join(&part.path)).unwrap().len(), part.bytes);
        }
        parts.into_iter().map(|part| (part.path, part.rows)).collect()
    }

    #[test]
    fn a_snapshot_with_the_same_content_keeps_its_parts_if_they_are_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let schema = skipped_schema();
        let write = |number: u64, earlier: &[Part]| {
            let format = OutputFormat::Parquet;
            let writer = SnapshotWriter::create(folder.path(), DatasetKind::Skipped, number, format, &schema).unwrap();
            writer.finish(earlier).unwrap()
        };
        let first = write(1, &[]);
        assert_eq!(write(2, &first), first);
        let named = |path: &str| [Part { path: path.to_owned(), ..first[0].clone() }];
        std::fs::copy(folder.path().join(&first[0].path), folder.path().join("part-000001.parquet")).unwrap();
        for elsewhere in ["part-000001.parquet", "skipped/../part-000001.parquet"] {
            assert_eq!(write(3, &named(elsewhere))[0].path, "skipped/part-000003.parquet", "{elsewhere}");
        }
        std::fs::write(folder.path().join(&first[0].path), "changed").unwrap();
        assert_eq!(write(4, &first)[0].path, "skipped/part-000004.parquet");
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
