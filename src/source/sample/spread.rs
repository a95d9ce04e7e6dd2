//! Rows from places spread through a file, and the rows at its end. Only a plain file can be read from its middle: the
//! bytes of a compressed one, of a workbook and of UTF-16 are skipped.
//!
//! A place begins behind a line end, which may be inside a quoted cell: a place with mostly damaged rows is dropped.

use super::{FoundLayout, Sample, is_utf8, table};
use crate::{
    model::Record,
    source::{
        bytes::{compression::Compression, encoding},
        detect::{Format, extension},
        options::{Origin, SourceOptions},
        reader::SourceReader,
        records::header::{Columns, HeaderLine},
    },
};
use std::{
    fs::File,
    io::{Cursor, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

/// How many places are read, how much of each, and how many rows.
const PLACES: u64 = 48;
const PLACE_BYTES: u64 = 32 << 10;
const PLACE_ROWS: u64 = 40;
/// How much of the end is read.
const END_BYTES: u64 = 64 << 10;

/// A file that can be read from any place.
pub struct PlainFile {
    file: File,
    length: u64,
    pub layout: FoundLayout,
}

impl PlainFile {
    /// The file, unless its bytes are not its text.
    pub fn of(path: &Path, layout: &FoundLayout) -> Option<PlainFile> {
        let mut file = File::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        let mut start = Vec::new();
        file.by_ref().take(4).read_to_end(&mut start).ok()?;
        let is_utf_16 = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") || start.contains(&0);
        let is_plain = metadata.is_file() && !is_utf_16 && Compression::of(&extension(path), &start).is_none();
        is_plain.then_some(PlainFile { file, length: metadata.len(), layout: *layout })
    }

    /// Whole lines from a place on.
    fn lines(&mut self, place: u64, bytes: u64) -> Option<Vec<u8>> {
        self.file.seek(SeekFrom::Start(place)).ok()?;
        let mut text = Vec::new();
        self.file.by_ref().take(bytes).read_to_end(&mut text).ok()?;
        let is_end = place + text.len() as u64 >= self.length;
        let begin = if place == 0 { 0 } else { text.iter().position(|byte| *byte == b'\n')? + 1 };
        let end = if is_end { text.len() } else { text.iter().rposition(|byte| *byte == b'\n')? + 1 };
        (begin < end).then(|| text[begin..end].to_vec())
    }

    fn places(&self) -> impl Iterator<Item = u64> + use<> {
        let (places, length) = ((self.length / PLACE_BYTES).clamp(1, PLACES), self.length);
        (1..places).map(move |place| length / places * place)
    }

    /// Whether the text at every place is UTF-8.
    pub fn is_utf8(&mut self) -> bool {
        let places: Vec<u64> = self.places().collect();
        places.into_iter().all(|place| self.lines(place, PLACE_BYTES).is_none_or(|text| is_utf8(&text, true)))
    }

    /// Adds rows of every place behind the ones in the sample.
    pub fn add_rows(&mut self, name: &Arc<str>, sample: &mut Sample) {
        let begin = sample.rows.last().map_or(0, |row| row.position.byte_offset);
        let Some(header) = header_of(sample) else { return };
        let places: Vec<u64> = self.places().filter(|place| *place > begin + PLACE_BYTES).collect();
        for place in places {
            let Some(text) = self.lines(place, PLACE_BYTES) else { continue };
            let options = SourceOptions {
                format: Some(self.layout.format),
                delimiter: self.layout.delimiter,
                encoding: self.layout.other_encoding,
                header: header.clone(),
                limit_rows: Some(PLACE_ROWS),
                ..SourceOptions::default()
            };
            let Some(records) = records(name, text, &options) else { continue };
            let rows = records.iter().filter(|record| matches!(record, Record::Row(_))).count();
            if rows * 2 > records.len() {
                records.into_iter().for_each(|record| sample.add(record));
            }
        }
    }

    /// How many of the last rows are a footer.
    pub fn footer_rows(&mut self, width: usize) -> usize {
        let place = self.length.saturating_sub(END_BYTES);
        let Some(bytes) = self.lines(place, END_BYTES) else { return 0 };
        let text = encoding::decode(Box::new(Cursor::new(bytes)), b"", self.layout.other_encoding)
            .ok()
            .and_then(|(_, mut text)| {
                let mut bytes = Vec::new();
                text.read_to_end(&mut bytes).ok().map(|_| String::from_utf8_lossy(&bytes).into_owned())
            })
            .unwrap_or_default();
        // The last lines only: the records of a table are compared from its end.
        let last: Vec<&str> = text.lines().rev().take(40).collect();
        let text = last.into_iter().rev().collect::<Vec<_>>().join("\n");
        table::footer_rows(&table::records(&text, self.layout.delimiter.unwrap_or(b','), true), width)
    }
}

/// The header with which rows from the middle of the file are read.
fn header_of(sample: &Sample) -> Option<HeaderLine> {
    match &sample.header {
        None => Some(HeaderLine::First),
        Some(header) => Columns::new(header).ok().map(HeaderLine::Named),
    }
}

fn records(name: &Arc<str>, text: Vec<u8>, options: &SourceOptions) -> Option<Vec<Record>> {
    let origin = Origin::Reader(Box::new(Cursor::new(text)));
    let mut reader = SourceReader::open(name.clone(), origin, options, None).ok()?;
    let mut records = Vec::new();
    while let Some(split) = reader.next_split().ok()? {
        records.extend(split.records);
    }
    // A CSV of another format than JSON Lines has rows with the same columns.
    (options.format == Some(Format::Jsonl) || !records.is_empty()).then_some(records)
}
