//! The source being read, split by split. It decides where a split ends: after 1,000 records, 4 MiB of input, or a second
//! of a slow stream, and always between two records.

use super::{
    SPLIT_BYTES_MAX, SPLIT_ROWS_MAX, SPLIT_WAIT, SourceError, Step,
    delimited::Delimited,
    input::{Feed, Input},
    known::{self, Checkpoint, Known},
    layout::{self, Format},
    lines::Lines,
};
use crate::model::Record;
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// What the user says about a source.
#[derive(Debug, Clone, Default)]
pub struct SourceOptions {
    /// `None`: by the file's extension, else by the first byte that is not blank: `{` is JSON lines.
    pub format: Option<Format>,
    /// CSV only. `None`: tab for `.tsv`, else the most frequent of `,` `;` tab `|` in the header; comma on a tie.
    pub delimiter: Option<u8>,
    /// Rows of this source, at most, over all runs.
    pub limit_rows: Option<u64>,
    /// Records of a split, at most. `None`: [`SPLIT_ROWS_MAX`].
    pub split_rows: Option<usize>,
}

/// Where a source comes from.
pub enum Origin {
    /// A path; a pipe is read as a stream.
    File(PathBuf),
    Stdin,
    /// Any stream; it is read in a thread of its own.
    Reader(Box<dyn Read + Send>),
}

/// The unit of intake: consecutive records of one source.
#[derive(Debug)]
pub struct Split {
    pub source: Arc<str>,
    /// Never empty.
    pub records: Vec<Record>,
    /// Where the split ends.
    pub checkpoint: Checkpoint,
}

enum Records {
    Delimited(Box<Delimited>),
    Lines(Lines),
}

/// A source being read.
pub struct SourceReader {
    name: Arc<str>,
    input: Input,
    format: Format,
    delimiter: Option<u8>,
    records: Records,
    next_row_number: u64,
    row_number_max: u64,
    split_rows: usize,
    ended: bool,
}

impl SourceReader {
    /// Opens a source and reads its header. With `known`, first reads what was read before and compares it; format,
    /// delimiter and header are then the known ones, whatever the options say.
    pub fn open(
        name: Arc<str>,
        origin: Origin,
        options: &SourceOptions,
        known: Option<&Known>,
    ) -> Result<SourceReader, SourceError> {
        let (feed, path) = feed(origin, &name)?;
        let from_stream = matches!(feed, Feed::Stream(_));
        let mut input = Input::new(name.clone(), feed);
        let known = known.filter(|known| !known.checkpoints.is_empty());
        let (format, delimiter, records, next_row_number) = match known {
            Some(known) => {
                let next_row_number = known::verify(&mut input, &name, known, from_stream)?;
                let records = match known.format {
                    Format::Jsonl => Records::Lines(Lines::new(name.clone())),
                    Format::Csv => {
                        let header = known.header.clone().unwrap_or_default();
                        let delimiter = known.delimiter.unwrap_or(b',');
                        Records::Delimited(Box::new(Delimited::resume(name.clone(), delimiter, header, &input)))
                    }
                };
                (known.format, known.delimiter, records, next_row_number)
            }
            None => match layout::enter(&mut input, &name, path.as_deref(), options.format)? {
                Format::Jsonl => (Format::Jsonl, None, Records::Lines(Lines::new(name.clone())), 1),
                Format::Csv => {
                    let delimiter = layout::delimiter(&mut input, path.as_deref(), options.delimiter)?;
                    let delimited = Delimited::open(name.clone(), delimiter, &mut input)?;
                    (Format::Csv, Some(delimiter), Records::Delimited(Box::new(delimited)), 1)
                }
            },
        };
        let row_number_max = options.limit_rows.unwrap_or(u64::MAX);
        let split_rows = options.split_rows.unwrap_or(SPLIT_ROWS_MAX);
        let ended = false;
        Ok(SourceReader { name, input, format, delimiter, records, next_row_number, row_number_max, split_rows, ended })
    }

    /// Format, delimiter and header: what is to be remembered as [`Known`].
    pub fn layout(&self) -> (Format, Option<u8>, Option<&[String]>) {
        let header = match &self.records {
            Records::Delimited(delimited) => Some(delimited.header()),
            Records::Lines(_) => None,
        };
        (self.format, self.delimiter, header)
    }

    /// The next split; `None` at the end of the input or of the rows wanted.
    pub fn next_split(&mut self) -> Result<Option<Split>, SourceError> {
        let begin = self.input.boundary_offset();
        let mut records = Vec::new();
        let mut deadline = None;
        while !self.ended && records.len() < self.split_rows && self.input.boundary_offset() - begin < SPLIT_BYTES_MAX {
            if self.next_row_number > self.row_number_max {
                self.ended = true;
                break;
            }
            let step = match &mut self.records {
                Records::Delimited(delimited) => delimited.next(&mut self.input, self.next_row_number, deadline)?,
                Records::Lines(lines) => lines.next(&mut self.input, self.next_row_number, deadline)?,
            };
            match step {
                Step::Record(record) => records.push(record),
                Step::Stalled => break,
                Step::Ended => {
                    self.ended = true;
                    break;
                }
            }
            self.next_row_number += 1;
            deadline.get_or_insert_with(|| Instant::now() + SPLIT_WAIT);
        }
        if records.is_empty() {
            return Ok(None);
        }
        let checkpoint = self.input.checkpoint(self.next_row_number);
        Ok(Some(Split { source: self.name.clone(), records, checkpoint }))
    }
}

fn feed(origin: Origin, name: &Arc<str>) -> Result<(Feed, Option<PathBuf>), SourceError> {
    let failed = |fault| SourceError::Open { source_name: name.clone(), fault };
    match origin {
        Origin::Stdin => Ok((Feed::stream(Box::new(io::stdin())).map_err(failed)?, None)),
        Origin::Reader(reader) => Ok((Feed::stream(reader).map_err(failed)?, None)),
        Origin::File(path) => Ok((file_feed(&path, name)?, Some(path))),
    }
}

fn file_feed(path: &Path, name: &Arc<str>) -> Result<Feed, SourceError> {
    let failed = |fault| SourceError::Open { source_name: name.clone(), fault };
    layout::refuse_packed_name(path, name)?;
    let file = File::open(path).map_err(failed)?;
    let file_type = file.metadata().map_err(failed)?.file_type();
    if file_type.is_dir() {
        return Err(SourceError::Folder { source_name: name.clone() });
    }
    if file_type.is_file() { Ok(Feed::File(file)) } else { Feed::stream(Box::new(file)).map_err(failed) }
}
