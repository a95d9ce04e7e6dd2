//! The promise: `rescreen plan` says what a run would do and cost and what would stop it, on one screen whose numbers add
//! up, and its exit code is 0 only if a run would start and would not be stopped by what a plan can see.

mod as_json;
mod exit_codes;
mod failures;
mod save;
mod screens;
mod sums;
mod values;
