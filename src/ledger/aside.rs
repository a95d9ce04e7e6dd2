//! Sets aside a ledger that can no longer be used, or of which nothing was sent, so that a new one can replace it. Its files
//! are moved, never deleted, because they may contain receipts.

use super::{
    LedgerError, Reading,
    lock::{Lock, lock_path, log_path, shared_memory_path},
};
use crate::model::{Credits, state::State};
use std::path::Path;

/// Moves the files of a ledger into an existing folder, the lock file last. Returns the names of the moved files.
///
/// # Errors
/// Another process uses the ledger, or a file cannot be moved.
pub fn set_aside(ledger: &Path, folder: &Path) -> Result<Vec<String>, LedgerError> {
    let lock = Lock::take(ledger)?;
    move_files(ledger, folder, lock)
}

/// The same for a ledger of which nothing was sent. Returns `false`, and moves nothing, if something was: another process
/// may have sent it meanwhile.
///
/// # Errors
/// Another process uses the ledger, it cannot be read, or a file cannot be moved.
pub fn set_aside_unsent(ledger: &Path, folder: &Path) -> Result<bool, LedgerError> {
    let lock = Lock::take(ledger)?;
    if !Reading::open(ledger)?.is_unsent()? {
        return Ok(false);
    }
    move_files(ledger, folder, lock)?;
    Ok(true)
}

fn move_files(ledger: &Path, folder: &Path, lock: Lock) -> Result<Vec<String>, LedgerError> {
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

impl Reading {
    /// Whether nothing of the campaign ever left this machine, and no person decided anything about it: such a ledger can
    /// be begun again without paying twice.
    pub fn is_unsent(&self) -> Result<bool, LedgerError> {
        let sums = self.sums()?;
        let is_planned = sums.requests() == sums.in_state(State::Planned);
        // An upload may be charged without an attempt. A kept stop must not be forgotten.
        let is_charged = sums.account.charged > Credits::ZERO || sums.account.held > Credits::ZERO;
        if sums.attempts > 0 || !is_planned || is_charged || sums.stop.is_some() {
            return Ok(false);
        }
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM answer) AND NOT EXISTS (SELECT 1 FROM upload)
                      AND NOT EXISTS (SELECT 1 FROM job) AND NOT EXISTS (SELECT 1 FROM decision) AND NOT EXISTS (SELECT 1 FROM correction)";
        Ok(self.conn.query_row(sql, [], |row| row.get(0))?)
    }
}
