//! Sends requests and follows jobs: ledger → next request → throttle → attempt → next step, until nothing is left to send
//! or there is a reason to stop. The [engine] decides, and the [driver] executes. New requests and repeats take turns, so
//! that no request blocks the others.

pub mod account;
pub mod account_use;
pub mod attempt;
pub mod attempt_end;
mod balance_reading;
pub mod channels;
pub mod check_pauses;
pub mod context;
pub mod driver;
pub mod earlier_stop;
pub mod engine;
pub mod file_body;
pub mod follow;
mod for_list;
pub mod gate;
pub mod guards;
pub mod health;
pub mod known;
pub mod latencies;
pub mod limit;
pub mod limits;
pub mod make_ready;
#[cfg(any(test, feature = "book-postgres"))]
pub mod model_book;
pub mod moment;
pub mod next_step;
mod outgoing;
pub mod peer;
pub mod prices;
mod progress;
pub mod purse;
pub mod queue;
pub mod refusal;
pub mod retry;
pub mod schedule;
mod settle;
#[cfg(feature = "book-postgres")]
pub mod shared_account;
pub mod spending;
pub mod telling;
pub mod terms;
pub mod upload;

pub use channels::{Draining, Progress, RunChannels, SendEnd, Sent, Signal, Wait};
