//! rescreen takes a whole book of subjects (customers, companies, vehicles) through a paid, rate-limited verification
//! service: every row is answered or accounted for, and nothing is paid for twice.
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
//! # The way of a row
//!
//! ```text
//! source ─read→ split ─map→ asks and requests ─take→ LEDGER            intake: at read speed, to the end of the input
//! LEDGER ─next→ request ─admit→ throttle ─arm→ LEDGER ─send→ service   hold credits, note the attempt: durable before the first byte
//! reply ─settle→ LEDGER                                                answer and charge, or in doubt: durable
//! settled asks ─project→ rows ─publish→ parts, manifest
//! ```
//!
//! It reads in one screen in [`pipeline::Prepared::go`]. The ledger is the only truth: resume, status, budget and outputs
//! are readings of it, so running again is always right.
//!
//! # Floors
//!
//! Imports go down only, and rooms of one floor never import each other; a test holds both.
//!
//! | floor | |
//! |---|---|
//! | 0 | [`model`]: pure data and pure functions: rows, keys, the state machine, budget, verdicts, failures |
//! | 1 | [`template`]: MiniJinja with strict nulls · [`catalogue`]: one TOML declaration for each check · [`files`]: regular files with limits |
//! | 2 | [`source`] reads · [`mapping`] maps · [`ledger`] takes, arms, settles · [`throttle`] admits · [`client`] sends · [`sink`] writes |
//! | 3 | [`pipeline`]: the only floor that knows two rooms · [`simulator`]: the service on loopback, sharing nothing with the client |
//! | 4 | the command line, in the binary; the library never talks to the terminal |
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | campaign | one round of checks, named by the user (`2026-11`); run it as often as you like, it pays once |
//! | row | one record of the input, with its position |
//! | check | one thing the service sells (`aml-screening`), declared in the catalogue |
//! | ask | a row and a check used on it; ends in exactly one place |
//! | request | what is sent for one or more equal asks, identified by its key |
//! | key | the `Idempotency-Key` of a request: a pure function of campaign and content |
//! | attempt | one HTTP exchange for a request |
//! | answer | what the service finally said, kept as raw JSON |
//! | verdict | our closed reading of an answer, never of the HTTP status |
//! | failure | an ask's misfortune: data. What stops a run is an [`Error`] |
//! | in doubt | a request that may have been charged and has no answer yet: a state, not a failure |
//! | split | the unit of intake: up to 1,000 consecutive rows, or one second of a slow stream |
//! | hold, charge | credits set aside before a send; credits the service took |
//! | part, manifest | one immutable output file; the list of parts that exist, written last |
//!
//! # What always holds
//!
//! While its ledger is kept and the service keeps its idempotency promise, a request is charged at most once; outside a
//! key's life the program stops and asks. Charged plus held never exceeds the limit while the price table's prices are
//! upper bounds. No byte of a request leaves before its arm commit is durable: [`client::Client::send`] consumes a receipt
//! that only that commit creates. Every ask is in exactly one of results, failures, pending and skipped.

pub mod catalogue;
pub mod client;
mod error;
pub mod files;
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
