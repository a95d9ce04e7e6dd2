//! The ledger: the only truth of a campaign. What was asked, sent, answered and charged is a durable commit here before
//! anything else happens; resume, status, budget and outputs are readings of it.
//!
//! SQLite in WAL mode with `synchronous=FULL` (with NORMAL a power loss takes commits back). One process per ledger; one
//! writer thread commits whatever is waiting as one transaction.

mod arm;
mod asks;
mod identity;
mod pack;
mod parts;
mod reading;
mod resolve;
mod rows;
mod settle;
mod store;
mod sums;
mod take;
mod writer;

pub use arm::{ArmOrder, Armed};
pub use asks::{AnswerView, AskFate, AskView, RequestView};
pub use identity::Identity;
pub use parts::{Part, PartPlan};
pub use reading::{Counts, Reading, SourceView};
pub use resolve::{Decision, Quarantined};
pub use rows::TakenRow;
pub use settle::{AnswerRecord, Settled, Settlement};
pub use sums::Sums;
pub use take::{CheckUseRow, Fate, SplitEnd, TakenAsk, TakenSplit};
pub use writer::{Committing, Ledger, Seat};

use std::path::PathBuf;

/// The version of the schema. A ledger of another version is refused, never converted in passing.
pub const SCHEMA_VERSION: i64 = 2;

/// What stops a run at the ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("the ledger {} is in use by another process (one run per campaign at a time); `rescreen status` reads beside it", .path.display())]
    InUse { path: PathBuf },
    #[error("the ledger {} cannot be opened: {source}", .path.display())]
    Open { path: PathBuf, source: std::io::Error },
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
    #[error("the ledger stopped ({cause}); nothing was sent after that; make room or repair the disk and run again")]
    Stopped { cause: String },
    #[error(transparent)]
    IllegalMove(#[from] crate::model::state::IllegalMove),
    #[error("the ledger cannot be read or written: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

impl LedgerError {
    /// Whether this is the user's input or configuration (exit 2) rather than storage (exit 11).
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            LedgerError::InUse { .. }
                | LedgerError::Absent { .. }
                | LedgerError::Identity { .. }
                | LedgerError::Layout { .. }
                | LedgerError::NewCheck { .. }
                | LedgerError::MissingCheck { .. }
                | LedgerError::BegunMeanwhile
        )
    }
}
