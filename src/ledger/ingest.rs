//! Ingesting a split: records its raw rows, the fate of each ask, the exact bodies of new requests, and how far the
//! source was read, in one transaction. After this, asks that were mapped are never mapped again.

use super::{
    Committing, Ledger, LedgerError, Reading,
    arm::digest,
    ask_ends::{end_of, give_first_ask, has_ask},
    attachments::{insert_attachments, insert_other_paths},
    check_sums::AskEnd,
    check_uses::{CheckUseRow, check_use_rows},
    reading::failure_of,
    rows::{IngestedRow, compress_rows},
    store::Store,
};
use crate::model::{Attachment, Checkpoint, Failure, IdempotencyKey, RequestId, state::State};
use rusqlite::{OptionalExtension, params};
use std::collections::BTreeMap;

/// The fate of an ask when its row was ingested.
#[derive(Clone)]
pub enum Fate {
    Request {
        key: IdempotencyKey,
        check: String,
        fields: String,
        body: Vec<u8>,
        /// What the row expects of the answer, in JSON. It belongs to the ask, not to the request.
        expected: Option<String>,
        files: Vec<Attachment>,
    },
    Failure(Failure),
    Skipped(String),
}

/// One ask of a split.
pub struct IngestedAsk {
    /// The index of the row in the split, from 0.
    pub row_index: u32,
    /// The check in the campaign; `None` for a row that could not be read.
    pub check_use: Option<i64>,
    pub fate: Fate,
}

/// A mapped split.
pub struct IngestedSplit {
    pub source: i64,
    pub rows: Vec<IngestedRow>,
    pub asks: Vec<IngestedAsk>,
    pub end: Checkpoint,
}

impl Ledger {
    /// Records the checks of the campaign, or compares them with what is recorded. Returns their ids in order. Once
    /// rows are ingested, checks cannot be added or removed, because an ask missing from one row could never be added
    /// later.
    pub async fn check_uses(&self, uses: Vec<CheckUseRow>) -> Result<Vec<i64>, LedgerError> {
        self.write(move |store| {
            let known = check_use_rows(&store.conn)?;
            if let Err(refusal) = compare_check_uses(&known, &uses, store.sums.rows > 0) {
                return Ok(Err(refusal));
            }
            let number = |one: &CheckUseRow| match known.iter().find(|(_, row)| row.name == one.name) {
                Some((id, _)) => Ok(*id),
                None => {
                    let sql = "INSERT INTO check_use (name, check_name, layout) VALUES (?1, ?2, ?3)";
                    store.conn.execute(sql, params![one.name, one.check, one.layout])?;
                    Ok(store.conn.last_insert_rowid())
                }
            };
            uses.iter().map(number).collect::<Result<Vec<i64>, LedgerError>>().map(Ok)
        })
        .await?
    }

    /// Ingests a split durably.
    pub fn ingest(&self, split: IngestedSplit, now_us: i64) -> Result<(), LedgerError> {
        let (committing, _) = self.ingest_later(split, now_us)?;
        self.await_commit(committing)
    }

    /// Gives a split to the writer, which ingests splits in the order of these calls. Its rows are compressed on the
    /// caller's thread. Also returns how much memory the split takes until it is committed, in bytes.
    pub fn ingest_later(&self, mut split: IngestedSplit, now_us: i64) -> Result<(Committing<()>, usize), LedgerError> {
        let records = compress_rows(&split.rows);
        let rows = std::mem::take(&mut split.rows).len();
        let bytes = records.len() + split.asks.iter().map(weight).sum::<usize>();
        self.ingest_compressed(split, rows, records, now_us).map(|committing| (committing, bytes))
    }

    fn ingest_compressed(
        &self,
        split: IngestedSplit,
        rows: usize,
        records: Vec<u8>,
        now_us: i64,
    ) -> Result<Committing<()>, LedgerError> {
        self.write_later(move |store| {
            let id = insert_split(store, &split, rows, &records, now_us)?;
            insert_asks(store, id, &split)
        })
    }

    /// Updates the fates of asks that could not be mapped before.
    pub fn remap(&self, fates: Vec<(i64, Fate)>) -> Result<(), LedgerError> {
        self.write_blocking(move |store| fates.iter().try_for_each(|(ask, fate)| remap(store, *ask, fate)))
    }
}

/// The approximate memory use of a waiting ask, in bytes.
fn weight(ask: &IngestedAsk) -> usize {
    let of_fate = match &ask.fate {
        Fate::Request { fields, body, expected, files, .. } => {
            let paths = files.iter().map(|file| 256 + file.path.len()).sum::<usize>();
            fields.len() + body.len() + expected.as_ref().map_or(0, String::len) + paths
        }
        Fate::Failure(failure) => failure.message.len(),
        Fate::Skipped(reason) => reason.len(),
    };
    256 + of_fate
}

impl Reading {
    /// Compares the checks of the campaign with those that are recorded, as [`Ledger::check_uses`] does.
    ///
    /// # Errors
    /// They differ, or the ledger cannot be read.
    pub fn agrees_on_checks(&self, uses: &[CheckUseRow]) -> Result<(), LedgerError> {
        compare_check_uses(&self.check_uses()?, uses, self.sums()?.rows > 0)
    }
}

fn compare_check_uses(
    known: &BTreeMap<i64, CheckUseRow>,
    uses: &[CheckUseRow],
    rows_taken: bool,
) -> Result<(), LedgerError> {
    for one in uses {
        match known.iter().find(|(_, row)| row.name == one.name) {
            Some((_, row)) if row == one => {}
            Some((_, row)) => {
                let differs = if row.check == one.check { "layout" } else { "check" }.to_owned();
                return Err(LedgerError::Layout { check: one.name.clone(), differs });
            }
            None if rows_taken => return Err(LedgerError::NewCheck { check: one.name.clone() }),
            None => {}
        }
    }
    match known.iter().find(|(_, row)| !uses.iter().any(|one| one.name == row.name)) {
        Some((_, row)) => Err(LedgerError::MissingCheck { check: row.name.clone() }),
        None => Ok(()),
    }
}

/// Records the compressed rows of a split and how far its source was read. Returns the id of the split.
fn insert_split(
    store: &mut Store,
    split: &IngestedSplit,
    rows: usize,
    records: &[u8],
    now_us: i64,
) -> Result<i64, LedgerError> {
    store
        .conn
        .prepare_cached(
            "INSERT INTO split (source, rows, end_offset, end_line, next_row_number, sha256, records, ingested_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            split.source,
            rows as i64,
            split.end.end_offset as i64,
            split.end.end_line as i64,
            split.end.next_row_number as i64,
            split.end.sha256,
            records,
            now_us
        ])?;
    store.sums.rows += rows as u64;
    Ok(store.conn.last_insert_rowid())
}

fn insert_asks(store: &mut Store, id: i64, split: &IngestedSplit) -> Result<(), LedgerError> {
    if !split.asks.is_empty() {
        store.sums.completed_at_us = None;
    }
    for ask in &split.asks {
        insert_ask(store, id, ask)?;
    }
    Ok(())
}

pub(super) fn insert_ask(store: &mut Store, split: i64, ask: &IngestedAsk) -> Result<i64, LedgerError> {
    let id = store.next_ask;
    store.next_ask = id.saturating_add(1);
    insert_ask_as(store, id, split, ask)?;
    Ok(id)
}

/// The same with an id that no ask has any more.
pub(super) fn insert_ask_as(store: &mut Store, id: i64, split: i64, ask: &IngestedAsk) -> Result<(), LedgerError> {
    match ask.check_use {
        Some(_) => store.sums.asks += 1,
        None => store.sums.unreadable += 1,
    }
    let columns = columns_of(store, id, &ask.fate)?;
    store.sums.unmapped += u64::from(columns.failure.is_some() && ask.check_use.is_some());
    store.sums.skipped += u64::from(columns.skipped.is_some());
    let check = store.sums.check(ask.check_use);
    check.asks += 1;
    check.add(columns.end, 1);
    store
        .conn
        .prepare_cached(
            "INSERT INTO ask (id, split, row_index, check_use, request, failure, skipped, expected)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            id,
            split,
            ask.row_index,
            ask.check_use,
            columns.request,
            columns.failure,
            columns.skipped,
            columns.expected
        ])?;
    Ok(())
}

/// The columns for the fate of an ask. Exactly one of `request`, `failure` and `skipped` is set.
struct FateColumns<'a> {
    request: Option<i64>,
    failure: Option<String>,
    skipped: Option<&'a str>,
    expected: Option<&'a str>,
    /// What has become of the ask. Its request may already be answered or failed.
    end: AskEnd,
}

fn columns_of<'a>(store: &mut Store, ask: i64, fate: &'a Fate) -> Result<FateColumns<'a>, LedgerError> {
    let nowhere = FateColumns { request: None, failure: None, skipped: None, expected: None, end: AskEnd::Open };
    Ok(match fate {
        Fate::Request { key, check, fields, body, expected, files } => {
            let content = Content { key, check, fields, body, files };
            let (request, state) = find_or_insert_request(store, ask, &content)?;
            let is_over = state == State::Answered.code() || state == State::Failed.code();
            let end = if is_over { end_of(&store.conn, RequestId(request))? } else { AskEnd::Open };
            FateColumns { request: Some(request), expected: expected.as_deref(), end, ..nowhere }
        }
        Fate::Failure(failure) => {
            let text = serde_json::to_string(failure).expect("a failure is plain text");
            FateColumns { failure: Some(text), end: AskEnd::Failed(failure.code), ..nowhere }
        }
        Fate::Skipped(reason) => FateColumns { skipped: Some(reason), end: AskEnd::Skipped, ..nowhere },
    })
}

/// Updates the fate of an ask that could not be mapped before.
fn remap(store: &mut Store, ask: i64, fate: &Fate) -> Result<(), LedgerError> {
    let sql = "SELECT failure FROM ask WHERE id = ?1";
    let before: Option<String> = store.conn.prepare_cached(sql)?.query_row([ask], |row| row.get(0))?;
    let before = before.map_or(Ok(AskEnd::Open), |text| failure_of(&text).map(|known| AskEnd::Failed(known.code)))?;
    insert_remapped(store, ask, fate, before, true)
}

/// Gives an ask a new fate. `was_unmapped` says whether it had no request before.
pub(super) fn insert_remapped(
    store: &mut Store,
    ask: i64,
    fate: &Fate,
    before: AskEnd,
    was_unmapped: bool,
) -> Result<(), LedgerError> {
    let columns = columns_of(store, ask, fate)?;
    let is_unmapped = columns.failure.is_some();
    let uncounted = || LedgerError::Damaged("an ask could not be mapped, but the sums count no such ask".to_owned());
    let unmapped = store.sums.unmapped + u64::from(is_unmapped);
    store.sums.unmapped = unmapped.checked_sub(u64::from(was_unmapped)).ok_or_else(uncounted)?;
    if !is_unmapped {
        store.sums.skipped += u64::from(columns.skipped.is_some());
        store.sums.completed_at_us = None;
    }
    let sql = "SELECT check_use, request FROM ask WHERE id = ?1";
    let (check_use, left): (Option<i64>, Option<i64>) =
        store.conn.prepare_cached(sql)?.query_row([ask], |row| Ok((row.get(0)?, row.get(1)?)))?;
    store.sums.check(check_use).change(before, columns.end, 1);
    let sql = "UPDATE ask SET request = ?2, failure = ?3, skipped = ?4, expected = ?5 WHERE id = ?1";
    let FateColumns { request, failure, skipped, expected, .. } = columns;
    store.conn.prepare_cached(sql)?.execute(params![ask, request, failure, skipped, expected])?;
    if let Some(left) = left.filter(|left| Some(*left) != request) {
        give_first_ask(store, left, ask)?;
        store.sums.without_ask += u64::from(!has_ask(store, left)?);
    }
    Ok(())
}

/// The content of a request.
struct Content<'a> {
    key: &'a IdempotencyKey,
    check: &'a str,
    fields: &'a str,
    body: &'a [u8],
    files: &'a [Attachment],
}

/// Finds the request with this content, so that equal asks are sent and paid once, or inserts a new one. Returns its id
/// and the code of its state.
fn find_or_insert_request(store: &mut Store, ask: i64, content: &Content<'_>) -> Result<(i64, i64), LedgerError> {
    let Content { key, check, fields, body, files } = *content;
    let key = *key.as_bytes();
    let digest = digest(body);
    // Searched by key and by body: mapped values and default values may make the same request.
    let known = store
        .conn
        .prepare_cached(
            "SELECT id, state FROM request WHERE first_key = ?1
             UNION ALL SELECT id, state FROM request WHERE digest = ?2 AND check_name = ?3 LIMIT 1",
        )?
        .query_row(params![key, digest, check], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
        .optional()?;
    if let Some((id, state)) = known {
        if store.sums.without_ask > 0 && !has_ask(store, id)? {
            store.sums.without_ask -= 1;
        }
        insert_other_paths(store, id, files)?;
        if state == State::Answered.code() {
            // The request is already answered, so this ask only waits for a part.
            store.conn.prepare_cached("INSERT INTO unpublished VALUES (?1) ON CONFLICT DO NOTHING")?.execute([id])?;
            // The rules may have changed since it was judged.
            store.conn.prepare_cached("INSERT INTO unjudged VALUES (?1) ON CONFLICT DO NOTHING")?.execute([id])?;
        }
        return Ok((id, state));
    }
    store
        .conn
        .prepare_cached(
            "INSERT INTO request (first_key, check_name, first_ask, fields, body, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![key, check, ask, fields, body, digest])?;
    *store.sums.requests.entry(State::Planned).or_default() += 1;
    let request = store.conn.last_insert_rowid();
    insert_attachments(store, request, files)?;
    Ok((request, State::Planned.code()))
}
