//! rescreen takes a whole book of subjects through a paid, rate-limited verification service: every row is answered or
//! accounted for, and nothing is paid for twice.

pub mod catalogue;
pub mod client;
mod error;
pub mod ledger;
pub mod mapping;
pub mod model;
pub mod pipeline;
pub mod simulator;
pub mod sink;
pub mod source;
pub mod template;
pub mod throttle;

pub use error::Error;
