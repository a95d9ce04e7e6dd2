//! The database of the deliveries. It decides which events are new. An event is on disk before [`Inbox::put`] returns, so
//! a receiver may answer 200 then.

use super::{delivery::Delivery, signature::WebhookSecret};
use crate::{
    files::{FileId, find_private, open_private, private_folder, restrict_to_owner},
    model::JobId,
};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, config::DbConfig};
use std::{
    fmt, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use uuid::Uuid;

const SCHEMA: &str = include_str!("inbox.sql");
/// The version of the schema, in `user_version`.
const VERSION: i64 = 1;
/// Marks the file as an inbox, in `application_id`: "rsin" in ASCII.
const APPLICATION: i64 = 0x7273_696e;
/// How long opening waits before it tries again.
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// A writer waits this long for another one. Writes take milliseconds.
const BUSY_TIME: Duration = Duration::from_secs(10);
/// A campaign waits this long to read. It sends nothing meanwhile, and a reader seldom has to wait for a writer.
const READ_BUSY_TIME: Duration = Duration::from_millis(250);

/// The receiver of updates of the AML dataset. It belongs to the account and not to a ledger.
pub const DATASET_UPDATES: &str = "aml-dataset-updates";

/// Identifies a receiver, as part of the URL that the service delivers to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReceiverId(pub(super) String);

impl ReceiverId {
    /// The id, if it consists of 8 to 64 lower-case letters, digits and hyphens.
    pub fn new(text: &str) -> Option<ReceiverId> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        ((8..=64).contains(&text.len()) && text.bytes().all(fits)).then(|| ReceiverId(text.to_owned()))
    }

    /// A random id.
    pub fn random() -> ReceiverId {
        ReceiverId(Uuid::new_v4().simple().to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReceiverId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why the inbox cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    #[error("{path}: {fault}", path = .path.display())]
    File { path: PathBuf, fault: io::Error },
    #[error("{path}: expected an inbox of version {VERSION}, found one of version {found}; use a release of rescreen that knows it, or another file", path = .path.display())]
    Version { path: PathBuf, found: i64 },
    #[error("{path}: expected an inbox of rescreen, found {found}; it is left as it is. Name another file with --inbox, or with [webhook] inbox in the campaign file; if this file was an inbox, it is damaged: move it away", path = .path.display())]
    NotAnInbox { path: PathBuf, found: String },
    #[error("{path}: it was removed, moved or replaced while it was open; nothing more is accepted, because what is written to it would be lost. Start `rescreen listen` again", path = .path.display())]
    Gone { path: PathBuf },
    #[error("the thread that writes the inbox cannot be started: {fault}")]
    Thread { fault: io::Error },
    #[error("the inbox failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

impl InboxError {
    /// Whether the user named the wrong file.
    pub fn is_usage(&self) -> bool {
        matches!(self, InboxError::NotAnInbox { .. })
    }

    /// Whether another process holds the inbox. Nothing is wrong with it.
    pub fn is_busy(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        matches!(self, InboxError::Sqlite(fault)
            if matches!(fault.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked)))
    }
}

/// An event that a campaign has not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Rises with the order of arrival.
    pub number: i64,
    pub kind: String,
    pub job: Option<JobId>,
}

/// The newest event of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newest {
    pub kind: String,
    /// When it arrived, in microseconds since 1970.
    pub received_at_us: i64,
}

/// An open inbox.
pub struct Inbox {
    pub(super) conn: Connection,
    /// The database, and its write-ahead log once this process has written.
    files: Vec<(PathBuf, FileId)>,
    /// Whether there is a write-ahead log. Some file systems allow none.
    has_log: bool,
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbox")
    }
}

impl Inbox {
    /// Opens the inbox, and creates it with its folder, readable only by the owner, if it is missing.
    ///
    /// # Errors
    /// The file cannot be used, or is not an inbox of this version.
    pub fn open(path: &Path) -> Result<Inbox, InboxError> {
        let begun = Instant::now();
        loop {
            match Inbox::open_once(path) {
                // While another process makes it a database with a log, SQLite does not wait.
                Err(error) if error.is_busy() && begun.elapsed() < BUSY_TIME => thread::sleep(BUSY_PAUSE),
                opened => return opened,
            }
        }
    }

    fn open_once(path: &Path) -> Result<Inbox, InboxError> {
        let fault = |fault| InboxError::File { path: path.to_owned(), fault };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_folder(folder).map_err(fault)?;
        }
        drop(open_private(path).map_err(fault)?);
        restrict(path);
        let mut conn = connected(path, BUSY_TIME)?;
        refused(path, examine(&mut conn))?;
        let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        let id = FileId::at(path).map_err(fault)?;
        Ok(Inbox { conn, files: vec![(path.to_owned(), id)], has_log: mode == "wal" })
    }

    /// Opens an inbox to read it. It takes no lock that a writer waits for, and waits for none for long.
    ///
    /// # Errors
    /// The file is missing, cannot be read, or is not an inbox of this version.
    pub fn open_to_read(path: &Path) -> Result<Inbox, InboxError> {
        let fault = |fault| InboxError::File { path: path.to_owned(), fault };
        drop(find_private(path).map_err(fault)?);
        restrict(path);
        let id = FileId::at(path).map_err(fault)?;
        let conn = connected(path, READ_BUSY_TIME)?;
        conn.pragma_update(None, "query_only", true).map_err(InboxError::from)?;
        refused(path, recognised(&conn).and_then(|is_empty| if is_empty { Err(empty()) } else { Ok(()) }))?;
        Ok(Inbox { conn, files: vec![(path.to_owned(), id)], has_log: false })
    }

    /// Records a receiver with its secret, which replaces the known one.
    ///
    /// # Errors
    /// The inbox cannot be written.
    pub fn replace(&self, receiver: &ReceiverId, secret: &WebhookSecret, now_us: i64) -> Result<(), InboxError> {
        self.conn.execute(
            "INSERT INTO receiver (id, secret, made_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (id) DO UPDATE SET secret = excluded.secret WHERE secret <> excluded.secret",
            (&receiver.0, secret.expose(), now_us),
        )?;
        Ok(())
    }

    /// The secret of a receiver, if there is such a receiver.
    ///
    /// # Errors
    /// The inbox cannot be read, or its files are no longer in their place.
    pub fn secret(&self, receiver: &ReceiverId) -> Result<Option<WebhookSecret>, InboxError> {
        self.check_files()?;
        Ok(secret_in(&self.conn, receiver)?)
    }

    /// How many receivers are known.
    ///
    /// # Errors
    /// The inbox cannot be read.
    pub fn receivers(&self) -> Result<u64, InboxError> {
        Ok(self.conn.query_row("SELECT count(*) FROM receiver", [], |row| row.get::<_, i64>(0))?.unsigned_abs())
    }

    /// The id of this inbox, and the number of its newest event, which may be forgotten by now. A copy has the same id.
    ///
    /// # Errors
    /// The inbox cannot be read.
    pub fn extent(&self) -> Result<(String, i64), InboxError> {
        let sql = "SELECT id, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0) FROM identity";
        Ok(self.conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    /// The newest event of a receiver.
    ///
    /// # Errors
    /// The inbox cannot be read.
    pub fn newest(&self, receiver: &str) -> Result<Option<Newest>, InboxError> {
        let sql = "SELECT kind, received_at FROM event WHERE receiver = ?1 ORDER BY number DESC LIMIT 1";
        let newest = |row: &rusqlite::Row<'_>| Ok(Newest { kind: row.get(0)?, received_at_us: row.get(1)? });
        Ok(self.conn.query_row(sql, [receiver], newest).optional()?)
    }

    /// Checks that the files are still in their place. An event that is written to a removed file is lost.
    fn check_files(&self) -> Result<(), InboxError> {
        match self.files.iter().find(|(path, id)| FileId::at(path).ok() != Some(*id)) {
            Some((path, _)) => Err(InboxError::Gone { path: path.clone() }),
            None => Ok(()),
        }
    }

    /// Adds the write-ahead log to the files, after the first commit of this process. If it is not there, the commit went
    /// to a removed file.
    fn note_log(&mut self) -> Result<(), InboxError> {
        let [(database, _)] = self.files.as_slice() else { return Ok(()) };
        if self.has_log {
            let log = beside(database, "-wal");
            let id = FileId::at(&log).map_err(|_| InboxError::Gone { path: log.clone() })?;
            self.files.push((log, id));
        }
        Ok(())
    }

    /// Keeps deliveries, in one commit. Returns for each whether its event is new.
    ///
    /// # Errors
    /// The inbox cannot be written, or its files are no longer in their place. Then no delivery counts as kept.
    pub fn put(&mut self, deliveries: &[(ReceiverId, Delivery)], now_us: i64) -> Result<Vec<bool>, InboxError> {
        let write = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut insert = write.prepare_cached(
            "INSERT INTO event (receiver, event_id, kind, job_id, body, received_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO NOTHING",
        )?;
        let mut new = Vec::with_capacity(deliveries.len());
        for (receiver, delivery) in deliveries {
            let job = delivery.job.as_ref().map(JobId::as_str);
            let Delivery { event_id, kind, body, .. } = delivery;
            new.push(insert.execute((&receiver.0, event_id, kind, job, body, now_us))? == 1);
        }
        drop(insert);
        write.commit()?;
        self.check_files()?;
        self.note_log()?;
        Ok(new)
    }

    /// The events of these receivers that arrived after the event with this number, in the order of arrival, at most
    /// `most`.
    ///
    /// # Errors
    /// The inbox cannot be read, or its files are no longer in their place.
    pub fn after(&self, receivers: &[ReceiverId], number: i64, most: usize) -> Result<Vec<Unread>, InboxError> {
        self.check_files()?;
        // An id contains nothing that JSON would escape.
        let receivers = receivers.iter().map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(",");
        let sql = "SELECT number, kind, job_id FROM event
                   WHERE receiver IN (SELECT value FROM json_each(?1)) AND number > ?2 ORDER BY number LIMIT ?3";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut select = self.conn.prepare_cached(sql)?;
        let rows = select.query_map((format!("[{receivers}]"), number, most), |row| {
            let job: Option<String> = row.get(2)?;
            Ok(Unread { number: row.get(0)?, kind: row.get(1)?, job: job.as_deref().and_then(JobId::new) })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Removes the events that arrived before a time, except for the newest update of the dataset. Returns how many.
    ///
    /// # Errors
    /// The inbox cannot be written.
    pub fn forget_before(&self, time_us: i64) -> Result<usize, InboxError> {
        let sql = "DELETE FROM event WHERE received_at < ?1
                   AND number IS NOT (SELECT max(number) FROM event WHERE receiver = ?2)";
        Ok(self.conn.execute(sql, (time_us, DATASET_UPDATES))?)
    }
}

pub(super) fn secret_in(conn: &Connection, receiver: &ReceiverId) -> rusqlite::Result<Option<WebhookSecret>> {
    let found: Option<String> =
        conn.query_row("SELECT secret FROM receiver WHERE id = ?1", [&receiver.0], |row| row.get(0)).optional()?;
    Ok(found.and_then(|text| WebhookSecret::new(text.into())))
}

/// Why a file is not used as an inbox.
enum Examined {
    Other(String),
    Version(i64),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Examined {
    fn from(error: rusqlite::Error) -> Examined {
        Examined::Sqlite(error)
    }
}

/// Takes the files of an inbox from other users: they contain secrets and personal data.
fn restrict(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        let file = beside(path, end);
        let shown = file.display();
        match restrict_to_owner(&file) {
            Ok(false) => {}
            Ok(true) => tracing::warn!(
                "{shown}: other users could read or change it, and it contains secrets and personal data; now only you can"
            ),
            Err(fault) => tracing::warn!(
                "{shown}: other users may read or change it, and it contains secrets and personal data: restrict it \
                 (`chmod 600`), which failed here: {fault}"
            ),
        }
    }
}

/// A file of SQLite beside the database.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut beside = path.to_owned().into_os_string();
    beside.push(end);
    PathBuf::from(beside)
}

/// A connection to a file that exists.
fn connected(path: &Path, busy_time: Duration) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(busy_time)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    Ok(conn)
}

/// Names the file that was refused.
fn refused(path: &Path, examined: Result<(), Examined>) -> Result<(), InboxError> {
    let other = |found: String| InboxError::NotAnInbox { path: path.to_owned(), found };
    examined.map_err(|error| match error {
        Examined::Other(found) => other(found),
        Examined::Version(found) => InboxError::Version { path: path.to_owned(), found },
        Examined::Sqlite(rusqlite::Error::SqliteFailure(failure, _))
            if failure.code == rusqlite::ErrorCode::NotADatabase =>
        {
            other("a file that is not a database".to_owned())
        }
        Examined::Sqlite(error) => error.into(),
    })
}

fn empty() -> Examined {
    Examined::Other("an empty file".to_owned())
}

/// Whether a database is empty. Refuses the file of another program or version.
fn recognised(conn: &Connection) -> Result<bool, Examined> {
    let number = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let objects: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (number("application_id")?, number("user_version")?, objects) {
        (0, 0, 0) => Ok(true),
        (APPLICATION, VERSION, _) => Ok(false),
        (APPLICATION, version, _) => Err(Examined::Version(version)),
        _ => Err(Examined::Other("the database of another program".to_owned())),
    }
}

/// Creates the tables in an empty file.
fn examine(conn: &mut Connection) -> Result<(), Examined> {
    let write = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if recognised(&write)? {
        create(write)?;
    }
    Ok(())
}

fn create(write: Transaction<'_>) -> rusqlite::Result<()> {
    write.execute_batch(SCHEMA)?;
    write.execute("INSERT INTO identity (id) VALUES (?1)", [Uuid::new_v4().simple().to_string()])?;
    write.pragma_update(None, "application_id", APPLICATION)?;
    write.pragma_update(None, "user_version", VERSION)?;
    write.commit()
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
