//! How the program talks: lines on standard error, a log on request, data on standard output. What comes from outside is
//! printed without its control characters.

use clap::Args;
use std::io::{self, IsTerminal, Write};
use tracing_subscriber::filter::LevelFilter;

/// Flags every command has.
#[derive(Args, Debug, Clone)]
pub struct TalkArgs {
    /// Say only what went wrong, and how to continue
    #[arg(short, long, global = true, display_order = 100)]
    pub quiet: bool,
    /// Log what happens; twice: every request
    #[arg(short, long, global = true, display_order = 101, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// The form of the log
    #[arg(long, global = true, display_order = 102, value_name = "FORM", default_value = "text", value_parser = ["text", "json"])]
    pub log_format: String,
}

impl TalkArgs {
    /// Starts the log, on standard error.
    pub fn start_log(&self) {
        let level = match (self.quiet, self.verbose) {
            (true, _) => LevelFilter::ERROR,
            (false, 0) => LevelFilter::WARN,
            (false, 1) => LevelFilter::INFO,
            (false, _) => LevelFilter::DEBUG,
        };
        let log = tracing_subscriber::fmt().with_writer(io::stderr).with_max_level(level).with_target(false);
        match self.log_format.as_str() {
            "json" => log.json().init(),
            _ => log.init(),
        }
    }

    /// A line for a person, unless they want none.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            to_stderr(line);
        }
    }
}

/// Whether a person watches.
pub fn is_terminal() -> bool {
    io::stderr().is_terminal() && io::stdin().is_terminal()
}

/// What stops the program.
pub fn error(message: &str) {
    to_stderr(&format!("error: {message}"));
}

/// A line on standard error; a reader that went away is nobody's error.
pub fn to_stderr(line: &str) {
    drop(writeln!(io::stderr(), "{}", printable(line)));
}

/// Data on standard output.
pub fn to_stdout(text: &str) {
    drop(writeln!(io::stdout(), "{text}"));
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}
