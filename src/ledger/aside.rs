//! Sets aside a ledger that can no longer be used, so that a new one can replace it. Its files are moved, never
//! deleted, because they may contain receipts.

use super::{
    LedgerError,
    lock::{Lock, lock_path, log_path, shared_memory_path},
};
use std::path::Path;

/// Moves the files of a ledger into an existing folder, the lock file last. Returns the names of the moved files.
///
/// # Errors
/// Another process uses the ledger, or a file cannot be moved.
pub fn set_aside(ledger: &Path, folder: &Path) -> Result<Vec<String>, LedgerError> {
    let lock = Lock::take(ledger)?;
    let files = [ledger.to_owned(), log_path(ledger), shared_memory_path(ledger), lock_path(ledger)];
    let mut moved = Vec::new();
    for file in files.iter().filter(|file| file.exists()) {
        let name = file.file_name().unwrap_or_default();
        let failed = |source| LedgerError::Open { path: file.clone(), source };
        std::fs::rename(file, folder.join(name)).map_err(failed)?;
        moved.push(name.to_string_lossy().into_owned());
    }
    drop(lock);
    Ok(moved)
}
