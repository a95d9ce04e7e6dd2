//! The mappings of a campaign over its runs. A row keeps the mapping that it was read with, because its answer is paid
//! for; a changed mapping applies to later rows. Each run records its mapping in the ledger's settings, so that a change
//! is named and the rows of each mapping are counted.

use super::{Campaign, digest_of};
use crate::{
    error::Error,
    ledger::{LedgerError, NextIds, Reading},
    mapping::CheckUse,
    pipeline::wording::counted,
    sink::MappingTotals,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A mapping of a check, and when it began to apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedMapping {
    /// The name of the check in the campaign.
    pub check_name: String,
    pub digest: String,
    pub since_us: i64,
    /// The first rows that it applies to.
    pub from: NextIds,
}

/// A part of the recorded settings.
#[derive(Default, Deserialize)]
struct RecordedMappings {
    #[serde(default)]
    mappings: Vec<RecordedMapping>,
}

/// A check whose mapping differs from the one of the last run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedMapping {
    pub check_name: String,
    /// Rows that keep another mapping.
    pub rows: u64,
    /// Those of them that are answered.
    pub answered: u64,
}

impl ChangedMapping {
    /// The change as a message.
    pub fn message(&self) -> String {
        let answered = counted(self.answered, "row keeps its answer", "rows keep answers");
        let mut text = format!("the mapping of {} changed; {answered} to the old one", self.check_name);
        let unanswered = self.rows - self.answered;
        if unanswered > 0 {
            let rows = counted(unanswered, "row that was read before is", "rows that were read before are");
            text.push_str(&format!(", and {rows} sent as the old one filled them"));
        }
        text + "; for the new mapping on these rows, start a new campaign with --campaign NAME"
    }
}

/// What decides which requests the rows of a check become, and what is expected of their answers.
fn digest(campaign: &Campaign, one: &CheckUse) -> String {
    let reads_tables = format!("{one:?}").contains("table(");
    let tables = reads_tables.then_some(&campaign.tables);
    let CheckUse { check, when, fields, expect, .. } = one;
    digest_of(&format!(
        "{check}\n{when:?}\n{fields:?}\n{expect:?}\n{tables:?}\n{:?}\n{:?}",
        campaign.null, campaign.null_in
    ))
}

/// The mappings that a ledger records, in order.
///
/// # Errors
/// The ledger cannot be read.
pub fn recorded(reading: &Reading) -> Result<Vec<RecordedMapping>, LedgerError> {
    let Some(text) = reading.settings()? else { return Ok(Vec::new()) };
    let parsed: Result<RecordedMappings, _> = serde_json::from_str(&text);
    parsed
        .map(|recorded| recorded.mappings)
        .map_err(|error| LedgerError::Damaged(format!("the settings of its last run: {error}")))
}

/// The recorded mappings with those of this run added, where they differ from the last one.
///
/// # Errors
/// The ledger cannot be read.
pub fn with_current(campaign: &Campaign, reading: &Reading) -> Result<Vec<RecordedMapping>, LedgerError> {
    let mut mappings = recorded(reading)?;
    let next = reading.next_ids()?;
    for one in &campaign.uses {
        let digest = digest(campaign, one);
        let last = mappings.iter().rev().find(|known| known.check_name == one.name());
        if last.is_some_and(|last| last.digest == digest) {
            continue;
        }
        let from = if last.is_some() { next } else { NextIds::default() };
        let since_us = campaign.clock.now_us();
        mappings.push(RecordedMapping { check_name: one.name().to_owned(), digest, since_us, from });
    }
    Ok(mappings)
}

/// The checks whose mapping differs from the one of the last run.
///
/// # Errors
/// The ledger cannot be read.
pub fn changed(campaign: &Campaign, reading: &Reading) -> Result<Vec<ChangedMapping>, LedgerError> {
    let (known, current) = (recorded(reading)?.len(), with_current(campaign, reading)?);
    let mut changed = Vec::new();
    for new in current[known..].iter().filter(|new| new.from != NextIds::default()) {
        let of_check: Vec<&RecordedMapping> = current.iter().filter(|one| one.check_name == new.check_name).collect();
        let (mut rows, mut answered) = (0, 0);
        for (mapping, counts) in of_check.iter().zip(counts(reading, &of_check)?) {
            if mapping.digest != new.digest {
                rows += counts.0;
                answered += counts.1;
            }
        }
        if rows > 0 {
            changed.push(ChangedMapping { check_name: new.check_name.clone(), rows, answered });
        }
    }
    Ok(changed)
}

/// The rows of each mapping of a check, and how many of them are answered.
fn counts(reading: &Reading, mappings: &[&RecordedMapping]) -> Result<Vec<(u64, u64)>, LedgerError> {
    let Some(first) = mappings.first() else { return Ok(Vec::new()) };
    let uses = reading.check_uses()?;
    let Some((id, _)) = uses.iter().find(|(_, row)| row.name == first.check_name) else {
        return Ok(vec![(0, 0); mappings.len()]);
    };
    let ends = mappings.iter().skip(1).map(|next| next.from).chain([NextIds { ask: i64::MAX, request: i64::MAX }]);
    let mut before = (0, 0);
    ends.map(|end| {
        let until = reading.mapped_before(*id, end)?;
        let own = (until.rows.saturating_sub(before.0), until.answered.saturating_sub(before.1));
        before = (until.rows, until.answered);
        Ok(own)
    })
    .collect()
}

/// The rows of each mapping, for the checks whose rows were read with several.
///
/// # Errors
/// The ledger cannot be read.
pub fn totals(reading: &Reading) -> Result<Vec<MappingTotals>, Error> {
    let recorded = recorded(reading)?;
    let mut by_check: BTreeMap<&str, Vec<&RecordedMapping>> = BTreeMap::new();
    for mapping in &recorded {
        by_check.entry(&mapping.check_name).or_default().push(mapping);
    }
    let mut totals = Vec::new();
    for (check, mappings) in by_check.into_iter().filter(|(_, mappings)| mappings.len() > 1) {
        let read = mappings.iter().zip(counts(reading, &mappings)?);
        let read: Vec<_> = read.filter(|(_, (rows, _))| *rows > 0).collect();
        for (mapping, (rows, _)) in read.iter().filter(|_| read.len() > 1) {
            let since = jiff::Timestamp::from_microsecond(mapping.since_us).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
            totals.push(MappingTotals { check: check.to_owned(), since: since.to_string(), rows: *rows });
        }
    }
    Ok(totals)
}
