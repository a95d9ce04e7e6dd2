//! The store: the writer's connection and the sums in memory. Every change of the ledger goes through it, in a
//! transaction that the writer begins and commits.

use super::{
    Identity, LedgerError, Sums,
    amount::Amounts,
    dictionary::AnswerCompressors,
    identity,
    lock::{LedgerFiles, Lock, Noted, log_bytes, log_is_alone, log_is_lost, log_path},
    log_pause::LOG_BYTES_KEPT,
    open::connect,
    purged::refuse_purged,
    recount::{matches, recounted},
    request_row::RequestRow,
    schema::{self, Found, examine},
};
use crate::{
    files,
    model::{
        fault_point::{self, Point, unless_failing},
        state::State,
    },
};
use rusqlite::{Connection, config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE};
use std::{
    collections::HashMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// After this many pages, the log is moved into the database: few where storage is made to fail, so that a short run
/// does it too.
fn checkpoint_pages() -> u32 {
    unless_failing(4_000, 40)
}
/// How often the log is moved into the database at least.
pub(super) const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

/// Which ledgers are opened although they are usually refused.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Opening {
    /// One that lost commits.
    pub(super) accepts_older: bool,
    /// One of which something was purged, or is to be.
    pub(super) accepts_purged: bool,
}

pub(super) struct Store {
    pub(super) conn: Connection,
    pub(super) sums: Sums,
    /// The sums as of the last commit, for readers.
    pub(super) saved: Arc<Sums>,
    /// This process created the ledger.
    pub(super) created: bool,
    /// The requests that were armed by this process and not changed since. Saves reading them again.
    pub(super) armed: HashMap<i64, RequestRow>,
    pub(super) compressors: AnswerCompressors,
    /// The id of the next ask.
    pub(super) next_ask: i64,
    /// Its files.
    pub(super) files: Arc<LedgerFiles>,
    /// Move the log into the database after the next commit.
    pub(super) checkpoint_wanted: bool,
    /// When the log was last moved into the database. Later commits are only in the log.
    checkpointed: Instant,
    /// The number of times the ledger was opened. If it grows, another process has opened the ledger.
    run: i64,
    commits: u64,
    lock: Lock,
}

impl Store {
    /// Opens the ledger for writing. Creates it if there is none.
    pub(super) fn open(path: &Path, brought: &Identity, now_us: i64, opening: Opening) -> Result<Store, LedgerError> {
        Store::opened(path, brought, now_us, opening).map_err(|error| error.at(path))
    }

    fn opened(path: &Path, brought: &Identity, now_us: i64, opening: Opening) -> Result<Store, LedgerError> {
        let mut lock = Lock::take(path)?;
        let fresh = !path.exists() || std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0);
        if log_is_alone(path) {
            return Err(LedgerError::LogAlone { path: log_path(path) });
        }
        if fresh {
            // Written before the ledger exists: a ledger next to an empty lock file means that its lock file was lost.
            lock.note(0)?;
            files::open_private(path).map_err(|source| LedgerError::Open { path: path.to_owned(), source })?;
        }
        let log_bytes = log_bytes(path);
        let conn = connect(path)?;
        // A run that fails leaves the log as it is, as if it was killed.
        conn.set_db_config(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let files = Arc::new(LedgerFiles::of(path, &lock)?);
        conn.busy_timeout(Duration::from_secs(10))?;
        keep_write_ahead_log(&conn)?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        conn.pragma_update(None, "cache_size", -8_192)?;
        conn.pragma_update(None, "wal_autocheckpoint", checkpoint_pages())?;
        conn.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT as i64)?;
        conn.set_prepared_statement_cache_capacity(64);
        let mut store = Store {
            conn,
            sums: Sums::default(),
            saved: Arc::default(),
            armed: HashMap::new(),
            compressors: AnswerCompressors::default(),
            next_ask: 1,
            created: false,
            files,
            checkpoint_wanted: false,
            checkpointed: Instant::now(),
            run: 1,
            commits: 1,
            lock,
        };
        match examine(&store.conn)? {
            Found::Nothing => store.create(brought, now_us)?,
            Found::Ledger => store.load(path, brought, log_bytes, opening)?,
        }
        store.lock.note(store.commits)?;
        store.lock.sync()?;
        // From here on, the database file itself contains its identity and that it is open, even if the log is lost.
        store.checkpoint()?;
        store.files = Arc::new(store.files.and_log()?);
        Ok(store)
    }

    fn create(&mut self, brought: &Identity, now_us: i64) -> Result<(), LedgerError> {
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        schema::create(&self.conn)?;
        identity::record(&self.conn, brought, now_us)?;
        self.save_sums()?;
        self.commit_durably()?;
        self.created = true;
        Ok(())
    }

    fn load(&mut self, path: &Path, brought: &Identity, log_bytes: u64, opening: Opening) -> Result<(), LedgerError> {
        if opening.accepts_purged {
            // What is removed is overwritten.
            self.conn.pragma_update(None, "secure_delete", true)?;
        }
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        let (run, commits, was_open) = self.accept(path, brought, log_bytes, opening)?;
        (self.run, self.commits) = (run.saturating_add(1), commits.saturating_add(1));
        self.sums = trusted_sums(&self.conn, was_open)?;
        self.save_sums()?;
        self.conn.execute("UPDATE campaign SET run = ?1, is_open = 1", [self.run])?;
        self.commit_durably()?;
        self.saved = Arc::new(self.sums.clone());
        let sql = "SELECT coalesce(max(id), 0) + 1 FROM ask";
        self.next_ask = self.conn.query_row(sql, [], |row| row.get(0))?;
        Ok(())
    }

    /// Refuses the ledger of another campaign, one that lost commits and one of which something was purged, unless it is opened for
    /// that. Returns the number of times it was opened, of its commits, and whether its last run did not close it.
    fn accept(
        &self,
        path: &Path,
        brought: &Identity,
        log_bytes: u64,
        opening: Opening,
    ) -> Result<(i64, u64, bool), LedgerError> {
        let (recorded, key_version) = identity::read(&self.conn)?
            .ok_or_else(|| LedgerError::Damaged("it does not say to which campaign it belongs".to_owned()))?;
        identity::compare(&recorded, key_version, brought)?;
        let sql = "SELECT run, commits, is_open FROM campaign";
        let (run, commits, was_open) =
            self.conn.query_row(sql, [], |row| Ok((row.get(0)?, row.amount(1)?, row.get(2)?)))?;
        if !opening.accepts_purged {
            refuse_purged(&self.conn, path)?;
        }
        if !opening.accepts_older && log_is_lost(self.lock.noted(), commits, was_open, log_bytes) {
            return Err(match self.lock.noted() {
                Noted::Commits(noted) => LedgerError::log_lost(path, noted, commits),
                _ => {
                    let lost = "its last run did not close it, and its log is empty".to_owned();
                    LedgerError::LogLost { path: path.to_owned(), lost }
                }
            });
        }
        Ok((run, commits, was_open))
    }

    pub(super) fn begin(&mut self) -> Result<(), LedgerError> {
        self.files.check()?;
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        // Another process can only be here if the lock file was removed. Then the sums in memory are outdated.
        let run: i64 = self.conn.prepare_cached("SELECT run FROM campaign")?.query_row([], |row| row.get(0))?;
        if run != self.run {
            return Err(LedgerError::Overtaken);
        }
        Ok(())
    }

    /// Commits durably, together with the current sums.
    pub(super) fn commit(&mut self) -> Result<(), LedgerError> {
        let changed = self.sums != *self.saved;
        self.commits = self.commits.saturating_add(1);
        if changed {
            self.save_sums()?;
        } else {
            self.conn.prepare_cached("UPDATE campaign SET commits = ?1")?.execute([self.commits as i64])?;
        }
        self.commit_durably()?;
        if changed {
            self.saved = Arc::new(self.sums.clone());
        }
        self.lock.note(self.commits)
    }

    /// Moves the log into the database if that is requested or due. Call it after each commit and from time to time.
    pub(super) fn checkpoint_if_due(&mut self) -> Result<(), LedgerError> {
        let is_due = self.checkpointed.elapsed() >= CHECKPOINT_EVERY;
        if self.checkpoint_wanted || is_due { self.checkpoint() } else { Ok(()) }
    }

    /// Moves the log into the database as far as concurrent readers allow, without waiting for them.
    fn checkpoint(&mut self) -> Result<(), LedgerError> {
        (self.checkpoint_wanted, self.checkpointed) = (false, Instant::now());
        self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        self.lock.sync()
    }

    /// Rewrites the file and empties the log, so that neither contains anything that was removed. Within no transaction.
    pub(super) fn rewrite_file(&mut self) -> Result<(), LedgerError> {
        self.files.check()?;
        self.conn.execute_batch("VACUUM")?;
        let is_read: bool = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if is_read { Err(LedgerError::Locked { path: self.path().to_owned() }) } else { Ok(()) }
    }

    /// Records that the ledger is closed. Only for a ledger whose commits all succeeded.
    pub(super) fn close(mut self) {
        let closed = self.begin().and_then(|()| {
            self.commits = self.commits.saturating_add(1);
            self.conn.execute("UPDATE campaign SET is_open = 0, commits = ?1", [self.commits as i64])?;
            self.conn.execute_batch("COMMIT")?;
            self.lock.note(self.commits)?;
            self.checkpoint()?;
            Ok(self.conn.set_db_config(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map(drop)?)
        });
        // If this fails, the next run finds the ledger open and counts its rows. No committed data is lost.
        if let Err(error) = closed {
            tracing::info!("the ledger was not closed: {error}");
            self.give_up();
        }
    }

    /// Saves the commits of a log that was removed during this run. The log is still open here, so it is moved into the
    /// database.
    pub(super) fn give_up(&self) {
        if self.conn.is_autocommit() && self.files.log_is_removed() {
            let saved = self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            tracing::info!("the removed log was moved into the ledger: {saved:?}");
        }
    }

    /// The database file.
    pub(super) fn path(&self) -> &Path {
        self.files.ledger()
    }

    /// Commits a transaction. This is the only place where transactions become durable.
    fn commit_durably(&self) -> Result<(), LedgerError> {
        fault_point::pass(Point::Commit).map_err(as_sqlite)?;
        self.conn.execute_batch("COMMIT")?;
        fault_point::pass(Point::AfterCommit).map_err(as_sqlite)
    }

    fn save_sums(&self) -> Result<(), LedgerError> {
        let text = serde_json::to_string(&self.sums).expect("sums are numbers and names");
        let sql = "UPDATE campaign SET sums = ?1, commits = ?2";
        self.conn.prepare_cached(sql)?.execute(rusqlite::params![text, self.commits as i64])?;
        Ok(())
    }
}

/// The stored sums if they match the rows, otherwise sums counted from the rows. After a run that did not close the
/// ledger, every request is counted.
fn trusted_sums(conn: &Connection, was_open: bool) -> Result<Sums, LedgerError> {
    let stored = read_sums(conn).ok();
    // No index lists requests that are armed, as an interrupt may leave them.
    let is_thorough = |sums: &Sums| was_open || sums.in_state(State::Armed) > 0;
    if let Some(sums) = &stored
        && sums.checks_add_up()
        && matches(conn, sums, is_thorough(sums))?
    {
        return Ok(sums.clone());
    }
    tracing::warn!("the sums of the ledger do not match its rows; they were counted again from the rows");
    let sums = recounted(conn, stored)?;
    if sums.are_possible() {
        Ok(sums)
    } else {
        Err(LedgerError::Damaged("its rows add up to more than possible".to_owned()))
    }
}

fn keep_write_ahead_log(conn: &Connection) -> Result<(), LedgerError> {
    if journal_mode(conn, "PRAGMA journal_mode")? != "wal" {
        // The change to a write-ahead log writes the first page. If it failed, a rollback journal on disk would be left
        // behind, and a ledger with such a file next to it is refused.
        journal_mode(conn, "PRAGMA journal_mode = MEMORY")?;
    }
    match journal_mode(conn, "PRAGMA journal_mode = WAL")? {
        mode if mode == "wal" => Ok(()),
        found => Err(LedgerError::JournalMode { found }),
    }
}

/// Queries or changes the journal mode. SQLite returns the new mode first and commits the change after that, so all
/// rows must be read to see whether it failed.
fn journal_mode(conn: &Connection, sql: &str) -> Result<String, LedgerError> {
    let mut pragma = conn.prepare(sql)?;
    let mut rows = pragma.query([])?;
    let mut found = String::new();
    while let Some(row) = rows.next()? {
        found = row.get(0)?;
    }
    Ok(found)
}

/// A planned fault as an SQLite error.
fn as_sqlite(fault: std::io::Error) -> LedgerError {
    let code = match fault.kind() {
        std::io::ErrorKind::StorageFull => rusqlite::ffi::SQLITE_FULL,
        _ => rusqlite::ffi::SQLITE_IOERR,
    };
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), Some(fault.to_string())).into()
}

pub(super) fn read_sums(conn: &Connection) -> Result<Sums, LedgerError> {
    let text: String = conn.query_row("SELECT sums FROM campaign", [], |row| row.get(0))?;
    let sums: Sums = serde_json::from_str(&text).map_err(|error| LedgerError::Damaged(format!("its sums: {error}")))?;
    if sums.are_possible() {
        Ok(sums)
    } else {
        Err(LedgerError::Damaged("its sums are larger than possible".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::for_tests::identity, *};

    /// How many commits the database file has without its log.
    fn commits_alone(ledger: &Path) -> i64 {
        let folder = tempfile::tempdir().unwrap();
        let alone = folder.path().join("alone.sqlite");
        std::fs::copy(ledger, &alone).unwrap();
        let conn = Connection::open(&alone).unwrap();
        conn.query_row("SELECT commits FROM campaign", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn the_log_is_checkpointed_on_request_and_after_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let mut store = Store::open(&path, &identity(), 1, Opening::default()).unwrap();
        let commit = |store: &mut Store| {
            store.begin().unwrap();
            store.commit().unwrap();
            store.checkpoint_if_due().unwrap();
            store.commits as i64
        };
        let first = commit(&mut store);
        assert!(commits_alone(&path) < first, "a moment later, the commit is still in the log");
        store.checkpoint_wanted = true;
        let second = commit(&mut store);
        assert_eq!(commits_alone(&path), second, "a checkpoint was requested");
        let Some(a_minute_ago) = store.checkpointed.checked_sub(CHECKPOINT_EVERY) else { return };
        store.checkpointed = a_minute_ago;
        let third = commit(&mut store);
        assert_eq!(commits_alone(&path), third, "a minute has passed");
    }
}
