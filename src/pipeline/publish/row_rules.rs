//! How the rows of one result part are made from answers: the columns, the verdict, and what is hidden. A part keeps the
//! rules that it was made with, so that it can be written again byte for byte after the rules were corrected.

use super::hidden::Hiding;
use crate::{
    catalogue::{ColumnSpec, ColumnValue, DigestSpec, Match, payload_at},
    client::{JsonBody, json_body},
    error::Error,
    ledger::{AnswerToJudge, AskView, LedgerError, RequestView, StoredAnswer},
    model::{Judgement, Verdict, attachment::is_digest_text},
    pipeline::{
        campaign::{recorded::recorded_object, result_layout::ResultLayout, rules::Rules},
        judge::Judge,
    },
    template::Templates,
};
use serde_json::Value;
use std::sync::Arc;

/// The rules of a part, compiled.
pub struct RowRules {
    columns: Vec<ColumnSpec>,
    expects: Vec<String>,
    payload: Vec<String>,
    digest: DigestSpec,
    judge: Judge,
    pub hiding: Hiding,
}

/// Where the verdict on an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judging {
    /// The rules are those of the row's part. The answer was judged by them when it came, or is judged now.
    Recorded,
    /// The answer is judged now.
    Anew,
}

/// An answer as its row shows it.
pub struct ReadAnswer {
    pub json: Arc<Value>,
    /// Whether the answer is JSON. If not, `json` is null.
    pub is_json: bool,
    /// Whether a number of the answer is not one, such as `NaN`. The text of the answer is then not JSON as it is.
    pub unreadable_numbers: bool,
    pub judgement: Judgement,
    /// One for each column of the layout.
    pub columns: Vec<ColumnValue>,
    /// One for each expectation of the check.
    pub expected: Vec<Option<bool>>,
}

impl RowRules {
    /// # Errors
    /// A rule is not a valid expression.
    pub fn new(check: &str, layout: &ResultLayout, rules: &Rules, templates: &Templates) -> Result<RowRules, Error> {
        let columns = layout.columns_of(&rules.answer);
        let of_columns = columns.iter().filter(|column| column.image).flat_map(|column| column.pointers.clone());
        let images = of_columns.chain(rules.answer.images.iter().map(|image| image.pointer.clone())).collect();
        Ok(RowRules {
            expects: layout.expects.clone(),
            payload: rules.answer.payload.clone(),
            digest: rules.answer.digest_spec(),
            judge: Judge::of(check, rules, templates)?,
            hiding: Hiding { images, secrets: rules.secrets.clone(), values: Vec::new() },
            columns,
        })
    }

    /// How these rules make the digest of an answer.
    pub fn digest_spec(&self) -> DigestSpec {
        self.digest.clone()
    }

    /// The part of an answer that columns and places of images are read from.
    pub fn payload<'a>(&self, json: &'a Value) -> &'a Value {
        payload_at(&self.payload, json).unwrap_or(&Value::Null)
    }

    /// Reads and judges the answer to an ask.
    ///
    /// # Errors
    /// What the row expects cannot be read.
    pub fn read(
        &self,
        ask: &AskView<'_>,
        request: &RequestView,
        answer: &StoredAnswer,
        judging: Judging,
    ) -> Result<ReadAnswer, Error> {
        let body = json_body(&answer.body);
        let judgement = match judging {
            Judging::Recorded if !request.judged_again => recorded(answer),
            _ => self.judged(request, answer, body.as_ref()),
        };
        let is_json = body.is_some();
        let unreadable_numbers = body.as_ref().is_some_and(|body| body.unreadable_numbers);
        let json = body.map(|body| body.value).unwrap_or_default();
        // Only by rules that ask for nothing else, whatever was recorded by others.
        let is_accepted = ask.accepted.is_some() && self.matches(request, answer).is_some();
        let judgement = if is_accepted { judgement.accepted() } else { judgement };
        let payload = self.payload(&json);
        let met = self.met(ask.expected.as_deref(), payload)?;
        Ok(ReadAnswer {
            judgement: as_expected(judgement, &met),
            columns: self.columns.iter().map(|column| column.read(payload)).collect(),
            expected: met.into_iter().map(|one| one.and_then(|(_, meets)| meets)).collect(),
            json,
            is_json,
            unreadable_numbers,
        })
    }

    /// The matches of an answer about which a person can decide; `None` if its verdict does not come from them alone.
    pub fn matches(&self, request: &RequestView, answer: &StoredAnswer) -> Option<Vec<Match>> {
        if request.crossed || !self.has_matches() {
            return None;
        }
        let body = json_body(&answer.body)?;
        self.judge.matches_alone(&body, &sent_members(&request.body), answer.completed_at_us)
    }

    /// The columns of a match in a worklist.
    pub fn match_columns(&self) -> impl Iterator<Item = &ColumnSpec> {
        self.judge.answer().matches.iter().flat_map(|matches| &matches.columns)
    }

    /// The matches of an answer, whatever its verdict.
    pub fn matches_in(&self, answer: &Value) -> Option<Vec<Match>> {
        self.judge.answer().matches(answer)
    }

    /// Whether answers can have matches about which a person can decide.
    pub fn has_matches(&self) -> bool {
        self.judge.answer().matches.is_some()
    }

    /// Whether the rules recognise an answer.
    pub fn recognises(&self, answer: &AnswerToJudge) -> bool {
        let Some(body) = json_body(&answer.answer) else { return false };
        self.judge.judge(&body, &sent_members(&answer.body), answer.completed_at_us).is_recognised()
    }

    fn judged(&self, request: &RequestView, answer: &StoredAnswer, body: Option<&JsonBody>) -> Judgement {
        let Some(body) = body else { return Judgement::unrecognised() };
        let judgement = self.judge.judge(body, &sent_members(&request.body), answer.completed_at_us).judgement;
        if request.crossed { judgement.doubted(CROSSED) } else { judgement }
    }

    fn met<'a>(&'a self, expected: Option<&str>, payload: &Value) -> Result<Met<'a>, LedgerError> {
        let expected =
            expected.map(|text| recorded_object(text, "what a row expects")).transpose()?.unwrap_or_default();
        let one = |name: &'a String| {
            let named = |column: &&ColumnSpec| column.expect.as_ref().is_some_and(|expect| expect.name == *name);
            let column = self.columns.iter().find(named);
            let meets = |expected: &Value| column.and_then(|column| column.meets(expected, payload));
            expected.get(name).map(|expected| (name.as_str(), meets(expected)))
        };
        Ok(self.expects.iter().map(one).collect())
    }
}

fn recorded(answer: &StoredAnswer) -> Judgement {
    Judgement { verdict: answer.verdict, finding: answer.finding.clone() }
}

/// The finding of an answer that belongs to another request.
const CROSSED: &str = "echo_mismatch";

/// The members of a recorded body without its files, as the answer was judged when it arrived.
fn sent_members(body: &[u8]) -> serde_json::Map<String, Value> {
    let mut members: serde_json::Map<String, Value> = serde_json::from_slice(body).unwrap_or_default();
    members.retain(|_, value| !is_digest_text(value));
    members
}

/// Whether the answer meets each expectation of the check, by name. The outer `None` means that the row expects
/// nothing, the inner `None` that the answer does not state the value.
type Met<'a> = Vec<Option<(&'a str, Option<bool>)>>;

/// The verdict of a row. `clear` and `data` become `review` if the answer differs from what the row expected or does
/// not state it. All other verdicts stay as they are.
fn as_expected(judged: Judgement, met: &[Option<(&str, Option<bool>)>]) -> Judgement {
    if !matches!(judged.verdict, Verdict::Clear | Verdict::Data) {
        return judged;
    }
    let of = |wanted: Option<bool>| met.iter().flatten().find(|(_, meets)| *meets == wanted);
    let finding = match (of(Some(false)), of(None)) {
        (Some((name, _)), _) => format!("{name}_mismatch"),
        (None, Some((name, _))) => format!("{name}_not_stated"),
        (None, None) => return judged,
    };
    Judgement { verdict: Verdict::Review, finding }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(verdict: Verdict, met: &[Option<(&str, Option<bool>)>]) -> (Verdict, String) {
        let judged = as_expected(Judgement { verdict, finding: "as_answered".to_owned() }, met);
        (judged.verdict, judged.finding)
    }

    #[test]
    fn a_mismatch_or_a_missing_value_turns_clear_and_data_into_review() {
        let (same, other, silent) = (Some(true), Some(false), None);
        for verdict in [Verdict::Clear, Verdict::Data] {
            assert_eq!(found(verdict, &[None, Some(("surname", same))]), (verdict, "as_answered".into()));
            assert_eq!(
                found(verdict, &[Some(("born", silent)), Some(("surname", other))]),
                (Verdict::Review, "surname_mismatch".into())
            );
            assert_eq!(found(verdict, &[Some(("born", silent))]), (Verdict::Review, "born_not_stated".into()));
        }
    }

    #[test]
    fn other_verdicts_stay_as_they_are() {
        for verdict in [Verdict::Review, Verdict::Adverse, Verdict::NotFound, Verdict::Unrecognised] {
            assert_eq!(found(verdict, &[Some(("surname", Some(false)))]), (verdict, "as_answered".into()));
        }
    }
}
