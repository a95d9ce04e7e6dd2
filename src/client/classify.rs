//! What the reply to a check means: a pure function of what it says. It decides by the kind of the reply and by whole values
//! of fields, never by the text of a message and never by `success` alone.

use super::{
    amounts::most_believed,
    author::Author,
    cached_failure::is_cached_failure,
    job_reply,
    job_words::{JobWord, OPEN, StatedJob, stated_job, word},
    json_body::JsonBody,
    own_failure::calls_itself_a_failure,
    reply_kind::ReplyKind,
    said::{PushBack, Said, shown},
};
use crate::{
    catalogue::{AnswerSpec, CachedFailureSpec, JobSpec},
    model::{Credits, JobId, credits::Amount, state::Outcome},
};
use serde_json::Value;
use std::time::Duration;

/// How the replies of a check are read, and which charges are believed.
#[derive(Debug, Clone, Copy)]
pub struct ReplySpec<'a> {
    pub answer: &'a AnswerSpec,
    /// How a reply names a job, if the check has the flow `job`.
    pub job: Option<&'a JobSpec>,
    /// How a refusal says that the request has failed before, if the check declares it.
    pub cached_failure: Option<&'a CachedFailureSpec>,
    /// JSON pointers that the user sets. Each replaces the known pointers. An empty one turns the reading off.
    pub charge_pointer: Option<&'a str>,
    pub remaining_pointer: Option<&'a str>,
    /// The price that is held for the request. A charge far above it is not believed.
    pub price: Credits,
}

/// A classified exchange.
#[derive(Clone)]
pub struct Classified {
    pub outcome: Outcome,
    pub kind: ReplyKind,
    /// Who wrote the reply.
    pub author: Author,
    pub http_status: Option<u16>,
    /// The balance the reply states.
    pub remaining: Option<Credits>,
    /// The value at the place of a charge or a balance that is not a valid amount.
    pub unreadable_amount: Option<String>,
    pub request_id: Option<String>,
    /// Where a redirect leads.
    pub location: Option<String>,
    pub push_back: Option<PushBack>,
    /// How long to wait before this request is repeated, if the reply is only about this request.
    pub repeat_after: Option<Duration>,
    /// The service's clock in microseconds since 1970, exact to one second.
    pub server_now_us: Option<i64>,
    /// The job that the reply names, if the outcome is [`Outcome::Accepted`].
    pub job: Option<JobId>,
    /// The charge that the reply states, whatever its outcome.
    pub charge: Amount,
    /// Why a reply of a check with the flow `job` that has no answer yet names no job that can be followed.
    pub job_fault: Option<String>,
    /// What may be an answer in a reply that says, by its status or in words, that the answer is pending.
    pub early: Option<EarlyAnswer>,
    /// The parsed body of a 2xx.
    pub answer: Option<JsonBody>,
    /// The service's code and message, or the fault in the transport.
    pub code: Option<String>,
    pub message: String,
    /// The words of the reply itself; empty if it has none.
    pub words: String,
}

/// Content beside a status or a word that says that the answer is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyAnswer {
    /// The reply has no word for the state of its answer.
    Unmarked,
    /// The reply calls its answer pending.
    CalledPending,
}

/// Classifies what was said to a request of a check.
pub fn classify(said: Said<'_>, spec: &ReplySpec<'_>) -> Classified {
    let body = said.value();
    let charge = said.charge(spec.charge_pointer, spec.price);
    let remaining = said.remaining(spec.remaining_pointer);
    let (outcome, job, required) = of_job(&said, spec, outcome(&said, spec, &charge));
    let (outcome, author) = match outcome {
        // A sign-in page may reply in JSON. Its reply never counts as an answer.
        Outcome::Unconvincing | Outcome::Unreadable if said.author == Author::Another => {
            (Outcome::Unreadable, said.author)
        }
        outcome if said.kind.is_success() && body.is_some() => (outcome, Author::Service),
        outcome => (outcome, said.author),
    };
    let words = said.words();
    let pending = body.filter(|_| matches!(outcome, Outcome::Pending { .. }));
    Classified {
        outcome,
        kind: said.kind,
        author,
        http_status: said.status(),
        remaining: remaining.credits(),
        unreadable_amount: [charge.clone(), remaining, required].into_iter().find_map(|amount| match amount {
            Amount::Unreadable(text) => Some(shown(&text)),
            _ => None,
        }),
        request_id: said.request_id(),
        location: said.location(),
        push_back: said.push_back(),
        repeat_after: said.wait.filter(|_| matches!(said.kind, ReplyKind::Accepted | ReplyKind::Conflict)),
        server_now_us: said.server_now_us(),
        code: said.code().map(shown),
        job,
        charge,
        early: pending.and_then(|json| early_answer(json, spec)),
        job_fault: pending.zip(spec.job).map(|(body, job)| shown(&job_reply::unusable(body, job))),
        message: said.message(words.clone()),
        words: words.unwrap_or_default(),
        answer: said.json.filter(|_| said.kind.is_success()),
    }
}

/// The outcome for a check with the flow `job`, the job that the reply names, and what it will cost. Other checks keep
/// their outcome. A reply that says it failed names no job.
fn of_job(said: &Said<'_>, spec: &ReplySpec<'_>, outcome: Outcome) -> (Outcome, Option<JobId>, Amount) {
    let none = |outcome| (outcome, None, Amount::Absent);
    let (Some(body), Some(job)) = (said.value(), spec.job) else { return none(outcome) };
    let stated = match outcome {
        Outcome::Pending { stated } | Outcome::Answered { stated } => stated,
        Outcome::Unreadable | Outcome::Unconvincing => None,
        // The documented code states that nothing was charged, wherever the zero is. A stated charge is a charge above.
        Outcome::Uncharged | Outcome::Unknown if job_reply::needs_webhook(said.kind, said.code()) => {
            return none(Outcome::NeedsWebhook);
        }
        _ => return none(outcome),
    };
    let id = job_reply::accepted(said.kind, body, job, spec.answer).filter(|_| !calls_itself_a_failure(body));
    if id.is_none() {
        return none(outcome);
    }
    let required = job_reply::required(body, most_believed(spec.price));
    // The larger of the stated charge and what the job will cost.
    let stated = stated.max(required.credits());
    (Outcome::Accepted { stated }, id, required)
}

/// The table that maps replies to outcomes.
fn outcome(said: &Said<'_>, spec: &ReplySpec<'_>, charge: &Amount) -> Outcome {
    let stated = charge.credits();
    match (said.kind, charge) {
        (kind, _) if kind.is_success() => success(said, spec, stated),
        // A stated charge is a charge, whatever the status.
        (_, Amount::Credits(credits)) if *credits > Credits::ZERO => Outcome::ChargedRefusal { stated },
        (_, Amount::Unreadable(_)) => Outcome::ChargedRefusal { stated: None },
        (kind, _) => match refusal(kind, stated) {
            // It proves nothing: the service may have answered, and its answer was held back.
            outcome if said.author == Author::Another && outcome != Outcome::Misrouted => Outcome::Unknown,
            _ if is_cached_failure(kind, said.value(), spec.cached_failure) => Outcome::CachedFailure,
            // The service is asked about its account, and the answer that this may stand for is not given up.
            Outcome::Unauthorised if kind == ReplyKind::Forbidden && said.author == Author::Unclear => Outcome::Blocked,
            // Only a complete reply is about the row.
            Outcome::Refused if said.json.is_none() && said.author == Author::Unclear => Outcome::Unknown,
            outcome => outcome,
        },
    }
}

pub(super) fn refusal(kind: ReplyKind, stated: Option<Credits>) -> Outcome {
    match kind {
        ReplyKind::NotWritten => Outcome::NotWritten,
        ReplyKind::Refused => Outcome::Refused,
        ReplyKind::Unauthorised | ReplyKind::Forbidden => Outcome::Unauthorised,
        ReplyKind::NoCredits => Outcome::NoCredits,
        ReplyKind::TooMany => Outcome::RateLimited,
        kind if kind.is_misrouted() => Outcome::Misrouted,
        ReplyKind::Unavailable if stated == Some(Credits::ZERO) => Outcome::Uncharged,
        // Any other 409 proves nothing: an earlier request with the same key may have been charged.
        _ => Outcome::Unknown,
    }
}

fn success(said: &Said<'_>, spec: &ReplySpec<'_>, stated: Option<Credits>) -> Outcome {
    match (said.kind, said.value()) {
        _ if said.body().is_none() => Outcome::Unknown,
        (kind, Some(json)) if is_pending(kind, json, spec) => Outcome::Pending { stated },
        (ReplyKind::Accepted, None) => Outcome::Unknown,
        (_, Some(json)) if is_answer(json, spec.answer) => Outcome::Answered { stated },
        // A charge above the hold is booked at once.
        (_, Some(_)) if stated > Some(spec.price) => Outcome::Answered { stated },
        (_, Some(json)) if calls_itself_a_failure(json) => Outcome::Unconvincing,
        (_, Some(json)) if has_fields(json) => Outcome::Unconvincing,
        _ => Outcome::Unreadable,
    }
}

/// Whether a body is an answer: an object with content at the check's payload or under a name that the description
/// shows, or any object with `success` = true. It is kept, and at worst its verdict is `unrecognised`.
fn is_answer(json: &Value, spec: &AnswerSpec) -> bool {
    let content = |name| json.get(name).is_some_and(|value: &Value| value.is_object() || value.is_array());
    let succeeded = json.get("success") == Some(&Value::Bool(true));
    json.is_object()
        && (succeeded || spec.payload(json).is_some() || ["results", "result", "data"].into_iter().any(content))
}

/// Whether an object has fields at its root that may be the content of an answer, which the declaration looks for
/// elsewhere. An object with only a message or a status is not an answer.
fn has_fields(json: &Value) -> bool {
    const NONE: [&str; 7] = ["message", "code", "detail", "status", "results", "result", "data"];
    let is_field = |name: &String| !NONE.contains(&name.as_str());
    json.as_object().is_some_and(|members| members.keys().any(is_field))
}

/// Whether a reply means that the answer is pending. The service's API description, Errors: a 202, with or without a
/// job. A 200 with the status `pending` counts too. A 202 that says that it is completed and has a result is an answer.
fn is_pending(kind: ReplyKind, json: &Value, spec: &ReplySpec<'_>) -> bool {
    match kind {
        ReplyKind::Accepted => !is_completed(json, spec),
        _ => match json.get("status").and_then(word) {
            Some(word) if word == "pending" => true,
            Some(word) => OPEN.contains(&word.as_str()) && !stated_job(json, spec.job, spec.answer).has_result,
            None => false,
        },
    }
}

/// What may be an answer in a pending reply that names no job.
fn early_answer(json: &Value, spec: &ReplySpec<'_>) -> Option<EarlyAnswer> {
    if spec.job.is_some_and(|job| job_reply::named_job(json, job).is_some()) {
        return None;
    }
    match stated_job(json, spec.job, spec.answer) {
        StatedJob { word: JobWord::Nothing, has_result: true } => Some(EarlyAnswer::Unmarked),
        StatedJob { word: JobWord::Open, has_result: true } => Some(EarlyAnswer::CalledPending),
        _ => None,
    }
}

fn is_completed(json: &Value, spec: &ReplySpec<'_>) -> bool {
    let stated = stated_job(json, spec.job, spec.answer);
    stated.word == JobWord::Completed && stated.has_result
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
