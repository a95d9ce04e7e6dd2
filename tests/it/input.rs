//! The promise: every record of an input becomes a row or a failure with its position, values are unchanged, and an
//! input that was read before is recognised.

mod arrow;
mod compressed;
mod csv_records;
mod encodings;
mod endless;
mod headers;
mod json_lines;
mod parquet;
mod resume;
mod row_shapes;
mod sheets;
mod skipped;
mod splits;
mod torture;

use rescreen::model::{Checkpoint, Position, Record, Row};
use rescreen::source::{Format, KnownSource, Origin, SourceError, SourceOptions, SourceReader, Split};
use serde_json::Value;
use std::io::Cursor;

/// A source held in memory.
struct Source<'a> {
    bytes: &'a [u8],
    options: SourceOptions,
}

fn csv(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Source<'_> {
    let options = SourceOptions { format: Some(Format::Csv), ..SourceOptions::default() };
    Source { bytes: bytes.as_ref(), options }
}

fn jsonl(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Source<'_> {
    let options = SourceOptions { format: Some(Format::Jsonl), ..SourceOptions::default() };
    Source { bytes: bytes.as_ref(), options }
}

impl Source<'_> {
    fn said(mut self, say: impl FnOnce(&mut SourceOptions)) -> Self {
        say(&mut self.options);
        self
    }

    fn limit(mut self, rows: u64) -> Self {
        self.options.limit_rows = Some(rows);
        self
    }

    fn open(&self, known: Option<&KnownSource>) -> Result<SourceReader, SourceError> {
        let origin = Origin::Reader(Box::new(Cursor::new(self.bytes.to_vec())));
        SourceReader::open("input".into(), origin, &self.options, known)
    }

    fn splits(&self, known: Option<&KnownSource>) -> Result<Vec<Split>, SourceError> {
        splits_of(self.open(known)?)
    }

    fn records(&self) -> Vec<Record> {
        self.splits(None).unwrap().into_iter().flat_map(|split| split.records).collect()
    }

    fn rows(&self) -> Vec<String> {
        self.records().iter().map(shown).collect()
    }

    /// What a ledger remembers after the whole source was ingested.
    fn known(&self) -> KnownSource {
        known_of(self.open(None).unwrap()).1
    }

    fn refused(&self, known: Option<&KnownSource>) -> String {
        self.splits(known).expect_err("the source is refused").to_string()
    }
}

fn splits_of(mut reader: SourceReader) -> Result<Vec<Split>, SourceError> {
    let mut splits = Vec::new();
    while let Some(split) = reader.next_split()? {
        splits.push(split);
    }
    Ok(splits)
}

fn known_of(reader: SourceReader) -> (Vec<Split>, KnownSource) {
    let (format, delimiter, header) = reader.layout();
    let header = header.map(<[String]>::to_vec);
    let splits = splits_of(reader).unwrap();
    let checkpoints: Vec<Checkpoint> = splits.iter().map(|split| split.checkpoint.clone()).collect();
    (splits, KnownSource { format, delimiter, header, checkpoints })
}

/// A record in one line: the values, or the code, the message and what was kept.
fn shown(record: &Record) -> String {
    match record {
        Record::Row(row) => Value::Object(row.to_json()).to_string(),
        Record::Damaged { failure, input, .. } => format!("{}: {} {input}", failure.code.as_str(), failure.message),
    }
}

/// Row number, line, byte offset.
fn place(record: &Record) -> (u64, u64, u64) {
    let Position { row_number, line, byte_offset, .. } = record.position();
    (*row_number, *line, *byte_offset)
}

fn row(record: &Record) -> &Row {
    match record {
        Record::Row(row) => row,
        Record::Damaged { failure, .. } => panic!("a damaged record: {}", failure.message),
    }
}
