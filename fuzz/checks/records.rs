//! Any bytes as an input: every record is a row or a failure with its position, positions only increase, the size of
//! the reads does not matter, and resuming from any checkpoint gives the same records as reading at once.
//!
//! If a compressed input is damaged, the rows before the damage are read. How close to it they come may depend on the
//! size of the reads.

use rescreen::{
    model::{Checkpoint, Record},
    source::{Format, KnownSource, Origin, RATIO_FREE_BYTES, RATIO_MAX, SourceError, SourceOptions, SourceReader},
};
use std::{
    io::{self, Read},
    sync::Arc,
};

/// The records that were read, with their positions, and how to resume after them.
#[derive(Debug, PartialEq)]
pub struct Taken {
    pub records: Vec<Shown>,
    known: KnownSource,
    /// Whether reading stopped with an error after the records.
    is_stopped: bool,
}

/// A record with its position.
#[derive(Debug, PartialEq)]
pub struct Shown {
    row_number: u64,
    line: u64,
    byte_offset: u64,
    pub is_row: bool,
    /// The values of a row as JSON, or code, message and input of a damaged one.
    pub text: String,
}

pub fn options(format: Format) -> SourceOptions {
    SourceOptions { format: Some(format), ..SourceOptions::default() }
}

/// Reads the input in pieces of this many bytes.
pub fn take(data: &[u8], options: &SourceOptions, piece: usize) -> Result<Taken, String> {
    open(data, options, piece, None).map(whole).map_err(|error| kind(&error))
}

/// Checks an input, and returns its records if it can be read.
pub fn check(data: &[u8], options: &SourceOptions) -> Option<Taken> {
    let at_once = take(data, options, usize::MAX);
    // Single bytes only for a short input, because each piece is passed between threads.
    let small = 1 + data.len() / 64;
    for piece in [small, 7 * small] {
        is_same(&take(data, options, piece), &at_once, piece);
    }
    let taken = at_once.ok()?;
    places_rise(&taken, text_bytes_max(data, options));
    let count = taken.records.len() as u64;
    for first in [1, count / 2, count.saturating_sub(1)] {
        if (1..count).contains(&first) && !taken.is_stopped {
            goes_on(data, options, &taken, first);
        }
    }
    Some(taken)
}

/// The text of an error, without the position of damage.
fn kind(error: &SourceError) -> String {
    match error {
        SourceError::Read { .. } => "reading failed".to_owned(),
        other => other.to_string(),
    }
}

fn is_same(found: &Result<Taken, String>, expected: &Result<Taken, String>, piece: usize) {
    match (found, expected) {
        (Ok(found), Ok(expected)) if found.is_stopped || expected.is_stopped => {
            assert_eq!(found.is_stopped, expected.is_stopped, "read in pieces of {piece}");
            let count = found.records.len().min(expected.records.len());
            assert_eq!(found.records[..count], expected.records[..count], "read in pieces of {piece}");
        }
        (Err(fault), Err(other)) if fault == "reading failed" || other == "reading failed" => {}
        // The damage may be in the first bytes, which are examined before any record.
        (Err(fault), Ok(taken)) | (Ok(taken), Err(fault)) if taken.is_stopped && fault == "reading failed" => {}
        _ => assert_eq!(found, expected, "read in pieces of {piece}"),
    }
}

fn places_rise(taken: &Taken, bytes_max: u64) {
    let Some(last) = taken.known.checkpoints.last() else {
        return assert!(taken.records.is_empty(), "records without a checkpoint");
    };
    for (at, record) in taken.records.iter().enumerate() {
        assert_eq!(record.row_number, at as u64 + 1);
        assert!(record.byte_offset < last.end_offset, "{record:?} begins after the checkpoint");
    }
    for pair in taken.records.windows(2) {
        assert!(pair[0].byte_offset < pair[1].byte_offset && pair[0].line < pair[1].line, "{pair:?}");
    }
    assert!(last.end_offset <= bytes_max, "the checkpoint is after the end of the input");
    assert_eq!(last.next_row_number, taken.records.len() as u64 + 1);
}

/// Checks that the line numbers increase and do not exceed the last possible one.
pub fn lines_rise(taken: &Taken, line_max: u64) {
    for pair in taken.records.windows(2) {
        assert!(pair[0].line < pair[1].line, "{pair:?}");
    }
    assert!(taken.records.iter().all(|record| (1..=line_max).contains(&record.line)), "a line that does not exist");
}

/// The most bytes of decoded text: the length of the input, or more for other encodings and compressed input.
fn text_bytes_max(data: &[u8], options: &SourceOptions) -> u64 {
    let bytes = data.len() as u64;
    match data {
        _ if options.encoding.is_some() => 3 * bytes,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => 2 * bytes,
        [0x1f, 0x8b, ..] | [0x28, 0xb5, ..] => 3 * RATIO_FREE_BYTES.max(bytes * RATIO_MAX),
        _ => bytes,
    }
}

/// Reads the first records in one run, and the others in the next.
fn goes_on(data: &[u8], options: &SourceOptions, taken: &Taken, first: u64) {
    let limited = SourceOptions { limit_rows: Some(first), ..options.clone() };
    let part =
        open(data, &limited, usize::MAX, None).map(whole).expect("an input that was read once can be read again");
    let (before, after) = taken.records.split_at(first as usize);
    assert_eq!(part.records, before, "the first {first} rows");
    let rest = open(data, options, 3 + data.len() / 64, Some(&part.known))
        .map(whole)
        .expect("an unchanged input is recognised");
    assert_eq!(rest.records, after, "after the first {first} rows");
    assert_eq!(rest.known.checkpoints.last(), taken.known.checkpoints.last(), "both end at the same place");
}

/// A reader that returns `size` bytes at a time.
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
    known: Option<&KnownSource>,
) -> Result<SourceReader, SourceError> {
    let pieces = Pieces { data: data.to_vec(), at: 0, size: piece };
    SourceReader::open(Arc::from("input"), Origin::Reader(Box::new(pieces)), options, known)
}

pub fn whole(mut reader: SourceReader) -> Taken {
    let (format, delimiter, header) = reader.layout();
    let header = header.map(<[String]>::to_vec);
    let mut records = Vec::new();
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    let is_stopped = loop {
        match reader.next_split() {
            Ok(None) => break false,
            Err(_) => break true,
            Ok(Some(split)) => {
                assert!(!split.records.is_empty(), "a split is never empty");
                let before = checkpoints.last().map_or(0, |checkpoint| checkpoint.end_offset);
                assert!(before < split.checkpoint.end_offset, "splits advance");
                records.extend(split.records.iter().map(shown));
                checkpoints.push(split.checkpoint);
            }
        }
    };
    Taken { records, known: KnownSource { format, delimiter, header, checkpoints }, is_stopped }
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
