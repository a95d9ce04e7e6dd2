//! Opening the database file of a ledger. The file is untrusted data, because others may have changed it. This module
//! decides which files are opened as a ledger: they must be regular files that only their owner can change. What they
//! contain is examined by [`schema`](super::schema).

use super::{
    LedgerError,
    lock::{lock_path, log_bytes, log_is_alone, log_path, rollback_path, shared_memory_path},
    schema::{Found, examine},
};
use crate::files::{self, Access, Links, access, other_writers_in};
use rusqlite::{
    Connection, OpenFlags,
    config::DbConfig::{
        SQLITE_DBCONFIG_DEFENSIVE, SQLITE_DBCONFIG_ENABLE_QPSG, SQLITE_DBCONFIG_ENABLE_TRIGGER,
        SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, SQLITE_DBCONFIG_TRUSTED_SCHEMA,
    },
    limits::Limit,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};
use url::Url;

/// The maximum size of one value of a ledger, in bytes: an answer of 32 MiB that does not compress, or a split of 4 MiB
/// with a row of 16 MiB.
const VALUE_BYTES_MAX: i32 = 40 << 20;

/// Connects to an existing ledger file.
pub(super) fn connect(path: &Path) -> Result<Connection, LedgerError> {
    check_files(path)?;
    connection(&without_links(path)?, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Opens a database by a path, or by a URI if `flags` say so.
fn connection(name: &Path, flags: OpenFlags) -> Result<Connection, LedgerError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(name, flags)?;
    conn.set_db_config(SQLITE_DBCONFIG_DEFENSIVE, true)?;
    for switch in [SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW] {
        conn.set_db_config(switch, false)?;
    }
    // Without it, SQLite plans a statement again each time a LIMIT is bound, which took a fifth of the time of a run.
    conn.set_db_config(SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    Ok(conn)
}

/// Opens a ledger for reading, while a run may be writing it.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, LedgerError> {
    opened_for_reading(path).map_err(|error| error.at(path))
}

fn opened_for_reading(path: &Path) -> Result<Connection, LedgerError> {
    match fs::metadata(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(LedgerError::NoAccess { path: path.to_owned() });
        }
        Err(_) => return Err(LedgerError::Absent { path: path.to_owned() }),
    }
    let log_bytes = log_bytes(path);
    let conn = match log_bytes {
        0 if is_on_read_only_medium(path) => connect_unchanging(path)?,
        _ => connect(path)?,
    };
    // A reader does not clean up after a killed run: the log contains receipts until a run has read it.
    conn.set_db_config(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, log_bytes > 0)?;
    conn.busy_timeout(Duration::from_secs(10))?;
    conn.pragma_update(None, "cache_size", -2_048)?;
    match examine(&conn)? {
        Found::Ledger => {}
        // The run that created the file died before its first commit, so nothing was ever sent.
        Found::Nothing => return Err(LedgerError::Absent { path: path.to_owned() }),
    }
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

/// Connects to a ledger without a log that nothing can change. SQLite would otherwise create files beside it.
fn connect_unchanging(path: &Path) -> Result<Connection, LedgerError> {
    check_files(path)?;
    let mut url = Url::from_file_path(without_links(path)?).expect("a path without links is absolute");
    url.set_query(Some("immutable=1"));
    connection(Path::new(url.as_str()), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

#[cfg(unix)]
fn is_on_read_only_medium(path: &Path) -> bool {
    use rustix::fs::{StatVfsMountFlags, statvfs};
    statvfs(path).is_ok_and(|medium| medium.f_flag.contains(StatVfsMountFlags::RDONLY))
}

#[cfg(not(unix))]
fn is_on_read_only_medium(_path: &Path) -> bool {
    false
}

/// The path with the symbolic links of its folders resolved. SQLite refuses a link anywhere in the path, but only a
/// link in the last part could lead to another file.
fn without_links(path: &Path) -> Result<PathBuf, LedgerError> {
    let folder = files::folder_of(path);
    let folder = fs::canonicalize(folder).map_err(|source| LedgerError::Open { path: path.to_owned(), source })?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}

/// Refuses ledger files that are not regular files, or that another user can change.
fn check_files(ledger: &Path) -> Result<(), LedgerError> {
    // A ledger uses a write-ahead log. SQLite would still apply a rollback journal that another program put next to it.
    let journal = rollback_path(ledger);
    if fs::symlink_metadata(&journal).is_ok() {
        let found = "a rollback journal, which a ledger never has; move it away".to_owned();
        return Err(LedgerError::NotPrivate { path: journal, found });
    }
    if let Some(other_writers) = other_writers_in(ledger.parent().unwrap_or(Path::new(""))) {
        let found = format!("that {other_writers}; restrict the folder to your user (`chmod 700`)");
        return Err(LedgerError::NotPrivate { path: ledger.to_owned(), found });
    }
    // Checked before opening, because SQLite removes the log of an empty database.
    if log_is_alone(ledger) {
        return Err(LedgerError::LogAlone { path: log_path(ledger) });
    }
    if !is_log_or_empty(&log_path(ledger)) {
        let found = "a file that is not the write-ahead log of a ledger; move it away".to_owned();
        return Err(LedgerError::NotPrivate { path: log_path(ledger), found });
    }
    for path in [ledger.to_owned(), log_path(ledger), shared_memory_path(ledger), lock_path(ledger)] {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::PermissionDenied => LedgerError::NoAccess { path: path.clone() },
            _ => LedgerError::Open { path: path.clone(), source },
        };
        files::check(&path, Links::Refused).map_err(failed)?;
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let Access { other_owner, others_write, others_read, .. } = access(&metadata);
        let refused = |found: String| Err(LedgerError::NotPrivate { path: path.clone(), found });
        match other_owner {
            Some(owner) => {
                return refused(format!("a file of user id {owner}; run as that user, or copy it"));
            }
            None if others_write => {
                return refused("a file that others can change; restrict it to your user (`chmod 600`)".to_owned());
            }
            None if others_read => {
                let path = path.display();
                tracing::warn!("{path} contains personal data and can be read by others: restrict it (`chmod 600`)");
            }
            None => {}
        }
    }
    Ok(())
}

/// Whether a log starts with the magic number of SQLite, or with zeros, which a power loss leaves. SQLite would empty
/// any other file with that name.
fn is_log_or_empty(log: &Path) -> bool {
    const BEGINS: [[u8; 4]; 3] = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83], [0; 4]];
    let begins = files::open(log, Links::Refused).and_then(|mut file| {
        let mut bytes = [0; 4];
        io::Read::read_exact(&mut file, &mut bytes).map(|()| bytes)
    });
    match begins {
        Ok(bytes) => BEGINS.contains(&bytes),
        // Missing, or too short to contain anything. A file that cannot be opened is refused with the other files.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_beside_the_ledger_that_others_can_change_is_refused_and_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.sqlite");
        fs::write(&ledger, "a ledger").unwrap();
        for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.lock"] {
            let path = folder.path().join(name);
            let allow = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            drop(files::open_private(&path).unwrap());
            check_files(&ledger).unwrap();
            allow(0o666);
            let error = check_files(&ledger).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("others can change"), "{name}: {error}");
            allow(0o600);
        }
    }
}
