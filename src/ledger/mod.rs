//! The ledger: the single source of truth of a campaign. Asks, requests, answers and charges are committed durably here
//! before anything else happens. Resume, status, budget and outputs are derived from it.
//!
//! The ledger is an SQLite database in WAL mode with `synchronous=FULL`; with NORMAL, a power loss could undo commits.
//! One process may write it at a time. One writer thread commits all waiting work as one transaction.

mod accepted;
mod activity;
mod adopt;
mod amount;
mod answers;
mod arm;
mod aside;
mod ask_ends;
mod asks;
mod attachments;
mod attempts;
mod check_sums;
mod check_uses;
mod completed;
mod compression;
mod consent;
mod corrections;
mod counts;
mod datasets;
mod decisions;
mod dictionary;
mod error;
mod events;
mod examine;
mod follow;
#[cfg(test)]
pub mod for_tests;
mod identity;
mod ingest;
mod jobs;
mod lock;
mod log_pause;
mod mappings;
#[cfg(test)]
mod money_tests;
mod open;
mod parts;
#[cfg(test)]
mod plan_tests;
mod prices;
mod progress;
mod purge;
mod purged;
mod readers;
mod reading;
mod receivers;
mod record;
mod recount;
mod request_row;
mod reread;
mod resolve;
mod reuse;
mod rows;
mod rules;
mod runs;
mod schema;
mod settings;
mod settle;
mod sources;
mod store;
mod sums;
mod trail;
mod unsent;
mod untold;
mod writer;

pub use activity::{AttemptSpan, ChargeAt, LedgerCharge, Shared};
pub use adopt::Adoption;
pub use answers::{AnswerRecord, UnreadReply};
pub use arm::{ArmOrder, NotArmed};
pub use aside::{set_aside, set_aside_unsent};
pub use asks::{AskFate, AskView, RequestView, StoredAnswer};
pub use attachments::{RequestFiles, UploadRow};
pub use check_sums::{CheckSums, UNREADABLE_ROWS};
pub use check_uses::CheckUseRow;
pub use completed::CompletedRow;
pub use consent::Consent;
pub use corrections::{CorrectedAsk, CorrectionSource, CorrectionsMade};
pub use counts::Counts;
pub use datasets::DatasetSeen;
pub use decisions::DecisionsMade;
pub use error::LedgerError;
pub use follow::{DeliveryMark, Due, DueJob, Followed, JobReport, NamedJob, OddJobs, OpenJobs};
pub use identity::{Identity, ServiceMove};
pub use ingest::{Fate, IngestedAsk, IngestedSplit};
pub use lock::{commits_noted, is_in_use, log_is_alone};
pub use mappings::{MappedRows, NextIds};
pub use parts::{LedgerPart, PartFiles, PartPlan};
pub use progress::{FailuresByCode, Published};
pub use purge::{Leaving, PurgeCounts, finish_purge};
pub use purged::{PurgeRow, PurgeStamp};
pub use reading::{Reading, Retryable, SentBefore};
pub use receivers::Receiver;
pub use record::Untold;
pub use reread::{ReadRow, RereadSplit, SplitPlace};
pub use resolve::{Correction, Decided, Decision, Quarantined, WaitingRow};
pub use reuse::{EarlierAnswer, Question};
pub use rows::IngestedRow;
pub use rules::{AnswerToJudge, RulesRow};
pub use runs::{NewRun, RunBegun, RunEnd, RunRow, RunStamp};
pub use settle::{Settled, Settlement};
pub use sources::SourceView;
pub use sums::{CheckPause, KeptStop, SeenPrice, Sums};
pub use trail::{AnswerContent, AnswerTrail, AskTrail, AttemptTrail, RequestTrail};
pub use writer::{CommitMode, Committing, Ledger};

/// The version of the schema. A ledger of any other version is refused.
pub const SCHEMA_VERSION: i64 = 1;
