//! What stops a run at the ledger. It owns one decision: which faults mean that a ledger is lost, and which end when another
//! program is closed or the disk has room again.

use super::SCHEMA_VERSION;
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// What stops a run at the ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("the ledger {} is in use by another process (one run per campaign at a time); `rescreen status` reads beside it", .path.display())]
    InUse { path: PathBuf },
    #[error(
        "{} cannot be opened: {source}; see that its folder can be written and that there is room, and run again",
        .path.display()
    )]
    Open { path: PathBuf, source: std::io::Error },
    #[error("{}: expected a file of the ledger that is yours alone, found {found}", .path.display())]
    NotPrivate { path: PathBuf, found: String },
    #[error(
        "{} holds the newest receipts of a ledger, and the ledger itself is missing or empty. Restore ledger.sqlite beside it, \
         or pass --new-ledger to set it aside and begin anew, which may pay again", .path.display()
    )]
    LogAlone { path: PathBuf },
    #[error("there is no ledger at {}; `rescreen run` makes one", .path.display())]
    Absent { path: PathBuf },
    #[error(
        "this ledger belongs to {what} `{recorded}`, and this run brings `{brought}`; restore it, or start a new campaign with `--campaign NAME`"
    )]
    Identity { what: &'static str, recorded: String, brought: String },
    #[error(
        "the ledger has schema version {found}, this program reads version {SCHEMA_VERSION}; use the release that made it"
    )]
    Version { found: i64 },
    #[error(
        "the columns of `{check}` are fixed by the first run and differ now (format, carried or answer columns); restore them, or start a new campaign"
    )]
    Layout { check: String },
    #[error(
        "the campaign was begun without the check `{check}`, and its rows are taken; leave the check out, or start a new campaign with `--campaign NAME`"
    )]
    NewCheck { check: String },
    #[error(
        "the campaign was begun with the check `{check}`, and this run leaves it out; bring it back, or start a new campaign with `--campaign NAME`"
    )]
    MissingCheck { check: String },
    #[error("another process began this campaign just now; run again to go on with it")]
    BegunMeanwhile,
    #[error(
        "the ledger cannot keep a write-ahead log (its journal mode is `{found}`); repair the disk, or put the ledger on a local one with [ledger] path, and run again"
    )]
    JournalMode { found: String },
    #[error("the ledger is damaged: {0}; restore it from a backup, its receipts are worth credits")]
    Damaged(String),
    #[error(
        "the ledger {} is not whole, and commits of it are missing ({lost}): its log ledger.sqlite-wal was removed, or it is \
         an older copy. The missing commits are receipts. Bring the log back, or restore the newest ledger.sqlite and \
         ledger.sqlite-wal together. Where there is nothing newer, --accept-older-ledger goes on with the receipts that are \
         there: what was sent later is sent again under the same keys, which is free for 72 hours after it was first sent \
         (adverse media 48), and may be paid again after that, and --max-credits counts only what is there. --new-ledger sets the ledger aside and begins with no \
         receipts at all: it may pay for everything again", .path.display()
    )]
    LogLost { path: PathBuf, lost: String },
    #[error(
        "{} was removed, moved or replaced while the run had it open; nothing was sent after that. Put the folder back as \
         it was and run again", .path.display()
    )]
    Gone { path: PathBuf },
    #[error(
        "{} was removed or replaced while the run had it open; nothing was sent after that. If you moved it, put it back, and \
         run again: what could be saved of it is in the ledger, and the next run says where receipts are missing",
        .path.display()
    )]
    LogGone { path: PathBuf },
    #[error(
        "another run opened the ledger while this one had it, which only a removed lock file allows; nothing was sent after \
         that. Let the other run end, and run again"
    )]
    Overtaken,
    #[error("the ledger stopped ({cause}); nothing was sent after that")]
    Stopped { cause: String },
    #[error(transparent)]
    IllegalMove(#[from] crate::model::state::IllegalMove),
    #[error(
        "the ledger {} is locked: another program has it open, a database browser or a backup; close it and run again",
        .path.display()
    )]
    Locked { path: PathBuf },
    #[error(
        "the ledger {} is damaged: {source}; restore ledger.sqlite and ledger.sqlite-wal from a backup, their receipts are \
         worth credits. --new-ledger sets them aside and begins anew, which may pay again", .path.display()
    )]
    Unreadable { path: PathBuf, source: rusqlite::Error },
    #[error(
        "the ledger {} cannot be read or written: {source}; make room or repair the disk, see that the folder can be written, \
         and run again", .path.display()
    )]
    Storage { path: PathBuf, source: rusqlite::Error },
    /// What SQLite said, before its place and what to do are added.
    #[error(
        "the ledger cannot be read or written: {0}; close other programs that have it open, make room or repair the disk, and run again"
    )]
    Sqlite(#[from] rusqlite::Error),
}

impl LedgerError {
    /// The same with the place of the ledger, and with what a person can do about it.
    pub(super) fn at(self, path: &Path) -> LedgerError {
        let path = path.to_owned();
        match self {
            LedgerError::Sqlite(source) => match Fault::of(&source) {
                Fault::Locked => LedgerError::Locked { path },
                Fault::Damaged => LedgerError::Unreadable { path, source },
                Fault::Storage => LedgerError::Storage { path, source },
            },
            other => other,
        }
    }

    /// Whether the ledger itself is lost or damaged. A cause that passes, such as a lock or a full disk, does not count.
    pub fn is_loss(&self) -> bool {
        match self {
            LedgerError::LogLost { .. }
            | LedgerError::LogAlone { .. }
            | LedgerError::Damaged(_)
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
                | LedgerError::Absent { .. }
                | LedgerError::NotPrivate { .. }
                | LedgerError::Identity { .. }
                | LedgerError::Layout { .. }
                | LedgerError::NewCheck { .. }
                | LedgerError::MissingCheck { .. }
                | LedgerError::BegunMeanwhile
        )
    }
}

/// What a fault of SQLite says about the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Another program has it; it is as good as before.
    Locked,
    /// Its content is not that of a ledger.
    Damaged,
    /// It cannot be reached at this moment: a full disk, missing rights, a failed read.
    Storage,
}

impl Fault {
    fn of(source: &rusqlite::Error) -> Fault {
        let rusqlite::Error::SqliteFailure(failure, message) = source else {
            // What it holds cannot be what was asked for.
            return Fault::Damaged;
        };
        let says = |part: &str| message.as_ref().is_some_and(|message| message.starts_with(part));
        match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Fault::Locked,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TooBig => Fault::Damaged,
            // What it holds does not fit what was asked for.
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
