//! The charge book: what workers on several machines share that use one account of the service. It is kept in PostgreSQL.
//! Rows and outputs stay in the ledger of each worker.
//!
//! A [`Book`] belongs to one worker and one account. It reads and writes what the throttle decides; it decides nothing
//! about the rate itself. No lock is held between reading and writing: a change is made only to the version that it was
//! decided for.

mod admin;
mod error;
mod money;
mod overview;
mod partition;
mod requests;
mod session;
mod tls;
mod worker;

pub use admin::{Expected, Findings, WORKER_ROLE, check, create, expect, resume};
pub use error::BookError;
pub use overview::{AccountRow, accounts};
pub use session::Address;
pub use worker::{AccountName, Book, WorkerName};

/// The version of the tables. A book of another version is refused.
pub const BOOK_VERSION: i32 = 1;
