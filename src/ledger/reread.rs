//! Splits of an input that changed after it was read. A row of which a request was sent stays as it is, and so does what
//! became of it. The others are replaced: one transaction gives a split the rows that its input has now.

use super::{
    IngestedAsk, IngestedRow, Ledger, LedgerError, Reading,
    amount::Amounts,
    check_sums::{AskEnd, CheckSums},
    completed::leave_unsent,
    ingest::insert_ask_as,
    open::connect,
    reading::failure_of,
    rows::{compress_rows, damaged},
    store::Store,
};
use crate::{files, model::Checkpoint};
use rusqlite::{Connection, Row, config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, params};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    path::{Path, PathBuf},
};

/// Where a split is in its source, and where its asks are in the ledger.
#[derive(Debug, Clone)]
pub struct SplitPlace {
    pub id: i64,
    source: i64,
    pub first_row: u64,
    /// The number of the row after it.
    pub end: u64,
    /// Its asks are among those with these ids.
    asks: (i64, i64),
}

/// A row that was read before.
pub struct ReadRow {
    pub row: IngestedRow,
    /// The rows that corrections put in its place.
    pub corrected: Vec<IngestedRow>,
    /// A request of the row may have left this machine.
    pub was_sent: bool,
}

/// A split as its input has it now.
pub struct RereadSplit {
    pub place: SplitPlace,
    /// All its rows, and where it ends now; `None` if the input ends before it.
    pub now: Option<(Vec<IngestedRow>, Checkpoint)>,
    /// The indexes of the rows that changed or are gone. None of them was sent.
    pub changed: BTreeSet<u32>,
    /// The asks of the rows that changed.
    pub asks: Vec<IngestedAsk>,
}

/// Whether an ask has no request, or one that never left this machine.
pub(super) const IS_UNSENT: &str =
    "(request.id IS NULL OR request.state = 0 AND request.attempts = 0 AND request.charged = 0
     AND NOT EXISTS (SELECT 1 FROM upload WHERE upload.request = request.id)
     AND NOT EXISTS (SELECT 1 FROM decision WHERE decision.request = request.id))";

impl Reading {
    /// The splits of a source from the one that begins with this row, in order.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn splits_from(&self, source: i64, first_row: u64) -> Result<Vec<SplitPlace>, LedgerError> {
        let first_row = i64::try_from(first_row).map_err(|error| damaged(&error))?;
        let mut select = self.conn.prepare("SELECT split, min(id), max(id) FROM ask GROUP BY split")?;
        let asks: BTreeMap<i64, (i64, i64)> =
            select.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?.collect::<Result<_, _>>()?;
        let sql = "SELECT id, next_row_number - rows, next_row_number FROM split
                   WHERE source = ?1 AND next_row_number - rows >= ?2 ORDER BY next_row_number";
        let mut select = self.conn.prepare(sql)?;
        let place = |row: &Row<'_>| {
            let id = row.get(0)?;
            // A split without an ask has an empty range.
            let asks = asks.get(&id).copied().unwrap_or((1, 0));
            Ok(SplitPlace { id, source, first_row: row.amount(1)?, end: row.amount(2)?, asks })
        };
        Ok(select.query_map([source, first_row], place)?.collect::<Result<_, _>>()?)
    }

    /// The rows of a split, as they were read.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn read_rows(&self, place: &SplitPlace) -> Result<Vec<ReadRow>, LedgerError> {
        let rows = self.rows_of_split(place.id)?;
        let mut read: Vec<ReadRow> =
            rows.into_iter().map(|row| ReadRow { row, corrected: Vec::new(), was_sent: false }).collect();
        let missing = |index: u32| damaged(&format!("row {index} is missing"));
        for ask in asks_of(&self.conn, place)? {
            let index = ask.row_index;
            read.get_mut(index as usize).ok_or_else(|| missing(index))?.was_sent |= !ask.is_unsent;
        }
        let sql = "SELECT row_index, row FROM correction JOIN ask ON ask.id = correction.ask
                   WHERE ask BETWEEN ?1 AND ?2 AND split = ?3 ORDER BY correction.id";
        let mut select = self.conn.prepare_cached(sql)?;
        let mut corrections = select.query(params![place.asks.0, place.asks.1, place.id])?;
        while let Some(correction) = corrections.next()? {
            let (index, row): (u32, String) = (correction.get(0)?, correction.get(1)?);
            let row = serde_json::from_str(&row).map_err(|error| damaged(&error))?;
            read.get_mut(index as usize).ok_or_else(|| missing(index))?.corrected.push(row);
        }
        Ok(read)
    }

    /// Copies the ledger into a new folder beside it that is removed when it is dropped, so that a change can be tried.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub fn copy(&self) -> Result<(tempfile::TempDir, PathBuf), LedgerError> {
        let copied =
            tempfile::Builder::new().prefix(".plan-").tempdir_in(files::folder_of(self.path())).and_then(|folder| {
                let copy = folder.path().join("ledger.sqlite");
                let conn = connect(self.path()).map_err(io::Error::other)?;
                // A reader does not clean up after a killed run.
                conn.set_db_config(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(io::Error::other)?;
                write_copy(&conn, &copy)?;
                Ok((folder, copy))
            });
        copied.map_err(|source| LedgerError::NoCopy { path: self.path().to_owned(), source })
    }
}

/// Writes the content of the database, including what is still in its log, into a new file.
fn write_copy(conn: &Connection, copy: &Path) -> io::Result<()> {
    // SQLite writes into an empty file and keeps its access rights.
    let file = files::open_private(copy)?;
    let name = copy.to_str().ok_or_else(|| io::Error::other("its name is not UTF-8 text"))?;
    conn.execute("VACUUM INTO ?1", [name]).map_err(io::Error::other)?;
    file.sync_all()
}

impl Ledger {
    /// Gives a split the rows that its input has now.
    ///
    /// # Errors
    /// A row that changed was sent, or the ledger cannot be written.
    pub fn reread(&self, split: RereadSplit) -> Result<(), LedgerError> {
        let records = split.now.as_ref().map(|(rows, _)| compress_rows(rows));
        self.write_blocking(move |store| {
            replace_asks(store, &split)?;
            replace_rows(store, &split, records.as_deref().unwrap_or_default())
        })
    }
}

fn replace_rows(store: &mut Store, split: &RereadSplit, records: &[u8]) -> Result<(), LedgerError> {
    let place = &split.place;
    let rows = match &split.now {
        None => {
            store.conn.execute("DELETE FROM split WHERE id = ?1", [place.id])?;
            0
        }
        Some((rows, end)) => {
            let sql = "UPDATE split SET rows = ?2, end_offset = ?3, end_line = ?4, next_row_number = ?5, sha256 = ?6,
                       records = ?7 WHERE id = ?1";
            let (offset, line, next) = (end.end_offset as i64, end.end_line as i64, end.next_row_number as i64);
            let rows = rows.len() as u64;
            store.conn.execute(sql, params![place.id, rows as i64, offset, line, next, end.sha256, records])?;
            rows
        }
    };
    // There may be more rows now, also if it was read to its end.
    store.conn.execute("UPDATE source SET complete = 0 WHERE id = ?1", [place.source])?;
    store.sums.rows = (store.sums.rows + rows).checked_sub(place.end - place.first_row).ok_or_else(uncounted)?;
    store.sums.completed_at_us = None;
    Ok(())
}

/// Removes the asks of the rows that changed, and inserts the new ones under the same ids, so that ids stay in the order of
/// the rows.
fn replace_asks(store: &mut Store, split: &RereadSplit) -> Result<(), LedgerError> {
    let mut free: BTreeMap<u32, VecDeque<i64>> = BTreeMap::new();
    for ask in asks_of(&store.conn, &split.place)?.into_iter().filter(|ask| split.changed.contains(&ask.row_index)) {
        free.entry(ask.row_index).or_default().push_back(ask.id);
        remove_ask(store, &ask)?;
    }
    for ask in &split.asks {
        let id = free.get_mut(&ask.row_index).and_then(VecDeque::pop_front).unwrap_or(store.next_ask);
        store.next_ask = store.next_ask.max(id.saturating_add(1));
        insert_ask_as(store, id, split.place.id, ask)?;
    }
    Ok(())
}

struct AskOfSplit {
    id: i64,
    row_index: u32,
    check_use: Option<i64>,
    failure: Option<String>,
    is_skipped: bool,
    request: Option<i64>,
    is_unsent: bool,
}

fn asks_of(conn: &Connection, place: &SplitPlace) -> Result<Vec<AskOfSplit>, LedgerError> {
    let sql = format!(
        "SELECT ask.id, row_index, check_use, ask.failure, skipped IS NOT NULL, ask.request, {IS_UNSENT}
         FROM ask LEFT JOIN request ON request.id = ask.request
         WHERE ask.id BETWEEN ?1 AND ?2 AND split = ?3 ORDER BY ask.id"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let found = select.query_map(params![place.asks.0, place.asks.1, place.id], |row| {
        Ok(AskOfSplit {
            id: row.get(0)?,
            row_index: row.get(1)?,
            check_use: row.get(2)?,
            failure: row.get(3)?,
            is_skipped: row.get(4)?,
            request: row.get(5)?,
            is_unsent: row.get(6)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn remove_ask(store: &mut Store, ask: &AskOfSplit) -> Result<(), LedgerError> {
    if !ask.is_unsent {
        return Err(LedgerError::Damaged("a row that was sent was to be read again".to_owned()));
    }
    let end = match &ask.failure {
        Some(failure) => AskEnd::Failed(failure_of(failure)?.code),
        None if ask.is_skipped => AskEnd::Skipped,
        None => AskEnd::Open,
    };
    store.conn.execute("DELETE FROM correction WHERE ask = ?1", [ask.id])?;
    store.conn.execute("DELETE FROM ask WHERE id = ?1", [ask.id])?;
    let less = |count: u64, by: bool| count.checked_sub(u64::from(by)).ok_or_else(uncounted);
    let is_readable = ask.check_use.is_some();
    let sums = &mut store.sums;
    sums.asks = less(sums.asks, is_readable)?;
    sums.unreadable = less(sums.unreadable, !is_readable)?;
    sums.unmapped = less(sums.unmapped, is_readable && ask.failure.is_some())?;
    sums.skipped = less(sums.skipped, ask.is_skipped)?;
    let check = sums.check(ask.check_use);
    check.change(end, AskEnd::Open, 1);
    check.asks = less(check.asks, true)?;
    // A check without asks has no entry, so that equal sums are equal.
    sums.checks.retain(|_, check| *check != CheckSums::default());
    ask.request.map_or(Ok(()), |request| leave_unsent(store, request, ask.id))
}

fn uncounted() -> LedgerError {
    LedgerError::Damaged("a row was read, but the sums do not count it".to_owned())
}
