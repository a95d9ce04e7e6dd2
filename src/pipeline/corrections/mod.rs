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
    failure_file::RESULT_ID,
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
    sink::{OutputMode, result_id},
};
use file::{CorrectionFile, FileRow, RowPlace};
use merged::{Merged, is_foreign, merged};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
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
    /// The corrected rows that each column changes in.
    pub changed_columns: BTreeMap<String, u64>,
    /// Columns of the file that its input does not have.
    pub ignored_columns: BTreeSet<String>,
}

/// A file of corrections, and what it may do.
#[derive(Debug, Clone)]
pub struct Corrections {
    pub path: PathBuf,
    /// It may change the subject of a row.
    pub change_ids: bool,
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
        let changed: Vec<String> = self
            .changed_columns
            .iter()
            .take(NAMED_MAX)
            .map(|(column, count)| format!("`{column}` in {}", rows(*count)))
            .collect();
        let changed = (!changed.is_empty()).then(|| format!("what changes: {}", changed.join(", ")));
        let ignored: Vec<String> =
            self.ignored_columns.iter().take(NAMED_MAX).map(|column| format!("`{column}`")).collect();
        let ignored = (!ignored.is_empty())
            .then(|| format!("ignored, because the input has no such column: {}", ignored.join(", ")));
        let named = self.named.iter().cloned().chain(more);
        std::iter::once(line).chain(changed).chain(ignored).chain(named).collect()
    }
}

/// What a mapping of corrected rows needs.
pub struct Correcting<'a> {
    pub campaign: &'a Campaign,
    pub mapping: &'a Mapping,
    pub carried: &'a CarriedKinds,
    pub receiver: &'a BodyReceiver,
    pub corrections: &'a Corrections,
}

/// Reads a file of corrections and applies it. Blocks.
///
/// # Errors
/// The file cannot be read, the mapping does not match the columns, or the ledger fails.
pub fn correct(ledger: &Ledger, with: &Correcting<'_>) -> Result<CorrectionCounts, Error> {
    let file = file::read(&with.corrections.path)?;
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
    let mut seen: BTreeMap<RowPlace, RowFate> = BTreeMap::new();
    for some in splits.chunks(SPLITS_AT_ONCE) {
        reading.asks_of_splits(some, |ask| -> Result<(), Error> {
            let Some((place, rows)) = wanted.get(&ask.place) else { return Ok(()) };
            let Some((layout, bound)) = layouts.get(ask.source) else { return Ok(()) };
            let of_row = seen.entry((*place).clone()).or_default();
            let (row, columns) = match edited(&ask.row.input, layout, rows, &mut counts.ignored_columns) {
                Merged::Unchanged => {
                    of_row.is_unchanged = true;
                    return Ok(());
                }
                Merged::Unclear(why) => {
                    of_row.why = Some(why);
                    return Ok(());
                }
                Merged::Corrected { row, columns } => (row, columns),
            };
            let corrected = corrected_ask(&ask, row, (&uses, bound), with)?;
            let why = may_be_corrected(&ask).err().map(str::to_owned);
            of_row.obstacle = of_row.obstacle.take().or_else(|| {
                let is_settled = why.is_some();
                let name = ask.check_use.and_then(|id| known.get(&id)).map(|check| check.name.as_str());
                of_another_campaign(rows, place, with)
                    .or_else(|| changed_subject(&ask, &corrected, with))
                    .or_else(|| is_settled.then(|| other_content(&ask, &corrected, name)).flatten())
            });
            match why {
                Some(why) => of_row.why = Some(why),
                None => {
                    of_row.columns = columns;
                    of_row.asks.push(corrected);
                }
            }
            Ok(())
        })?;
    }
    let mut asks = Vec::new();
    for (place, fate) in seen {
        let RowFate { asks: corrected, is_unchanged, why, obstacle, columns } = fate;
        match (obstacle, why) {
            (Some(obstacle), _) if !corrected.is_empty() => counts.refuse(&place, &obstacle),
            (None, _) if !corrected.is_empty() => {
                counts.corrected += 1;
                columns.into_iter().for_each(|column| *counts.changed_columns.entry(column).or_default() += 1);
                let fates = || corrected.iter().flat_map(|ask| &ask.fates);
                let failing = fates().filter(|(_, fate)| matches!(fate, Fate::Failure(_))).count() as u64;
                counts.failing += failing;
                counts.mapped += fates().count() as u64 - failing;
                asks.extend(corrected);
            }
            (_, Some(why)) if !is_unchanged => counts.refuse(&place, &why),
            _ => counts.unchanged += 1,
        }
    }
    Ok((asks, counts))
}

/// Why the row of a file does not belong to this campaign.
fn of_another_campaign(rows: &[&FileRow], (source, number): &RowPlace, with: &Correcting<'_>) -> Option<String> {
    let campaign = with.campaign;
    let names = campaign.uses.iter().map(|one| Some(one.name())).chain([None]);
    // Where a simulator answers is known only after its first answer.
    let modes = [false, true].map(|is_simulated| OutputMode::of(campaign.mode, is_simulated));
    let own: BTreeSet<String> =
        names.flat_map(|name| modes.map(|mode| result_id(&campaign.name, mode, name, source, *number))).collect();
    let foreign = rows.iter().find(|row| row.result_id.as_ref().is_some_and(|id| !own.contains(id)))?;
    Some(format!(
        "line {} of the file was made from a row of another campaign, as its `{RESULT_ID}` shows; use the failures.csv of \
         this campaign",
        foreign.line
    ))
}

/// Why a correction may not change the subject of a row.
fn changed_subject(ask: &AskView<'_>, corrected: &CorrectedAsk, with: &Correcting<'_>) -> Option<String> {
    let before = ask.row.subject.as_ref()?;
    let after = corrected.row.subject.as_deref().unwrap_or_default();
    if with.corrections.change_ids || before == after {
        return None;
    }
    let column = with.campaign.id.as_deref().unwrap_or_default();
    Some(match before.trim_start_matches('0') == after && !after.is_empty() {
        true => format!(
            "its `{column}` lost its leading zeros, as in a spreadsheet program; open the file with this column as text"
        ),
        false => format!(
            "its `{column}` is another one, so the row would be about another subject; keep the id, or allow it with \
             --change-ids"
        ),
    })
}

/// Why a correction may not change what another check of the row was asked with.
fn other_content(ask: &AskView<'_>, corrected: &CorrectedAsk, name: Option<&str>) -> Option<String> {
    let AskFate::Request(request) = &ask.fate else { return None };
    let is_same = corrected.fates.iter().any(|(_, fate)| match fate {
        Fate::Request { fields, .. } => *fields == request.fields,
        _ => false,
    });
    (!is_same).then(|| {
        let name = name.unwrap_or("another check");
        format!("it would change what {name} was already asked with; change only what the failed check needs")
    })
}

/// The splits whose asks are read with one query.
const SPLITS_AT_ONCE: usize = 500;

/// What becomes of a row, over all its asks.
#[derive(Default)]
struct RowFate {
    /// Those that get the row of the file.
    asks: Vec<CorrectedAsk>,
    /// An ask of it already has the values of the file.
    is_unchanged: bool,
    /// Why one of them keeps its row.
    why: Option<String>,
    /// Why the row of the file cannot be used for any of them.
    obstacle: Option<String>,
    columns: Vec<String>,
}

/// What the rows of the file say about one row. A row that failed for several checks is in the file once for each.
fn edited(input: &Value, layout: &SourceLayout, rows: &[&FileRow], ignored: &mut BTreeSet<String>) -> Merged {
    let mut found: Option<(Map<String, Value>, Vec<String>)> = None;
    for row in rows {
        let foreign = row
            .cells
            .iter()
            .filter(|(column, cell)| !cell.is_empty() && is_foreign(input, layout.format, &layout.columns, column));
        ignored.extend(foreign.map(|(column, _)| column.clone()));
        match merged(input, layout.format, &layout.columns, &row.cells) {
            Merged::Unchanged => {}
            unclear @ Merged::Unclear(_) => return unclear,
            Merged::Corrected { row, columns } if found.as_ref().is_none_or(|(known, _)| *known == row) => {
                found = Some((row, columns));
            }
            Merged::Corrected { .. } => {
                let lines: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
                let lines = lines.join(", ");
                return Merged::Unclear(format!("lines {lines} of the file correct it differently; make them equal"));
            }
        }
    }
    found.map_or(Merged::Unchanged, |(row, columns)| Merged::Corrected { row, columns })
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
