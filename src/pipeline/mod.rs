//! The pipeline: the only floor that knows two rooms. The way of a row is in [`Prepared::go`]: intake takes it into the ledger, the
//! send loop sends its requests, publishing writes what was answered.

mod account;
mod campaign;
pub mod campaign_file;
mod campaign_input;
mod dispatch;
mod distinct;
mod feeder;
mod flight;
mod guards;
mod health;
mod intake;
mod judge;
mod next_step;
mod notes;
mod plan;
mod prepare;
mod project;
mod publish;
mod publishing;
mod remap;
pub mod report;
mod resolve;
mod retry;
mod run;
mod secret;
mod status;
mod table_file;
mod taking;

pub use account::balance_alone;
pub use campaign::{Campaign, Guards, Service, read_file};
pub use campaign_input::Input;
pub use dispatch::{Progress, Signal};
pub use intake::IntakeProgress;
pub use notes::{Noted, Notes};
pub use plan::{Plan, plan};
pub use prepare::Prepared;
pub use publish::Tap;
pub use report::RunReport;
pub use resolve::{Resolution, decide, quarantined};
pub use run::Orders;
pub use secret::read as read_secret;
pub use status::{Status, ledger_in, status};
pub use table_file::TableSource;
