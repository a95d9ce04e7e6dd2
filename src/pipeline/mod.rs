//! The pipeline: the layer that connects source, mapping, ledger, client and sink. [`Prepared::go`] shows how a row is
//! processed: intake writes it to the ledger, the send loop sends its requests, and publishing writes the results.

mod blocking;
pub mod campaign;
mod collect;
mod dataset_update;
pub mod doctor;
mod export;
mod intake;
mod plan;
mod prepare;
mod publish;
pub mod report;
mod report_jobs;
mod resolve;
mod run;
mod send;
mod state_folder;
mod status;
pub mod wording;

pub use campaign::consent::system_user;
pub use campaign::input::Input;
pub use campaign::receiver::default_inbox;
pub use campaign::secret::read as read_secret;
pub use campaign::service::Service;
pub use campaign::tables::TableSource;
pub use campaign::{Campaign, Guards, read_file, read_open_file};
pub use collect::{CollectOptions, Collection};
pub use dataset_update::dataset_update;
pub use export::{ExportOrder, export};
pub use intake::IntakeProgress;
pub use intake::notes::{Noted, Notes};
pub use plan::{Plan, plan};
pub use prepare::Prepared;
pub use publish::Tap;
pub use report::RunReport;
pub use resolve::{ChargeCorrection, Resolution, correct_charge, decide, quarantined, quarantined_or_in_doubt};
pub use run::RunOptions;
pub use send::account::balance_alone;
pub use send::earlier_stop::EarlierStop;
pub use send::retry::RetryOrder;
pub use send::{Progress, Signal};
pub use status::{Status, consent_lines, ledger_in, status};
