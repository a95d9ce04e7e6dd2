//! An input that is not the one that was read. This module decides what a run does about it. Where nothing was ever sent,
//! the input is read afresh. Otherwise it is compared row by row: rows that were never sent are read again, and a change of
//! a row that was sent is refused.

use super::{Found, Intake, ingested_row, layout_of, subject::subject};
use crate::{
    error::Error,
    ledger::{Fate, IngestedAsk, IngestedRow, Ledger, ReadRow, Reading, RereadSplit, SourceView, SplitPlace},
    model::{Checkpoint, Failure, FailureCode, Record},
    pipeline::{campaign::Campaign, wording::counted},
    source::{Format, SourceError, SourceOptions, Split},
};
use std::collections::BTreeSet;

/// What a run does about a changed input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayOn {
    /// Everything that was read is set aside, and the input is read from its start.
    ReadAfresh,
    /// The rows that were never sent are read again, unless another row changed too.
    ReadAgain,
    Refuse,
}

/// Decides about an error of opening the inputs. `is_unsent` says that the ledger has recorded no attempt, answer, job,
/// upload, charge, decision or correction.
pub fn way_on(error: &Error, campaign: &Campaign, is_unsent: bool) -> WayOn {
    let is_change = changed_input(error).is_some();
    // An older copy does not know everything that was sent, and a pipe cannot be read from its start again.
    let may_be_read = !campaign.accept_older_ledger && campaign.reads_only_files();
    match (is_change && may_be_read, is_unsent) {
        (false, _) => WayOn::Refuse,
        (true, true) => WayOn::ReadAfresh,
        (true, false) => WayOn::ReadAgain,
    }
}

/// The name of the input that changed, and the first row of the split with the first change.
fn changed_input(error: &Error) -> Option<(&str, u64)> {
    match error {
        Error::Source(SourceError::Changed { source_name, first_changed_rows, .. }) => {
            Some((source_name, *first_changed_rows.start()))
        }
        Error::Source(SourceError::Truncated { source_name, first_row, .. }) => Some((source_name, *first_row)),
        _ => None,
    }
}

/// The rows of an input that changed and were never sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadAgain {
    pub input: String,
    /// The number of the first of them.
    first: Option<u64>,
    changed: u64,
    /// Rows that the input has no longer.
    gone: u64,
}

impl ReadAgain {
    /// The change in words, for people.
    pub fn line(&self) -> String {
        let Some(first) = self.first else {
            return format!("{} has changed since it was read, but its rows have not", self.input);
        };
        let of = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", counted(count, "row", "rows")));
        let counts: Vec<String> = [of(self.changed, "changed"), of(self.gone, "gone")].into_iter().flatten().collect();
        format!(
            "{} has changed since it was read ({}, first row {first}): none of these rows was sent, so they are read again",
            self.input,
            counts.join(", ")
        )
    }
}

/// Opens the inputs of a campaign that has a ledger. Rows that changed in them since they were read, and were never sent,
/// are read again.
///
/// # Errors
/// Those of [`Intake::open`]; a row that was sent changed, or the ledger fails.
pub fn open_inputs(campaign: &Campaign, ledger: &Ledger) -> Result<(Intake, Vec<ReadAgain>), Error> {
    let mut again: Vec<ReadAgain> = Vec::new();
    loop {
        let (reading, is_last) = (ledger.reading()?, again.len() >= campaign.inputs.len());
        match Intake::open(campaign, &reading.sources()?) {
            Err(error) if !is_last && way_on(&error, campaign, reading.is_unsent()?) == WayOn::ReadAgain => {
                again.push(read_again(campaign, ledger, error)?);
            }
            opened => return Ok((opened?, again)),
        }
    }
}

/// Reads the rows again that changed and were never sent. `error` says which input changed.
///
/// # Errors
/// `error` with the number of the first row that changed, if a row that was sent changed, or the rows cannot be compared;
/// the input changes at this moment; or the ledger fails.
fn read_again(campaign: &Campaign, ledger: &Ledger, error: Error) -> Result<ReadAgain, Error> {
    let reading = ledger.reading()?;
    let Some((name, first)) = changed_input(&error) else { return Err(error) };
    // Nothing is written before every row was compared.
    let compared = match compare(campaign, &reading, name, first, |_| Ok(()))? {
        Ok(_) => compare(campaign, &reading, name, first, |split| Ok(ledger.reread(split)?))?,
        refused => refused,
    };
    compared.map_err(|row| with_row(error, row))
}

/// The same error with the number of the row that may not change.
fn with_row(mut error: Error, row: Option<u64>) -> Error {
    if let Error::Source(
        SourceError::Changed { first_changed_row, .. } | SourceError::Truncated { first_changed_row, .. },
    ) = &mut error
    {
        *first_changed_row = row;
    }
    error
}

/// Compares an input with what was read of it, from the split that begins with the row `first`, and gives every split as
/// it is now to `each`. Returns the rows that changed, none of which was sent; or else the first row that was sent and has
/// changed, or `None` if the input cannot be read in the same way as before.
fn compare(
    campaign: &Campaign,
    reading: &Reading,
    name: &str,
    first: u64,
    mut each: impl FnMut(RereadSplit) -> Result<(), Error>,
) -> Result<Result<ReadAgain, Option<u64>>, Error> {
    let known = reading.sources()?;
    let found = campaign.inputs.iter().zip(known).find(|(input, _)| input.name == name);
    let Some((input, mut source)) = found else { return Ok(Err(None)) };
    let splits = reading.splits_from(source.id, first)?;
    let options = SourceOptions {
        split_ends: splits.iter().map(|split| split.end).collect(),
        limit_rows: None,
        ..campaign.source_options.clone()
    };
    let alone = Campaign { inputs: vec![input.clone()], source_options: options, ..campaign.clone() };
    source.ends.retain(|end| end.next_row_number <= first);
    let Ok(mut intake) = Intake::open(&alone, std::slice::from_ref(&source)) else { return Ok(Err(None)) };
    if !has_layout_of(&mut intake, &source)? {
        return Ok(Err(None));
    }
    let uses: Vec<i64> = reading.check_uses()?.into_keys().collect();
    let mut rows = ReadAgain { input: name.to_owned(), ..ReadAgain::default() };
    for place in splits {
        let Ok(split) = next_split(&mut intake) else { return Ok(Err(None)) };
        let now = split.map(|split| (rows_of(split.records, campaign), split.checkpoint));
        let was = reading.read_rows(&place)?;
        match again(place, was, now, &uses, &mut rows) {
            Ok(split) => each(split)?,
            Err(sent) => return Ok(Err(Some(sent))),
        }
    }
    Ok(Ok(rows))
}

/// Whether an input that is read from its start has the format and the columns of the earlier reading.
///
/// # Errors
/// It has another header, or cannot be read.
fn has_layout_of(intake: &mut Intake, source: &SourceView) -> Result<bool, Error> {
    let Some(Found::Begin { layout: Some(now), .. }) = intake.find()? else { return Ok(true) };
    let Some(was) = &source.layout else { return Ok(false) };
    let (now, was) = (layout_of(&now)?, layout_of(was)?);
    let is_alike = (now.format, now.delimiter) == (was.format, was.delimiter);
    if is_alike && now.format == Format::Csv && now.columns != was.columns {
        return Err(SourceError::columns_changed(source.name.as_str().into(), &was.columns, &now.columns).into());
    }
    Ok(is_alike && now.columns == was.columns)
}

fn next_split(intake: &mut Intake) -> Result<Option<Split>, Error> {
    Ok(match intake.find()? {
        Some(Found::Split { split, .. }) => Some(split),
        _ => None,
    })
}

/// A row as it would be recorded; a row that cannot be read has its failure.
type RowNow = (IngestedRow, Option<Failure>);

fn rows_of(records: Vec<Record>, campaign: &Campaign) -> Vec<RowNow> {
    let row_of = |record| match record {
        Record::Damaged { position, failure, input } => (ingested_row(&position, None, input), Some(failure)),
        Record::Row(row) => {
            let subject = subject(&row, campaign.id.as_deref()).map(|(subject, _)| subject);
            (ingested_row(&row.position, subject, row.to_json().into()), None)
        }
    };
    records.into_iter().map(row_of).collect()
}

/// A split as it is now, or the number of the first row that was sent and has changed.
fn again(
    place: SplitPlace,
    was: Vec<ReadRow>,
    now: Option<(Vec<RowNow>, Checkpoint)>,
    uses: &[i64],
    counts: &mut ReadAgain,
) -> Result<RereadSplit, u64> {
    let (now, end) = now.map_or((Vec::new(), None), |(rows, end)| (rows, Some(end)));
    let (mut rows, mut changed, mut asks) = (Vec::new(), BTreeSet::new(), Vec::new());
    let mut now = now.into_iter();
    for (index, was) in (0..).zip(was) {
        let row_number = was.row.row_number;
        match now.next() {
            Some((row, _)) if row.input == was.row.input => rows.push(row),
            // The correction was made in the input too. Other checks of the row may have been sent before it.
            Some((row, _)) if was.corrected.iter().any(|corrected| corrected.input == row.input) => {
                rows.push(IngestedRow { line: row.line, byte_offset: row.byte_offset, ..was.row });
            }
            _ if was.was_sent => return Err(row_number),
            row => {
                changed.insert(index);
                counts.first.get_or_insert(row_number);
                match row {
                    Some((row, failure)) => {
                        counts.changed += 1;
                        rows.push(row);
                        asks.extend(asks_of(index, failure, uses));
                    }
                    None => counts.gone += 1,
                }
            }
        }
    }
    Ok(RereadSplit { place, now: end.map(|end| (rows, end)), changed, asks })
}

/// The asks of a row that was read again. They are mapped with those that could not be mapped before.
fn asks_of(row_index: u32, failure: Option<Failure>, uses: &[i64]) -> Vec<IngestedAsk> {
    let ask = |check_use, failure| IngestedAsk { row_index, check_use, fate: Fate::Failure(failure) };
    let unmapped = || {
        Failure::map(
            FailureCode::InvalidValue,
            "the row has changed in the input and was not mapped again yet; run again",
        )
    };
    match failure {
        Some(failure) => vec![ask(None, failure)],
        None => uses.iter().map(|check_use| ask(Some(*check_use), unmapped())).collect(),
    }
}
