//! The ledger: the single source of truth of a campaign. Asks, requests, answers and charges are committed durably here
//! before anything else happens. Resume, status, budget and outputs are derived from it.
//!
//! The ledger is an SQLite database in WAL mode with `synchronous=FULL`; with NORMAL, a power loss could undo commits.
//! One process may write it at a time. One writer thread commits all waiting work as one transaction.

mod answers;
mod arm;
mod aside;
mod asks;
mod attachments;
mod check_uses;
mod completed;
mod compression;
mod consent;
mod datasets;
mod error;
mod events;
mod examine;
mod follow;
mod identity;
mod ingest;
mod jobs;
mod lock;
#[cfg(test)]
mod money_tests;
mod open;
mod parts;
mod prices;
mod reading;
mod receivers;
mod recount;
mod resolve;
mod rows;
mod rules;
mod seen_price;
mod settings;
mod settle;
mod store;
mod sums;
mod unsent;
mod writer;

pub use answers::AnswerRecord;
pub use arm::{ArmOrder, NotArmed};
pub use aside::set_aside;
pub use asks::{AskFate, AskView, RequestView, StoredAnswer};
pub use attachments::{RequestFiles, UploadRow};
pub use check_uses::CheckUseRow;
pub use completed::CompletedRow;
pub use consent::Consent;
pub use datasets::DatasetSeen;
pub use error::LedgerError;
pub use follow::{DeliveryMark, Due, DueJob, Followed, JobReport, NamedJob, OddJobs, OpenJobs};
pub use identity::Identity;
pub use ingest::{Fate, IngestedAsk, IngestedSplit};
pub use lock::{commits_noted, log_is_alone};
pub use parts::{LedgerPart, PartPlan};
pub use reading::{Counts, Reading, Retryable, SentBefore, SourceView};
pub use receivers::Receiver;
pub use resolve::{Correction, Decided, Decision, Quarantined};
pub use rows::IngestedRow;
pub use rules::{AnswerToJudge, RulesRow};
pub use seen_price::{SeenBy, SeenPrice};
pub use settle::{Settled, Settlement};
pub use sums::{KeptStop, Sums};
pub use writer::{CommitMode, Committing, Ledger};

/// The version of the schema. A ledger of version 6 gets the tables that version 7 adds when it is opened for writing. A
/// ledger of any other version is refused.
pub const SCHEMA_VERSION: i64 = 7;
/// The oldest version that can be upgraded.
const UPGRADED_VERSION: i64 = 6;
