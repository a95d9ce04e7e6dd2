//! A sample of a source: its first rows, and rows from places spread through the file, with the options that read it.
//! It decides nothing about what the rows mean. Memory does not grow with the file.
//!
//! A compressed file, a workbook or a Parquet file cannot be read from its middle; only its first rows are sampled.

mod spread;
mod table;

use super::{
    SourceError,
    bytes::{
        cursor::{ByteCursor, Filled},
        encoding::Encoding,
    },
    detect::{self, Format, extension},
    open,
    options::{Origin, SourceOptions},
    reader::SourceReader,
    records::{content::Content, header::HeaderLine},
    xlsx::{fault::SheetFault, workbook},
};
use crate::model::{Record, Row};
use std::{fs::File, path::Path, sync::Arc};

pub use table::HeaderGuess;

/// How much text is read to find the table.
const START_BYTES: usize = 256 << 10;
/// The most rows from the start of a source, fewer if it has many columns; and the most bytes of it.
const ROWS_MAX: u64 = 5_000;
const ROWS_OF_MANY_COLUMNS: u64 = 200;
const CELLS_MAX: u64 = 400_000;
const BYTES_MAX: u64 = 16 << 20;
/// Records in a split while sampling, so that rows above the limit are not held.
const SPLIT_ROWS: usize = 500;
/// The most sheets of a workbook that are sampled.
const SHEETS_MAX: usize = 12;
/// The most rows of a sheet that are compared to find the table.
const SHEET_ROWS_MAX: u32 = 60;

/// What was found about the layout of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundLayout {
    pub format: Format,
    /// `None` for JSON Lines and workbooks.
    pub delimiter: Option<u8>,
    /// The delimiter is not the one that is detected by default.
    pub delimiter_is_needed: bool,
    pub header: HeaderGuess,
    /// The text is not UTF-8.
    pub other_encoding: Option<Encoding>,
}

/// What the user said about a source.
#[derive(Debug, Clone, Default)]
pub struct SampleOptions {
    pub sheet: Option<String>,
    /// The first line is a row.
    pub has_no_header: bool,
}

/// A sample of a source.
#[derive(Debug)]
pub struct Sample {
    /// How to read the source.
    pub options: SourceOptions,
    pub found: FoundLayout,
    /// The columns; `None` if every row names its own.
    pub header: Option<Vec<String>>,
    pub rows: Vec<Row>,
    /// Records of the sample that are not rows.
    pub damaged: usize,
    /// Whether the sample has every row.
    pub is_whole: bool,
}

/// Samples a file: one sample for each sheet with data, and one sample of any other file. `is_known` says whether a text
/// is the name of a column that a check could use.
///
/// # Errors
/// The file cannot be opened, or is not a table.
pub fn sample(
    name: &Arc<str>,
    path: &Path,
    said: &SampleOptions,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<Vec<Sample>, SourceError> {
    let sheet = said.sheet.as_deref();
    let options = SourceOptions { sheet: said.sheet.clone(), ..SourceOptions::default() };
    match open::open(name, Origin::File(path.to_owned()), &options) {
        Ok(opened) if opened.content.is_sheet() => one_sheet(name, path, sheet, said, is_known).map(|one| vec![one]),
        Ok(opened) => text(name, path, opened, said, is_known).map(|one| vec![one]),
        Err(SourceError::Sheet { fault: SheetFault::ManySheets { names }, .. }) => {
            // A sheet that cannot be read does not hide the others.
            let sampled = names.iter().take(SHEETS_MAX).map(|sheet| one_sheet(name, path, Some(sheet), said, is_known));
            let (good, bad): (Vec<_>, Vec<_>) = sampled.partition(Result::is_ok);
            match bad.into_iter().next() {
                Some(Err(fault)) if good.is_empty() => Err(fault),
                _ => Ok(good.into_iter().flatten().collect()),
            }
        }
        Err(SourceError::Sheet { fault: SheetFault::Merged { .. }, .. }) => {
            one_sheet(name, path, sheet, said, is_known).map(|one| vec![one])
        }
        Err(fault) => Err(fault),
    }
}

/// Samples a sheet, or the only one with data.
fn one_sheet(
    name: &Arc<str>,
    path: &Path,
    sheet: Option<&str>,
    said: &SampleOptions,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<Sample, SourceError> {
    let file = File::open(path).map_err(|fault| SourceError::Open { source_name: name.clone(), fault })?;
    let start = workbook::start(file, sheet, SHEET_ROWS_MAX)
        .map_err(|fault| SourceError::Sheet { source_name: name.clone(), fault })?;
    let found = table::find(&start, Some(b','), true, is_known);
    let layout = FoundLayout {
        format: Format::Csv,
        delimiter: None,
        delimiter_is_needed: false,
        header: if said.has_no_header { HeaderGuess::Row } else { found.header },
        other_encoding: None,
    };
    let mut options = options_of(&layout, found.first_line);
    options.sheet = sheet.map(str::to_owned);
    let mut sample = first_rows(name, path, options, layout)?;
    if sample.is_whole {
        let width = sample.header.as_ref().map_or(0, Vec::len);
        let last: Vec<table::RawRecord> = sample.rows.iter().rev().take(20).rev().map(raw).collect();
        sample.options.skip_footer = table::footer_rows(&last, width);
        drop_last(&mut sample);
    }
    Ok(sample)
}

fn raw(row: &Row) -> table::RawRecord {
    let cells = row.to_json().values().map(|value| value.as_str().unwrap_or_default().to_owned()).collect();
    table::RawRecord { line: row.position.line, cells }
}

/// Samples a text.
fn text(
    name: &Arc<str>,
    path: &Path,
    opened: open::Opened,
    said: &SampleOptions,
    is_known: &dyn Fn(&str) -> bool,
) -> Result<Sample, SourceError> {
    let mut input = opened.input;
    let inner = opened.path.clone();
    let is_table = opened.content == Content::Table;
    let format = detect::enter(&mut input, name, inner.as_deref(), is_table.then_some(Format::Jsonl))?;
    let start = read_start(&mut input)?;
    let mut layout = FoundLayout {
        format,
        delimiter: None,
        delimiter_is_needed: false,
        header: HeaderGuess::Header,
        other_encoding: (!is_table && !start.is_utf8()).then_some(Encoding::WINDOWS_1252),
    };
    let mut first_line = 1;
    if format == Format::Csv {
        let text = start.text();
        let by_line = detect::separator_line(text.as_bytes()).0;
        let is_tabs = inner.as_deref().map(extension).as_deref() == Some("tsv");
        let fixed = by_line.map(|(delimiter, _)| delimiter).or(is_tabs.then_some(b'\t'));
        let skipped = by_line.map_or(0, |(_, bytes)| bytes.min(text.len()));
        let below = text.get(skipped..).unwrap_or_default();
        let found = table::find(below, fixed, start.is_whole, is_known);
        first_line = if found.first_line > 1 { found.first_line + u64::from(skipped > 0) } else { 1 };
        let by_default = detect::sniff(from_line(below, found.first_line).as_bytes(), None).0;
        layout.delimiter = Some(found.delimiter);
        layout.delimiter_is_needed = fixed.is_none() && found.delimiter != by_default;
        layout.header = if said.has_no_header { HeaderGuess::Row } else { found.header };
    }
    let plain = if is_table { None } else { spread::PlainFile::of(path, &layout) };
    let mut sample = first_rows(name, path, options_of(&layout, first_line), layout)?;
    if let Some(mut file) = plain {
        if layout.other_encoding.is_none() && !sample.is_whole && !file.is_utf8() {
            layout.other_encoding = Some(Encoding::WINDOWS_1252);
            sample = first_rows(name, path, options_of(&layout, first_line), layout)?;
            file.layout = layout;
        }
        if !sample.is_whole {
            file.add_rows(name, &mut sample);
        }
        if let (Format::Csv, Some(header)) = (format, &sample.header) {
            sample.options.skip_footer = file.footer_rows(header.len());
        }
        let kept = sample.rows.len() + sample.damaged;
        if sample.is_whole && sample.options.skip_footer <= kept {
            drop_last(&mut sample);
        }
    }
    Ok(sample)
}

/// Removes the rows of the footer from a sample of the whole source. A footer that is not a row is damaged.
fn drop_last(sample: &mut Sample) {
    let mut left = sample.options.skip_footer;
    let damaged = left.min(sample.damaged);
    sample.damaged -= damaged;
    left -= damaged;
    sample.rows.truncate(sample.rows.len().saturating_sub(left));
}

/// The text from a line on, from 1.
fn from_line(text: &str, line: u64) -> &str {
    let skipped = usize::try_from(line - 1).unwrap_or_default();
    let mut begins = text.match_indices('\n').map(|(at, _)| at + 1);
    let begin = if skipped == 0 { Some(0) } else { begins.nth(skipped - 1) };
    begin.and_then(|begin| text.get(begin..)).unwrap_or_default()
}

fn options_of(layout: &FoundLayout, first_line: u64) -> SourceOptions {
    SourceOptions {
        delimiter: layout.delimiter.filter(|_| layout.delimiter_is_needed),
        encoding: layout.other_encoding,
        header: if layout.header == HeaderGuess::Row { HeaderLine::Missing } else { HeaderLine::First },
        skip_lines: u32::try_from(first_line - 1).unwrap_or_default(),
        ..SourceOptions::default()
    }
}

/// The first rows of a source, read as a run reads them.
fn first_rows(name: &Arc<str>, path: &Path, options: SourceOptions, found: FoundLayout) -> Result<Sample, SourceError> {
    let bounded = SourceOptions { limit_rows: Some(ROWS_MAX + 1), split_rows: Some(SPLIT_ROWS), ..options.clone() };
    let mut reader = SourceReader::open(name.clone(), Origin::File(path.to_owned()), &bounded, None)?;
    let header = reader.layout().2.map(<[String]>::to_vec);
    let columns = header.as_ref().map_or(1, Vec::len).max(1) as u64;
    let rows_max = (CELLS_MAX / columns).clamp(ROWS_OF_MANY_COLUMNS, ROWS_MAX);
    let mut sample = Sample { options, found, header, rows: Vec::new(), damaged: 0, is_whole: true };
    while let Some(split) = reader.next_split()? {
        for record in split.records {
            let count = (sample.rows.len() + sample.damaged) as u64;
            if count >= rows_max || record.position().byte_offset > BYTES_MAX {
                sample.is_whole = false;
                return Ok(sample);
            }
            sample.add(record);
        }
    }
    Ok(sample)
}

impl Sample {
    fn add(&mut self, record: Record) {
        match record {
            Record::Row(row) => self.rows.push(row),
            Record::Damaged { .. } => self.damaged += 1,
        }
    }
}

/// The start of a text.
struct Start {
    bytes: Vec<u8>,
    is_whole: bool,
}

fn read_start(input: &mut ByteCursor) -> Result<Start, SourceError> {
    while input.available().len() < START_BYTES {
        if input.extend(None)? != Filled::Bytes {
            return Ok(Start { bytes: input.available().to_vec(), is_whole: true });
        }
    }
    Ok(Start { bytes: input.available().to_vec(), is_whole: false })
}

impl Start {
    fn is_utf8(&self) -> bool {
        is_utf8(&self.bytes, self.is_whole)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Whether bytes are UTF-8. The last character may be cut unless they are whole.
fn is_utf8(bytes: &[u8], is_whole: bool) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(fault) => fault.error_len().is_none() && !is_whole,
    }
}

#[cfg(test)]
#[path = "sample_tests.rs"]
mod tests;
