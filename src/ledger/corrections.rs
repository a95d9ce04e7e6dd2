//! Corrected rows of asks that failed before they were charged. The row that was read stays in its split and the reason
//! stays beside the correction, so that both can be shown later. One transaction corrects an ask and gives it its new fate.

use super::{
    Fate, IngestedAsk, IngestedRow, Ledger, LedgerError, Reading,
    amount::Amounts,
    check_sums::{AskEnd, UNREADABLE_ROWS},
    ingest::{insert_ask, insert_remapped},
    reading::failure_of,
    store::Store,
};
use crate::model::{Failure, Stage, state::State};
use rusqlite::{OptionalExtension, params};
use std::collections::{BTreeMap, BTreeSet};

/// A failed ask with the row that takes the place of its own.
#[derive(Clone)]
pub struct CorrectedAsk {
    pub ask: i64,
    pub row: IngestedRow,
    /// Its new fate. An ask of a row that could not be read becomes one ask of each check.
    pub fates: Vec<(i64, Fate)>,
}

/// Where corrections come from.
#[derive(Debug, Clone)]
pub struct CorrectionSource {
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    pub corrected_by: String,
    pub corrected_at_us: i64,
}

/// The asks that one file gave another row.
#[derive(Debug, Clone)]
pub struct CorrectionsMade {
    pub asks: u64,
    pub source: CorrectionSource,
}

impl Ledger {
    /// Corrects failed asks.
    ///
    /// # Errors
    /// An ask cannot be corrected any more, or the ledger cannot be written.
    pub fn correct(&self, asks: Vec<CorrectedAsk>, source: CorrectionSource) -> Result<(), LedgerError> {
        self.write_blocking(move |store| asks.iter().try_for_each(|ask| correct(store, ask, &source)))
    }
}

/// An ask as it was before its correction.
struct Before {
    check_use: Option<i64>,
    failure: String,
    split: i64,
    row_index: u32,
    /// Whether it could not be mapped or read; otherwise its request failed.
    has_no_request: bool,
}

fn correct(store: &mut Store, corrected: &CorrectedAsk, source: &CorrectionSource) -> Result<(), LedgerError> {
    let gone = || LedgerError::Damaged("an ask to be corrected has not failed, or may have been charged".to_owned());
    let before = before(store, corrected.ask)?.ok_or_else(gone)?;
    let failure: Failure = failure_of(&before.failure)?;
    store.sums.completed_at_us = None;
    if before.check_use.is_some() {
        let (_, fate) = corrected.fates.first().ok_or_else(gone)?;
        insert_remapped(store, corrected.ask, fate, AskEnd::Failed(failure.code), before.has_no_request)?;
        return note(store, corrected.ask, corrected, &before.failure, source);
    }
    // One failure for all checks becomes an ask of each.
    store.conn.execute("DELETE FROM ask WHERE id = ?1", [corrected.ask])?;
    store.sums.unreadable = store.sums.unreadable.checked_sub(1).ok_or_else(gone)?;
    let unreadable = store.sums.check(None);
    unreadable.change(AskEnd::Failed(failure.code), AskEnd::Open, 1);
    unreadable.asks = unreadable.asks.checked_sub(1).ok_or_else(gone)?;
    if unreadable.asks == 0 {
        store.sums.checks.remove(&UNREADABLE_ROWS);
    }
    for (check_use, fate) in &corrected.fates {
        let ask = IngestedAsk { row_index: before.row_index, check_use: Some(*check_use), fate: fate.clone() };
        let id = insert_ask(store, before.split, &ask)?;
        note(store, id, corrected, &before.failure, source)?;
    }
    Ok(())
}

/// The ask, if it failed and is proven not charged.
fn before(store: &Store, ask: i64) -> Result<Option<Before>, LedgerError> {
    let sql = "SELECT check_use, coalesce(ask.failure, request.failure), split, row_index, ask.failure IS NOT NULL
               FROM ask LEFT JOIN request ON request.id = ask.request
               WHERE ask.id = ?1 AND (ask.failure IS NOT NULL
                  OR request.state = ?2 AND possibly_charged = 0 AND unproven = 0 AND charged = 0)";
    let found = store.conn.prepare_cached(sql)?.query_row(params![ask, State::Failed.code()], |row| {
        Ok((row.get(0)?, row.get::<_, Option<String>>(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    });
    let Some((check_use, Some(failure), split, row_index, has_no_request)) = found.optional()? else { return Ok(None) };
    let is_decided = failure_of(&failure)?.stage == Stage::Resolve;
    Ok((!is_decided).then_some(Before { check_use, failure, split, row_index, has_no_request }))
}

fn note(
    store: &Store,
    ask: i64,
    corrected: &CorrectedAsk,
    failure: &str,
    source: &CorrectionSource,
) -> Result<(), LedgerError> {
    let row = serde_json::to_string(&corrected.row).expect("a row is text and numbers");
    let sql = "INSERT INTO correction (ask, row, failure, file, corrected_by, corrected_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let CorrectionSource { sha256, corrected_by, corrected_at_us } = source;
    store.conn.prepare_cached(sql)?.execute(params![ask, row, failure, sha256, corrected_by, corrected_at_us])?;
    Ok(())
}

impl Reading {
    /// The split and the index of a row; `None` if no such row was read.
    pub fn place_of_row(&self, source: &str, row_number: u64) -> Result<Option<(i64, u32)>, LedgerError> {
        let sql = "SELECT split.id, next_row_number - rows FROM split JOIN source ON source.id = split.source
                   WHERE source.name = ?1 AND next_row_number > ?2 ORDER BY next_row_number LIMIT 1";
        let Ok(row_number) = i64::try_from(row_number) else { return Ok(None) };
        let found: Option<(i64, i64)> = self
            .conn
            .prepare_cached(sql)?
            .query_row(params![source, row_number], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        Ok(found.and_then(|(split, first)| Some((split, u32::try_from(row_number.checked_sub(first)?).ok()?))))
    }

    /// The asks that would become requests of their own, by check: those that share no request with each other or with
    /// the ledger.
    pub fn requests_of_corrections(&self, corrected: &[CorrectedAsk]) -> Result<BTreeMap<String, u64>, LedgerError> {
        let mut select = self.conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM request WHERE first_key = ?1)")?;
        let (mut counts, mut seen) = (BTreeMap::new(), BTreeSet::new());
        for (_, fate) in corrected.iter().flat_map(|ask| &ask.fates) {
            let Fate::Request { key, check, .. } = fate else { continue };
            if seen.insert(*key.as_bytes()) && !select.query_row([key.as_bytes().as_slice()], |row| row.get(0))? {
                *counts.entry(check.clone()).or_default() += 1;
            }
        }
        Ok(counts)
    }

    /// The corrections by file and time, the first ones first.
    pub fn corrections(&self) -> Result<Vec<CorrectionsMade>, LedgerError> {
        let sql = "SELECT count(*), file, corrected_by, corrected_at FROM correction
                   GROUP BY file, corrected_by, corrected_at ORDER BY min(id) LIMIT 100";
        let mut select = self.conn.prepare(sql)?;
        let made = select.query_map([], |row| {
            let source =
                CorrectionSource { sha256: row.get(1)?, corrected_by: row.get(2)?, corrected_at_us: row.get(3)? };
            Ok(CorrectionsMade { asks: row.amount(0)?, source })
        })?;
        Ok(made.collect::<Result<_, _>>()?)
    }

    /// The rows that took the place of others, each with the name of its source.
    pub fn corrected_rows<E: From<LedgerError>>(
        &self,
        mut each: impl FnMut(&str, &IngestedRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT source.name, correction.row FROM correction
                   JOIN ask ON ask.id = correction.ask
                   JOIN split ON split.id = ask.split
                   JOIN source ON source.id = split.source ORDER BY correction.id";
        let mut select = self.conn.prepare(sql).map_err(LedgerError::from)?;
        let mut rows = select.query([]).map_err(LedgerError::from)?;
        while let Some(found) = rows.next().map_err(LedgerError::from)? {
            let (source, row) = (found.get::<_, String>(0), found.get::<_, String>(1));
            let row = serde_json::from_str(&row.map_err(LedgerError::from)?);
            let row = row.map_err(|_| LedgerError::Damaged("a corrected row cannot be read".to_owned()))?;
            each(&source.map_err(LedgerError::from)?, &row)?;
        }
        Ok(())
    }

    /// Whether the ledger has corrected rows.
    pub(super) fn has_corrections(&self) -> Result<bool, LedgerError> {
        Ok(self.conn.query_row("SELECT EXISTS (SELECT 1 FROM correction)", [], |row| row.get(0))?)
    }
}
