//! The lock file next to a ledger. It makes two decisions: whether this process may write, and whether the ledger still
//! has all its commits.
//!
//! After each commit, the number of commits is written to the lock file without fsync. The commit itself is already on
//! disk, so after a power loss the lock file may be behind, but never ahead. A ledger with fewer commits than its lock
//! file records has lost its write-ahead log, and receipts with it.

use super::LedgerError;
use crate::files::{self, FileId, Links};
use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

/// The content of the lock file when it was locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noted {
    /// Nothing: the ledger and its lock file are new, or a write of the lock file was cut short.
    Nothing,
    /// There was a ledger, but no lock file.
    LockMissing,
    /// The number of commits of the ledger.
    Commits(u64),
}

/// The lock of a ledger. The operating system releases it when the process ends.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
    noted: Noted,
}

/// How often and how fast a lock is tried. A run holds it for as long as it lasts.
const TRIES_MAX: u32 = 6;
const TRY_EVERY: Duration = Duration::from_millis(10);

const COMMITS: &str = "commits";
const LOCK_MISSING: &str = "the lock file was missing";

impl Lock {
    /// Locks the ledger at `ledger` for this process.
    pub(super) fn take(ledger: &Path) -> Result<Lock, LedgerError> {
        let path = lock_path(ledger);
        let failed = |source| LedgerError::Open { path: path.clone(), source };
        let file = files::open_private(&path).map_err(failed)?;
        let mut tries = 1;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // `is_in_use` of another process holds it for a moment.
                Err(TryLockError::WouldBlock) if tries < TRIES_MAX => {
                    tries += 1;
                    std::thread::sleep(TRY_EVERY);
                }
                Err(TryLockError::WouldBlock) => return Err(LedgerError::InUse { path: ledger.to_owned() }),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        // Another process may have replaced the file between opening and locking.
        if FileId::at(&path).ok() != Some(FileId::of(&file.metadata().map_err(failed)?)) {
            return Err(LedgerError::InUse { path: ledger.to_owned() });
        }
        let mut lock = Lock { file, path: path.clone(), noted: Noted::Nothing };
        let text = lock.read().map_err(failed)?;
        if !is_ours(text.trim()) || lock.file.metadata().map_err(failed)?.len() > LINE_BYTES as u64 {
            let found =
                "a file that is not a lock file of rescreen, and will not be overwritten; move it away".to_owned();
            return Err(LedgerError::NotPrivate { path, found });
        }
        lock.noted = match text.trim() {
            "" if std::fs::metadata(ledger).is_ok_and(|metadata| metadata.len() > 0) => {
                // Recorded at once. Otherwise the next run would find an empty lock file and treat the ledger as new.
                lock.write(LOCK_MISSING)?;
                Noted::LockMissing
            }
            LOCK_MISSING => Noted::LockMissing,
            text => noted(text),
        };
        Ok(lock)
    }

    pub(super) fn noted(&self) -> Noted {
        self.noted
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Records how many commits the ledger has.
    pub(super) fn note(&mut self, commits: u64) -> Result<(), LedgerError> {
        self.write(&format!("{COMMITS} {commits}"))
    }

    /// Syncs the lock file to disk.
    pub(super) fn sync(&self) -> Result<(), LedgerError> {
        self.file.sync_all().map_err(|source| LedgerError::Open { path: self.path.clone(), source })
    }

    fn read(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        Read::by_ref(&mut self.file).take(LINE_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Overwrites the line in one write. The length is fixed, so the file is never truncated.
    fn write(&mut self, text: &str) -> Result<(), LedgerError> {
        let line = format!("{text:<width$}\n", width = LINE_BYTES - 1);
        let written = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(line.as_bytes()));
        written.map_err(|source| LedgerError::Open { path: self.path.clone(), source })
    }
}

/// The length of the line.
const LINE_BYTES: usize = 64;

/// Whether the text is a line that rescreen writes, or the start of one that was cut short.
fn is_ours(text: &str) -> bool {
    let is_number = |rest: &str| rest.trim().bytes().all(|byte| byte.is_ascii_digit());
    COMMITS.starts_with(text) || LOCK_MISSING.starts_with(text) || text.strip_prefix(COMMITS).is_some_and(is_number)
}

fn noted(text: &str) -> Noted {
    let commits = text.strip_prefix(COMMITS).and_then(|number| number.trim().parse().ok());
    commits.map_or(Noted::Nothing, Noted::Commits)
}

/// The number of commits that the lock file of a ledger records, if it records any.
pub fn commits_noted(ledger: &Path) -> Option<u64> {
    match noted(files::read_text(&lock_path(ledger), Links::Refused, LINE_BYTES as u64).ok()?.trim()) {
        Noted::Commits(commits) => Some(commits),
        Noted::Nothing | Noted::LockMissing => None,
    }
}

/// Whether a process has the ledger open for writing.
pub fn is_in_use(ledger: &Path) -> bool {
    // A shared lock is refused only while a writer holds its lock. It is released when the file is closed.
    let file = files::open(&lock_path(ledger), Links::Refused);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether commits of a ledger are lost. `found` is the number of commits it has, `was_open` says that its last run did
/// not close it, and `log_bytes` is the size of its write-ahead log before it was opened.
pub(super) fn log_is_lost(noted: Noted, found: u64, was_open: bool, log_bytes: u64) -> bool {
    match noted {
        Noted::Commits(noted) => found < noted,
        // While a ledger is open, its log is never empty. Without the lock file, this is the only evidence.
        Noted::LockMissing => was_open && log_bytes == 0,
        Noted::Nothing => false,
    }
}

pub(super) fn lock_path(ledger: &Path) -> PathBuf {
    ledger.with_extension("lock")
}

/// The write-ahead log of a ledger.
pub(super) fn log_path(ledger: &Path) -> PathBuf {
    beside(ledger, "-wal")
}

/// The size of the write-ahead log of a ledger; 0 if there is none.
pub(super) fn log_bytes(ledger: &Path) -> u64 {
    std::fs::metadata(log_path(ledger)).map_or(0, |log| log.len())
}

/// Whether there is a write-ahead log, but the ledger itself is missing or empty. Such a log contains receipts, and
/// SQLite would remove it. A ledger whose first commit was interrupted already has its first page.
pub fn log_is_alone(ledger: &Path) -> bool {
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    bytes(&log_path(ledger)) > 0 && bytes(ledger) == 0
}

/// The shared-memory index of a ledger's log.
pub(super) fn shared_memory_path(ledger: &Path) -> PathBuf {
    beside(ledger, "-shm")
}

/// The rollback journal, which SQLite would apply if it existed.
pub(super) fn rollback_path(ledger: &Path) -> PathBuf {
    beside(ledger, "-journal")
}

/// A companion file of a database, as SQLite names it.
fn beside(ledger: &Path, suffix: &str) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The files of an open ledger, by path and identity. A run whose files were removed, moved or replaced must not send,
/// because no later run would find its records.
pub(super) struct LedgerFiles {
    /// The ledger and its lock file.
    files: [(PathBuf, FileId); 2],
    /// The write-ahead log, once there is one. SQLite creates it when it is first needed, and removes it when the last
    /// connection closes.
    log: Option<(PathBuf, FileId)>,
}

impl LedgerFiles {
    pub(super) fn of(ledger: &Path, lock: &Lock) -> Result<LedgerFiles, LedgerError> {
        Ok(LedgerFiles { files: [known(ledger)?, known(lock.path())?], log: None })
    }

    /// Adds the write-ahead log, after the first commit of this process.
    pub(super) fn and_log(&self) -> Result<LedgerFiles, LedgerError> {
        let log = known(&log_path(&self.files[0].0))?;
        Ok(LedgerFiles { files: self.files.clone(), log: Some(log) })
    }

    /// The database file.
    pub(super) fn ledger(&self) -> &Path {
        &self.files[0].0
    }

    /// Checks that all files are still in place.
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        if let Some((path, _)) = self.files.iter().find(|file| !is_there(file)) {
            return Err(LedgerError::Gone { path: path.clone() });
        }
        match self.log.as_ref().filter(|log| !is_there(log)) {
            Some((path, _)) => Err(LedgerError::LogGone { path: path.clone() }),
            None => Ok(()),
        }
    }

    /// Whether the log was removed, and at most an empty log of a reader is in its place.
    pub(super) fn log_is_removed(&self) -> bool {
        self.files.iter().all(is_there)
            && self.log.as_ref().is_some_and(|(path, _)| std::fs::metadata(path).map_or(0, |log| log.len()) == 0)
    }
}

fn known(path: &Path) -> Result<(PathBuf, FileId), LedgerError> {
    match FileId::at(path) {
        Ok(id) => Ok((path.to_owned(), id)),
        Err(source) => Err(LedgerError::Open { path: path.to_owned(), source }),
    }
}

fn is_there((path, id): &(PathBuf, FileId)) -> bool {
    FileId::at(path).ok() == Some(*id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_with_fewer_commits_than_noted_has_lost_its_log() {
        assert!(log_is_lost(Noted::Commits(7), 6, true, 0));
        assert!(log_is_lost(Noted::Commits(7), 6, false, 4_096));
        assert!(!log_is_lost(Noted::Commits(7), 7, true, 0), "another program moved the log into the ledger");
        assert!(!log_is_lost(Noted::Commits(7), 8, true, 4_096), "killed between a commit and its note");
    }

    #[test]
    fn without_its_lock_file_an_open_ledger_needs_its_log() {
        assert!(log_is_lost(Noted::LockMissing, 7, true, 0));
        assert!(!log_is_lost(Noted::LockMissing, 7, true, 4_096));
        assert!(!log_is_lost(Noted::LockMissing, 7, false, 0), "a copy of a ledger that was closed");
        assert!(!log_is_lost(Noted::Nothing, 1, true, 0), "killed before its first note");
    }

    #[test]
    fn a_ledger_is_in_use_while_it_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.sqlite");
        assert!(!is_in_use(&ledger), "there is none");
        let lock = Lock::take(&ledger).unwrap();
        assert!(is_in_use(&ledger));
        assert!(matches!(Lock::take(&ledger), Err(LedgerError::InUse { .. })));
        drop(lock);
        assert!(!is_in_use(&ledger));
    }

    mod timed {
        use super::*;

        #[test]
        #[ignore = "timed: make gauntlet"]
        fn a_run_waits_a_moment_for_a_program_that_asks_whether_the_ledger_is_in_use() {
            let folder = tempfile::tempdir().unwrap();
            let ledger = folder.path().join("ledger.sqlite");
            drop(Lock::take(&ledger).unwrap());
            std::thread::scope(|scope| {
                let asking = File::open(lock_path(&ledger)).unwrap();
                asking.try_lock_shared().unwrap();
                scope.spawn(move || {
                    std::thread::sleep(TRY_EVERY * 2);
                    drop(asking);
                });
                assert!(Lock::take(&ledger).is_ok(), "it waits for a moment");
            });
        }
    }

    #[test]
    fn a_note_is_read_back_and_a_missing_lock_file_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.sqlite");
        let mut lock = Lock::take(&ledger).unwrap();
        assert_eq!(lock.noted(), Noted::Nothing);
        lock.note(12).unwrap();
        assert_eq!(commits_noted(&ledger), Some(12));
        drop(lock);
        assert_eq!(Lock::take(&ledger).unwrap().noted(), Noted::Commits(12));
        std::fs::write(&ledger, "a ledger").unwrap();
        std::fs::remove_file(lock_path(&ledger)).unwrap();
        for _ in 0..2 {
            assert_eq!(Lock::take(&ledger).unwrap().noted(), Noted::LockMissing);
        }
    }
}
