//! The one integration-test binary: a file per promise, a small language in `support`.

mod support;

mod budget;
mod campaign;
mod catalogue;
mod cli;
mod input;
mod keys;
mod kill;
mod mapping;
mod outputs;
mod rate;
mod real_input;
mod sim;
mod simulator;
mod tidy;
