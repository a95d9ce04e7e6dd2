//! Derives the verdict of an answer by the rules of its declaration. Rules are compiled before anything is sent. If a
//! rule fails on an answer, the verdict is `unrecognised`, never `clear`.

use super::{
    echo::{Echo, echo},
    other_bank::is_other_bank,
};
use crate::{
    catalogue::{AnswerSpec, ColumnValue, Declaration, VerdictSpec},
    client::{JsonBody, calls_itself_a_failure, is_good_word},
    error::Error,
    model::{
        Judgement,
        planted::{Bug, planted},
        printable::printable_cut,
    },
    template::{AnswerRules, AnswerView, Templates},
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The judgement on an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub judgement: Judgement,
    /// The mode that the answer names, if it is not the mode that was sent.
    pub other_mode: Option<String>,
    /// The version of the list that the answer was made with, if it names one.
    pub dataset: Option<String>,
}

/// The column that holds the version of the service's list.
const DATASET_COLUMN: &str = "dataset_version";
/// The longest version that is recorded, in characters.
const DATASET_CHARACTERS_MAX: usize = 100;

/// The compiled rules of one check.
pub struct Judge {
    /// The first holds if the answer is not recognised. The others are the rules of the declaration.
    rules: AnswerRules,
    answer: AnswerSpec,
    verdict: VerdictSpec,
}

impl Judge {
    /// # Errors
    /// A rule is not a valid expression.
    pub fn new(declaration: &Declaration, templates: &Templates) -> Result<Judge, Error> {
        Judge::of(&declaration.name, &declaration.answer, &declaration.verdict, templates)
    }

    /// The judge of a check by these parts of its declaration.
    ///
    /// # Errors
    /// A rule is not a valid expression.
    pub fn of(check: &str, answer: &AnswerSpec, verdict: &VerdictSpec, templates: &Templates) -> Result<Judge, Error> {
        let faulty = |error| Error::Config(format!("verdict rule of check `{check}`: {error}"));
        // Alone first, so that a mistake is named in its own words.
        templates.answer_rule(&verdict.recognised).map_err(faulty)?;
        let unrecognised = format!("not ({})", verdict.recognised);
        let sources: Vec<&str> =
            [unrecognised.as_str()].into_iter().chain(verdict.rules.iter().map(|rule| rule.when.as_str())).collect();
        Ok(Judge {
            rules: templates.answer_rules(&sources).map_err(faulty)?,
            answer: answer.clone(),
            verdict: verdict.clone(),
        })
    }

    /// The verdict on an answer to a request with the body `sent`. If the answer itself is doubtful, the verdict is
    /// `review` regardless of its fields.
    pub fn judge(&self, answer: &JsonBody, sent: &Map<String, Value>) -> Judged {
        let payload = self.answer.payload(&answer.value);
        let judgement = self.find(&answer.value, sent);
        let judgement = judgement.unwrap_or_else(Judgement::unrecognised);
        let echo = mistaken(echo(&answer.value, payload, sent));
        let doubt = match &echo {
            _ if answer.duplicate_names && !planted(Bug::DuplicateNamesClear) => Some("duplicate_names"),
            _ if answer.wrong_encoding => Some("wrong_encoding"),
            _ if answer.unreadable_numbers => Some("unreadable_number"),
            Echo::OtherMode(_) => Some("other_mode"),
            Echo::Differs => Some("echo_mismatch"),
            Echo::Fits if is_other_bank(payload, sent) => Some("other_bank"),
            Echo::Fits if contradicts(&answer.value, payload) => Some("contradictory_answer"),
            Echo::Fits => None,
        };
        let judgement = match doubt {
            Some(finding) => judgement.doubted(finding),
            None => judgement,
        };
        let other_mode = if let Echo::OtherMode(mode) = echo { Some(mode) } else { None };
        Judged { judgement, other_mode, dataset: payload.and_then(|payload| self.dataset(payload)) }
    }

    fn dataset(&self, payload: &Value) -> Option<String> {
        let column = self.answer.columns.iter().find(|column| column.name == DATASET_COLUMN)?;
        match column.read(payload) {
            ColumnValue::Text(version) if !version.is_empty() => Some(printable_cut(&version, DATASET_CHARACTERS_MAX)),
            _ => None,
        }
    }

    fn find(&self, answer: &Arc<Value>, sent: &Map<String, Value>) -> Option<Judgement> {
        let sent = if self.rules.read_sent() { sent.clone() } else { Map::new() };
        let view = AnswerView::new(answer, self.answer.payload_pointer(answer)?, sent);
        let VerdictSpec { rules, otherwise, .. } = &self.verdict;
        Some(match self.rules.first(&view).ok()? {
            Some(0) => return None,
            Some(at) => Judgement { verdict: rules[at - 1].verdict, finding: rules[at - 1].finding.clone() },
            None => Judgement { verdict: otherwise.verdict, finding: otherwise.finding.clone() },
        })
    }
}

/// Whether an answer has content but also says, at its root or in its payload, that it failed.
fn contradicts(answer: &Value, payload: Option<&Value>) -> bool {
    let word =
        |value: &Value, name| value.get(name).and_then(Value::as_str).map(|word| word.trim().to_ascii_lowercase());
    let unsuccessful = word(answer, "status").is_some_and(|word| !is_good_word(&word));
    let failed = |payload: &Value| {
        let status = word(payload, "status").or_else(|| word(payload, "Status"));
        has_error(payload) || status.is_some_and(|word| ["error", "failed", "failure"].contains(&word.as_str()))
    };
    calls_itself_a_failure(answer) || unsuccessful || payload.is_some_and(failed)
}

/// Whether there is an `error` that is not empty.
fn has_error(payload: &Value) -> bool {
    match payload.get("error") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(_) => true,
    }
}

/// The echo as a judge with the planted bug sees it.
fn mistaken(echo: Echo) -> Echo {
    match echo {
        Echo::OtherMode(_) if planted(Bug::OtherModeAccepted) => Echo::Fits,
        Echo::Differs if planted(Bug::EchoIgnored) => Echo::Fits,
        echo => echo,
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "judge_files_tests.rs"]
mod files_tests;

#[cfg(test)]
#[path = "judge_lookups_tests.rs"]
mod lookups_tests;
