//! The store: the writer's connection with the sums it keeps. Every change of the ledger goes through here, inside a
//! transaction the writer opens and commits.

use super::{Identity, LedgerError, SCHEMA_VERSION, Sums, identity};
use crate::model::{
    Credits,
    fault_point::{self, Point},
    planted::{Bug, planted},
};
use rusqlite::{Connection, OpenFlags};
use std::{
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Pages of the log after which it goes into the database; few where storage is made to fail, so that a short run does it.
const CHECKPOINT_PAGES: u32 = if cfg!(feature = "fault-points") { 40 } else { 4_000 };

pub(super) struct Store {
    pub(super) conn: Connection,
    pub(super) sums: Sums,
    /// The sums as last committed, for others to see.
    pub(super) saved: Arc<Sums>,
    /// It was made by this opening.
    pub(super) created: bool,
    /// The id of the next ask.
    pub(super) next_ask: i64,
    /// Held as long as the store lives; the operating system lets go of it when the process dies.
    _lock: File,
}

impl Store {
    /// Opens the ledger for writing, making it where there is none.
    pub(super) fn open(path: &Path, brought: &Identity, now_us: i64) -> Result<Store, LedgerError> {
        let lock = lock(path)?;
        let fresh = !path.exists() || std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0);
        if fresh {
            private_file(path).map_err(|source| LedgerError::Open { path: path.to_owned(), source })?;
        }
        let conn = Connection::open(path)?;
        conn.busy_timeout(std::time::Duration::from_secs(10))?;
        keep_write_ahead_log(&conn)?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        conn.pragma_update(None, "cache_size", -16_384)?;
        conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        conn.set_prepared_statement_cache_capacity(64);
        let mut store =
            Store { conn, sums: Sums::default(), saved: Arc::default(), next_ask: 1, created: false, _lock: lock };
        match version(&store.conn)? {
            0 => store.create(brought, now_us)?,
            SCHEMA_VERSION => store.load(brought)?,
            found => return Err(LedgerError::Version { found }),
        }
        Ok(store)
    }

    fn create(&mut self, brought: &Identity, now_us: i64) -> Result<(), LedgerError> {
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        self.conn.execute_batch(include_str!("schema.sql"))?;
        identity::record(&self.conn, brought, now_us)?;
        self.save_sums()?;
        self.conn.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        self.commit_durably()?;
        self.created = true;
        Ok(())
    }

    fn load(&mut self, brought: &Identity) -> Result<(), LedgerError> {
        let (recorded, key_version) = identity::read(&self.conn)?
            .ok_or_else(|| LedgerError::Damaged("it does not say to which campaign it belongs".to_owned()))?;
        identity::compare(&recorded, key_version, brought)?;
        self.sums = read_sums(&self.conn)?;
        if planted(Bug::HoldsOfThisRun) {
            self.sums.account.held = Credits::ZERO;
        }
        if planted(Bug::ChargesOfThisRun) {
            self.sums.account.charged = Credits::ZERO;
        }
        self.saved = Arc::new(self.sums.clone());
        let sql = "SELECT coalesce(max(id), 0) + 1 FROM ask";
        self.next_ask = self.conn.query_row(sql, [], |row| row.get(0))?;
        Ok(())
    }

    pub(super) fn begin(&mut self) -> Result<(), LedgerError> {
        if planted(Bug::ArmCommittedLater) && !self.conn.is_autocommit() {
            self.commit_durably()?;
        }
        Ok(self.conn.execute_batch("BEGIN IMMEDIATE")?)
    }

    /// Commits durably, with the sums as they stand.
    pub(super) fn commit(&mut self) -> Result<(), LedgerError> {
        let changed = self.sums != *self.saved;
        if changed {
            self.save_sums()?;
        }
        let armed = self.sums.attempts > self.saved.attempts;
        if !(planted(Bug::ArmCommittedLater) && armed) {
            self.commit_durably()?;
        }
        if changed {
            self.saved = Arc::new(self.sums.clone());
        }
        Ok(())
    }

    /// The one place where a transaction becomes durable.
    fn commit_durably(&self) -> Result<(), LedgerError> {
        fault_point::pass(Point::Commit).map_err(as_sqlite)?;
        self.conn.execute_batch("COMMIT")?;
        fault_point::pass(Point::AfterCommit).map_err(as_sqlite)
    }

    fn save_sums(&self) -> Result<(), LedgerError> {
        let text = serde_json::to_string(&self.sums).expect("sums are numbers and names");
        self.conn.prepare_cached("UPDATE campaign SET sums = ?1")?.execute([text])?;
        Ok(())
    }
}

/// SQLite answers with the mode the ledger will have, commits the change after that, and says so only at the end.
fn keep_write_ahead_log(conn: &Connection) -> Result<(), LedgerError> {
    let mut pragma = conn.prepare("PRAGMA journal_mode = WAL")?;
    let mut rows = pragma.query([])?;
    let mut found = String::new();
    while let Some(row) = rows.next()? {
        found = row.get(0)?;
    }
    if found == "wal" { Ok(()) } else { Err(LedgerError::JournalMode { found }) }
}

/// A planned fault as SQLite would say it.
fn as_sqlite(fault: std::io::Error) -> LedgerError {
    let code = match fault.kind() {
        std::io::ErrorKind::StorageFull => rusqlite::ffi::SQLITE_FULL,
        _ => rusqlite::ffi::SQLITE_IOERR,
    };
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), Some(fault.to_string())).into()
}

/// Opens a ledger for reading beside a writer.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, LedgerError> {
    if !path.exists() {
        return Err(LedgerError::Absent { path: path.to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(std::time::Duration::from_secs(10))?;
    conn.pragma_update(None, "query_only", true)?;
    conn.pragma_update(None, "cache_size", -2_048)?;
    match version(&conn)? {
        SCHEMA_VERSION => Ok(conn),
        // Whoever began it died before its first commit: nothing was ever sent by it.
        0 => Err(LedgerError::Absent { path: path.to_owned() }),
        found => Err(LedgerError::Version { found }),
    }
}

pub(super) fn read_sums(conn: &Connection) -> Result<Sums, LedgerError> {
    let text: String = conn.query_row("SELECT sums FROM campaign", [], |row| row.get(0))?;
    let sums: Sums = serde_json::from_str(&text).map_err(|error| LedgerError::Damaged(format!("its sums: {error}")))?;
    match sums.are_possible() {
        true => Ok(sums),
        false => Err(LedgerError::Damaged("its sums count more than there can be".to_owned())),
    }
}

fn version(conn: &Connection) -> Result<i64, LedgerError> {
    Ok(conn.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// One process per ledger: the lock file lies beside it and is locked, not merely present.
fn lock(path: &Path) -> Result<File, LedgerError> {
    let lock_path: PathBuf = path.with_extension("lock");
    let open = |source| LedgerError::Open { path: lock_path.clone(), source };
    let file = private_file(&lock_path).map_err(open)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LedgerError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(open(source)),
    }
}

/// The ledger holds personal data: only its owner reads it.
fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
