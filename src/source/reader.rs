//! Reads a source split by split. A split ends after 1,000 records, 4 MiB of input, 50,000 JSON values, or one second
//! of a slow stream, and always between two records. Where an earlier reading is repeated, it ends where it ended then.

use super::{
    SPLIT_BYTES_MAX, SPLIT_ROWS_MAX, SPLIT_VALUES_MAX, SPLIT_WAIT, SourceError,
    bytes::cursor::{ByteCursor, Filled},
    detect::{self, Format},
    footer::Footer,
    open::{self, HiddenCount, Opened},
    options::{Origin, SourceOptions},
    records::{RecordStep, content::Content, csv::CsvRecords, header::HeaderLine, jsonl::JsonLines, shapes::RowShapes},
    resume::{self, KnownSource},
};
use crate::model::{Checkpoint, Record, value_kind::ValueKind};
use std::{collections::VecDeque, sync::Arc, time::Instant};

/// The unit of intake: a number of consecutive records of one source.
#[derive(Debug)]
pub struct Split {
    pub source: Arc<str>,
    /// Never empty.
    pub records: Vec<Record>,
    /// The end of the split.
    pub checkpoint: Checkpoint,
}

enum Records {
    CsvRecords(Box<CsvRecords>),
    JsonLines(JsonLines),
}

impl Records {
    /// The number of JSON values in the records so far. CSV counts none, because a cell takes little more memory than
    /// its text.
    fn values(&self) -> usize {
        match self {
            Records::CsvRecords(_) => 0,
            Records::JsonLines(lines) => lines.values(),
        }
    }
}

/// A source being read.
pub struct SourceReader {
    name: Arc<str>,
    input: ByteCursor,
    format: Format,
    delimiter: Option<u8>,
    records: Records,
    kinds: Vec<(String, ValueKind)>,
    hidden: HiddenCount,
    next_row_number: u64,
    footer: Footer,
    completed_row: Option<u64>,
    row_number_max: u64,
    split_rows: usize,
    split_ends: VecDeque<u64>,
    ended: bool,
    /// The error that ended the last split. The rows before it are returned first.
    fault: Option<SourceError>,
}

impl SourceReader {
    /// Opens a source and reads its header. With `known`, it first reads the known part again and compares it; format,
    /// delimiter and header are then the known ones, and the options for them are ignored.
    pub fn open(
        name: Arc<str>,
        origin: Origin,
        options: &SourceOptions,
        known: Option<&KnownSource>,
    ) -> Result<SourceReader, SourceError> {
        let Opened { mut input, path, content, is_stream, kinds, hidden } = open::open(&name, origin, options)?;
        let known = known.filter(|known| !known.checkpoints.is_empty());
        let format = match known {
            Some(known) => known.format,
            None if content.is_sheet() => Format::Csv,
            None if content == Content::Table => Format::Jsonl,
            None => detect::enter(&mut input, &name, path.as_deref(), options.format)?,
        };
        let columns = options.header.columns();
        let is_of_lines = options.header != HeaderLine::First || options.skip_lines > 0 || options.skip_footer > 0;
        if content == Content::Table && is_of_lines {
            return Err(SourceError::HeaderOfTable { source_name: name });
        }
        if format == Format::Jsonl && is_of_lines {
            return Err(SourceError::HeaderOfJson { source_name: name });
        }
        let mut completed_row = None;
        let (delimiter, records, next_row_number) = match (known, format) {
            (Some(known), format) => {
                if let (Some(header), Some(columns)) = (&known.header, columns)
                    && header != columns
                {
                    return Err(SourceError::columns_changed(name, header, columns));
                }
                let verified = resume::verify(&mut input, &name, known, is_stream)?;
                completed_row = verified.completed_row;
                let records = match format {
                    Format::Jsonl => Records::JsonLines(JsonLines::new(name.clone(), content)),
                    Format::Csv => {
                        let header = known.header.clone().unwrap_or_default();
                        let delimiter = known.delimiter.unwrap_or(b',');
                        let records = CsvRecords::resume(name.clone(), content, delimiter, header, &input);
                        Records::CsvRecords(Box::new(records))
                    }
                };
                (known.delimiter, records, verified.next_row_number)
            }
            (None, Format::Jsonl) => (None, Records::JsonLines(JsonLines::new(name.clone(), content)), 1),
            (None, Format::Csv) => {
                let delimiter = if content.is_sheet() {
                    b','
                } else {
                    let columns = columns.map(<[String]>::len);
                    let first_line = u64::from(options.skip_lines) + 1;
                    let (path, wanted) = (path.as_deref(), options.delimiter);
                    let found = detect::delimiter(&mut input, &name, path, wanted, columns, first_line)?;
                    if first_line > 1 && input.fill(None)? == Filled::Ended {
                        return Err(SourceError::NothingBelow { source_name: name, line: first_line });
                    }
                    found
                };
                let records = CsvRecords::open(name.clone(), content, delimiter, &options.header, &mut input)?;
                (Some(delimiter), Records::CsvRecords(Box::new(records)), 1)
            }
        };
        let row_number_max = options.limit_rows.unwrap_or(u64::MAX);
        let split_rows = options.split_rows.unwrap_or(SPLIT_ROWS_MAX);
        Ok(SourceReader {
            name,
            input,
            format,
            delimiter,
            records,
            kinds,
            hidden,
            next_row_number,
            footer: Footer::new(options.skip_footer),
            completed_row,
            row_number_max,
            split_rows,
            split_ends: options.split_ends.iter().copied().collect(),
            ended: false,
            fault: None,
        })
    }

    /// The types of the columns by name, if the file states them.
    pub fn kinds(&self) -> &[(String, ValueKind)] {
        &self.kinds
    }

    /// What is remarkable about the rows that were read. Hidden rows are counted once the input has ended.
    pub fn shapes(&self) -> RowShapes {
        let shapes = match &self.records {
            Records::CsvRecords(records) => records.shapes.clone(),
            Records::JsonLines(_) => RowShapes::default(),
        };
        RowShapes { hidden: self.hidden.get().copied().unwrap_or_default(), ..shapes }
    }

    /// Format, delimiter and header, to be stored as a [`KnownSource`].
    pub fn layout(&self) -> (Format, Option<u8>, Option<&[String]>) {
        let header = match &self.records {
            Records::CsvRecords(records) => Some(records.header()),
            Records::JsonLines(_) => None,
        };
        (self.format, self.delimiter, header)
    }

    /// The row that was read before its line had a newline, if the line was completed since. The added text is not
    /// read.
    pub fn completed_row(&self) -> Option<u64> {
        self.completed_row
    }

    /// The next record that is not held back.
    fn step(&mut self, deadline: Option<Instant>) -> Result<RecordStep, SourceError> {
        loop {
            let row_number = self.next_row_number + self.footer.held();
            let step = match &mut self.records {
                Records::CsvRecords(records) => records.next(&mut self.input, row_number, deadline)?,
                Records::JsonLines(lines) => lines.next(&mut self.input, row_number, deadline)?,
            };
            let record = match step {
                RecordStep::Record(record) if !self.footer.is_off() => record,
                step => return Ok(step),
            };
            let end = self.input.checkpoint(row_number + 1);
            if let Some(record) = self.footer.pass(&self.name, record, end)? {
                return Ok(RecordStep::Record(record));
            }
        }
    }

    /// The next split; `None` at the end of the input or of the requested rows. The rows before an error are returned
    /// before it.
    pub fn next_split(&mut self) -> Result<Option<Split>, SourceError> {
        if let Some(fault) = self.fault.take() {
            self.ended = true;
            return Err(fault);
        }
        let (begin, values) = (self.input.boundary_offset(), self.records.values());
        let end = self.split_ends.pop_front();
        let mut records = Vec::new();
        let mut deadline = None;
        while !self.ended {
            let is_full = match end {
                Some(end) => self.next_row_number >= end,
                None => {
                    records.len() >= self.split_rows
                        || self.input.boundary_offset() - begin >= SPLIT_BYTES_MAX
                        || self.records.values() - values >= SPLIT_VALUES_MAX
                }
            };
            if is_full {
                break;
            }
            if self.next_row_number > self.row_number_max {
                self.ended = true;
                break;
            }
            let step = match self.step(deadline) {
                Err(fault) if !records.is_empty() => {
                    self.fault = Some(fault);
                    break;
                }
                step => step?,
            };
            match step {
                RecordStep::Record(record) => records.push(record),
                RecordStep::Stalled => break,
                RecordStep::Ended => {
                    self.ended = true;
                    break;
                }
            }
            self.next_row_number += 1;
            deadline = deadline.or_else(|| end.is_none().then(|| Instant::now() + SPLIT_WAIT));
        }
        if records.is_empty() {
            return Ok(None);
        }
        let of_footer = self.footer.take_end();
        let checkpoint = of_footer.unwrap_or_else(|| self.input.checkpoint(self.next_row_number));
        Ok(Some(Split { source: self.name.clone(), records, checkpoint }))
    }
}
