//! Any bytes as an input: every record is a row or a failure with its place, places only rise, the size of the reads
//! changes nothing, and reading on from any checkpoint gives what reading at once gave.

use rescreen::{
    model::Record,
    source::{Checkpoint, Format, Known, Origin, SourceError, SourceOptions, SourceReader},
};
use std::{
    io::{self, Read},
    sync::Arc,
};

/// What was read: the records with their places, and how to go on after them.
#[derive(Debug, PartialEq)]
pub struct Taken {
    pub records: Vec<Shown>,
    known: Known,
}

/// A record with its place.
#[derive(Debug, PartialEq)]
pub struct Shown {
    row_number: u64,
    line: u64,
    byte_offset: u64,
    pub is_row: bool,
    /// The values of a row as JSON; code, message and what was kept of a damaged one.
    pub text: String,
}

/// Reads the input in pieces of so many bytes.
pub fn take(data: &[u8], format: Format, piece: usize) -> Result<Taken, String> {
    let options = SourceOptions { format: Some(format), ..SourceOptions::default() };
    open(data, &options, piece, None).and_then(whole).map_err(|error| error.to_string())
}

/// Checks an input; its records where it has any.
pub fn check(data: &[u8], format: Format) -> Option<Taken> {
    let at_once = take(data, format, usize::MAX);
    // Single bytes where there are few: each piece passes from thread to thread.
    let small = 1 + data.len() / 64;
    for piece in [small, 7 * small] {
        assert_eq!(take(data, format, piece), at_once, "read in pieces of {piece}");
    }
    let taken = at_once.ok()?;
    places_rise(&taken, data);
    let count = taken.records.len() as u64;
    for first in [1, count / 2, count.saturating_sub(1)] {
        if (1..count).contains(&first) {
            goes_on(data, format, &taken, first);
        }
    }
    Some(taken)
}

fn places_rise(taken: &Taken, data: &[u8]) {
    let Some(last) = taken.known.checkpoints.last() else {
        return assert!(taken.records.is_empty(), "records without a checkpoint");
    };
    for (at, record) in taken.records.iter().enumerate() {
        assert_eq!(record.row_number, at as u64 + 1);
        assert!(record.byte_offset < last.end_offset, "{record:?} begins behind the checkpoint");
    }
    for pair in taken.records.windows(2) {
        assert!(pair[0].byte_offset < pair[1].byte_offset && pair[0].line < pair[1].line, "{pair:?}");
    }
    assert!(last.end_offset <= data.len() as u64, "the checkpoint lies behind the input");
    assert_eq!(last.next_row_number, taken.records.len() as u64 + 1);
}

/// The first records in one run, the others in the next.
fn goes_on(data: &[u8], format: Format, taken: &Taken, first: u64) {
    let limited = SourceOptions { format: Some(format), limit_rows: Some(first), ..SourceOptions::default() };
    let part = open(data, &limited, usize::MAX, None).and_then(whole).expect("what was read once is read again");
    let (before, after) = taken.records.split_at(first as usize);
    assert_eq!(part.records, before, "the first {first} rows");
    let options = SourceOptions { limit_rows: None, ..limited };
    let rest = open(data, &options, 3 + data.len() / 64, Some(&part.known))
        .and_then(whole)
        .expect("an unchanged input is known again");
    assert_eq!(rest.records, after, "after the first {first} rows");
    assert_eq!(rest.known.checkpoints.last(), taken.known.checkpoints.last(), "both end at the same place");
}

/// Gives so many bytes at a time.
struct Pieces {
    data: Vec<u8>,
    at: usize,
    size: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.size.min(buffer.len()).min(self.data.len() - self.at);
        buffer[..count].copy_from_slice(&self.data[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

fn open(
    data: &[u8],
    options: &SourceOptions,
    piece: usize,
    known: Option<&Known>,
) -> Result<SourceReader, SourceError> {
    let pieces = Pieces { data: data.to_vec(), at: 0, size: piece };
    SourceReader::open(Arc::from("input"), Origin::Reader(Box::new(pieces)), options, known)
}

fn whole(mut reader: SourceReader) -> Result<Taken, SourceError> {
    let (format, delimiter, header) = reader.layout();
    let header = header.map(<[String]>::to_vec);
    let mut records = Vec::new();
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    while let Some(split) = reader.next_split()? {
        assert!(!split.records.is_empty(), "a split is never empty");
        let before = checkpoints.last().map_or(0, |checkpoint| checkpoint.end_offset);
        assert!(before < split.checkpoint.end_offset, "splits rise");
        records.extend(split.records.iter().map(shown));
        checkpoints.push(split.checkpoint);
    }
    Ok(Taken { records, known: Known { format, delimiter, header, checkpoints } })
}

fn shown(record: &Record) -> Shown {
    let text = match record {
        Record::Row(row) => serde_json::Value::Object(row.to_json()).to_string(),
        Record::Damaged { failure, input, .. } => {
            assert!(!failure.message.is_empty(), "a failure says what is wrong");
            format!("{}: {} {input}", failure.code.as_str(), failure.message)
        }
    };
    let position = record.position();
    Shown {
        row_number: position.row_number,
        line: position.line,
        byte_offset: position.byte_offset,
        is_row: matches!(record, Record::Row(_)),
        text,
    }
}
