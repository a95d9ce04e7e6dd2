//! Derives the verdict of an answer by the rules of its declaration. Rules are compiled before anything is sent. If a
//! rule fails on an answer, the verdict is `unrecognised`, never `clear`.

pub mod echo;
mod other_bank;

use crate::{
    catalogue::{AnswerSpec, ColumnValue, Declaration, Match, VerdictRule, VerdictSpec},
    client::{Classified, EarlyAnswer, JsonBody, calls_itself_a_failure, has_error, is_word_of_failure},
    error::Error,
    ledger::AnswerRecord,
    model::{Credits, Judgement, Verdict, printable::printable_cut, state::Outcome},
    pipeline::campaign::rules::Rules,
    template::{AnswerRules, AnswerView, Templates},
};
use echo::{Echo, echo};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use other_bank::is_other_bank;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The judgement on an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub judgement: Judgement,
    /// The mode that the answer names, if it is not the mode that was sent.
    pub other_mode: Option<String>,
    /// The verdict comes from the matches of the answer alone, and nothing else is doubtful.
    pub is_of_matches: bool,
    /// The version of the list that the answer was made with, if it names one.
    pub dataset: Option<String>,
}

impl Judged {
    /// Whether a rule recognises the answer.
    pub fn is_recognised(&self) -> bool {
        self.judgement.verdict != Verdict::Unrecognised
    }

    /// What the ledger keeps of the answer: this judgement, and the body of the reply.
    pub fn record(&self, reply: &Classified, requested_at_us: i64, body: Vec<u8>) -> AnswerRecord {
        AnswerRecord {
            requested_at_us,
            request_id: reply.request_id.clone(),
            judgement: self.judgement.clone(),
            dataset: self.dataset.clone(),
            body,
        }
    }
}

/// The column that holds the version of the service's list.
pub const DATASET_COLUMN: &str = "dataset_version";
/// How often a request may be pending in one run, which takes about 40 minutes. After that, the next run asks again.
pub const REPEATS_MAX: u32 = 40;
/// The finding of an answer that says that it failed, or that it is not complete.
const CONTRADICTORY: &str = "contradictory_answer";
/// The longest version that is recorded, in characters.
const DATASET_CHARACTERS_MAX: usize = 100;

/// The compiled rules of one check.
pub struct Judge {
    /// The first holds if the answer is not recognised. The others are the rules of the declaration.
    rules: AnswerRules,
    answer: AnswerSpec,
    verdict: VerdictSpec,
    /// Words for the state of a job that has a result, as the check declares them.
    completed: Vec<String>,
}

impl Judge {
    /// # Errors
    /// A rule is not a valid expression.
    pub fn new(declaration: &Declaration, templates: &Templates) -> Result<Judge, Error> {
        Judge::of(&declaration.name, &Rules::of(declaration), templates)
    }

    /// The judge of a check by its rules.
    ///
    /// # Errors
    /// A rule is not a valid expression.
    pub fn of(check: &str, rules: &Rules, templates: &Templates) -> Result<Judge, Error> {
        let Rules { answer, verdict, completed, .. } = rules;
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
            completed: completed.clone(),
        })
    }

    /// The verdict on an answer to a request with the body `sent`. If the answer itself is doubtful, the verdict is
    /// `review` regardless of its fields. `answered_at_us` is when the answer came, in microseconds since 1970: an answer
    /// that is judged again later has the same verdict.
    pub fn judge(&self, answer: &JsonBody, sent: &Map<String, Value>, answered_at_us: i64) -> Judged {
        let payload = self.answer.payload(&answer.value);
        let found = self.find(&answer.value, sent, day_of(answered_at_us));
        let (judgement, rule) = found.unwrap_or_else(|| (Judgement::unrecognised(), None));
        let echo = echo(&answer.value, payload, sent);
        let doubt = match &echo {
            _ if answer.duplicate_names => Some("duplicate_names"),
            _ if answer.wrong_encoding => Some("wrong_encoding"),
            _ if answer.unreadable_numbers => Some("unreadable_number"),
            Echo::OtherMode(_) => Some("other_mode"),
            Echo::Differs => Some("echo_mismatch"),
            Echo::Fits if is_other_bank(payload, sent) => Some("other_bank"),
            Echo::Fits if self.contradicts(&answer.value, rule) => Some(CONTRADICTORY),
            Echo::Fits => None,
        };
        let is_of_matches = doubt.is_none() && rule.is_some_and(|rule| rule.of_matches);
        let judgement = match doubt {
            Some(finding) => judgement.doubted(finding),
            None => judgement,
        };
        let other_mode = if let Echo::OtherMode(mode) = echo { Some(mode) } else { None };
        Judged { judgement, other_mode, is_of_matches, dataset: payload.and_then(|payload| self.dataset(payload)) }
    }

    /// How answers are read.
    pub fn answer(&self) -> &AnswerSpec {
        &self.answer
    }

    /// The matches of an answer whose verdict comes from them alone; `None` if a person must look at the answer for another
    /// reason, or need not look at it.
    pub fn matches_alone(
        &self,
        answer: &JsonBody,
        sent: &Map<String, Value>,
        answered_at_us: i64,
    ) -> Option<Vec<Match>> {
        // Most answers have none, and are not judged for it.
        let matches = self.answer.matches(&answer.value)?;
        let Judged { judgement, is_of_matches, .. } = self.judge(answer, sent, answered_at_us);
        (judgement.verdict == Verdict::Review && is_of_matches).then_some(matches)
    }

    /// Judges the answer of a reply to a request with the body `sent` that holds `price`, and drops it. It may change the
    /// outcome: an answer that says it failed and that no rule recognises must repeat before it counts, and one that comes
    /// where none is expected yet counts if a rule recognises it. If the reply calls it pending, it counts only after as
    /// many attempts as a run has for a pending answer.
    pub fn judge_reply(
        &self,
        classified: &mut Classified,
        sent: &Map<String, Value>,
        price: Credits,
        attempt: u32,
        now_us: i64,
    ) -> Option<Judged> {
        let answer = classified.answer.take()?;
        match classified.outcome {
            Outcome::Answered { stated } => {
                let judged = self.judge(&answer, sent, now_us);
                let is_believed = stated.unwrap_or_default() <= price;
                if !judged.is_recognised() && calls_itself_a_failure(&answer.value) && is_believed {
                    classified.outcome = Outcome::Unconvincing;
                }
                Some(judged)
            }
            Outcome::Pending { stated } => {
                let is_called_pending = classified.early? == EarlyAnswer::CalledPending;
                if is_called_pending && attempt < REPEATS_MAX {
                    return None;
                }
                let mut judged = Some(self.judge(&answer, sent, now_us)).filter(Judged::is_recognised)?;
                if is_called_pending {
                    judged.judgement = judged.judgement.doubted(CONTRADICTORY);
                }
                (classified.outcome, classified.job_fault) = (Outcome::Answered { stated }, None);
                Some(judged)
            }
            Outcome::Unconvincing => Some(Judged {
                judgement: Judgement::unrecognised(),
                other_mode: None,
                is_of_matches: false,
                dataset: None,
            }),
            _ => None,
        }
    }

    fn dataset(&self, payload: &Value) -> Option<String> {
        let column = self.answer.columns.iter().find(|column| column.name == DATASET_COLUMN)?;
        match column.read(payload) {
            ColumnValue::Text(version) if !version.is_empty() => Some(printable_cut(&version, DATASET_CHARACTERS_MAX)),
            _ => None,
        }
    }

    /// The judgement of the rules, and the rule that holds; `None` if the answer is not recognised.
    fn find(
        &self,
        answer: &Arc<Value>,
        sent: &Map<String, Value>,
        answered_on: Option<Date>,
    ) -> Option<(Judgement, Option<&VerdictRule>)> {
        let sent = if self.rules.read_sent() { sent.clone() } else { Map::new() };
        let view = AnswerView::new(answer, self.answer.payload_pointer(answer)?, sent, answered_on);
        let VerdictSpec { rules, otherwise, .. } = &self.verdict;
        let rule = match self.rules.first(&view).ok()? {
            Some(0) => return None,
            Some(at) => Some(&rules[at - 1]),
            None => None,
        };
        let (verdict, finding) =
            rule.map_or((otherwise.verdict, &otherwise.finding), |rule| (rule.verdict, &rule.finding));
        Some((Judgement { verdict, finding: finding.clone() }, rule))
    }

    /// Whether an answer has content but also says, at its root or in its payload, that it failed. A word is no
    /// contradiction if the check declares it as the state of a job with a result, or if the rule that holds compares
    /// it: then the declaration has decided what it means. Where the root is the payload, its `status` is content.
    fn contradicts(&self, answer: &Value, rule: Option<&VerdictRule>) -> bool {
        let says = |value: &Value, (place, name): (&str, &str), is_failure: &dyn Fn(&str) -> bool| {
            let word = value.get(name).and_then(Value::as_str).map(|word| word.trim().to_ascii_lowercase());
            word.is_some_and(|word| {
                let is_decided = || rule.is_some_and(|rule| compares(rule, &format!("{place}.{name}"), &word));
                is_failure(&word) && !self.completed.iter().any(|one| one.eq_ignore_ascii_case(&word)) && !is_decided()
            })
        };
        let pointer = self.answer.payload_pointer(answer);
        let root_failed = pointer != Some("") && says(answer, ("answer", "status"), &is_word_of_failure);
        let is_failed = |word: &str| ["error", "failed", "failure"].contains(&word);
        let payload_failed = self.answer.payload(answer).is_some_and(|payload| {
            has_error(payload) || ["status", "Status"].iter().any(|name| says(payload, ("payload", *name), &is_failed))
        });
        calls_itself_a_failure(answer) || root_failed || payload_failed
    }
}

/// Whether a rule compares this place with this word, such as `payload.status == "failed"`.
fn compares(rule: &VerdictRule, place: &str, word: &str) -> bool {
    let quoted = |quote: char| rule.when.to_ascii_lowercase().contains(&format!("{quote}{word}{quote}"));
    rule.when.contains(place) && (quoted('"') || quoted('\''))
}

/// The day of an instant in UTC.
fn day_of(at_us: i64) -> Option<Date> {
    Some(Timestamp::from_microsecond(at_us).ok()?.to_zoned(TimeZone::UTC).date())
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "doubts_tests.rs"]
mod doubts_tests;

#[cfg(test)]
#[path = "files_tests.rs"]
mod files_tests;

#[cfg(test)]
#[path = "lookups_tests.rs"]
mod lookups_tests;
