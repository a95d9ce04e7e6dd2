//! Intake: source → split → asks and requests, one input after the other. This module checks that the inputs are those
//! that the ledger knows, and binds the mapping to their columns. Its results are ingested ([`ingest`]) or only counted
//! (the plan).

pub mod body_receiver;
pub mod carried_kinds;
pub mod changed;
mod columns;
pub mod distinct;
pub mod ingest;
pub mod layout;
pub mod notes;
pub mod rejections;
pub mod remap;
pub mod subject;
pub mod values;

use layout::remembered;
pub use layout::{SourceLayout, layout_of};

use super::campaign::{
    Campaign,
    carried::{Carried, expanded},
    result_layout::own_columns,
};
use crate::{
    error::Error,
    ledger::{IngestedRow, SourceView},
    mapping::{Bound, FieldFeed, Mapped, Mapping, UnmappedColumns},
    model::{Checkpoint, Clock, Note, Record, value_kind::SeenValues},
    source::{Format, Origin, RowShapes, SourceError, SourceOptions, SourceReader, Split},
};
use carried_kinds::{CarriedKinds, seen_values};
use columns::{check_columns, columns_of, first_keys};
use distinct::Digests;
use std::{collections::VecDeque, sync::Arc};
use subject::subject;
use values::SplitValues;

/// The progress of intake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntakeProgress {
    /// Rows ingested by this run.
    pub rows: u64,
    /// This run ingests no more rows.
    pub done: bool,
    /// Intake ended because the input could not be read or mapped any further.
    pub failed: bool,
}

/// All inputs of a campaign, opened and bound.
pub struct Intake {
    opened: VecDeque<Opened>,
    mapping: Arc<Mapping>,
    id: Option<String>,
    carry: Vec<Carried>,
    carries_all: bool,
    carried: Arc<CarriedKinds>,
    pub clock: Clock,
    /// What the user specified about the inputs.
    given: SourceOptions,
    of_files: bool,
    /// There is one input.
    is_one: bool,
    digests: Digests,
}

struct Opened {
    reader: SourceReader,
    name: String,
    bound: Option<Arc<Bound>>,
    /// The first split, if it was read to find the keys of JSON lines.
    first: Option<Split>,
    layout_known: bool,
    started: bool,
}

impl Intake {
    /// Opens every input, verifies the part of it that the ledger knows, and binds the mapping to its columns.
    ///
    /// # Errors
    /// An input is missing, changed or unreadable, or the mapping does not match its columns.
    pub fn open(campaign: &Campaign, known: &[SourceView]) -> Result<Intake, Error> {
        if campaign.inputs.is_empty() {
            return Err(Error::Config("no input is named: expected a path, or `-` for standard input".to_owned()));
        }
        if !known.is_empty() && known.len() != campaign.inputs.len() {
            return Err(Error::Config(format!(
                "this campaign was started with {} inputs ({}), but {} are given now; use the same inputs, or start a \
                 new campaign with `--campaign NAME`",
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
            carries_all: campaign.carries_all,
            carried: Arc::default(),
            clock: campaign.clock,
            given: campaign.source_options.clone(),
            is_one: campaign.inputs.len() == 1,
            digests: Digests::default(),
            of_files: campaign.inputs.iter().all(|input| input.path.as_ref().is_some_and(|path| path.is_file())),
        };
        for (input, source) in campaign.inputs.iter().zip(known.iter().map(Some).chain(std::iter::repeat(None))) {
            let begun = source.filter(|source| !source.ends.is_empty());
            let layout = begun.and_then(|source| source.layout.as_deref()).map(layout_of).transpose()?;
            if let Some(error) =
                layout.as_ref().and_then(|layout| layout.skips_differently(&input.name, &campaign.source_options))
            {
                return Err(error);
            }
            let origin = input.path.clone().map_or(Origin::Stdin, Origin::File);
            let known = source.map(remembered).transpose()?.flatten();
            let reader =
                SourceReader::open(input.name.as_str().into(), origin, &campaign.source_options, known.as_ref());
            match reader {
                Ok(reader) => intake.bind(input.name.clone(), reader, source)?,
                // All rows are already ingested, and a pipe cannot be read twice.
                Err(SourceError::NothingOnStdin { .. }) if source.is_some_and(|source| source.complete) => {}
                // All rows are already ingested, so the file is not needed.
                Err(SourceError::Open { fault, .. })
                    if fault.kind() == std::io::ErrorKind::NotFound
                        && source.is_some_and(|source| source.complete && source.name == input.name) => {}
                Err(error @ (SourceError::Changed { .. } | SourceError::Truncated { .. })) => {
                    let why = layout.and_then(|layout| layout.read_differently(&input.name, &campaign.source_options));
                    return Err(why.unwrap_or_else(|| error.into()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        if intake.carry.iter().any(Carried::is_all) {
            intake.carry = expanded(&intake.carry, &intake.columns(), &own_columns(campaign)?);
        }
        intake.settle_kinds(campaign);
        Ok(intake)
    }

    /// Gives the carried columns whose type is still open the type of their first values.
    fn settle_kinds(&mut self, campaign: &Campaign) {
        for one in self.carry.iter_mut().filter(|one| one.kind.is_none()) {
            let mut seen = SeenValues::default();
            for source in &self.opened {
                seen.join(seen_values(&source.reader, source.first.as_ref(), &one.column));
            }
            one.kind = Some(seen.kind());
        }
        self.carried = Arc::new(CarriedKinds::new(campaign, &self.carry));
    }

    /// The carried columns with their types.
    pub fn carry(&self) -> &[Carried] {
        &self.carry
    }

    /// The types of the carried columns, by which every row is mapped.
    pub fn carried_kinds(&self) -> Arc<CarriedKinds> {
        Arc::clone(&self.carried)
    }

    fn bind(&mut self, name: String, mut reader: SourceReader, known: Option<&SourceView>) -> Result<(), Error> {
        let started = known.filter(|source| !source.ends.is_empty());
        let remembered = started.and_then(|source| source.layout.as_deref()).map(layout_of).transpose()?;
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
            let shown = match format {
                Format::Csv => self.mapping.shown(columns),
                Format::Jsonl => self.mapping.shown_nested(columns),
            };
            let carry = if self.carries_all { &[] } else { self.carry.as_slice() };
            check_columns((self.id.as_deref(), carry), columns, &shown).map_err(|error| self.named(&name, error))?;
        }
        let bound = match (&columns, format) {
            (None, _) => None,
            (Some(columns), Format::Csv) => Some(self.mapping.bind(columns)),
            (Some(columns), Format::Jsonl) => Some(self.mapping.bind_nested(columns)),
        };
        let bound = bound.transpose().map_err(|error| self.named(&name, error.into()))?.map(Arc::new);
        let layout_known = remembered.is_some();
        self.opened.push_back(Opened { reader, name, bound, first, layout_known, started: false });
        Ok(())
    }

    /// An error about the columns of an input, with its name if there are several.
    fn named(&self, name: &str, error: Error) -> Error {
        if self.is_one { error } else { Error::Config(format!("{name}: {error}")) }
    }

    /// The column, template or constant that fills each field, for the first input.
    pub fn feeds(&self) -> Vec<FieldFeed> {
        self.opened.iter().find_map(|source| source.bound.as_ref()).map(|bound| bound.feeds()).unwrap_or_default()
    }

    /// The columns of all inputs: their headers, or the keys of the first rows of JSON.
    pub fn columns(&self) -> Vec<String> {
        columns_of(self.opened.iter().map(|source| (&source.reader, source.first.as_ref())))
    }

    /// The columns of the first input that have the name of an optional field and are not mapped.
    pub fn unmapped_columns(&self) -> Vec<UnmappedColumns> {
        let bound = self.opened.iter().find_map(|source| source.bound.as_ref());
        bound.map(|bound| bound.unmapped_columns()).unwrap_or_default()
    }

    pub fn mapping(&self) -> Arc<Mapping> {
        Arc::clone(&self.mapping)
    }

    /// Rows that were read before their line was complete, and whose line was completed since, as input name and row
    /// number.
    pub fn completed_rows(&self) -> Vec<(String, u64)> {
        self.opened.iter().filter_map(|source| Some((source.name.clone(), source.reader.completed_row()?))).collect()
    }

    /// Whether every input is a file. A pipe may never end and cannot be read twice.
    pub fn is_of_files(&self) -> bool {
        self.of_files
    }

    /// The column that identifies a row.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The next step of intake, mapped; `None` at the end of all inputs.
    pub fn step(&mut self) -> Result<Option<IntakeStep>, Error> {
        Ok(match self.find()? {
            None => None,
            Some(Found::Begin { name, layout }) => Some(IntakeStep::Begin { name, layout }),
            Some(Found::Split { name, split, bound }) => {
                Some(IntakeStep::Split { name, parts: self.map(bound.as_deref(), split)? })
            }
            Some(Found::End { name, shapes }) => Some(IntakeStep::End { name, shapes }),
        })
    }

    /// The next step of intake, not yet mapped; `None` at the end of all inputs.
    pub fn find(&mut self) -> Result<Option<Found>, Error> {
        let Some(mut source) = self.opened.pop_front() else { return Ok(None) };
        let name = source.name.clone();
        if !source.started {
            source.started = true;
            let layout = source.new_layout(&self.given)?;
            self.opened.push_front(source);
            return Ok(Some(Found::Begin { name, layout }));
        }
        let split = match source.first.take() {
            Some(first) => Some(first),
            None => source.reader.next_split()?,
        };
        let Some(split) = split else {
            return Ok(Some(Found::End { name, shapes: source.reader.shapes() }));
        };
        if source.bound.is_none()
            && let Some(keys) = first_keys(&split)
        {
            source.bound = Some(Arc::new(self.mapping.bind_nested(&keys)?));
        }
        let bound = source.bound.clone();
        self.opened.push_front(source);
        Ok(Some(Found::Split { name, split, bound }))
    }

    /// Maps the records of a split.
    fn map(&self, bound: Option<&Bound>, split: Split) -> Result<MappedSplit, Error> {
        let mut parts = MappedSplit {
            rows: vec![],
            asks: vec![],
            notes: vec![],
            ids: SplitValues::default(),
            end: split.checkpoint.clone(),
        };
        for record in split.records {
            let place = parts.rows.len() as u32;
            match record {
                Record::Damaged { position, failure, input } => {
                    parts.rows.push(ingested_row(&position, None, input));
                    parts.asks.push((place, None, Mapped::Failed(failure)));
                }
                Record::Row(row) => {
                    let mapped = self.carried.map(bound.ok_or_else(unbound)?, &row)?;
                    let (subject, notes) = subject(&row, self.id.as_deref()).unzip();
                    if self.id.is_some() {
                        parts.ids.add_id(subject.as_deref(), &self.digests);
                    }
                    parts.notes.extend(notes.unwrap_or_default().into_iter().map(|note| (place, note)));
                    parts.rows.push(ingested_row(&row.position, subject, row.to_json().into()));
                    parts.asks.extend(mapped.into_iter().enumerate().map(|(check, one)| (place, Some(check), one)));
                }
            }
        }
        parts.ids.finish();
        Ok(parts)
    }
}

/// A step of intake, not yet mapped.
pub enum Found {
    /// The start of an input, with its layout if the ledger does not know it yet.
    Begin {
        name: String,
        layout: Option<String>,
    },
    /// A split. `bound` is `None` until a row of the input could be read.
    Split {
        name: String,
        split: Split,
        bound: Option<Arc<Bound>>,
    },
    End {
        name: String,
        shapes: RowShapes,
    },
}

/// A step of intake, mapped.
pub enum IntakeStep {
    Begin { name: String, layout: Option<String> },
    Split { name: String, parts: MappedSplit },
    End { name: String, shapes: RowShapes },
}

/// The error for a row without known columns, which is a bug.
pub fn unbound() -> Error {
    Error::Internal("a row came before its columns".to_owned())
}

/// A mapped split. Each ask has the index of its row and of its check.
pub struct MappedSplit {
    pub rows: Vec<IngestedRow>,
    pub asks: Vec<(u32, Option<usize>, Mapped)>,
    /// Notes on subjects, each with the index of its row.
    pub notes: Vec<(u32, Note)>,
    /// The ids of the rows that could be read.
    pub ids: SplitValues,
    pub end: Checkpoint,
}

impl Opened {
    fn new_layout(&self, given: &SourceOptions) -> Result<Option<String>, Error> {
        if self.layout_known {
            return Ok(None);
        }
        let (format, delimiter, header) = self.reader.layout();
        let columns = match header {
            Some(header) => header.to_vec(),
            None => self.first.as_ref().and_then(first_keys).unwrap_or_default(),
        };
        SourceLayout::new(format, delimiter, columns, given).to_text().map(Some)
    }
}

fn ingested_row(position: &crate::model::Position, subject: Option<String>, input: serde_json::Value) -> IngestedRow {
    let crate::model::Position { row_number, line, byte_offset, .. } = *position;
    IngestedRow { row_number, line, byte_offset, subject, input }
}
