//! What the doctor finds: one line of its table, and the lines of a campaign file that record it.

use crate::{catalogue::Spelling, client::Auth, model::ExitCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;

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
        Finding { subject: subject.into(), standing, detail: detail.into() }
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
        lines.extend(self.balance_pointer.iter().map(|at| format!("balance_pointer = {}", Value::from(at.as_str()))));
        for (name, (auth, routes)) in &self.checks {
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
            "exit_code": self.exit_code() as u8,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::campaign::file::parse;

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
