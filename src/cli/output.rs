//! Output: messages and the optional log on standard error, data on standard output. Everything printed
//! passes through here and is escaped, so that text from outside cannot move the cursor, forge a line or reverse its
//! direction. With `--log-format json`, every line on standard error is one JSON object, in the format of the log.

use super::{
    colour::{self, Ink},
    program::program,
    screen, stdout,
    table::width_of_stdout,
    wrap::wrapped,
};
use clap::Args;
use rescreen::{
    Error,
    model::{
        ExitCode,
        printable::{printable, printable_json},
    },
};
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Whether every line on standard error is JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// What a line on standard error is about. It decides the level and the `kind` of its JSON, and its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// What a command found or does: the banner, the mapping, notes.
    Note,
    /// How far a run is.
    Progress,
    /// The totals at the end.
    Summary,
    /// Why a run stopped, or is stopping.
    Stopped,
    /// The command that continues.
    NextCommand,
    /// A note with a command or a query, which is copied as a whole.
    ToCopy,
    /// The error that ends the program.
    Error,
}

impl Message {
    fn level(self) -> &'static str {
        match self {
            Message::Error => "ERROR",
            Message::Stopped => "WARN",
            _ => "INFO",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Message::Note | Message::ToCopy => "note",
            Message::Progress => "progress",
            Message::Summary => "summary",
            Message::Stopped => "stopped",
            Message::NextCommand => "next_command",
            Message::Error => "error",
        }
    }
}

/// Flags that every command has.
#[derive(Args, Debug, Clone)]
pub struct OutputArgs {
    /// Print only what went wrong and how to continue
    #[arg(short, long, global = true, display_order = 100)]
    pub quiet: bool,
    /// Log pauses, retries and publications; -vv: attempts; -vvv: HTTP
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
        let is_json = self.log_format == "json";
        IS_JSON.store(is_json, Ordering::Relaxed);
        let log = tracing_subscriber::registry().with(levels(self.quiet, self.verbose));
        let layer = tracing_subscriber::fmt::layer().with_target(false);
        if is_json {
            log.with(layer.json().with_writer(|| LogWriter(printable_json))).init();
        } else {
            log.with(layer.with_writer(|| LogWriter(log_line))).init();
        }
    }

    /// Prints a line on standard error, unless `--quiet` is given.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            to_stderr(line);
        }
    }

    /// The same for a line that is copied, which is never wrapped.
    pub fn say_to_copy(&self, line: &str) {
        if !self.quiet {
            message(Message::ToCopy, line);
        }
    }
}

/// Whether standard error and standard input are a terminal.
pub fn is_terminal() -> bool {
    io::stderr().is_terminal() && io::stdin().is_terminal()
}

/// Which events are logged: of this program those of the level, of libraries only warnings before `-vvv`.
fn levels(quiet: bool, verbose: u8) -> Targets {
    let (own, others) = match (quiet, verbose) {
        (true, _) => (LevelFilter::ERROR, LevelFilter::ERROR),
        (false, 0) => (LevelFilter::WARN, LevelFilter::WARN),
        (false, 1) => (LevelFilter::INFO, LevelFilter::WARN),
        (false, 2) => (LevelFilter::DEBUG, LevelFilter::WARN),
        (false, _) => (LevelFilter::DEBUG, LevelFilter::DEBUG),
    };
    Targets::new().with_default(others).with_target("rescreen", own)
}

/// Turns every line on standard error into JSON if the command line asks for it, although it cannot be parsed. Returns
/// whether it does.
pub fn is_json_asked(words: &[String]) -> bool {
    let is_asked = words.iter().any(|word| word == "--log-format=json")
        || words.windows(2).any(|pair| pair[0] == "--log-format" && pair[1] == "json");
    IS_JSON.store(is_asked, Ordering::Relaxed);
    is_asked
}

/// Whether every line on standard error is JSON.
pub fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Prints the error that ends the program.
pub fn error(error: &Error) {
    match error {
        // Its second line shows the key at fault; the text was escaped where the file is read.
        Error::CampaignFile { path, fault } if !is_json() => {
            let mut lines = fault.split('\n');
            message(Message::Error, &format!("error: {}: {}", path.display(), lines.next().unwrap_or_default()));
            lines.for_each(|line| message(Message::Error, line));
        }
        error => message(Message::Error, &format!("error: {error}")),
    }
}

/// One line on standard error. A closed pipe is not an error.
pub fn to_stderr(line: &str) {
    message(Message::Note, line);
}

/// One line on standard error, with what it is about.
pub fn message(about: Message, line: &str) {
    message_with(about, line, Map::new());
}

/// A question, without a line break behind it. Standard error is a terminal here.
pub fn question(text: &str) {
    if is_json() {
        return message(Message::Note, text);
    }
    let mut stderr = io::stderr();
    drop(write!(stderr, "{}", printable(text)).and_then(|()| stderr.flush()));
}

/// A line as [`message`] prints it, with facts for programs. They appear only in JSON, beside the text.
pub fn message_with(about: Message, line: &str, facts: Map<String, Value>) {
    let text = shown(about, line, facts, is_json(), colour::on_stderr());
    let is_copied = matches!(about, Message::NextCommand | Message::ToCopy);
    let text = if is_copied || is_json() || !io::stderr().is_terminal() {
        text
    } else {
        wrapped(&text, screen::size().columns)
    };
    // The progress on a terminal is drawn below the messages.
    screen::above(|| drop(writeln!(io::stderr(), "{text}")));
}

fn shown(about: Message, line: &str, facts: Map<String, Value>, is_json: bool, is_coloured: bool) -> String {
    if is_json {
        return json_line(about, line, facts);
    }
    let line = printable(line);
    match about {
        Message::Summary => colour::totals(&line, is_coloured),
        _ => colour::headed(&line, is_coloured),
    }
}

/// A message as the log writes its events in JSON.
fn json_line(about: Message, line: &str, facts: Map<String, Value>) -> String {
    let mut fields = Map::new();
    fields.insert("message".to_owned(), line.into());
    fields.insert("kind".to_owned(), about.kind().into());
    fields.extend(facts);
    let timestamp = format!("{:.6}", jiff::Timestamp::now());
    let event = serde_json::json!({ "timestamp": timestamp, "level": about.level(), "fields": fields });
    printable_json(&event.to_string()).into_owned()
}

/// Says that standard output is not whole, if it is not, and returns the exit code.
pub fn stdout_ended(code: ExitCode) -> ExitCode {
    if let Some(fault) = stdout::fault() {
        message(Message::Error, &fault);
    }
    stdout::exit_code(code)
}

/// One line of data on standard output. On a terminal it is wrapped, unless it ends in a command to copy.
pub fn to_stdout(line: &str) {
    escaped_to_stdout(&fitted(&printable(line)));
}

/// The same, with the word that says what it is in colour on a terminal.
pub fn headed_to_stdout(line: &str) {
    escaped_to_stdout(&fitted(&colour::headed(&printable(line), colour::on_stdout())));
}

fn fitted(line: &str) -> String {
    let is_command = line.contains(&format!(": {} ", program()));
    match width_of_stdout() {
        Some(columns) if !is_command => wrapped(line, columns),
        _ => line.to_owned(),
    }
}

/// Several lines of data on standard output. The line breaks of the text are the program's own.
pub fn lines_to_stdout(text: &str) {
    stdout::write(text.split('\n').map(|line| format!("{}\n", printable(line))).collect::<String>().as_bytes());
}

/// A script on standard output, byte for byte.
pub fn bytes_to_stdout(bytes: &[u8]) {
    stdout::write(bytes);
}

/// JSON on standard output.
pub fn json_to_stdout(json: &str) {
    escaped_to_stdout(&printable_json(json));
}

/// A line of data whose parts were escaped, and then perhaps coloured.
pub fn escaped_to_stdout(line: &str) {
    stdout::write(format!("{line}\n").as_bytes());
}

/// Escapes a log event, and colours its level on a terminal. The level follows the time, which has a fixed width.
fn log_line(event: &str) -> Cow<'_, str> {
    let event = printable(event);
    let level = event.get(LEVEL_AT).unwrap_or_default();
    let ink = match level.trim() {
        "ERROR" => Ink::Error,
        "WARN" => Ink::Warning,
        _ => return event,
    };
    let level = colour::painted(level, ink, colour::on_stderr());
    format!("{}{level}{}", &event[..LEVEL_AT.start], &event[LEVEL_AT.end..]).into()
}

/// Where the level is in `2026-11-02T08:30:00.000000Z  WARN …`.
const LEVEL_AT: Range<usize> = 28..33;

/// Writes one log event at a time, escaped.
struct LogWriter(fn(&str) -> Cow<'_, str>);

impl Write for LogWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = (self.0)(line);
        let mut written = Ok(());
        screen::above(|| written = writeln!(io::stderr(), "{line}"));
        written.map(|()| event.len())
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
