//! Intake: source → split → asks and requests → ledger, at read speed, to the end of the input. Runs in a thread of its own
//! beside the sending; one split at a time is in memory.

use super::{campaign::Campaign, notes::Notes};
use crate::{
    error::Error,
    ledger::{Fate, Ledger, LedgerError, SourceView, SplitEnd, TakenAsk, TakenRow, TakenSplit},
    mapping::{Bound, Feed, Mapped, Mapping},
    model::{Clock, Record, Row, nearest::hint, row::find_column},
    source::{Checkpoint, Format, Known, Origin, SourceError, SourceReader, Split},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::watch;

/// How a source is laid out, as the ledger remembers it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Layout {
    format: Format,
    delimiter: Option<u8>,
    /// The header of a CSV; the keys of the first object of a JSONL.
    pub columns: Vec<String>,
}

/// Where intake stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntakeProgress {
    /// Rows taken by this run.
    pub rows: u64,
    /// Nothing more will be taken by this run.
    pub done: bool,
    /// Because the input could not be read or mapped any further.
    pub failed: bool,
}

/// All inputs of a campaign, opened and bound.
pub struct Intake {
    opened: VecDeque<Opened>,
    mapping: Arc<Mapping>,
    id: Option<String>,
    carry: Vec<String>,
    clock: Clock,
    of_files: bool,
}

struct Opened {
    reader: SourceReader,
    name: String,
    bound: Option<Bound>,
    /// Read already, to learn the keys of a JSONL.
    first: Option<Split>,
    layout_known: bool,
    begun: bool,
}

impl Intake {
    /// Opens every input, checks the part of it the ledger knows, and binds the mapping to its columns.
    ///
    /// # Errors
    /// An input that is missing, changed or unreadable; a mapping that does not fit its columns.
    pub fn open(campaign: &Campaign, known: &[SourceView]) -> Result<Intake, Error> {
        if campaign.inputs.is_empty() {
            return Err(Error::Config("no input is named: a path, or `-` for standard input".to_owned()));
        }
        if !known.is_empty() && known.len() != campaign.inputs.len() {
            return Err(Error::Config(format!(
                "this campaign was begun with {} inputs ({}) and {} are given now; a new or missing input is a new campaign",
                known.len(),
                known.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(", "),
                campaign.inputs.len()
            )));
        }
        let mut intake = Intake {
            opened: VecDeque::new(),
            mapping: Arc::new(campaign.mapping()?),
            id: campaign.id.clone(),
            carry: campaign.carry.clone(),
            clock: campaign.clock,
            of_files: campaign.inputs.iter().all(|input| input.path.as_ref().is_some_and(|path| path.is_file())),
        };
        for (at, input) in campaign.inputs.iter().enumerate() {
            let source = known.get(at);
            let origin = input.path.clone().map_or(Origin::Stdin, Origin::File);
            let known = source.map(remembered).transpose()?.flatten();
            let reader =
                SourceReader::open(input.name.as_str().into(), origin, &campaign.source_options, known.as_ref());
            match reader {
                Ok(reader) => intake.bind(input.name.clone(), reader, source)?,
                // Everything was taken before, and a pipe cannot be read twice.
                Err(SourceError::NothingOnStdin { .. }) if source.is_some_and(|source| source.complete) => {}
                // Everything was taken before, and the file is not needed again.
                Err(SourceError::Open { fault, .. })
                    if fault.kind() == std::io::ErrorKind::NotFound && source.is_some_and(|source| source.complete) => {
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(intake)
    }

    fn bind(&mut self, name: String, mut reader: SourceReader, known: Option<&SourceView>) -> Result<(), Error> {
        let begun = known.filter(|source| !source.ends.is_empty());
        let remembered = begun.and_then(|source| source.layout.as_deref()).map(layout_of).transpose()?;
        let (format, _, header) = reader.layout();
        let header = header.map(<[String]>::to_vec);
        let mut first = None;
        let columns = match (&remembered, header) {
            (Some(layout), _) => Some(layout.columns.clone()),
            (None, Some(header)) => Some(header),
            (None, None) => {
                first = reader.next_split()?;
                first.as_ref().and_then(first_keys)
            }
        };
        if let Some(columns) = &columns {
            self.check_columns(columns)?;
        }
        let bound = match (&columns, format) {
            (None, _) => None,
            (Some(columns), Format::Csv) => Some(self.mapping.bind(columns)?),
            (Some(columns), Format::Jsonl) => Some(self.mapping.bind_nested(columns)?),
        };
        let layout_known = remembered.is_some();
        self.opened.push_back(Opened { reader, name, bound, first, layout_known, begun: false });
        Ok(())
    }

    /// The id and carried columns are columns of the header, or keys of the first object.
    fn check_columns(&self, header: &[String]) -> Result<(), Error> {
        let names = || header.iter().map(String::as_str);
        for (flag, column) in self.id.iter().map(|id| ("--id", id)).chain(self.carry.iter().map(|one| ("--carry", one)))
        {
            if find_column(names(), column).is_none() {
                let hint = hint(column, names());
                return Err(Error::Config(format!("{flag}: the input has no column `{column}`{hint}")));
            }
        }
        Ok(())
    }

    /// Which column, template or constant feeds which field; by the first input.
    pub fn feeds(&self) -> Vec<Feed> {
        self.opened.iter().find_map(|source| source.bound.as_ref()).map(Bound::feeds).unwrap_or_default()
    }

    pub fn mapping(&self) -> Arc<Mapping> {
        Arc::clone(&self.mapping)
    }

    /// Whether every input is a file: a pipe may never end, and cannot be read twice.
    pub fn is_of_files(&self) -> bool {
        self.of_files
    }

    /// The next thing that intake finds, in the order of the inputs; `None` at the end of all of them.
    pub fn step(&mut self) -> Result<Option<Step>, Error> {
        let Some(mut source) = self.opened.pop_front() else { return Ok(None) };
        let name = source.name.clone();
        if !source.begun {
            source.begun = true;
            let layout = source.new_layout()?;
            self.opened.push_front(source);
            return Ok(Some(Step::Begin { name, layout }));
        }
        let Some(split) = next_split(&mut source)? else { return Ok(Some(Step::End { name })) };
        if source.bound.is_none()
            && let Some(keys) = first_keys(&split)
        {
            source.bound = Some(self.mapping.bind_nested(&keys)?);
        }
        let parts = self.map(source.bound.as_ref(), split)?;
        self.opened.push_front(source);
        Ok(Some(Step::Split { name, parts }))
    }

    /// Maps the records of a split.
    fn map(&self, bound: Option<&Bound>, split: Split) -> Result<TakenParts, Error> {
        let mut parts = TakenParts { rows: Vec::new(), asks: Vec::new(), end: end_of(&split.checkpoint) };
        for record in split.records {
            let place = parts.rows.len() as u32;
            match record {
                Record::Damaged { position, failure, input } => {
                    parts.rows.push(taken(&position, None, input));
                    parts.asks.push((place, None, Mapped::Failed(failure)));
                }
                Record::Row(row) => {
                    let bound = bound.ok_or_else(|| Error::Internal("a row came before its columns".to_owned()))?;
                    let mapped = bound.map(&row)?;
                    parts.rows.push(taken(&row.position, self.subject(&row), row.to_json().into()));
                    parts.asks.extend(mapped.into_iter().enumerate().map(|(check, one)| (place, Some(check), one)));
                }
            }
        }
        Ok(parts)
    }

    fn subject(&self, row: &Row) -> Option<String> {
        row.get(self.id.as_deref()?)?.to_text()
    }
}

/// What intake finds.
pub enum Step {
    /// An input, and how it is laid out where that is news.
    Begin {
        name: String,
        layout: Option<String>,
    },
    Split {
        name: String,
        parts: TakenParts,
    },
    End {
        name: String,
    },
}

/// A split, mapped: asks by place of their row and by check.
pub struct TakenParts {
    pub rows: Vec<TakenRow>,
    pub asks: Vec<(u32, Option<usize>, Mapped)>,
    pub end: SplitEnd,
}

impl Opened {
    fn new_layout(&self) -> Result<Option<String>, Error> {
        if self.layout_known {
            return Ok(None);
        }
        let (format, delimiter, header) = self.reader.layout();
        let columns = match header {
            Some(header) => header.to_vec(),
            None => self.first.as_ref().and_then(first_keys).unwrap_or_default(),
        };
        let text = serde_json::to_string(&Layout { format, delimiter, columns });
        text.map(Some).map_err(|error| Error::Internal(error.to_string()))
    }
}

/// Takes every split into the ledger.
pub struct Taking {
    pub ledger: Arc<Ledger>,
    /// Ledger numbers by input name and by check.
    pub sources: Vec<(String, i64)>,
    pub check_uses: Vec<i64>,
    /// The catalogue's name of each check.
    pub sold: Vec<String>,
    /// Only the first rows are read: no source is complete by that.
    pub limited: bool,
    pub progress: watch::Sender<IntakeProgress>,
    pub notes: watch::Sender<Notes>,
    pub stop: Arc<AtomicBool>,
}

impl Taking {
    /// Runs to the end of the input, or to the next split after a stop. Blocks: call it from a thread of its own.
    pub fn run(self, mut intake: Intake) -> Result<(), Error> {
        let result = self.take_all(&mut intake);
        self.end(&result);
        result
    }

    /// The same in the caller's place, giving way after each split.
    pub async fn run_inline(self, mut intake: Intake) -> Result<(), Error> {
        let result = async {
            while !self.stop.load(Ordering::Relaxed)
                && let Some(step) = intake.step()?
            {
                self.take(step, intake.clock.now_us())?;
                tokio::task::yield_now().await;
            }
            Ok(())
        }
        .await;
        self.end(&result);
        result
    }

    fn end(&self, result: &Result<(), Error>) {
        self.progress.send_modify(|progress| {
            progress.done = true;
            progress.failed = result.is_err();
        });
    }

    fn take_all(&self, intake: &mut Intake) -> Result<(), Error> {
        while !self.stop.load(Ordering::Relaxed)
            && let Some(step) = intake.step()?
        {
            self.take(step, intake.clock.now_us())?;
        }
        Ok(())
    }

    fn take(&self, step: Step, now_us: i64) -> Result<(), Error> {
        match step {
            Step::Begin { name, layout } => {
                let source = self.number(&name)?;
                self.ledger.source_complete(source, false)?;
                layout.map_or(Ok(()), |layout| self.ledger.source_layout(source, layout))?;
            }
            Step::Split { name, parts } => {
                let rows = parts.rows.len() as u64;
                self.notes.send_modify(|notes| notes.add(&name, &parts));
                self.ledger.take(self.split(self.number(&name)?, parts), now_us)?;
                self.progress.send_modify(|progress| progress.rows += rows);
            }
            Step::End { name } => self.ledger.source_complete(self.number(&name)?, !self.limited)?,
        }
        Ok(())
    }

    fn number(&self, name: &str) -> Result<i64, Error> {
        let found = self.sources.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
        found.ok_or_else(|| Error::Internal("a source without a number".to_owned()))
    }

    fn split(&self, source: i64, parts: TakenParts) -> TakenSplit {
        let asks = parts.asks.into_iter().map(|(place, check, mapped)| TakenAsk {
            place,
            check_use: check.map(|at| self.check_uses[at]),
            fate: fate(check.map_or("", |at| &self.sold[at]), mapped),
        });
        TakenSplit { source, asks: asks.collect(), rows: parts.rows, end: parts.end }
    }
}

/// What the ledger records of a mapped ask; `sold` is the catalogue's name of its check.
pub fn fate(sold: &str, mapped: Mapped) -> Fate {
    match mapped {
        Mapped::Failed(failure) => Fate::Failure(failure),
        Mapped::Skipped(reason) => Fate::Skipped(reason),
        Mapped::Ask(ask) => Fate::Request {
            key: ask.key,
            sold: sold.to_owned(),
            fields: serde_json::Value::Object(ask.fields).to_string(),
            body: ask.body,
            expected: (!ask.expected.is_empty()).then(|| serde_json::Value::Object(ask.expected).to_string()),
        },
    }
}

fn next_split(source: &mut Opened) -> Result<Option<Split>, SourceError> {
    match source.first.take() {
        Some(split) => Ok(Some(split)),
        None => source.reader.next_split(),
    }
}

fn first_keys(split: &Split) -> Option<Vec<String>> {
    split.records.iter().find_map(|record| match record {
        Record::Row(row) => Some(row.to_json().into_iter().map(|(key, _)| key).collect()),
        Record::Damaged { .. } => None,
    })
}

fn taken(position: &crate::model::Position, subject: Option<String>, input: serde_json::Value) -> TakenRow {
    let crate::model::Position { row_number, line, byte_offset, .. } = *position;
    TakenRow { row_number, line, byte_offset, subject, input }
}

fn end_of(checkpoint: &Checkpoint) -> SplitEnd {
    SplitEnd {
        end_offset: checkpoint.end_offset,
        end_line: checkpoint.end_line,
        next_row_number: checkpoint.next_row_number,
        sha256: checkpoint.sha256,
    }
}

pub fn layout_of(text: &str) -> Result<Layout, Error> {
    serde_json::from_str(text).map_err(|error| LedgerError::Damaged(format!("a source's layout: {error}")).into())
}

/// What the ledger remembers of a source, as the reader takes it; `None` where nothing of it was read.
fn remembered(source: &SourceView) -> Result<Option<Known>, Error> {
    let Some(layout) = source.layout.as_deref().map(layout_of).transpose()? else { return Ok(None) };
    let checkpoint = |end: &SplitEnd| Checkpoint {
        end_offset: end.end_offset,
        end_line: end.end_line,
        next_row_number: end.next_row_number,
        sha256: end.sha256,
    };
    Ok(Some(Known {
        header: (layout.format == Format::Csv).then_some(layout.columns),
        format: layout.format,
        delimiter: layout.delimiter,
        checkpoints: source.ends.iter().map(checkpoint).collect(),
    }))
}
