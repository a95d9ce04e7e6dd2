//! The objects that commands print with `--json`: their common part, and how an error becomes one. Each command prints
//! one object on standard output, on one line, however it ends. `docs/json.md` describes them, and
//! `docs/rescreen.schema.json` is their schema.

use super::{next_command, output::json_to_stdout, program::program};
use rescreen::{
    Error,
    model::{ExitCode, StopKind, clock::utc_time, shell_words::quoted},
};
use serde_json::{Map, Value};

/// The version of all formats. It changes if a field is removed, or changes its meaning; a new field does not change
/// it.
const FORMAT_VERSION: u32 = 1;

/// Which command an object comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Plan,
    Run,
    Collect,
    Export,
    Report,
    Evidence,
    Verify,
    Status,
    Show,
    Diff,
    Decide,
    Reconcile,
    Purge,
    Resolve,
    Checks,
    Doctor,
    Credits,
    #[cfg(feature = "book-postgres")]
    Book,
    RetryWebhook,
}

impl Format {
    const ALL: &[Format] = &[
        Format::Plan,
        Format::Run,
        Format::Collect,
        Format::Export,
        Format::Report,
        Format::Evidence,
        Format::Verify,
        Format::Status,
        Format::Show,
        Format::Diff,
        Format::Decide,
        Format::Reconcile,
        Format::Purge,
        Format::Resolve,
        Format::Checks,
        Format::Doctor,
        Format::Credits,
        #[cfg(feature = "book-postgres")]
        Format::Book,
        Format::RetryWebhook,
    ];

    /// The command on the command line.
    fn command(self) -> &'static str {
        match self {
            Format::Plan => "plan",
            Format::Run => "run",
            Format::Collect => "collect",
            Format::Export => "export",
            Format::Report => "report",
            Format::Evidence => "evidence",
            Format::Verify => "verify",
            Format::Decide => "decide",
            Format::Status => "status",
            Format::Show => "show",
            Format::Diff => "diff",
            Format::Reconcile => "reconcile",
            Format::Purge => "purge",
            Format::Resolve => "resolve",
            Format::Checks => "checks",
            Format::Doctor => "doctor",
            Format::Credits => "credits",
            #[cfg(feature = "book-postgres")]
            Format::Book => "book",
            Format::RetryWebhook => "retry-webhook",
        }
    }

    /// The format of a command line that could not be parsed: that of the first command among its words.
    pub fn of_words(words: &[String]) -> Option<Format> {
        words.iter().find_map(|word| Format::ALL.iter().copied().find(|format| format.command() == word))
    }
}

/// What went wrong, for a command that could not do its work.
pub struct Failed {
    pub exit_code: ExitCode,
    pub kind: StopKind,
    pub message: String,
    pub next_command: Option<String>,
}

impl Failed {
    /// An error of the command with these words.
    pub fn of(error: &Error, words: &[String]) -> Failed {
        let (exit_code, kind) = (error.exit_code(), error.kind());
        let next_command = match error {
            Error::Input { out, .. } => Some(vec![program(), "collect".to_owned(), out.display().to_string()]),
            Error::NoService => return Failed::usage(error.to_string(), Some(next_command::rehearsal())),
            // The command line or a file has to change first.
            _ if exit_code == ExitCode::Usage => None,
            _ => Some(words.to_vec()),
        };
        Failed { exit_code, kind, message: error.to_string(), next_command: next_command.map(|words| quoted(&words)) }
    }

    fn usage(message: String, next_command: Option<String>) -> Failed {
        Failed { exit_code: ExitCode::Usage, kind: StopKind::Usage, message, next_command }
    }

    /// A command line that is wrong. `text` is what clap says about it.
    pub fn of_usage(text: &str) -> Failed {
        Failed::usage(one_line(text), None)
    }

    pub fn internal(message: String) -> Failed {
        Failed { exit_code: ExitCode::Internal, kind: StopKind::Internal, message, next_command: None }
    }
}

/// Prints the object of an error that was found before the command line was understood, or after everything else.
pub fn print_if_asked_for(words: &[String], failed: &Failed) {
    if words.iter().any(|word| word == "--json")
        && let Some(format) = Format::of_words(words)
    {
        print(&error_object(format, failed));
    }
}

/// Prints the object of a command line that is wrong. `text` is what clap says about it.
pub fn print_usage_error(words: &[String], text: &str) {
    print_if_asked_for(words, &Failed::of_usage(text));
}

/// What clap says on several lines, on one: the error, then its hints. A list ends with a comma after each item.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let mut line = String::new();
    for next in lines {
        let between = match line.chars().next_back() {
            None => "",
            Some(':' | ',' | ';') => " ",
            Some(_) => "; ",
        };
        line.push_str(between);
        line.push_str(next);
    }
    line.strip_prefix("error: ").map(str::to_owned).unwrap_or(line)
}

/// The object of a command that did its work: the common part, then `fields`.
pub fn object(format: Format, exit_code: ExitCode, fields: Value) -> Value {
    with_head(format, exit_code, Value::Null, fields)
}

/// The object of a command that failed: the common part alone.
pub fn error_object(format: Format, failed: &Failed) -> Value {
    let error = serde_json::json!({
        "code": failed.exit_code as u8,
        "kind": failed.kind.as_str(),
        "message": failed.message,
        "next_command": failed.next_command,
    });
    with_head(format, failed.exit_code, error, Value::Object(Map::new()))
}

fn with_head(format: Format, exit_code: ExitCode, error: Value, fields: Value) -> Value {
    let mut object = Map::new();
    object.insert("format".to_owned(), format!("rescreen.{}", format.command().replace('-', "_")).into());
    object.insert("format_version".to_owned(), FORMAT_VERSION.into());
    object.insert("program_version".to_owned(), env!("CARGO_PKG_VERSION").into());
    object.insert("exit_code".to_owned(), (exit_code as u8).into());
    object.insert("error".to_owned(), error);
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    Value::Object(object)
}

/// Why a run stopped. Run, status and redelivery have the same object. Exit code and kind are as the ledger records them.
pub fn stop(
    exit_code: u8,
    kind: &str,
    message: Option<&str>,
    at_us: i64,
    next_command: Option<&str>,
    credits_needed: Option<u64>,
) -> Value {
    serde_json::json!({
        "code": exit_code,
        "kind": kind,
        "message": message,
        "at": time(at_us),
        "next_command": next_command,
        "credits_needed": credits_needed,
    })
}

/// Prints the object on standard output.
pub fn print(object: &Value) {
    json_to_stdout(&object.to_string());
}

/// A time in ISO 8601 in UTC; `null` if it is unknown.
pub fn time(at_us: impl Into<Option<i64>>) -> Value {
    at_us.into().and_then(utc_time).map_or(Value::Null, Value::String)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_begins_with_its_format_and_an_error_has_no_other_fields() {
        let object = object(Format::RetryWebhook, ExitCode::Jobs, serde_json::json!({ "jobs": 3 }));
        let text = object.to_string();
        let begins = "{\"format\":\"rescreen.retry_webhook\",\"format_version\":1,\"program_version\":\"";
        assert!(text.starts_with(begins) && text.ends_with("\"exit_code\":5,\"error\":null,\"jobs\":3}"), "{text}");
        let failed = Failed::of(&Error::Config("expected a name".to_owned()), &["rescreen".to_owned()]);
        let object = error_object(Format::Run, &failed);
        assert_eq!(object["error"]["kind"], "usage");
        assert_eq!((&object["error"]["code"], &object["exit_code"]), (&2.into(), &2.into()));
        assert!(object["error"]["next_command"].is_null(), "{object}");
    }

    #[test]
    fn what_clap_says_on_several_lines_is_one_sentence_after_another() {
        let said = "error: the following required arguments were not provided:\n  --reason <TEXT>\n\nUsage: rescreen …";
        assert_eq!(one_line(said), "the following required arguments were not provided: --reason <TEXT>");
        let said =
            "error: unexpected argument '--x' found\n\n  tip: a similar one\n\nFor more information, try '--help'.";
        assert_eq!(one_line(said), "unexpected argument '--x' found; tip: a similar one");
    }

    #[test]
    fn times_are_in_utc_and_an_unknown_time_is_null() {
        assert_eq!(time(1_793_693_700_000_000), "2026-11-03T08:15:00Z");
        assert_eq!(time(None), Value::Null);
        assert_eq!(time(i64::MAX), Value::Null, "out of range");
    }

    #[test]
    fn the_format_of_a_command_line_is_that_of_its_command() {
        let of = |line: &str| Format::of_words(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("rescreen -q run --json --nonsense"), Some(Format::Run));
        assert_eq!(of("rescreen retry-webhook --json"), Some(Format::RetryWebhook));
        assert_eq!(of("rescreen demo --json"), None);
    }
}
