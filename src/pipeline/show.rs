//! Rows of published folders, to be looked at: the first rows of a round in the order of its input, or those of one subject
//! or row in several rounds in the order of time. Decides which rows are wanted; how they look is decided elsewhere.

use super::published::{each_row, each_row_of_part};
use crate::{
    error::Error,
    model::{FailureCode, Verdict},
    sink::{Dataset, DatasetKind, OutputMode, Part, PublishedFolder, ResultForm, TableCell, results_schema},
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The datasets that have one row for each ask.
const KINDS: [DatasetKind; 4] =
    [DatasetKind::Results, DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped];

/// Which rows are wanted.
#[derive(Debug, Clone, Default)]
pub struct RowFilter {
    /// How they ended. Empty means every result and failure of a round, and every row of a subject.
    pub ends: Vec<WantedEnd>,
    /// Empty means every check.
    pub checks: Vec<String>,
}

/// An end that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedEnd {
    Verdict(Verdict),
    Code(FailureCode),
    /// Any end in this dataset.
    Any(DatasetKind),
}

impl WantedEnd {
    fn kind(self) -> DatasetKind {
        match self {
            WantedEnd::Verdict(_) => DatasetKind::Results,
            WantedEnd::Code(_) => DatasetKind::Failures,
            WantedEnd::Any(kind) => kind,
        }
    }

    fn is(self, kind: DatasetKind, word: &str) -> bool {
        self.kind() == kind
            && match self {
                WantedEnd::Verdict(verdict) => verdict.as_str() == word,
                WantedEnd::Code(code) => code.as_str() == word,
                WantedEnd::Any(_) => true,
            }
    }
}

impl RowFilter {
    /// Whether it leaves out any rows.
    pub fn leaves_out(&self) -> bool {
        !(self.ends.is_empty() && self.checks.is_empty())
    }

    /// Whether a row is wanted. Without ends, pending and skipped rows are too.
    pub fn wants_row(&self, row: &SeenRow) -> bool {
        let (kind, word) = row.end.kind_and_word();
        row.check.as_deref().is_none_or(|check| self.wants_check(check))
            && (self.ends.is_empty() || self.wants_end(kind, word))
    }

    fn wants_check(&self, check: &str) -> bool {
        self.checks.is_empty() || self.checks.iter().any(|one| one == check)
    }

    fn wants_end(&self, kind: DatasetKind, word: &str) -> bool {
        self.ends.iter().any(|end| end.is(kind, word))
    }

    /// Whether a dataset of a round can have wanted rows.
    fn wants_dataset(&self, dataset: &Dataset) -> bool {
        let is_kind = match self.ends.as_slice() {
            [] => matches!(dataset.kind, DatasetKind::Results | DatasetKind::Failures),
            ends => ends.iter().any(|end| end.kind() == dataset.kind),
        };
        is_kind && dataset.check.as_deref().is_none_or(|check| self.wants_check(check))
    }
}

/// A row of a published folder.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenRow {
    pub result_id: String,
    pub campaign: String,
    pub mode: OutputMode,
    /// `None` for a row that could not be read, which counts for all checks.
    pub check: Option<String>,
    pub subject: Option<String>,
    pub end: SeenEnd,
    /// When the answer arrived, in microseconds since 1970.
    pub completed_at_us: Option<i64>,
    pub source: String,
    pub row_number: u64,
    /// The fields that were sent, by name. `None` without a result, and where the campaign does not keep them.
    pub sent: Option<Map<String, Value>>,
    /// The carried columns and those of the check that have a value.
    pub columns: Vec<(String, TableCell)>,
}

/// How a row ended.
#[derive(Debug, Clone, PartialEq)]
pub enum SeenEnd {
    Result { verdict: String, finding: String },
    Failure { code: String, message: String },
    Pending { reason: String },
    Skipped { reason: String },
}

impl SeenRow {
    /// The fields that were sent, as text.
    pub fn sent_fields(&self) -> Vec<(&str, String)> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.sent.iter().flatten().map(|(name, value)| (name.as_str(), text(value))).collect()
    }
}

impl SeenEnd {
    fn kind_and_word(&self) -> (DatasetKind, &str) {
        match self {
            SeenEnd::Result { verdict, .. } => (DatasetKind::Results, verdict),
            SeenEnd::Failure { code, .. } => (DatasetKind::Failures, code),
            SeenEnd::Pending { reason } => (DatasetKind::Pending, reason),
            SeenEnd::Skipped { reason } => (DatasetKind::Skipped, reason),
        }
    }
}

/// The first rows of a round, and how many there are.
#[derive(Debug, Default, PartialEq)]
pub struct SeenRows {
    pub rows: Vec<SeenRow>,
    pub total: u64,
}

/// The first `limit` wanted rows of a folder, in the order of its input.
///
/// # Errors
/// A part cannot be read, or the folder does not have a wanted check.
pub fn first_rows(folder: &PublishedFolder, filter: &RowFilter, limit: usize) -> Result<SeenRows, Error> {
    let datasets = &folder.manifest().datasets;
    if let Some(unknown) =
        filter.checks.iter().find(|name| !datasets.iter().any(|one| one.check.as_ref() == Some(name)))
    {
        let known: Vec<&str> = datasets.iter().filter_map(|one| one.check.as_deref()).collect();
        return Err(Error::Config(format!("expected a check of the round ({}), found `{unknown}`", known.join(", "))));
    }
    let mut kept: BTreeMap<(usize, u64, usize, u64), SeenRow> = BTreeMap::new();
    let mut total = 0;
    for (number, dataset) in datasets.iter().enumerate().filter(|(_, dataset)| filter.wants_dataset(dataset)) {
        let columns = Columns::of(dataset);
        each_row(folder, dataset, &columns.names(), &mut |cells| {
            let is_check = optional(cells, CHECK).is_none_or(|check| filter.wants_check(check));
            let is_end = filter.ends.is_empty() || filter.wants_end(dataset.kind, text(cells, WORD));
            if !is_check || !is_end {
                return Ok(());
            }
            total += 1;
            let place = (place_of_source(folder, cells), row_number(cells), number, total);
            if kept.len() < limit || kept.last_key_value().is_some_and(|(last, _)| place < *last) {
                kept.insert(place, columns.row(folder, cells));
                if kept.len() > limit {
                    kept.pop_last();
                }
            }
            Ok(())
        })?;
    }
    Ok(SeenRows { rows: kept.into_values().collect(), total })
}

/// The place of a row's input among those of the manifest.
fn place_of_source(folder: &PublishedFolder, cells: &[TableCell]) -> usize {
    let sources = &folder.manifest().input.sources;
    let is_source = |name: &str| matches!(&cells[SOURCE], TableCell::Text(source) if source == name);
    sources.iter().position(|source| is_source(&source.name)).unwrap_or(sources.len())
}

/// Which rows to look up.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    Subject(&'a str),
    /// The rows whose subject is this one but for zeros in front, which spreadsheet programs remove.
    ZerosAside(&'a str),
    /// The rows with this number in their input.
    RowNumber(u64),
    /// The rows with these values of `result_id`.
    ResultIds(&'a BTreeSet<String>),
}

impl Wanted<'_> {
    /// The place of the column that says which rows are wanted.
    fn place(self) -> usize {
        match self {
            Wanted::Subject(_) | Wanted::ZerosAside(_) => SUBJECT,
            Wanted::RowNumber(_) => ROW_NUMBER,
            Wanted::ResultIds(_) => RESULT_ID,
        }
    }

    /// Whether a row with this cell in that column is wanted.
    fn is(self, cell: &TableCell) -> bool {
        match (self, cell) {
            (Wanted::Subject(subject), TableCell::Text(text)) => text == subject,
            (Wanted::ZerosAside(subject), TableCell::Text(text)) => {
                text.trim_start_matches('0') == subject.trim_start_matches('0')
            }
            (Wanted::RowNumber(number), TableCell::Integer(found)) => u64::try_from(*found) == Ok(number),
            (Wanted::ResultIds(ids), TableCell::Text(text)) => ids.contains(text),
            _ => false,
        }
    }
}

/// The wanted rows of these folders, in the order of time. A row without an answer comes after the last answer of its
/// round.
///
/// # Errors
/// A part cannot be read.
pub fn rows_of(folders: &[PublishedFolder], wanted: Wanted<'_>) -> Result<Vec<SeenRow>, Error> {
    let mut found: Vec<(i64, SeenRow)> = Vec::new();
    for folder in folders {
        let (mut of_round, mut last_us) = (Vec::new(), i64::MIN);
        for dataset in folder.manifest().datasets.iter().filter(|dataset| KINDS.contains(&dataset.kind)) {
            for part in &dataset.parts {
                last_us = last_us.max(rows_in_part(folder, dataset, part, wanted, &mut of_round)?);
            }
        }
        found.extend(of_round.into_iter().map(|row: SeenRow| (row.completed_at_us.unwrap_or(last_us), row)));
    }
    // Stable, so that rows of the same time keep the order of folders and datasets.
    found.sort_by_key(|(at_us, _)| *at_us);
    Ok(found.into_iter().map(|(_, row)| row).collect())
}

/// Adds the wanted rows of one part, and returns the time of its last answer. Other columns are read only if the part has
/// such a row.
fn rows_in_part(
    folder: &PublishedFolder,
    dataset: &Dataset,
    part: &Part,
    wanted: Wanted<'_>,
    found: &mut Vec<SeenRow>,
) -> Result<i64, Error> {
    let (mut is_here, mut last_us) = (false, i64::MIN);
    each_row_of_part(folder, dataset, part, &[COMMON[wanted.place()], COMMON[COMPLETED_AT]], &mut |cells| {
        is_here |= wanted.is(&cells[0]);
        last_us = last_us.max(time(&cells[1]).unwrap_or(i64::MIN));
        Ok(())
    })?;
    if is_here {
        let columns = Columns::of(dataset);
        each_row_of_part(folder, dataset, part, &columns.names(), &mut |cells| {
            if wanted.is(&cells[wanted.place()]) {
                found.push(columns.row(folder, cells));
            }
            Ok(())
        })?;
    }
    Ok(last_us)
}

/// The columns that every row is read with, by their places.
const COMMON: [&str; 6] = ["check_name", "subject", "source", "row_number", "completed_at", "result_id"];
const CHECK: usize = 0;
const SUBJECT: usize = 1;
const SOURCE: usize = 2;
const ROW_NUMBER: usize = 3;
const COMPLETED_AT: usize = 4;
const RESULT_ID: usize = 5;
/// The place of the verdict, code or reason. The finding or message and the sent fields follow.
const WORD: usize = COMMON.len();
const OTHERS: usize = WORD + 3;

/// The columns to read of a dataset: the common ones, those that say how a row ended and what was sent, and the columns
/// of the check.
struct Columns<'a> {
    kind: DatasetKind,
    ended: [&'static str; 2],
    others: Vec<&'a str>,
}

impl<'a> Columns<'a> {
    fn of(dataset: &'a Dataset) -> Columns<'a> {
        let ended = match dataset.kind {
            DatasetKind::Results => ["verdict", "finding"],
            DatasetKind::Failures => ["code", "message"],
            _ => ["reason", "job_id"],
        };
        let fixed =
            results_schema(&[], &[], &[], ResultForm::default()).map(|schema| schema.columns).unwrap_or_default();
        let is_fixed = |name: &str| fixed.iter().any(|column| column.name == name);
        let names = dataset.schema.iter().map(|column| column.name.as_str());
        let is_of_results = dataset.kind == DatasetKind::Results;
        Columns { kind: dataset.kind, ended, others: names.filter(|name| is_of_results && !is_fixed(name)).collect() }
    }

    fn names(&self) -> Vec<&'a str> {
        COMMON.into_iter().chain(self.ended).chain(["sent"]).chain(self.others.iter().copied()).collect()
    }

    fn row(&self, folder: &PublishedFolder, cells: &[TableCell]) -> SeenRow {
        let manifest = folder.manifest();
        let owned = |place: usize| text(cells, place).to_owned();
        let (first, second) = (owned(WORD), owned(WORD + 1));
        SeenRow {
            result_id: owned(RESULT_ID),
            campaign: manifest.campaign.clone(),
            mode: manifest.mode,
            check: optional(cells, CHECK).map(str::to_owned),
            subject: optional(cells, SUBJECT).map(str::to_owned),
            end: match self.kind {
                DatasetKind::Results => SeenEnd::Result { verdict: first, finding: second },
                DatasetKind::Failures => SeenEnd::Failure { code: first, message: second },
                DatasetKind::Pending => SeenEnd::Pending { reason: first },
                _ => SeenEnd::Skipped { reason: first },
            },
            completed_at_us: time(&cells[COMPLETED_AT]),
            source: owned(SOURCE),
            row_number: row_number(cells),
            sent: optional(cells, WORD + 2).and_then(|json| serde_json::from_str(json).ok()),
            columns: self
                .others
                .iter()
                .zip(&cells[OTHERS..])
                .filter(|(_, cell)| **cell != TableCell::Null)
                .map(|(name, cell)| ((*name).to_owned(), cell.clone()))
                .collect(),
        }
    }
}

fn optional(cells: &[TableCell], place: usize) -> Option<&str> {
    match &cells[place] {
        TableCell::Text(text) | TableCell::Json(text) => Some(text),
        _ => None,
    }
}

fn text(cells: &[TableCell], place: usize) -> &str {
    optional(cells, place).unwrap_or_default()
}

fn row_number(cells: &[TableCell]) -> u64 {
    match cells[ROW_NUMBER] {
        TableCell::Integer(number) => u64::try_from(number).unwrap_or_default(),
        _ => 0,
    }
}

fn time(cell: &TableCell) -> Option<i64> {
    match cell {
        TableCell::Timestamp(at_us) => Some(*at_us),
        _ => None,
    }
}
