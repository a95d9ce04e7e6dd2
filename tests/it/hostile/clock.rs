//! Moves the clock of the program's machine from outside, with a library built from its C source where a compiler is
//! installed.

use super::Campaign;
use crate::support::compiled;
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tempfile::TempDir;

/// The library that moves the clock. `None`, with a notice, where it cannot be built. In CI that is a failure.
pub fn library() -> Option<PathBuf> {
    static BUILT: OnceLock<Result<(TempDir, PathBuf), String>> = OnceLock::new();
    match BUILT.get_or_init(|| compiled::library("hostile/shifted_clock.c")) {
        Ok((_, path)) => Some(path.clone()),
        Err(reason) => {
            assert!(std::env::var_os("CI").is_none(), "the clock is not moved here: {reason}");
            println!("SKIPPED: the clock is not moved here: {reason}");
            None
        }
    }
}

/// A run, or another command of the program, on a machine whose clock is ahead by this many seconds.
pub fn ahead(mut command: Command, library: &Path, seconds: i64) -> Command {
    command.env("LD_PRELOAD", library).env("SHIFTED_CLOCK_S", seconds.to_string());
    command
}

/// A run on a machine that sleeps during the call of this kind (`commit` or `connect`) and number, and writes the
/// marker file when it does.
pub fn asleep(campaign: &Campaign, library: &Path, seconds: i64, mark: &Path, kind: &str, number: u32) -> Command {
    let mut command = campaign.command("");
    command
        .env("LD_PRELOAD", library)
        .env("SHIFTED_SLEEP_S", seconds.to_string())
        .env("SHIFTED_SLEEP_IN", kind)
        .env("SHIFTED_SLEEP_AT", number.to_string())
        .env("SHIFTED_SLEPT", mark);
    command
}
