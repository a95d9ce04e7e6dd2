//! The integration-test binary: one module per guarantee, and shared test support in `support`.

#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

mod support;

/// Counts allocations for [`template_memory`].
#[global_allocator]
static ALLOCATOR: support::allocated::Counting = support::allocated::Counting;

mod budget;
mod campaign;
mod catalogue;
mod cli;
mod collect;
mod docs;
mod doctor;
#[cfg(feature = "fault-points")]
mod faults;
mod files;
mod fuzzed;
#[cfg(unix)]
mod hostile;
mod import_cycles;
mod input;
mod jobs;
mod key_life;
mod keys;
mod kill;
mod ledger_files;
mod mapping;
mod memory;
mod outputs;
#[cfg(feature = "planted-bugs")]
mod planted;
mod properties;
mod rate;
mod real_input;
mod safety;
mod security;
// Its hooks exist only in builds with debug assertions.
#[cfg(debug_assertions)]
mod sim;
mod simulator;
mod template_memory;
mod tidy;
mod webhook;
