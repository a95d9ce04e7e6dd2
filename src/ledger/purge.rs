//! Purging: what a row or an answer says about a person leaves the ledger for good. What is left says that something was
//! asked, when, how it ended and what it cost. A ledger of which anything was purged is closed: nothing new is written
//! to it, so that no row that is gone can be paid for again.

use super::{
    Identity, Ledger, LedgerError, Reading,
    amount::Amounts,
    dictionary::{MAKES_DICTIONARY, renew},
    identity,
    parts::paths_of,
    purged::{PurgeRow, PurgeStamp, purges, refuse_purged},
    reading::DATASET,
    recount::recounted,
    rows::{IngestedRow, RowReader, Values, without_values},
    store::{Opening, Store},
    writer::CommitMode,
};
use crate::model::Credits;
use rusqlite::{Connection, OptionalExtension, params};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// The rows that a purge removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaving {
    Everything,
    Subjects {
        /// Indexes of rows by split.
        rows: BTreeMap<i64, BTreeSet<u32>>,
        /// The ids of their asks.
        asks: Vec<i64>,
        /// The subjects that no row has, by their places in the list.
        missing: Vec<usize>,
        /// The number of rows without a subject.
        without_subject: u64,
    },
}

/// Rows of subjects that are looked for.
struct Meant<'a> {
    subjects: &'a [String],
    /// The places of those that were found.
    found: BTreeSet<usize>,
    rows: BTreeMap<i64, BTreeSet<u32>>,
    without_subject: u64,
}

impl Meant<'_> {
    fn look_at(&mut self, (split, index): (i64, u32), row: &IngestedRow) {
        let Some(subject) = &row.subject else { return };
        if let Some(at) = self.subjects.iter().position(|one| one == subject) {
            self.found.insert(at);
            self.rows.entry(split).or_default().insert(index);
        }
    }
}

impl Leaving {
    /// The ids as a JSON list; `None` for all.
    fn listed(&self) -> Option<String> {
        match self {
            Leaving::Everything => None,
            Leaving::Subjects { asks, .. } => Some(serde_json::to_string(asks).expect("numbers")),
        }
    }
}

/// What a purge removes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PurgeCounts {
    pub rows: u64,
    pub asks: u64,
    /// The requests that lose their content, also those that corrected rows have left.
    pub requests: u64,
    /// The requests that keep it, because rows that stay ask the same.
    pub shared: u64,
    /// Answers of rows that stay, and that the service has made for one of these requests: see `crossed`.
    pub crossed: u64,
    /// What the requests cost that lose their content. It stays recorded.
    pub credits: Credits,
}

/// Whether an ask is among those that leave. `?1` is the list of their ids; without one, all leave.
pub(super) const LEAVES: &str = "(?1 IS NULL OR ask.id IN (SELECT value FROM json_each(?1)))";

/// Tables about single requests of which nothing is left.
const ABOUT_REQUESTS: [&str; 7] =
    ["unreadable", "attachment", "other_path", "upload", "judged_again", "crossed", "unrecognised"];

/// Tables about single parts.
const ABOUT_PARTS: [&str; 4] = ["part_rules", "compared", "answers_of_part", "decisions_of_part"];

impl Reading {
    /// The rows of these subjects; without a list, all rows.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn leaving(&self, subjects: Option<&[String]>) -> Result<Leaving, LedgerError> {
        let Some(subjects) = subjects else { return Ok(Leaving::Everything) };
        let mut meant = Meant { subjects, found: BTreeSet::new(), rows: BTreeMap::new(), without_subject: 0 };
        let sql = "SELECT split, row_index FROM ask ORDER BY id";
        let (mut reader, mut last) = (RowReader::new(&self.conn, Values::Skipped), None);
        let place = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.every(sql, place, |place| -> Result<(), LedgerError> {
            // The asks of a row follow each other.
            if last.replace(place) != Some(place) {
                let row = reader.at(place)?.1;
                meant.without_subject += u64::from(row.subject.is_none());
                meant.look_at(place, row);
            }
            Ok(())
        })?;
        self.corrected_rows(|source, row| -> Result<(), LedgerError> {
            let place = self.place_of_row(source, row.row_number)?;
            place.into_iter().for_each(|place| meant.look_at(place, row));
            Ok(())
        })?;
        let Meant { found, rows, without_subject, .. } = meant;
        let mut asks = Vec::new();
        let mut select = self.conn.prepare("SELECT id, split, row_index FROM ask ORDER BY id")?;
        let mut each = select.query([])?;
        while let Some(ask) = each.next()? {
            if rows.get(&ask.get(1)?).is_some_and(|indexes| ask.get(2).is_ok_and(|index| indexes.contains(&index))) {
                asks.push(ask.get(0)?);
            }
        }
        let missing = (0..subjects.len()).filter(|at| !found.contains(at)).collect();
        Ok(Leaving::Subjects { rows, asks, missing, without_subject })
    }

    /// What a purge of these rows would remove.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn purge_counts(&self, leaving: &Leaving) -> Result<PurgeCounts, LedgerError> {
        counts(&self.conn, leaving.listed().as_deref())
    }

    /// The purges, the first ones first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn purges(&self) -> Result<Vec<PurgeRow>, LedgerError> {
        purges(&self.conn)
    }

    /// Refuses a ledger of which something was purged, as opening it for writing does.
    ///
    /// # Errors
    /// Something was purged, or the ledger cannot be read.
    pub fn refuse_purged(&self) -> Result<(), LedgerError> {
        refuse_purged(&self.conn, self.path())
    }

    /// The purged rows that could not be read.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn purged_unreadable(&self) -> Result<u64, LedgerError> {
        let sql = "SELECT count(*) FROM purged_ask WHERE check_use IS NULL";
        Ok(self.conn.query_row(sql, [], |row| row.amount(0))?)
    }

    /// When the newest data came: a row that was read, or an answer. In microseconds since 1970; `None` without any.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn newest_data_us(&self) -> Result<Option<i64>, LedgerError> {
        let sql = "SELECT max(ingested_at) FROM split";
        let read: Option<i64> = self.conn.query_row(sql, [], |row| row.get(0))?;
        Ok(read.max(self.last_answer_us()?))
    }

    /// The paths of the files, relative to the output folder, that had rows of an unfinished purge, in any format.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn files_of_unfinished_purges(&self) -> Result<Vec<String>, LedgerError> {
        let checks = self.check_uses()?;
        let sql = "SELECT DISTINCT check_use, part FROM purged_ask
                   WHERE part IS NOT NULL AND purge IN (SELECT id FROM purge WHERE finished_at IS NULL)";
        let mut select = self.conn.prepare(sql)?;
        let mut rows = select.query([])?;
        let mut paths = Vec::new();
        while let Some(row) = rows.next()? {
            if let Some(check) = checks.get(&row.get(0)?) {
                paths.extend(paths_of(&check.name, row.get(1)?));
            }
        }
        Ok(paths)
    }
}

fn counts(conn: &Connection, listed: Option<&str>) -> Result<PurgeCounts, LedgerError> {
    let of_asks = format!("SELECT count(*), count(DISTINCT split << 32 | row_index) FROM ask WHERE {LEAVES}");
    let (asks, rows) = conn.query_row(&of_asks, [listed], |row| Ok((row.amount(0)?, row.amount(1)?)))?;
    let stays = format!("EXISTS (SELECT 1 FROM ask WHERE ask.request = request.id AND NOT {LEAVES})");
    let of_requests = format!(
        "SELECT count(*), total({stays}), total(iif({stays}, 0, charged)) FROM request
         WHERE id IN (SELECT request FROM ask WHERE {LEAVES})"
    );
    let (all, shared, credits) = conn.query_row(&of_requests, [listed], |row| {
        Ok((row.amount(0)?, row.get::<_, f64>(1)? as u64, Credits(row.get::<_, f64>(2)? as u64)))
    })?;
    if asks == 0 {
        return Ok(PurgeCounts::default());
    }
    let sql = "SELECT count(*) FROM request WHERE NOT EXISTS (SELECT 1 FROM ask WHERE ask.request = request.id)
                 AND id NOT IN (SELECT request FROM purged_request)";
    let left: u64 = conn.query_row(sql, [], |row| row.amount(0))?;
    // Services may echo the key as the id of the exchange.
    let of_crossed = format!(
        "SELECT count(*) FROM crossed JOIN answer USING (request) WHERE replace(lower(request_id), '-', '') IN
           (SELECT lower(hex(coalesce(key, first_key))) FROM request JOIN ask ON ask.request = request.id WHERE {LEAVES})
         AND EXISTS (SELECT 1 FROM ask WHERE ask.request = crossed.request AND NOT {LEAVES})"
    );
    let crossed = conn.query_row(&of_crossed, [listed], |row| row.amount(0))?;
    Ok(PurgeCounts { rows, asks, requests: all - shared + left, shared, crossed, credits })
}

impl Ledger {
    /// Opens a ledger to purge it, or to finish a purge. Only then may it be one of which something was purged. `older` accepts one
    /// that lost commits.
    ///
    /// # Errors
    /// See [`Ledger::open`].
    pub fn open_to_purge(path: &Path, identity: &Identity, older: bool, now_us: i64) -> Result<Ledger, LedgerError> {
        let store = Store::open(path, identity, now_us, Opening { accepts_older: older, accepts_purged: true })?;
        Ledger::of(store, path, CommitMode::default())
    }

    /// Removes what the ledger has about these rows, in one commit. The outputs and the free pages still have it: see
    /// [`finish_purge`].
    pub fn purge(&self, leaving: Leaving, stamp: PurgeStamp) -> Result<PurgeCounts, LedgerError> {
        self.write_blocking(move |store| purge(store, &leaving, &stamp))
    }
}

/// Ends the purges of a ledger, after its outputs were written again: free pages and the log are rewritten without what was
/// removed.
///
/// # Errors
/// Another program reads the ledger, or it cannot be written.
pub fn finish_purge(path: &Path, identity: &Identity, now_us: i64) -> Result<(), LedgerError> {
    let finish = || {
        let mut store = Store::open(path, identity, now_us, Opening { accepts_older: false, accepts_purged: true })?;
        store.begin()?;
        // Of the verdicts of parts that were written again.
        store.sums = recounted(&store.conn, Some(store.sums.clone()))?;
        store.commit()?;
        store.rewrite_file()?;
        store.begin()?;
        store.conn.execute("UPDATE purge SET finished_at = ?1 WHERE finished_at IS NULL", [now_us])?;
        store.commit()?;
        store.close();
        Ok(())
    };
    finish().map_err(|error: LedgerError| error.at(path))
}

fn purge(store: &mut Store, leaving: &Leaving, stamp: &PurgeStamp) -> Result<PurgeCounts, LedgerError> {
    let listed = leaving.listed();
    let removed = counts(&store.conn, listed.as_deref())?;
    if removed.asks == 0 {
        return Ok(removed);
    }
    let conn = &store.conn;
    let scope = if *leaving == Leaving::Everything { "everything" } else { "subjects" };
    let PurgeCounts { rows, asks, requests, .. } = removed;
    conn.execute(
        "INSERT INTO purge (scope, rows, asks, requests, reason, purged_by, purged_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![scope, rows as i64, asks as i64, requests as i64, stamp.reason, stamp.by, stamp.at_us],
    )?;
    let id = conn.last_insert_rowid();
    remove_asks(conn, id, listed.as_deref())?;
    remove_rows(conn, leaving)?;
    let own_keys = identity::read(conn)?.is_some_and(|(identity, _)| identity.key_secret.is_none());
    remove_content(conn, id, own_keys)?;
    // What a service delivered about jobs that no reply named.
    conn.execute("DELETE FROM early_delivery", [])?;
    store.armed.clear();
    store.compressors = Default::default();
    store.sums = recounted(&store.conn, Some(store.sums.clone()))?;
    Ok(removed)
}

/// Removes the asks, and the parts that have no others.
fn remove_asks(conn: &Connection, purge: i64, listed: Option<&str>) -> Result<(), LedgerError> {
    let sql = format!(
        "INSERT INTO purged_ask
         SELECT ask.id, ?2, split, row_index, check_use, request, {DATASET}, part,
                iif({DATASET} = 'failures', coalesce(ask.failure, request.failure) ->> '$.code', NULL)
         FROM ask LEFT JOIN request ON request.id = ask.request WHERE {LEAVES}"
    );
    conn.execute(&sql, params![listed, purge])?;
    conn.execute(&format!("DELETE FROM ask WHERE {LEAVES}"), [listed])?;
    conn.execute("DELETE FROM accepted WHERE ask IN (SELECT ask FROM purged_ask WHERE purge = ?1)", [purge])?;
    let sql = "UPDATE correction SET row = 'null', failure = json_set(failure, '$.message', '')
               WHERE ask IN (SELECT ask FROM purged_ask WHERE purge = ?1)";
    conn.execute(sql, [purge])?;
    let mut parts = conn.prepare("SELECT DISTINCT part FROM purged_ask WHERE purge = ?1 AND part IS NOT NULL")?;
    let parts: Vec<i64> = parts.query_map([purge], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for part in parts {
        let sql = "SELECT count(*), min(ask.id), max(ask.id) FROM part CROSS JOIN ask
                   ON ask.id BETWEEN first_ask AND last_ask AND ask.part = part.id WHERE part.id = ?1";
        let (rows, first, last): (i64, Option<i64>, Option<i64>) =
            conn.query_row(sql, [part], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        if rows == 0 {
            conn.execute("DELETE FROM part WHERE id = ?1", [part])?;
        } else {
            // The verdicts are counted again when it is written again.
            let sql = "UPDATE part SET rows = ?2, first_ask = ?3, last_ask = ?4, verdicts = NULL WHERE id = ?1";
            conn.execute(sql, params![part, rows, first, last])?;
        }
        conn.execute("DELETE FROM compared WHERE part = ?1", [part])?;
    }
    for table in ABOUT_PARTS {
        conn.execute(&format!("DELETE FROM {table} WHERE part NOT IN (SELECT id FROM part)"), [])?;
    }
    Ok(())
}

/// Removes the values of the rows.
fn remove_rows(conn: &Connection, leaving: &Leaving) -> Result<(), LedgerError> {
    let mut update = conn.prepare("UPDATE split SET records = ?2 WHERE id = ?1")?;
    match leaving {
        Leaving::Everything => {
            let mut last = 0;
            let mut next = conn.prepare("SELECT id FROM split WHERE id > ?1 ORDER BY id LIMIT 1")?;
            while let Some(split) = next.query_row([last], |row| row.get::<_, i64>(0)).optional()? {
                update.execute(params![split, without_values(conn, split, &|_| true)?])?;
                last = split;
            }
        }
        Leaving::Subjects { rows, .. } => {
            for (split, indexes) in rows {
                update.execute(params![split, without_values(conn, *split, &|index| indexes.contains(&index))?])?;
            }
        }
    }
    Ok(())
}

/// Removes the content of requests that have no ask any more. With `own_keys`, keys are digests of the content alone, and are
/// replaced by random marks.
fn remove_content(conn: &Connection, purge: i64, own_keys: bool) -> Result<(), LedgerError> {
    let sql = "INSERT INTO purged_request SELECT id, ?1 FROM request
               WHERE NOT EXISTS (SELECT 1 FROM ask WHERE ask.request = request.id)
                 AND id NOT IN (SELECT request FROM purged_request)";
    conn.execute(sql, [purge])?;
    let sql = format!(
        "SELECT DISTINCT check_name FROM purged_request JOIN answer USING (request) JOIN request ON request.id = request
         WHERE purge = ?1 AND {MAKES_DICTIONARY}"
    );
    let mut checks = conn.prepare(&sql)?;
    let checks: Vec<String> = checks.query_map([purge], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let sql = "UPDATE answer SET body = x'', request_id = iif(?2 AND replace(lower(request_id), '-', '') IN
                 (SELECT lower(hex(first_key)) FROM request WHERE id = answer.request UNION ALL
                  SELECT lower(hex(key)) FROM request WHERE id = answer.request AND key IS NOT NULL), NULL, request_id)
               WHERE request IN (SELECT request FROM purged_request WHERE purge = ?1)";
    conn.execute(sql, params![purge, own_keys])?;
    let sql = "UPDATE request SET fields = '{}', body = x'', digest = randomblob(16), verdict = NULL, finding = NULL,
                 failure = iif(failure IS NULL, NULL, json_set(failure, '$.message', '')),
                 first_key = iif(?2, randomblob(16), first_key), key = iif(?2 AND key IS NOT NULL, randomblob(16), key)
               WHERE id IN (SELECT request FROM purged_request WHERE purge = ?1)";
    conn.execute(sql, params![purge, own_keys])?;
    let sql = "UPDATE job SET job_id = lower(hex(randomblob(16))), last_message = NULL
               WHERE request IN (SELECT request FROM purged_request WHERE purge = ?1)";
    conn.execute(sql, [purge])?;
    // The file of a row that leaves may have been named for a request that others share.
    let shared = "request IN (SELECT request FROM purged_ask WHERE purge = ?1)";
    conn.execute(&format!("UPDATE attachment SET path = '' WHERE {shared}"), [purge])?;
    conn.execute(&format!("DELETE FROM other_path WHERE {shared}"), [purge])?;
    for table in ABOUT_REQUESTS {
        let sql = format!("DELETE FROM {table} WHERE request IN (SELECT request FROM purged_request WHERE purge = ?1)");
        conn.execute(&sql, [purge])?;
    }
    checks.iter().try_for_each(|check| renew(conn, check))
}
