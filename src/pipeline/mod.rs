//! The pipeline: the layer that connects source, mapping, ledger, client and sink. [`Prepared::go`] shows how a row is
//! processed: intake writes it to the ledger, the send loop sends its requests, and publishing writes the results.

mod blocking;
pub mod campaign;
mod collect;
pub mod compare;
mod corrections;
mod dataset_update;
mod decide;
pub mod doctor;
mod end_reason;
mod evidence;
mod export;
mod failure_file;
pub mod init;
mod intake;
mod judge;
mod partition_outputs;
mod plan;
mod prepare;
mod publish;
pub mod published;
mod purge;
mod reconcile;
pub mod report;
mod report_doubts;
mod report_jobs;
mod report_page;
mod report_stops;
mod resolve;
mod retry_webhook;
mod returned_file;
mod reuse;
mod run;
mod run_record;
mod send;
mod sending;
pub mod show;
mod shown_command;
mod state_folder;
mod status;
mod warehouse;
pub mod wording;

/// A charge book, in PostgreSQL or in memory, as the partitions of a campaign use it.
#[cfg(feature = "book-postgres")]
pub mod books {
    pub use super::send::{
        model_book::{ModelBook, ModelPartition},
        purse::SharedMoney,
        shared_account::enter,
    };
}

pub use campaign::consent::system_user;
pub use campaign::input::Input;
pub use campaign::out_folder::{Place, places_of};
pub use campaign::place::{campaign_name, ledger_in};
pub use campaign::receiver::default_inbox;
pub use campaign::secret::read as read_secret;
pub use campaign::service::{BookSource, Service, is_partition_name};
pub use campaign::tables::TableSource;
pub use campaign::{Campaign, Guards, read_file, read_open_file};
pub use collect::{CollectOptions, Collection, NamedService};
pub use corrections::{CorrectionCounts, Corrections};
pub use dataset_update::dataset_update;
pub use decide::{DecideOrder, Decided, record_decisions};
pub use end_reason::EndReason;
pub use evidence::{EvidenceMade, EvidenceOrder, Fault, Subject, Verified, VerifyOrder, evidence, verify};
pub use export::{
    ChangedSince, ExportContent, ExportFormat, ExportOrder, Exported, ExportedFile, NewPlace, check_stream, export,
    stream, verdict_of,
};
pub use intake::IntakeProgress;
pub use intake::notes::{Noted, Notes};
pub use intake::rejections::{Rejection, Rejections};
pub use intake::values::ValueCounts;
pub use plan::{
    Plan, PlanOptions,
    money::{CheckCost, Money},
    outlook::{self, AccountSeen, Obstacle},
    plan,
    tree::Tree,
};
pub use prepare::Prepared;
pub use publish::Tap;
pub use purge::{PurgeOrder, PurgeReport, PurgeWhat, purge};
pub use reconcile::{
    ChargeDifference, ChargeSign, Columns, DifferenceKind, ReconcileOrder, Reconciled, Tally, reconcile,
};
pub use report::RunReport;
pub use report_page::{ReportOrder, Reported, report_page};
pub use resolve::{ChargeCorrection, Resolution, correct_charge, decide, quarantined, quarantined_or_in_doubt};
pub use retry_webhook::{Redeliveries, RedeliveryOrder, retry_webhook};
pub use run::RunOptions;
pub use run_record::{NextCommand, RunEnded};
pub use send::account::balance_alone;
pub use send::earlier_stop::EarlierStop;
pub use send::latencies::{BOUNDS_MS, Latencies};
pub use send::retry::RetryOrder;
pub use send::{Draining, Progress, Signal, Wait};
pub use status::{CampaignState, Status, consent_lines, failures_by_code, status};
pub use warehouse::{tables_of_campaign, tables_of_check};
