//! The copy of a ledger that is made before it is upgraded to this version: `ledger.sqlite.v7-backup` for a ledger of
//! version 7. The copy is complete and on disk under its final name before the ledger is changed, and the change is one
//! transaction. So after a crash, the next run finds either the old ledger, and makes the copy again, or the new one.

use super::LedgerError;
use crate::files;
use rusqlite::Connection;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// Copies the ledger at `path`, which has this version. `conn` is a connection to it outside of a transaction, and the
/// caller has the lock. An earlier copy of the same version is replaced, because the ledger may have changed since.
pub(super) fn back_up(conn: &Connection, path: &Path, version: i64) -> Result<(), LedgerError> {
    let copy = backup_path(path, version);
    let failed = |source| LedgerError::NoBackup { path: path.to_owned(), found: version, copy: copy.clone(), source };
    let partial = with_suffix(&copy, ".partial");
    let written = write_copy(conn, &partial).and_then(|()| {
        fs::rename(&partial, &copy)?;
        sync_folder(&copy)
    });
    if written.is_err() {
        // What was written must not use up the space that the ledger itself needs.
        drop(fs::remove_file(&partial));
    }
    written.map_err(failed)?;
    tracing::info!("the ledger of version {version} was copied to {} before it is upgraded", copy.display());
    Ok(())
}

/// The copy of a ledger of this version, beside it.
fn backup_path(ledger: &Path, version: i64) -> PathBuf {
    with_suffix(ledger, &format!(".v{version}-backup"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Writes the content of the database, including what is still in its log, and waits until it is on disk.
pub(super) fn write_copy(conn: &Connection, partial: &Path) -> io::Result<()> {
    match fs::remove_file(partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // SQLite writes into an empty file and keeps its access rights.
    let file = files::open_private(partial)?;
    let name = partial.to_str().ok_or_else(|| io::Error::other("its name is not UTF-8 text"))?;
    conn.execute("VACUUM INTO ?1", [name]).map_err(io::Error::other)?;
    file.sync_all()
}

/// Waits until the new name of the copy is on disk.
fn sync_folder(copy: &Path) -> io::Result<()> {
    let folder = files::folder_of(copy);
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
