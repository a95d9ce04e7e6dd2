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
mod compare;
mod decisions;
mod docs;
mod doctor;
#[cfg(unix)]
mod evidence;
#[cfg(unix)]
mod export;
#[cfg(feature = "harness")]
mod faults;
mod field;
mod files;
mod first_release;
mod fuzzed;
#[cfg(unix)]
mod gate;
#[cfg(unix)]
mod hostile;
mod import_cycles;
mod init;
mod input;
mod jobs;
mod key_life;
mod keys;
mod kill;
mod ledger_files;
#[cfg(all(unix, feature = "book-postgres"))]
mod many_machines;
mod mapping;
mod memory;
mod outputs;
mod plan;
#[cfg(feature = "harness")]
mod properties;
#[cfg(feature = "harness")]
mod purge;
mod rate;
mod real_input;
#[cfg(unix)]
mod reconcile;
mod rehearsals;
mod report;
mod reuse;
mod safety;
mod security;
// Its hooks exist only in builds with debug assertions.
#[cfg(debug_assertions)]
mod sim;
mod simulator;
mod template_memory;
#[cfg(unix)]
mod terminal;
mod tidy;
mod webhook;
