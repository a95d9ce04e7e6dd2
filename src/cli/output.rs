//! Output: messages and the optional log on standard error, data on standard output. Everything printed
//! passes through here and is escaped, so that text from outside cannot move the cursor, forge a line or reverse its
//! direction.

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

/// Flags that every command has.
#[derive(Args, Debug, Clone)]
pub struct OutputArgs {
    /// Print only what went wrong and how to continue
    #[arg(short, long, global = true, display_order = 100)]
    pub quiet: bool,
    /// Log each step; twice (-vv), also log every request
    #[arg(short, long, global = true, display_order = 101, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Log format
    #[arg(long, global = true, display_order = 102, value_name =
        "FORMAT", default_value = "text", value_parser = ["text", "json"])]
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

    /// Prints a line on standard error, unless `--quiet` is given.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            to_stderr(line);
        }
    }
}

/// Whether standard error and standard input are a terminal.
pub fn is_terminal() -> bool {
    io::stderr().is_terminal() && io::stdin().is_terminal()
}

/// Prints the error that ends the program.
pub fn error(error: &Error) {
    match error {
        // Its second line shows the key at fault; the text was escaped where the file is read.
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

/// Several lines of data on standard output. The line breaks of the text are the program's own.
pub fn lines_to_stdout(text: &str) {
    text.split('\n').for_each(to_stdout);
}

/// JSON on standard output.
pub fn json_to_stdout(json: &str) {
    drop(writeln!(io::stdout(), "{}", printable_json(json)));
}

/// Writes one log event at a time, escaped.
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

    /// What the log writes for hostile values, in each format.
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
        if is_json {
            tracing::subscriber::with_default(log.json().with_writer(move || writer.clone()).finish(), say)
        } else {
            tracing::subscriber::with_default(log.with_writer(move || writer.clone()).finish(), say)
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
