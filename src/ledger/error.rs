//! The errors of the ledger that stop a run. This module decides which faults mean that a ledger is lost, and which
//! pass when another program is closed or disk space is freed.

use super::SCHEMA_VERSION;
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// An error of the ledger that stops a run.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error(
        "the ledger {} is in use by another process (one run per campaign at a time); `rescreen status` can read it \
         meanwhile",
        .path.display()
    )]
    InUse { path: PathBuf },
    #[error(
        "{} cannot be opened: {source}; check that its folder is writable and that the disk is not full, and run again",
        .path.display()
    )]
    Open { path: PathBuf, source: std::io::Error },
    #[error("{}: expected a ledger file that only you can access, found {found}", .path.display())]
    NotPrivate { path: PathBuf, found: String },
    #[error(
        "{} holds the newest receipts of a ledger, but the ledger itself is missing or empty. Restore ledger.sqlite \
         next to it, or pass --new-ledger to set it aside and start over, which may pay again", .path.display()
    )]
    LogAlone { path: PathBuf },
    #[error(
        "this ledger belongs to {} of its campaign, and this run names {}; a partition keeps its ledger",
        partition_of(own),
        partition_of(partition)
    )]
    OtherPartition { own: String, partition: String },
    #[error("there is no ledger at {}; `rescreen run` creates one", .path.display())]
    Absent { path: PathBuf },
    #[error(
        "this ledger belongs to {what} `{recorded}`, but this run uses `{brought}`; use the recorded value, {}or start a \
         new campaign with `--campaign NAME`",
        moved(what, recorded)
    )]
    Identity { what: &'static str, recorded: String, brought: String },
    #[error(
        "the ledger {} cannot be read: permission denied; use the account that ran the campaign, or one with access to \
         its folder", .path.display()
    )]
    NoAccess { path: PathBuf },
    #[error(
        "the ledger {} has schema version {found}, made by {}; this is rescreen {}, which reads version \
         {SCHEMA_VERSION}. Use {} for this campaign",
        .path.display(), maker(program.as_deref()), env!("CARGO_PKG_VERSION"), remedy(program.as_deref())
    )]
    Version {
        path: PathBuf,
        found: i64,
        /// The version of rescreen that last used it, if it says so.
        program: Option<String>,
    },
    #[error(
        "an input has changed, and what a run would do about it is tried on a copy of the ledger {}, which could not be \
         written beside it: {source}; free disk space and check that the folder is writable, then try again",
        .path.display()
    )]
    NoCopy { path: PathBuf, source: std::io::Error },
    #[error(
        "the first run fixed the format of the results of `{check}`, and the names and types of their columns, and they \
         differ now ({differs}); restore them, or start a new campaign"
    )]
    Layout { check: String, differs: String },
    #[error(
        "the campaign was started without the check `{check}`, and its rows are already ingested; remove the check, or \
         start a new campaign with `--campaign NAME`"
    )]
    NewCheck { check: String },
    #[error(
        "the campaign was started with the check `{check}`, but this run does not use it; add it again, or start a new \
         campaign with `--campaign NAME`"
    )]
    MissingCheck { check: String },
    #[error(
        "{}: the personal data of this campaign, or of some of its subjects, was purged on {at} by {by}, and nothing is added to \
         it any more; to check again, start a new campaign with `--campaign NAME`",
        .path.display()
    )]
    Purged { path: PathBuf, by: String, at: String },
    #[error(
        "{}: a purge of this campaign was interrupted; run `rescreen purge` again with the same options to finish it",
        .path.display()
    )]
    PurgeUnfinished { path: PathBuf },
    #[error("another process has just started this campaign; run again to resume it")]
    BegunMeanwhile,
    #[error(
        "the ledger cannot use a write-ahead log (its journal mode is `{found}`); repair the disk, or put the ledger \
         on a local disk with [ledger] path, and run again"
    )]
    JournalMode { found: String },
    #[error("the ledger is damaged: {0}; restore it from a backup, because it records what was paid for")]
    Damaged(String),
    /// The same, with its path.
    #[error(
        "the ledger {} is damaged: {fault}; restore ledger.sqlite and ledger.sqlite-wal from a backup, because they \
         record what was paid for. --new-ledger sets them aside and starts over, which may pay again", .path.display()
    )]
    DamagedAt { path: PathBuf, fault: String },
    #[error(
        "the ledger {} is missing commits ({lost}): its log ledger.sqlite-wal was removed, or the ledger is an older \
         copy. The missing commits are receipts. Put the log back, or restore the newest ledger.sqlite and \
         ledger.sqlite-wal together. If there is nothing newer, --accept-older-ledger continues with the receipts that \
         are left. Requests in the missing commits are sent again under the same keys. For 72 hours after they were \
         first sent (adverse media 48) this is free, unless a document has to be uploaded again; later they may be \
         charged again, and so may those that got a new key after this copy was made, as --retry gives. --max-credits counts only the \
         receipts that are left. --new-ledger sets the ledger aside and starts with no receipts: it may pay for \
         everything again", .path.display()
    )]
    LogLost { path: PathBuf, lost: String },
    #[error(
        "{} was removed, moved or replaced while the run had it open; nothing was sent after that. Restore the folder \
         as it was and run again", .path.display()
    )]
    Gone { path: PathBuf },
    #[error(
        "{} was removed or replaced while the run had it open; nothing was sent after that. If you moved it, put it \
         back and run again: everything that could be saved from it is in the ledger, and the next run reports missing \
         receipts",
        .path.display()
    )]
    LogGone { path: PathBuf },
    #[error(
        "another run opened the ledger while this run had it open, which is only possible if the lock file was \
         removed; nothing was sent after that. Wait until the other run ends, and run again"
    )]
    Overtaken,
    #[error("the ledger stopped ({cause}); nothing was sent after that")]
    Stopped { cause: String },
    #[error(transparent)]
    IllegalMove(#[from] crate::model::state::IllegalMove),
    #[error(
        "the ledger {} is locked: another program has it open, such as a database browser or a backup; close it and \
         run again",
        .path.display()
    )]
    Locked { path: PathBuf },
    #[error(
        "the ledger {} is damaged: {source}; restore ledger.sqlite and ledger.sqlite-wal from a backup, because they \
         record what was paid for. --new-ledger sets them aside and starts over, which may pay again", .path.display()
    )]
    Unreadable { path: PathBuf, source: rusqlite::Error },
    #[error(
        "the ledger {} cannot be read or written: {source}; free disk space or repair the disk, check that the folder \
         is writable, and run again", .path.display()
    )]
    Storage { path: PathBuf, source: rusqlite::Error },
    /// An error of SQLite, before `LedgerError::at` adds the path and what to do.
    #[error(
        "the ledger cannot be read or written: {0}; close other programs that have it open, free disk space or repair \
         the disk, and run again"
    )]
    Sqlite(#[from] rusqlite::Error),
}

/// What to do if the ledger has an earlier address of the service.
fn moved(what: &str, recorded: &str) -> String {
    match what {
        "service" if recorded.contains("://") => {
            format!("add `--service-moved-from {recorded}` if the same service has moved, ")
        }
        _ => String::new(),
    }
}

impl LedgerError {
    /// Adds the path of the ledger, and what the user can do.
    pub fn at(self, path: &Path) -> LedgerError {
        let path = path.to_owned();
        match self {
            LedgerError::Sqlite(source) => match Fault::of(&source) {
                Fault::Locked => LedgerError::Locked { path },
                Fault::Damaged => LedgerError::Unreadable { path, source },
                Fault::Storage => LedgerError::Storage { path, source },
            },
            LedgerError::Damaged(fault) => LedgerError::DamagedAt { path, fault },
            LedgerError::Version { found, program, .. } => LedgerError::Version { path, found, program },
            other => other,
        }
    }

    /// The error of a ledger of which `made` commits were made, and fewer are left.
    pub(super) fn log_lost(path: &Path, made: u64, left: u64) -> LedgerError {
        LedgerError::LogLost { path: path.to_owned(), lost: format!("{made} were made, {left} are left") }
    }

    /// Whether the ledger itself is lost or damaged. A temporary cause, such as a lock or a full disk, does not count.
    pub fn is_loss(&self) -> bool {
        match self {
            LedgerError::LogLost { .. }
            | LedgerError::LogAlone { .. }
            | LedgerError::Damaged(_)
            | LedgerError::DamagedAt { .. }
            | LedgerError::Unreadable { .. } => true,
            LedgerError::Sqlite(source) => Fault::of(source) == Fault::Damaged,
            _ => false,
        }
    }

    /// Whether this is the user's input or configuration (exit 2) rather than storage (exit 11).
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            LedgerError::InUse { .. }
                | LedgerError::NoAccess { .. }
                | LedgerError::Absent { .. }
                | LedgerError::NotPrivate { .. }
                | LedgerError::Identity { .. }
                | LedgerError::Layout { .. }
                | LedgerError::NewCheck { .. }
                | LedgerError::MissingCheck { .. }
                | LedgerError::BegunMeanwhile
                | LedgerError::Purged { .. }
                | LedgerError::PurgeUnfinished { .. }
                | LedgerError::OtherPartition { .. }
        )
    }
}

/// A partition of a campaign, for a message.
fn partition_of(name: &str) -> String {
    if name.is_empty() { "no partition".to_owned() } else { format!("partition `{name}`") }
}

/// Which release made a ledger of another version.
fn maker(program: Option<&str>) -> String {
    match program {
        Some(program) => format!("rescreen {program}"),
        None => "a later release of rescreen".to_owned(),
    }
}

/// Which release to use for it.
fn remedy(program: Option<&str>) -> String {
    match program {
        Some(program) => format!("rescreen {program} or later"),
        None => "that release".to_owned(),
    }
}

/// What an error of SQLite says about the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Another program has it open. It is intact.
    Locked,
    /// Its content is not a valid ledger.
    Damaged,
    /// It cannot be read or written now: a full disk, missing permissions, a failed read.
    Storage,
}

impl Fault {
    fn of(source: &rusqlite::Error) -> Fault {
        let rusqlite::Error::SqliteFailure(failure, message) = source else {
            // The stored value does not have the expected type.
            return Fault::Damaged;
        };
        let says = |part: &str| message.as_ref().is_some_and(|message| message.starts_with(part));
        match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Fault::Locked,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TooBig => Fault::Damaged,
            // The tables or values do not match the schema.
            ErrorCode::Unknown
                if ["no such table", "no such column", "integer overflow"].iter().any(|part| says(part)) =>
            {
                Fault::Damaged
            }
            _ => Fault::Storage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn only_a_ledger_that_is_lost_or_damaged_is_a_loss() {
        let of = |code, message: Option<&str>| {
            let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), message.map(str::to_owned));
            LedgerError::from(failure).at(Path::new("out/ledger.sqlite"))
        };
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB] {
            assert!(of(code, None).is_loss());
        }
        assert!(of(ffi::SQLITE_ERROR, Some("no such table: campaign")).is_loss());
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_LOCKED, ffi::SQLITE_IOERR, ffi::SQLITE_CANTOPEN, ffi::SQLITE_FULL] {
            let error = of(code, None);
            assert!(!error.is_loss(), "{error}");
            assert!(
                error.to_string().contains("out/ledger.sqlite") && error.to_string().contains("run again"),
                "{error}"
            );
        }
        assert!(of(ffi::SQLITE_BUSY, None).to_string().contains("another program has it open"));
        assert!(!LedgerError::Overtaken.is_loss());
    }
}
