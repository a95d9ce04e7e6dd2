//! Corrections: rows that a person corrected take the place of rows that failed before they were charged. This module
//! decides which rows may be corrected. An ask that is answered, not settled yet, or may have been charged keeps its row.
//!
//! | file | noun |
//! |---|---|
//! | `file` | the file of corrections |
//! | `merged` | a failed row with the cells of the file |

pub mod file;
mod merged;

use super::{
    campaign::{Campaign, consent::system_user},
    intake::{
        SourceLayout, body_receiver::BodyReceiver, carried_kinds::CarriedKinds, ingest::fate, layout_of,
        subject::subject,
    },
    wording::counted,
};
use crate::{
    error::Error,
    ledger::{AskFate, AskView, CorrectedAsk, CorrectionSource, Fate, IngestedRow, Ledger, Reading},
    mapping::{Bound, Mapping},
    model::{Position, Row, Stage, row::Values, state::State},
};
use file::{CorrectionFile, FileRow, RowPlace};
use merged::{Merged, merged};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// The most rows that are named because they are not corrected.
const NAMED_MAX: usize = 20;

/// What becomes of the rows of a file of corrections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CorrectionCounts {
    pub corrected: u64,
    pub unchanged: u64,
    /// Rows that may not be corrected.
    pub refused: u64,
    /// The first of them, with the reason.
    pub named: Vec<String>,
    /// Asks of corrected rows that are sent now, unless an equal ask is answered already.
    pub mapped: u64,
    /// Asks of corrected rows that fail again.
    pub failing: u64,
}

impl CorrectionCounts {
    fn refuse(&mut self, (source, number): &RowPlace, why: &str) {
        self.refused += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(format!("row {number} of {source} is not corrected: {why}"));
        }
    }

    /// The counts and the rows that are not corrected, for people.
    pub fn lines(&self) -> Vec<String> {
        let rows = |count: u64| counted(count, "row", "rows");
        let mut line = format!("corrections: {} corrected, {} unchanged", rows(self.corrected), rows(self.unchanged));
        if self.refused > 0 {
            line += &format!(", {} not corrected", rows(self.refused));
        }
        if self.failing > 0 {
            line += &format!("; {} of the corrected rows fail again", counted(self.failing, "ask", "asks"));
        }
        let rest = self.refused.saturating_sub(self.named.len() as u64);
        let more = (rest > 0).then(|| format!("and {} more", rows(rest)));
        std::iter::once(line).chain(self.named.iter().cloned()).chain(more).collect()
    }
}

/// What a mapping of corrected rows needs.
pub struct Correcting<'a> {
    pub campaign: &'a Campaign,
    pub mapping: &'a Mapping,
    pub carried: &'a CarriedKinds,
    pub receiver: &'a BodyReceiver,
}

/// Reads a file of corrections and applies it. Blocks.
///
/// # Errors
/// The file cannot be read, the mapping does not match the columns, or the ledger fails.
pub fn correct(ledger: &Ledger, path: &Path, with: &Correcting<'_>) -> Result<CorrectionCounts, Error> {
    let file = file::read(path)?;
    let reading = ledger.reading()?;
    let (asks, counts) = decide(&reading, &file, with)?;
    if !asks.is_empty() {
        let source = CorrectionSource {
            sha256: file.sha256,
            corrected_by: system_user(),
            corrected_at_us: with.campaign.clock.now_us(),
        };
        ledger.correct(asks, source)?;
    }
    Ok(counts)
}

/// Decides about each row of a file: the asks that get another row, and the counts.
///
/// # Errors
/// The ledger cannot be read, or the mapping does not match the columns.
pub fn decide(
    reading: &Reading,
    file: &CorrectionFile,
    with: &Correcting<'_>,
) -> Result<(Vec<CorrectedAsk>, CorrectionCounts), Error> {
    let mut counts = CorrectionCounts::default();
    let mut layouts: BTreeMap<String, (SourceLayout, Bound)> = BTreeMap::new();
    for source in reading.sources()? {
        if let Some(layout) = source.layout.as_deref().map(layout_of).transpose()? {
            let bound = with.mapping.bind_nested(&layout.columns)?;
            layouts.insert(source.name, (layout, bound));
        }
    }
    let mut rows: BTreeMap<RowPlace, Vec<&FileRow>> = BTreeMap::new();
    for (place, row) in &file.rows {
        rows.entry(place.clone()).or_default().push(row);
    }
    let mut wanted: BTreeMap<(i64, u32), (&RowPlace, &Vec<&FileRow>)> = BTreeMap::new();
    for (place, rows) in &rows {
        match reading.place_of_row(&place.0, place.1)? {
            Some(found) => drop(wanted.insert(found, (place, rows))),
            None => counts.refuse(place, "no such row was read in this campaign"),
        }
    }
    let splits: Vec<i64> = wanted.keys().map(|(split, _)| *split).collect::<BTreeSet<_>>().into_iter().collect();
    let known = reading.check_uses()?;
    // In the order in which a row is mapped.
    let of_campaign =
        |name: &str| known.iter().find(|(_, row)| row.name == name).map(|(id, row)| (*id, row.check.clone()));
    let uses: Vec<(i64, String)> = with.campaign.uses.iter().filter_map(|one| of_campaign(one.name())).collect();
    let (mut asks, mut seen): (Vec<CorrectedAsk>, BTreeMap<RowPlace, RowFate>) = (Vec::new(), BTreeMap::new());
    for some in splits.chunks(SPLITS_AT_ONCE) {
        reading.asks_of_splits(some, |ask| -> Result<(), Error> {
            let Some((place, rows)) = wanted.get(&ask.place) else { return Ok(()) };
            let Some((layout, bound)) = layouts.get(ask.source) else { return Ok(()) };
            let of_row = seen.entry((*place).clone()).or_default();
            let row = match edited(&ask.row.input, layout, rows) {
                Merged::Unchanged => {
                    of_row.is_unchanged = true;
                    return Ok(());
                }
                Merged::Unclear(why) => {
                    of_row.why = Some(why);
                    return Ok(());
                }
                Merged::Corrected(row) => row,
            };
            if let Err(why) = may_be_corrected(&ask) {
                of_row.why = Some(why.to_owned());
                return Ok(());
            }
            let corrected = corrected_ask(&ask, row, (&uses, bound), with)?;
            let failing = corrected.fates.iter().filter(|(_, fate)| matches!(fate, Fate::Failure(_))).count() as u64;
            counts.failing += failing;
            counts.mapped += corrected.fates.len() as u64 - failing;
            of_row.is_corrected = true;
            asks.push(corrected);
            Ok(())
        })?;
    }
    for (place, fate) in seen {
        match fate {
            RowFate { is_corrected: true, .. } => counts.corrected += 1,
            RowFate { why: Some(why), is_unchanged: false, .. } => counts.refuse(&place, &why),
            _ => counts.unchanged += 1,
        }
    }
    Ok((asks, counts))
}

/// The splits whose asks are read with one query.
const SPLITS_AT_ONCE: usize = 500;

/// What becomes of a row, over all its asks.
#[derive(Default)]
struct RowFate {
    is_corrected: bool,
    /// An ask of it already has the values of the file.
    is_unchanged: bool,
    why: Option<String>,
}

/// What the rows of the file say about one row. A row that failed for several checks is in the file once for each.
fn edited(input: &Value, layout: &SourceLayout, rows: &[&FileRow]) -> Merged {
    let mut found: Option<Map<String, Value>> = None;
    for row in rows {
        match merged(input, layout.format, &layout.columns, &row.cells) {
            Merged::Unchanged => {}
            unclear @ Merged::Unclear(_) => return unclear,
            Merged::Corrected(row) if found.as_ref().is_none_or(|known| *known == row) => found = Some(row),
            Merged::Corrected(_) => {
                let lines: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
                let lines = lines.join(", ");
                return Merged::Unclear(format!("lines {lines} of the file correct it differently; make them equal"));
            }
        }
    }
    found.map_or(Merged::Unchanged, Merged::Corrected)
}

/// Whether an ask failed before it was charged.
fn may_be_corrected(ask: &AskView<'_>) -> Result<(), &'static str> {
    match &ask.fate {
        AskFate::Failure(_) => Ok(()),
        AskFate::Skipped(_) => Err("it was not checked, because of `when`"),
        AskFate::Request(request) => match request.state {
            State::Answered => Err("it is answered"),
            State::Failed if request.possibly_charged || request.is_charged => {
                Err("it may have been charged; `rescreen resolve` decides about it")
            }
            State::Failed if request.failure.as_ref().is_some_and(|failure| failure.stage == Stage::Resolve) => {
                Err("a person decided about it with `rescreen resolve`")
            }
            State::Failed => Ok(()),
            _ => Err("it is not settled yet; correct it when it has failed"),
        },
    }
}

/// The ask with its corrected row, mapped anew.
fn corrected_ask(
    ask: &AskView<'_>,
    row: Map<String, Value>,
    (uses, bound): (&[(i64, String)], &Bound),
    with: &Correcting<'_>,
) -> Result<CorrectedAsk, Error> {
    let IngestedRow { row_number, line, byte_offset, .. } = *ask.row;
    let position = Position { source: ask.source.into(), row_number, line, byte_offset };
    let row = Row { position, values: Values::Nested(row) };
    let subject = subject(&row, with.campaign.id.as_deref()).map(|(subject, _)| subject);
    let mapped = with.carried.map(bound, &row)?;
    let fates = uses.iter().zip(mapped).filter(|((id, _), _)| ask.check_use.is_none_or(|own| own == *id));
    let fates = fates.map(|((id, check), mapped)| (*id, fate(check, mapped, with.receiver))).collect();
    let row = IngestedRow { row_number, line, byte_offset, subject, input: row.to_json().into() };
    Ok(CorrectedAsk { ask: ask.id, row, fates })
}
