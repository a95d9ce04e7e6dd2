//! How the program talks: lines on standard error, a log on request, data on standard output. Everything printed passes
//! through here, and what comes from outside cannot move the cursor, forge a line or turn one around.

use clap::Args;
use rescreen::{
    Error,
    model::printable::{printable, printable_json},
};
use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
};
use tracing_subscriber::filter::LevelFilter;

/// Flags every command has.
#[derive(Args, Debug, Clone)]
pub struct OutputArgs {
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

impl OutputArgs {
    /// Starts the log, on standard error.
    pub fn start_log(&self) {
        let level = match (self.quiet, self.verbose) {
            (true, _) => LevelFilter::ERROR,
            (false, 0) => LevelFilter::WARN,
            (false, 1) => LevelFilter::INFO,
            (false, _) => LevelFilter::DEBUG,
        };
        let log = tracing_subscriber::fmt().with_max_level(level).with_target(false);
        match self.log_format.as_str() {
            "json" => log.json().with_writer(|| LogWriter(printable_json)).init(),
            _ => log.with_writer(|| LogWriter(printable)).init(),
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
pub fn error(error: &Error) {
    match error {
        // Its second line shows the key that is meant; the text was made safe where the file is read.
        Error::CampaignFile { path, fault } => {
            let mut lines = fault.split('\n');
            to_stderr(&format!("error: {}: {}", path.display(), lines.next().unwrap_or_default()));
            lines.for_each(to_stderr);
        }
        error => to_stderr(&format!("error: {error}")),
    }
}

/// One line on standard error. A closed pipe is not an error.
pub fn to_stderr(line: &str) {
    drop(writeln!(io::stderr(), "{}", printable(line)));
}

/// One line of data on standard output.
pub fn to_stdout(line: &str) {
    drop(writeln!(io::stdout(), "{}", printable(line)));
}

/// Data of several lines on standard output: a text whose line breaks are the program's own.
pub fn lines_to_stdout(text: &str) {
    text.split('\n').for_each(to_stdout);
}

/// JSON on standard output.
pub fn json_to_stdout(json: &str) {
    drop(writeln!(io::stdout(), "{}", printable_json(json)));
}

/// Writes one event of the log at a time, made safe to print.
struct LogWriter(fn(&str) -> Cow<'_, str>);

impl Write for LogWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        writeln!(io::stderr(), "{}", (self.0)(line))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rescreen::model::printable::is_printable;
    use std::sync::{Arc, Mutex};

    /// What a log of hostile values is made into, by format.
    fn logged(is_json: bool) -> String {
        #[derive(Clone, Default)]
        struct Kept(Arc<Mutex<String>>);
        impl Write for Kept {
            fn write(&mut self, event: &[u8]) -> io::Result<usize> {
                let text = std::str::from_utf8(event).expect("a log is text");
                assert!(text.ends_with('\n'), "an event is written at once: {text:?}");
                self.0.lock().unwrap().push_str(text);
                Ok(event.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let kept = Kept::default();
        let writer = kept.clone();
        let log = tracing_subscriber::fmt().with_max_level(LevelFilter::DEBUG).with_target(false);
        let hostile = "a\u{1b}[2J\nerror: all is well\u{202e}\u{9b}";
        let say =
            || tracing::debug!(display = %hostile, debug = ?hostile, text = hostile, "the service says {hostile}");
        match is_json {
            true => tracing::subscriber::with_default(log.json().with_writer(move || writer.clone()).finish(), say),
            false => tracing::subscriber::with_default(log.with_writer(move || writer.clone()).finish(), say),
        }
        kept.0.lock().unwrap().clone()
    }

    #[test]
    fn a_log_event_is_one_write_that_becomes_one_escaped_line() {
        let text = logged(false);
        let line = printable(text.strip_suffix('\n').unwrap());
        assert!(is_printable(&line) && line.contains("the service says a"), "{line}");
        let json = logged(true);
        let line = printable_json(json.strip_suffix('\n').unwrap());
        assert!(is_printable(&line), "{line}");
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(event["fields"]["text"], "a\u{1b}[2J\nerror: all is well\u{202e}\u{9b}");
    }
}
