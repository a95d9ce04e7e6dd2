//! Rows of published folders, to be looked at: the first rows of a round in the order of its input, or every row of one
//! subject in several rounds in the order of time. Decides which rows are wanted; how they look is decided elsewhere.

use super::published::each_row_of_part;
use crate::{
    error::Error,
    model::{FailureCode, Verdict},
    sink::{Dataset, DatasetKind, OutputMode, Part, PublishedFolder, ResultForm, TableCell, results_schema},
};
use std::collections::BTreeMap;

/// The datasets that have one row for each ask.
const KINDS: [DatasetKind; 4] =
    [DatasetKind::Results, DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped];

/// Which rows of a round are wanted. Without verdicts and codes, all results and failures are.
#[derive(Debug, Clone, Default)]
pub struct RowFilter {
    pub verdicts: Vec<Verdict>,
    pub codes: Vec<FailureCode>,
    pub checks: Vec<String>,
}

impl RowFilter {
    /// Whether it leaves out any rows.
    pub fn leaves_out(&self) -> bool {
        !(self.is_of_any_end() && self.checks.is_empty())
    }

    /// Whether a row is wanted. Without verdicts and codes, pending and skipped rows are too.
    pub fn wants_row(&self, row: &SeenRow) -> bool {
        let is_of_any_end = self.is_of_any_end();
        let is_check = self.checks.is_empty() || row.check.as_ref().is_none_or(|check| self.checks.contains(check));
        is_check
            && match &row.end {
                SeenEnd::Result { verdict, .. } => {
                    is_of_any_end || self.verdicts.iter().any(|wanted| wanted.as_str() == verdict)
                }
                SeenEnd::Failure { code, .. } => {
                    is_of_any_end || self.codes.iter().any(|wanted| wanted.as_str() == code)
                }
                _ => is_of_any_end,
            }
    }

    fn wants(&self, kind: DatasetKind) -> bool {
        match kind {
            DatasetKind::Results => self.is_of_any_end() || !self.verdicts.is_empty(),
            DatasetKind::Failures => self.is_of_any_end() || !self.codes.is_empty(),
            _ => false,
        }
    }

    fn is_of_any_end(&self) -> bool {
        self.verdicts.is_empty() && self.codes.is_empty()
    }
}

/// A row of a published folder.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenRow {
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
    let is_check = |check: &str| filter.checks.is_empty() || filter.checks.iter().any(|one| one == check);
    let mut kept: BTreeMap<(usize, u64, usize, u64), SeenRow> = BTreeMap::new();
    let mut total = 0;
    for (number, dataset) in datasets.iter().enumerate() {
        if !filter.wants(dataset.kind) || !dataset.check.as_deref().is_none_or(is_check) {
            continue;
        }
        let columns = Columns::of(dataset);
        for part in &dataset.parts {
            each_row_of_part(folder, dataset, part, &columns.names(), &mut |cells| {
                let word = columns.text(cells, columns.word_place());
                let is_wanted = match dataset.kind {
                    DatasetKind::Results => {
                        filter.verdicts.is_empty() || filter.verdicts.iter().any(|verdict| verdict.as_str() == word)
                    }
                    _ => {
                        let check = columns.optional(cells, CHECK);
                        (filter.codes.is_empty() || filter.codes.iter().any(|code| code.as_str() == word))
                            && check.as_deref().is_none_or(is_check)
                    }
                };
                if !is_wanted {
                    return Ok(());
                }
                total += 1;
                let place = (place_of_source(folder, cells), columns.row_number(cells), number, total);
                if kept.len() < limit || kept.last_key_value().is_some_and(|(last, _)| place < *last) {
                    kept.insert(place, columns.row(folder, cells));
                    if kept.len() > limit {
                        kept.pop_last();
                    }
                }
                Ok(())
            })?;
        }
    }
    Ok(SeenRows { rows: kept.into_values().collect(), total })
}

/// The place of a row's input among those of the manifest.
fn place_of_source(folder: &PublishedFolder, cells: &[TableCell]) -> usize {
    let sources = &folder.manifest().input.sources;
    let is_source = |name: &str| matches!(&cells[SOURCE], TableCell::Text(source) if source == name);
    sources.iter().position(|source| is_source(&source.name)).unwrap_or(sources.len())
}

/// Every row of a subject in these folders, in the order of time. A row without an answer comes after the last answer of
/// its round.
///
/// # Errors
/// A part cannot be read.
pub fn rows_of_subject(folders: &[PublishedFolder], subject: &str) -> Result<Vec<SeenRow>, Error> {
    let mut found: Vec<(i64, SeenRow)> = Vec::new();
    for folder in folders {
        let (mut of_round, mut last_us) = (Vec::new(), i64::MIN);
        for dataset in folder.manifest().datasets.iter().filter(|dataset| KINDS.contains(&dataset.kind)) {
            for part in &dataset.parts {
                last_us = last_us.max(rows_in_part(folder, dataset, part, subject, &mut of_round)?);
            }
        }
        found.extend(of_round.into_iter().map(|row: SeenRow| (row.completed_at_us.unwrap_or(last_us), row)));
    }
    // Stable, so that rows of the same time keep the order of folders and datasets.
    found.sort_by_key(|(at_us, _)| *at_us);
    Ok(found.into_iter().map(|(_, row)| row).collect())
}

/// Adds the rows of a subject in one part, and returns the time of its last answer. Other columns are read only if the
/// part has the subject.
fn rows_in_part(
    folder: &PublishedFolder,
    dataset: &Dataset,
    part: &Part,
    subject: &str,
    found: &mut Vec<SeenRow>,
) -> Result<i64, Error> {
    let (mut is_here, mut last_us) = (false, i64::MIN);
    each_row_of_part(folder, dataset, part, &["subject", "completed_at"], &mut |cells| {
        is_here |= matches!(&cells[0], TableCell::Text(text) if text == subject);
        if let TableCell::Timestamp(at_us) = cells[1] {
            last_us = last_us.max(at_us);
        }
        Ok(())
    })?;
    if is_here {
        let columns = Columns::of(dataset);
        each_row_of_part(folder, dataset, part, &columns.names(), &mut |cells| {
            if columns.optional(cells, SUBJECT).as_deref() == Some(subject) {
                found.push(columns.row(folder, cells));
            }
            Ok(())
        })?;
    }
    Ok(last_us)
}

/// The columns that every row is read with, by their places.
const COMMON: [&str; 5] = ["check_name", "subject", "source", "row_number", "completed_at"];
const CHECK: usize = 0;
const SUBJECT: usize = 1;
const SOURCE: usize = 2;
const ROW_NUMBER: usize = 3;
const COMPLETED_AT: usize = 4;

/// The columns to read of a dataset: the common ones, two that say how a row ended, and the columns of the check.
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
        COMMON.into_iter().chain(self.ended).chain(self.others.iter().copied()).collect()
    }

    /// The place of the verdict, code or reason.
    fn word_place(&self) -> usize {
        COMMON.len()
    }

    fn optional(&self, cells: &[TableCell], place: usize) -> Option<String> {
        match &cells[place] {
            TableCell::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn text(&self, cells: &[TableCell], place: usize) -> String {
        self.optional(cells, place).unwrap_or_default()
    }

    fn row_number(&self, cells: &[TableCell]) -> u64 {
        match cells[ROW_NUMBER] {
            TableCell::Integer(number) => u64::try_from(number).unwrap_or_default(),
            _ => 0,
        }
    }

    fn row(&self, folder: &PublishedFolder, cells: &[TableCell]) -> SeenRow {
        let manifest = folder.manifest();
        let [first, second] = [0, 1].map(|nth| self.text(cells, self.word_place() + nth));
        let of_check = self.others.iter().zip(&cells[COMMON.len() + self.ended.len()..]);
        SeenRow {
            campaign: manifest.campaign.clone(),
            mode: manifest.mode,
            check: self.optional(cells, CHECK),
            subject: self.optional(cells, SUBJECT),
            end: match self.kind {
                DatasetKind::Results => SeenEnd::Result { verdict: first, finding: second },
                DatasetKind::Failures => SeenEnd::Failure { code: first, message: second },
                DatasetKind::Pending => SeenEnd::Pending { reason: first },
                _ => SeenEnd::Skipped { reason: first },
            },
            completed_at_us: match cells[COMPLETED_AT] {
                TableCell::Timestamp(at_us) => Some(at_us),
                _ => None,
            },
            source: self.text(cells, SOURCE),
            row_number: self.row_number(cells),
            columns: of_check
                .filter(|(_, cell)| **cell != TableCell::Null)
                .map(|(name, cell)| ((*name).to_owned(), cell.clone()))
                .collect(),
        }
    }
}
