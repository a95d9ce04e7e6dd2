//! The promise: while a run is under way, a person sees how far it is and what it waits for, on a terminal of any width,
//! in a log, in JSON and in Prometheus.

mod confirmation;
mod emulator;
mod hangup;
mod json_lines;
mod metrics;
mod quiet;
mod screen;
mod tables;
mod verbosity;
