//! rescreen checks a table of subjects (customers, companies, vehicles) against a paid, rate-limited verification
//! service. Every row is answered or accounted for, and nothing is paid for twice.
//!
//! ```no_run
//! # async fn book() -> Result<(), rescreen::Error> {
//! let campaign = rescreen::pipeline::Campaign::load("rescreen.toml".as_ref())?;
//! let report = campaign.run().await?;
//! for line in report.lines() {
//!     println!("{line}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # How a row is processed
//!
//! ```text
//! source ─read→ split ─map→ asks and requests ─ingest→ LEDGER          intake: at read speed, to the end of the input
//! LEDGER ─next→ request ─admit→ throttle ─arm→ LEDGER ─send→ service   hold credits, record the attempt: durable before the first byte
//! reply ─settle→ LEDGER                                                answer and charge, or in doubt: durable
//! settled asks ─project→ rows ─publish→ parts, manifest
//! ```
//!
//! [`pipeline::Prepared::go`] shows the whole sequence. The ledger is the single source of truth: resume, status,
//! budget and outputs are derived from it, so running again is always safe.
//!
//! # Layers
//!
//! A module imports only from lower layers. Modules of the same layer never import each other. A test enforces both
//! rules.
//!
//! | layer | modules |
//! |---|---|
//! | 0 | [`model`]: pure data and pure functions: rows, keys, the state machine, budget, verdicts, failures |
//! | 1 | [`template`]: MiniJinja with strict nulls · [`catalogue`]: one TOML declaration per check · [`files`]: regular files with limits |
//! | 2 | [`source`] reads · [`mapping`] maps · [`ledger`] ingests, arms, settles · [`throttle`] admits · `book` shares an account · [`client`] sends · [`webhook`] receives · [`sink`] writes · [`decisions`] keeps what persons decided about matches |
//! | 3 | [`pipeline`]: the only layer that connects the modules of layer 2 |
//! | 4 | the command line, in the binary; the library never writes to the terminal |
//!
//! [`simulator`] is a simulated service on loopback. It is a separate crate, which shares only the TOML text of the catalogue
//! with these modules.
//!
//! # Where a rule is
//!
//! | question | files |
//! |---|---|
//! | what a reply means | `client/said.rs` reads it, `client/classify.rs` has the table of outcomes, `model/transitions.rs` the next state |
//! | what a request does next | `pipeline/send/next_step.rs`; a 409 that lasts is counted in `pipeline/send/guards.rs` |
//! | who waits for `Retry-After` | `client/said.rs` says which replies ask for it, `pipeline/send/check_pauses.rs` whether one check waits or all; `pipeline/send/gate.rs` closes the gate, which [`throttle`] keeps |
//! | when a job is polled | `model/job_life.rs` says when it is due, `pipeline/send/follow/mod.rs` takes turns, `pipeline/send/follow/poll.rs` polls |
//! | what may be spent | `model/budget.rs`, inside the transaction of `ledger/arm.rs` |
//! | the key | `model/key.rs`, from `model/request.rs` |
//! | who shares the rate | `throttle/bucket_file.rs` on one machine, `throttle/account.rs` and `book` on several, by the account of `pipeline/send/account_use.rs` |
//! | why a row fails | `model/failure.rs` has the codes; `source/records/` makes those of reading, `mapping/` those of mapping, `pipeline/send/refusal.rs` and `pipeline/send/engine/` those of sending |
//! | what ends a run, and its exit code | `model/stop.rs` and `error.rs`, in the words of `model/exit_code.rs`; complete runs: `pipeline/report.rs` |
//! | the columns of the outputs | `sink/datasets.rs`, and the TOML of the check in `catalogue/`; their Parquet types: `sink/parquet_rows.rs` |
//!
//! # Terms
//!
//! | term | meaning |
//! |---|---|
//! | campaign | one round of checks, named by the user (`2026-11`); it can run any number of times and pays once |
//! | row | one record of the input, with its position |
//! | check | one product of the service (`aml-screening`), declared in the catalogue |
//! | ask | one row and one check used on it; it ends in exactly one output |
//! | request | what is sent for one or more equal asks, identified by its key |
//! | key | the `Idempotency-Key` of a request: a pure function of campaign and content |
//! | attempt | one HTTP exchange for a request |
//! | answer | the service's final reply, kept as raw JSON |
//! | verdict | one of a fixed set of values, derived from the answer and never from the HTTP status |
//! | failure | an ask that could not be answered. Failures are data; an [`Error`] stops a run |
//! | in doubt | a request that may have been charged and has no answer yet; this is a state, not a failure |
//! | split | the unit of intake: up to 1,000 consecutive rows, or one second of a slow stream |
//! | hold, charge | credits set aside before a send; credits the service took |
//! | part, manifest | one immutable output file; the list of parts that exist, written last |
//!
//! # Guarantees
//!
//! A request is charged at most once while its ledger is kept and the service honours its idempotency keys. Once a key
//! has expired, the program stops and asks for a decision. Charged plus held credits never exceed the limit while the
//! prices in the price table are upper bounds. No byte of a request is sent before its arm commit is durable:
//! [`client::Client::send`] consumes a receipt that only that commit creates. Every ask is in exactly one of results,
//! failures, pending and skipped.

#[cfg(feature = "book-postgres")]
pub mod book;
pub mod catalogue;
pub mod client;
pub mod decisions;
mod error;
pub mod files;
pub mod ledger;
pub mod mapping;
pub mod model;
pub mod pipeline;
pub mod sink;
pub mod source;
pub mod template;
pub mod throttle;
pub mod webhook;

pub use error::Error;
pub use rescreen_simulator as simulator;
