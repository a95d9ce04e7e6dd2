//! Reading a ledger while it may be written, for outputs, status and the next run. A reader has one connection, and can
//! use one transaction so that all datasets of a publication show the same state.

use super::{
    Identity, Ledger, LedgerError, LedgerPart, Sums,
    amount::Amounts,
    check_uses::{CheckUseRow, check_use_rows},
    dictionary::AnswerDecompressors,
    identity,
    lock::commits_noted,
    open::open_for_reading,
    readers::ReaderConnection,
    store::read_sums,
};
use crate::model::{Failure, IdempotencyKey, RequestId, state::State};
use rusqlite::{OptionalExtension, Row, params};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A reader of one ledger.
pub struct Reading {
    pub(super) conn: ReaderConnection,
    path: PathBuf,
    pub(super) answers: AnswerDecompressors,
}

/// A failed request that is uncharged according to its replies.
#[derive(Debug, Clone, PartialEq)]
pub struct Retryable {
    pub request: RequestId,
    /// The catalogue name of its check.
    pub check: String,
    pub failure: Failure,
    /// When its last attempt ended, in microseconds since 1970, if there was one.
    pub refused_at_us: Option<i64>,
}

/// Requests that were sent before and wait to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentBefore {
    /// In doubt, pending, or planned if it is proven uncharged.
    pub state: State,
    /// Whether its last replies refused it for credits or rate, or asked for a pause.
    pub is_refused: bool,
}

/// The dataset of an ask, in a query that joins its request.
pub(super) const DATASET: &str = "CASE WHEN ask.failure IS NOT NULL OR request.state = 11 THEN 'failures'
                                       WHEN ask.skipped IS NOT NULL THEN 'skipped'
                                       WHEN ask.part IS NOT NULL THEN 'results' ELSE 'pending' END";

impl Ledger {
    /// A reader of this ledger.
    ///
    /// # Errors
    /// The ledger was removed, moved or replaced, or cannot be read.
    pub fn reading(&self) -> Result<Reading, LedgerError> {
        self.check_files()?;
        Ok(Reading::with(self.readers.connection(self.path())?, self.path()))
    }
}

impl Reading {
    /// Opens a ledger for reading.
    ///
    /// # Errors
    /// The ledger is missing, has no commit yet, has lost commits, or is of another version.
    pub fn open(path: &Path) -> Result<Reading, LedgerError> {
        // Read first: a run that is under way notes each commit after it.
        let noted = commits_noted(path);
        let reading = Reading::open_older(path)?;
        let left = reading.commits()?;
        match noted.filter(|made| *made > left) {
            Some(made) => Err(LedgerError::log_lost(path, made, left)),
            None => Ok(reading),
        }
    }

    /// The same for a ledger that may have lost commits.
    ///
    /// # Errors
    /// The ledger is missing, has no commit yet, or is of another version.
    pub fn open_older(path: &Path) -> Result<Reading, LedgerError> {
        Ok(Reading::with(ReaderConnection::alone(open_for_reading(path)?), path))
    }

    fn with(conn: ReaderConnection, path: &Path) -> Reading {
        Reading { conn, path: path.to_owned(), answers: AnswerDecompressors::default() }
    }

    /// The path of the ledger file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a ledger for reading that may have lost commits; `None` if there is none yet.
    ///
    /// # Errors
    /// It has another version, or cannot be read.
    pub fn find(path: &Path) -> Result<Option<Reading>, LedgerError> {
        Reading::if_any(Reading::open_older(path))
    }

    /// A ledger that was opened; `None` if there is none yet.
    ///
    /// # Errors
    /// It cannot be opened for another reason.
    pub fn if_any(opened: Result<Reading, LedgerError>) -> Result<Option<Reading>, LedgerError> {
        match opened {
            Err(LedgerError::Absent { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// From now until the reader moves on or is dropped, all queries show the current state.
    pub fn hold_still(&self) -> Result<(), LedgerError> {
        self.conn.execute_batch("BEGIN DEFERRED")?;
        self.sums().map(drop)
    }

    /// From now on, each query shows the state at its own time.
    pub fn move_on(&self) -> Result<(), LedgerError> {
        if !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        Ok(())
    }

    /// Reads the rows of a query one by one.
    pub(super) fn every<T, E: From<LedgerError>>(
        &self,
        sql: &str,
        read: impl Fn(&Row<'_>) -> Result<T, LedgerError>,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut select = self.conn.prepare(sql).map_err(LedgerError::from)?;
        let mut rows = select.query([]).map_err(LedgerError::from)?;
        while let Some(row) = rows.next().map_err(LedgerError::from)? {
            each(read(row)?)?;
        }
        Ok(())
    }

    /// The identity of the ledger.
    pub fn identity(&self) -> Result<Identity, LedgerError> {
        let recorded = identity::read(&self.conn)?;
        recorded.map(|(identity, _)| identity).ok_or_else(|| LedgerError::Damaged("it has no identity".to_owned()))
    }

    /// Checks that the ledger has this identity, as opening it for writing does.
    ///
    /// # Errors
    /// It belongs to another campaign.
    pub fn agrees(&self, identity: &Identity) -> Result<(), LedgerError> {
        let recorded = identity::read(&self.conn)?;
        recorded.map_or(Ok(()), |(recorded, version)| identity::compare(&recorded, version, identity))
    }

    /// A unique name of this ledger.
    pub fn ledger_id(&self) -> Result<String, LedgerError> {
        identity::ledger_id(&self.conn)
    }

    /// The number of its commits.
    pub fn commits(&self) -> Result<u64, LedgerError> {
        Ok(self.conn.query_row("SELECT commits FROM campaign", [], |row| row.amount(0))?)
    }

    pub fn sums(&self) -> Result<Sums, LedgerError> {
        read_sums(&self.conn)
    }

    /// The checks of the campaign, by id.
    pub fn check_uses(&self) -> Result<BTreeMap<i64, CheckUseRow>, LedgerError> {
        check_use_rows(&self.conn)
    }

    /// All parts in order.
    pub fn parts(&self) -> Result<Vec<LedgerPart>, LedgerError> {
        let checks = self.check_uses()?;
        let sql = "SELECT id, check_use, first_ask, last_ask, part.rows, path, part.bytes, part.sha256,
                          part_rules.rules, answers_of_part.bytes, answers_of_part.sha256
                   FROM part LEFT JOIN part_rules ON part_rules.part = part.id
                   LEFT JOIN answers_of_part ON answers_of_part.part = part.id ORDER BY id";
        let mut select = self.conn.prepare(sql)?;
        let parts = select.query_map([], |row| {
            let file = |at: usize| -> rusqlite::Result<Option<(u64, String)>> {
                Ok(row.amount_if_any(at)?.zip(row.get(at + 1)?))
            };
            Ok(LedgerPart {
                id: row.get(0)?,
                check_use: row.get(1)?,
                first_ask: row.get(2)?,
                last_ask: row.get(3)?,
                rows: row.amount(4)?,
                path: row.get(5)?,
                written: file(6)?,
                answers: file(9)?,
                rules: row.get(8)?,
            })
        })?;
        let parts: Vec<LedgerPart> = parts.collect::<Result<_, _>>()?;
        parts.iter().try_for_each(|part| part.check(checks.get(&part.check_use)))?;
        Ok(parts)
    }

    /// Requests that were never sent, in input order, after the request `after`, with the catalogue name of their
    /// check.
    pub fn new_requests(&self, after: RequestId, count: usize) -> Result<Vec<(RequestId, String)>, LedgerError> {
        let sql = "SELECT id, check_name FROM request
                   WHERE state = 0 AND state NOT IN (1, 10) AND attempts = 0 AND id > ?1 ORDER BY id LIMIT ?2";
        let mut select = self.conn.prepare_cached(sql)?;
        let found =
            select.query_map(params![after.0, count as i64], |row| Ok((RequestId(row.get(0)?), row.get(1)?)))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The next requests of a check that were never sent, after the first and up to the second of these.
    pub fn new_requests_of(
        &self,
        check: &str,
        (after, until): (RequestId, RequestId),
        count: usize,
    ) -> Result<Vec<RequestId>, LedgerError> {
        let sql = "SELECT id FROM request
                   WHERE state = 0 AND state NOT IN (1, 10) AND attempts = 0 AND id > ?1 AND id <= ?2 AND check_name = ?3
                   ORDER BY id LIMIT ?4";
        let mut select = self.conn.prepare_cached(sql)?;
        let found =
            select.query_map(params![after.0, until.0, check, count as i64], |row| row.get(0).map(RequestId))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The number of the last attempt of all requests that a run may send again; 0 if none was sent. Attempts are numbered
    /// across the whole ledger.
    pub fn last_attempt(&self) -> Result<u64, LedgerError> {
        let mut last = 0;
        for state in [State::Planned, State::InDoubt, State::Repeating, State::Failed].map(State::code) {
            let sql = format!(
                "SELECT coalesce(max(last_attempt), 0) FROM request
                 WHERE state = {state} AND state NOT IN (1, 10) AND attempts > 0"
            );
            last = last.max(self.conn.query_row(&sql, [], |row| row.amount(0))?);
        }
        Ok(last)
    }

    /// Requests that were sent before and whose last attempt has a number above `after` and up to `last`, with that number. The requests not tried for the longest time come first, so a request that ends
    /// every run comes after all others of its kind.
    pub fn sent_before(
        &self,
        sent: SentBefore,
        after: u64,
        last: u64,
        count: usize,
    ) -> Result<Vec<(u64, RequestId, String)>, LedgerError> {
        let sql = format!(
            "SELECT last_attempt, id, check_name FROM request INDEXED BY request_waiting
             WHERE state = {} AND state NOT IN (1, 10) AND attempts > 0 AND (refusals_in_row > 0) = {}
               AND last_attempt > ?1 AND last_attempt <= ?2 ORDER BY last_attempt LIMIT ?3",
            sent.state.code(),
            sent.is_refused
        );
        let mut select = self.conn.prepare_cached(&sql)?;
        let last = i64::try_from(last).unwrap_or(i64::MAX);
        let found = select.query_map(params![after as i64, last, count as i64], |row| {
            Ok((row.amount(0)?, RequestId(row.get(1)?), row.get(2)?))
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The condition that a request is in one of these states. Indexes list the requests that are neither armed nor
    /// answered, and SQLite uses them only if the query says so. Armed requests are sought only if there are any.
    pub(super) fn in_states(&self, states: &[State]) -> Result<String, LedgerError> {
        let is_any_armed = self.sums()?.in_state(State::Armed) > 0;
        let sought = states.iter().filter(|state| **state != State::Armed || is_any_armed);
        let codes: Vec<String> = sought.clone().map(|state| state.code().to_string()).collect();
        let is_indexed = sought.into_iter().all(|state| !matches!(state, State::Armed | State::Answered));
        let indexed = if is_indexed { " AND request.state NOT IN (1, 10)" } else { "" };
        Ok(format!("request.state IN ({}){indexed}", codes.join(", ")))
    }

    /// When the oldest request in doubt was armed. Its key is the first to expire.
    pub fn oldest_doubt_us(&self) -> Result<Option<i64>, LedgerError> {
        self.oldest_in(&[State::Armed, State::InDoubt, State::Repeating])
    }

    /// The state of the request with this key or body; `None` if the ledger has no such request.
    pub fn state_of(&self, key: &IdempotencyKey, check: &str, body: &[u8]) -> Result<Option<State>, LedgerError> {
        let sql = "SELECT state FROM request WHERE first_key = ?1
                   UNION ALL SELECT state FROM request WHERE digest = ?2 AND check_name = ?3 LIMIT 1";
        let params = params![key.as_bytes(), super::arm::digest(body), check];
        let code: Option<i64> = self.conn.prepare_cached(sql)?.query_row(params, |row| row.get(0)).optional()?;
        let unknown = |code| LedgerError::Damaged(format!("a request has the unknown state {code}"));
        code.map(|code| State::from_code(code).ok_or_else(|| unknown(code))).transpose()
    }

    /// The number of requests that wait to be sent, by catalogue name of their check.
    pub fn planned_by_check(&self) -> Result<BTreeMap<String, u64>, LedgerError> {
        // The second condition makes the partial index apply.
        let sql = "SELECT check_name, count(*) FROM request WHERE state = 0 AND state NOT IN (1, 10) GROUP BY 1";
        let mut select = self.conn.prepare(sql)?;
        let found = select.query_map([], |row| Ok((row.get(0)?, row.amount(1)?)))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Failed requests after `after` that are proven uncharged. A request whose rows were corrected has no ask.
    pub fn retryable(&self, after: RequestId, count: usize) -> Result<Vec<Retryable>, LedgerError> {
        let sql = "SELECT id, check_name, failure, (SELECT max(armed_at + 1000 * coalesce(latency_ms, 0)) FROM attempt
                                              WHERE attempt.request = request.id)
                   FROM request WHERE state = 11 AND state NOT IN (1, 10) AND possibly_charged = 0 AND charged = 0 AND id > ?1
                     AND EXISTS (SELECT 1 FROM ask WHERE ask.request = request.id) ORDER BY id LIMIT ?2";
        let mut select = self.conn.prepare_cached(sql)?;
        let found = select.query_map(params![after.0, count as i64], |row| {
            Ok((RequestId(row.get(0)?), row.get(1)?, row.get::<_, String>(2)?, row.get(3)?))
        })?;
        let read = |one: Result<(RequestId, String, String, Option<i64>), rusqlite::Error>| {
            let (request, check, failure, refused_at_us) = one?;
            Ok(Retryable { request, check, failure: failure_of(&failure)?, refused_at_us })
        };
        found.map(read).collect()
    }
}

/// Parses a failure from the ledger.
pub(super) fn failure_of(failure: &str) -> Result<Failure, LedgerError> {
    serde_json::from_str(failure).map_err(|error| LedgerError::Damaged(format!("a failure: {error}")))
}
