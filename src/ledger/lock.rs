//! The lock file beside a ledger. It owns two decisions: whether this process is the one that writes, and whether the
//! ledger still has every commit that was made.
//!
//! After each commit the number of commits is written into the lock file, without fsync: the commit itself is on the disk
//! before, so after a power loss the lock file may be behind, never ahead. A ledger with fewer commits than its lock file
//! notes has lost its write-ahead log, and with it receipts.

use super::LedgerError;
use crate::files::{self, Links};
use std::{
    fs::{File, Metadata, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// What the lock file said when it was locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noted {
    /// It is new beside a new ledger, or a write of it was cut short.
    Nothing,
    /// There is a ledger, and its lock file was gone.
    LockMissing,
    /// The ledger had this many commits.
    Commits(u64),
}

/// The lock of a ledger. The operating system releases it when the process ends.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
    noted: Noted,
}

const COMMITS: &str = "commits";
const LOCK_MISSING: &str = "the lock file was missing";

impl Lock {
    /// Locks the ledger at `ledger` for this process.
    pub(super) fn take(ledger: &Path) -> Result<Lock, LedgerError> {
        let path = lock_path(ledger);
        let failed = |source| LedgerError::Open { path: path.clone(), source };
        let file = files::open_private(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LedgerError::InUse { path: ledger.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // Between opening and locking another process may have put another file in its files.
        if FileId::at(&path).ok() != Some(FileId::of(&file.metadata().map_err(failed)?)) {
            return Err(LedgerError::InUse { path: ledger.to_owned() });
        }
        let mut lock = Lock { file, path: path.clone(), noted: Noted::Nothing };
        let text = lock.read().map_err(failed)?;
        if !is_ours(text.trim()) || lock.file.metadata().map_err(failed)?.len() > LINE_BYTES as u64 {
            let found = "another file, which is not overwritten; move it away".to_owned();
            return Err(LedgerError::NotPrivate { path, found });
        }
        lock.noted = match text.trim() {
            "" if std::fs::metadata(ledger).is_ok_and(|metadata| metadata.len() > 0) => {
                // Noted at once: the next run would find an empty lock file and take it for a new one.
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

    /// Writes down how many commits the ledger has.
    pub(super) fn note(&mut self, commits: u64) -> Result<(), LedgerError> {
        self.write(&format!("{COMMITS} {commits}"))
    }

    /// Puts what is noted on the disk.
    pub(super) fn sync(&self) -> Result<(), LedgerError> {
        self.file.sync_all().map_err(|source| LedgerError::Open { path: self.path.clone(), source })
    }

    fn read(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        Read::by_ref(&mut self.file).take(LINE_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// One line of a fixed length, in one write over the old one: nothing is ever cut off.
    fn write(&mut self, text: &str) -> Result<(), LedgerError> {
        let line = format!("{text:<width$}\n", width = LINE_BYTES - 1);
        let written = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(line.as_bytes()));
        written.map_err(|source| LedgerError::Open { path: self.path.clone(), source })
    }
}

/// Length of the note.
const LINE_BYTES: usize = 64;

/// Whether a lock file has a note of ours, or the beginning of one that was cut short.
fn is_ours(text: &str) -> bool {
    let is_number = |rest: &str| rest.trim().bytes().all(|byte| byte.is_ascii_digit());
    COMMITS.starts_with(text) || LOCK_MISSING.starts_with(text) || text.strip_prefix(COMMITS).is_some_and(is_number)
}

fn noted(text: &str) -> Noted {
    let commits = text.strip_prefix(COMMITS).and_then(|number| number.trim().parse().ok());
    commits.map_or(Noted::Nothing, Noted::Commits)
}

/// How many commits the lock file beside a ledger notes, where it notes any.
pub fn commits_noted(ledger: &Path) -> Option<u64> {
    match noted(files::read_text(&lock_path(ledger), Links::Refused, LINE_BYTES as u64).ok()?.trim()) {
        Noted::Commits(commits) => Some(commits),
        Noted::Nothing | Noted::LockMissing => None,
    }
}

/// Whether commits of a ledger are gone. `found` is the number of commits it has; `was_open` says that its last run did not
/// close it, and `log_bytes` is the size of its write-ahead log before it was opened.
pub(super) fn log_is_lost(noted: Noted, found: u64, was_open: bool, log_bytes: u64) -> bool {
    match noted {
        Noted::Commits(noted) => found < noted,
        // While a ledger is open its log is never empty; without its lock file there is nothing better to go by.
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

/// Whether there is a write-ahead log, and the ledger itself is missing or empty. Such a log holds receipts, and SQLite would
/// remove it. A ledger that was not made to its first commit has its first page beside its log.
pub fn log_is_alone(ledger: &Path) -> bool {
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    bytes(&log_path(ledger)) > 0 && bytes(ledger) == 0
}

/// The index of a ledger's log, shared by the processes that have it open.
pub(super) fn shared_memory_path(ledger: &Path) -> PathBuf {
    beside(ledger, "-shm")
}

/// The rollback journal that SQLite would play back where there is one.
pub(super) fn rollback_path(ledger: &Path) -> PathBuf {
    beside(ledger, "-journal")
}

/// A file beside a database, as SQLite names it.
fn beside(ledger: &Path, suffix: &str) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Which file a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl FileId {
    fn at(path: &Path) -> io::Result<FileId> {
        std::fs::metadata(path).map(|metadata| FileId::of(&metadata))
    }

    #[cfg(unix)]
    fn of(metadata: &Metadata) -> FileId {
        use std::os::unix::fs::MetadataExt;
        FileId(metadata.dev(), metadata.ino())
    }

    /// Elsewhere an open file cannot be removed or replaced.
    #[cfg(not(unix))]
    fn of(_metadata: &Metadata) -> FileId {
        FileId(0, 0)
    }
}

/// The files of an open ledger by path and identity. A run whose files were removed, moved or replaced must not send: what it
/// would write down, no later run would find.
pub(super) struct LedgerFiles {
    /// The ledger and its lock file.
    files: [(PathBuf, FileId); 2],
    /// The write-ahead log, once there is one: SQLite makes it when it is first needed, and removes it when the last
    /// connection closes.
    log: Option<(PathBuf, FileId)>,
}

impl LedgerFiles {
    pub(super) fn of(ledger: &Path, lock: &Lock) -> Result<LedgerFiles, LedgerError> {
        Ok(LedgerFiles { files: [known(ledger)?, known(lock.path())?], log: None })
    }

    /// The same with the write-ahead log, after the first commit of this opening.
    pub(super) fn and_log(&self) -> Result<LedgerFiles, LedgerError> {
        let log = known(&log_path(&self.files[0].0))?;
        Ok(LedgerFiles { files: self.files.clone(), log: Some(log) })
    }

    /// The ledger's own file.
    pub(super) fn ledger(&self) -> &Path {
        &self.files[0].0
    }

    /// Whether all files still are where they were.
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        if let Some((path, _)) = self.files.iter().find(|file| !is_there(file)) {
            return Err(LedgerError::Gone { path: path.clone() });
        }
        match self.log.as_ref().filter(|log| !is_there(log)) {
            Some((path, _)) => Err(LedgerError::LogGone { path: path.clone() }),
            None => Ok(()),
        }
    }

    /// Whether the log was removed and nothing stands in its files but what a reader makes, which is empty.
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
