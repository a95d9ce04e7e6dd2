//! What the doctor finds: one line of its table, and the lines of a campaign file that record it.

use crate::{
    catalogue::Spelling,
    client::Auth,
    model::{ExitCode, printable::printable_cut, toml_text::toml_text},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most characters of a finding.
const TEXT_MAX: usize = 600;

/// How a finding is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Good,
    /// It works, and may matter.
    Note,
    /// It was not examined.
    Skipped,
    /// A campaign would stop, with this exit code.
    Bad(ExitCode),
}

impl Standing {
    /// The word in the table and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Standing::Good => "ok",
            Standing::Note => "note",
            Standing::Skipped => "skipped",
            Standing::Bad(_) => "bad",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was examined, such as `API key`.
    pub subject: String,
    pub standing: Standing,
    pub detail: String,
}

impl Finding {
    pub(super) fn new(subject: impl Into<String>, standing: Standing, detail: impl Into<String>) -> Finding {
        // Both may contain names that the service chose.
        let plain = |text: String| printable_cut(&text, TEXT_MAX);
        Finding { subject: plain(subject.into()), standing, detail: plain(detail.into()) }
    }
}

/// The settings that differ from those in use, as a campaign file records them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recommended {
    pub auth: Option<Auth>,
    pub balance_pointer: Option<String>,
    /// Header form and route spelling of single checks.
    pub checks: BTreeMap<String, (Option<Auth>, Option<Spelling>)>,
}

impl Recommended {
    /// The lines of the campaign file; empty if the settings in use are right.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.auth.is_some() || self.balance_pointer.is_some() {
            lines.push("[service]".to_owned());
        }
        lines.extend(self.auth.map(auth_line));
        lines.extend(self.balance_pointer.iter().map(|at| format!("balance_pointer = {}", toml_text(at))));
        for (name, (auth, routes)) in &self.checks {
            let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            let is_quoted = name.is_empty() || !name.chars().all(is_bare);
            let name = if is_quoted { toml_text(name) } else { name.clone() };
            lines.push(format!("[service.checks.{name}]"));
            lines.extend(auth.map(auth_line));
            lines.extend(routes.map(|routes| {
                let word = if routes == Spelling::Guide { "guide" } else { "alternate" };
                format!("routes = \"{word}\"")
            }));
        }
        lines
    }
}

fn auth_line(auth: Auth) -> String {
    let word = if auth == Auth::Bearer { "bearer" } else { "x-api-key" };
    format!("auth = \"{word}\"")
}

/// The findings of one examination.
#[derive(Debug, Clone, Default)]
pub struct Diagnosis {
    pub findings: Vec<Finding>,
    pub recommended: Recommended,
}

impl Diagnosis {
    /// 0 if a campaign can run, else the code with which it would stop.
    pub fn exit_code(&self) -> ExitCode {
        let bad = self.findings.iter().filter_map(|finding| match finding.standing {
            Standing::Bad(code) => Some(code),
            _ => None,
        });
        bad.fold(ExitCode::Complete, ExitCode::or)
    }

    pub fn to_json(&self) -> Value {
        let finding =
            |one: &Finding| json!({"subject": one.subject, "standing": one.standing.as_str(), "detail": one.detail});
        json!({
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "campaign_file": self.recommended.lines(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::printable::is_printable, pipeline::campaign::parse};

    #[test]
    fn the_recommended_lines_are_a_campaign_file() {
        let recommended = Recommended {
            auth: Some(Auth::Bearer),
            balance_pointer: Some("/wallet/left".to_owned()),
            checks: [
                ("aml-screening".to_owned(), (None, Some(Spelling::Alternate))),
                ("vin-decode".to_owned(), (Some(Auth::XApiKey), Some(Spelling::Guide))),
            ]
            .into(),
        };
        let file = parse(&recommended.lines().join("\n")).unwrap();
        assert_eq!((file.service.auth, file.service.balance_pointer.as_deref()), (Auth::Bearer, Some("/wallet/left")));
        assert_eq!(file.service.checks["aml-screening"].routes, Some(Spelling::Alternate));
        assert_eq!(file.service.checks["vin-decode"].auth, Some(Auth::XApiKey));
        assert!(Recommended::default().lines().is_empty());
    }

    #[test]
    fn odd_names_are_written_so_that_a_campaign_file_can_have_them() {
        for name in [
            "a\"b\\c",
            "a\nb\r\t\u{0}\u{1b}\u{7f}\u{9b}",
            "a\u{202e}b\u{2028}\u{e0041}",
            "\u{27}\u{27}\u{27}",
            "\"\"\"",
            "a.b c = 1 # ]",
            "ключ 👩",
            "",
        ] {
            let recommended = Recommended {
                balance_pointer: Some(format!("/{name}")),
                checks: [(name.to_owned(), (Some(Auth::Bearer), None))].into(),
                ..Recommended::default()
            };
            let lines = recommended.lines();
            assert!(lines.iter().all(|line| is_printable(line)), "{lines:?}");
            let file = parse(&lines.join("\n")).unwrap_or_else(|error| panic!("{lines:?}: {error}"));
            assert_eq!(file.service.balance_pointer.as_deref(), Some(format!("/{name}").as_str()));
            assert_eq!(file.service.checks[name].auth, Some(Auth::Bearer));
        }
    }

    #[test]
    fn a_finding_is_one_line_that_is_safe_to_print() {
        let finding = Finding::new("a\nb", Standing::Note, format!("x\u{1b}[2J{}", "y".repeat(9_000)));
        assert_eq!((finding.subject.as_str(), &finding.detail[..8]), ("a\\nb", "x\\u{1b}["));
        assert!(finding.detail.chars().count() <= TEXT_MAX);
    }

    #[test]
    fn the_exit_code_is_the_one_that_a_campaign_would_stop_with() {
        let with = |standings: &[Standing]| Diagnosis {
            findings: standings.iter().map(|standing| Finding::new("x", *standing, "")).collect(),
            ..Diagnosis::default()
        };
        assert_eq!(with(&[Standing::Good, Standing::Note, Standing::Skipped]).exit_code(), ExitCode::Complete);
        assert_eq!(with(&[Standing::Bad(ExitCode::Service), Standing::Note]).exit_code(), ExitCode::Service);
        let all = [ExitCode::Service, ExitCode::Storage, ExitCode::Refused].map(Standing::Bad);
        assert_eq!(with(&all).exit_code(), ExitCode::Storage);
    }
}
