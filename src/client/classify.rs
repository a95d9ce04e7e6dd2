//! Classifies an exchange: a pure function of a reply. It decides by the status and by whole values of fields, never by
//! the text of a message and never by `success` alone.

use super::{
    amounts::{balance_in, charge_in, most_believed},
    author::Author,
    cached_failure::is_cached_failure,
    job_reply,
    job_words::{JobWord, OPEN, StatedJob, stated_job, word},
    json_body::{JsonBody, json_body},
    own_failure::calls_itself_a_failure,
    reply_message::{message, told},
    retry_after::{RetryAfter, retry_after},
    transport::{Exchange, Reply, TransportFault},
};
use crate::{
    catalogue::{AnswerSpec, CachedFailureSpec, JobSpec},
    model::{Credits, JobId, credits::Amount, json_pointer, printable::printable_cut, state::Outcome},
};
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The maximum length of a code, a message or an identifier from the service.
const TEXT_CHARACTERS_MAX: usize = 300;

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

/// How the service pushed back: with a 429, or with a 503 that states when to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushBack {
    /// With a readable `Retry-After`.
    Stated(Duration),
    /// A 429 without a readable `Retry-After`.
    Unstated,
}

/// A classified exchange.
#[derive(Clone)]
pub struct Classified {
    pub outcome: Outcome,
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

/// Classifies an exchange. `now` is this machine's clock.
pub fn classify(exchange: &Exchange, spec: &ReplySpec<'_>, now: SystemTime) -> Classified {
    match &exchange.reply {
        Err(fault) => no_reply(fault),
        Ok(reply) => classified(reply, spec, now),
    }
}

fn no_reply(fault: &TransportFault) -> Classified {
    let (outcome, message) = match fault {
        TransportFault::NotWritten(message) => (Outcome::NotWritten, message.clone()),
        TransportFault::Untrusted { host, fault } => {
            (Outcome::NotWritten, format!("the certificate of {host} is not trusted: {fault}"))
        }
        TransportFault::Unknown(message) => (Outcome::Unknown, message.clone()),
    };
    Classified {
        outcome,
        author: Author::Unclear,
        http_status: None,
        remaining: None,
        unreadable_amount: None,
        request_id: None,
        location: None,
        push_back: None,
        repeat_after: None,
        server_now_us: None,
        job: None,
        charge: Amount::Absent,
        job_fault: None,
        early: None,
        answer: None,
        code: None,
        // The fault may contain a certificate's name, or an invalid header.
        message: shown(&message),
        words: String::new(),
    }
}

fn classified(reply: &Reply, spec: &ReplySpec<'_>, now: SystemTime) -> Classified {
    let json = reply.body.as_deref().and_then(json_body);
    let author = Author::of(reply, json.as_ref());
    let body = json.as_ref().map(|json| &*json.value);
    let text =
        |pointers: &[&str]| body.and_then(|json| pointers.iter().find_map(|at| json_pointer::at(json, at)?.as_str()));
    let charge = charge_in(body, spec.charge_pointer, most_believed(spec.price));
    let remaining = balance_in(body, spec.remaining_pointer);
    let wait_stated = retry_after(reply.retry_after.as_deref(), reply.date.as_deref(), now);
    let push_back = match wait_stated {
        RetryAfter::Wait(wait) if matches!(reply.status, 429 | 503) => Some(PushBack::Stated(wait)),
        RetryAfter::Unstated if reply.status == 429 => Some(PushBack::Unstated),
        _ => None,
    };
    let repeat_after = match wait_stated {
        RetryAfter::Wait(wait) if matches!(reply.status, 202 | 409) => Some(wait),
        _ => None,
    };
    let words = message(reply, body).map(|words| shown(&words));
    let code = text(&["/error/code", "/code"]);
    let outcome = outcome(reply, author, body, spec, &charge);
    let (outcome, job, required) = of_job(reply.status, body, spec, code, outcome);
    let (outcome, author) = match outcome {
        // A sign-in page may reply in JSON. Its reply never counts as an answer.
        Outcome::Unconvincing | Outcome::Unreadable if author == Author::Another => (Outcome::Unreadable, author),
        outcome if (200..300).contains(&reply.status) && json.is_some() => (outcome, Author::Service),
        outcome => (outcome, author),
    };
    let is_pending = matches!(outcome, Outcome::Pending { .. });
    let fault = body.zip(spec.job).filter(|_| is_pending);
    Classified {
        outcome,
        author,
        http_status: Some(reply.status),
        remaining: remaining.credits(),
        unreadable_amount: [charge.clone(), remaining, required].into_iter().find_map(|amount| match amount {
            Amount::Unreadable(text) => Some(shown(&text)),
            _ => None,
        }),
        request_id: text(&["/requestId", "/meta/requestId", "/meta/request_id"]).map(shown),
        location: reply.location.as_deref().map(shown),
        push_back,
        repeat_after,
        server_now_us: reply.date.as_deref().and_then(server_clock),
        code: code.map(shown),
        job,
        charge,
        early: body.filter(|_| is_pending).and_then(|json| early_answer(json, spec)),
        job_fault: fault.map(|(body, job)| shown(&job_reply::unusable(body, job))),
        message: told(reply, words.clone()),
        words: words.unwrap_or_default(),
        answer: json.filter(|_| (200..300).contains(&reply.status)),
    }
}

/// The outcome for a check with the flow `job`, the job that the reply names, and what it will cost. Other checks keep
/// their outcome. A reply that says it failed names no job.
fn of_job(
    status: u16,
    body: Option<&Value>,
    spec: &ReplySpec<'_>,
    code: Option<&str>,
    outcome: Outcome,
) -> (Outcome, Option<JobId>, Amount) {
    let none = |outcome| (outcome, None, Amount::Absent);
    let (Some(body), Some(job)) = (body, spec.job) else { return none(outcome) };
    let stated = match outcome {
        Outcome::Pending { stated } | Outcome::Answered { stated } => stated,
        Outcome::Unreadable | Outcome::Unconvincing => None,
        // The documented code states that nothing was charged, wherever the zero is. A stated charge is a charge above.
        Outcome::Uncharged | Outcome::Unknown if job_reply::needs_webhook(status, code) => {
            return none(Outcome::NeedsWebhook);
        }
        _ => return none(outcome),
    };
    let id = job_reply::accepted(status, body, job, spec.answer).filter(|_| !calls_itself_a_failure(body));
    if id.is_none() {
        return none(outcome);
    }
    let required = job_reply::required(body, most_believed(spec.price));
    // The larger of the stated charge and what the job will cost.
    let stated = stated.max(required.credits());
    (Outcome::Accepted { stated }, id, required)
}

/// The table that maps replies to outcomes.
fn outcome(reply: &Reply, author: Author, json: Option<&Value>, spec: &ReplySpec<'_>, charge: &Amount) -> Outcome {
    let stated = charge.credits();
    match (reply.status, charge) {
        (200..300, _) => success(reply, json, spec, stated),
        // A stated charge is a charge, whatever the status.
        (_, Amount::Credits(credits)) if *credits > Credits::ZERO => Outcome::ChargedRefusal { stated },
        (_, Amount::Unreadable(_)) => Outcome::ChargedRefusal { stated: None },
        (status, _) => match refusal(status, stated) {
            // It proves nothing: the service may have answered, and its answer was held back.
            outcome if author == Author::Another && outcome != Outcome::Misrouted => Outcome::Unknown,
            _ if is_cached_failure(status, json, spec.cached_failure) => Outcome::CachedFailure,
            // Only a complete reply is about the row.
            Outcome::Refused if json.is_none() && author == Author::Unclear => Outcome::Unknown,
            outcome => outcome,
        },
    }
}

pub(super) fn refusal(status: u16, stated: Option<Credits>) -> Outcome {
    match status {
        400 | 413 | 415 | 422 => Outcome::Refused,
        401 | 403 => Outcome::Unauthorised,
        402 => Outcome::NoCredits,
        429 => Outcome::RateLimited,
        300..400 | 404 | 405 => Outcome::Misrouted,
        500..600 if stated == Some(Credits::ZERO) => Outcome::Uncharged,
        // Any other 409 proves nothing: an earlier request with the same key may have been charged.
        _ => Outcome::Unknown,
    }
}

fn success(reply: &Reply, json: Option<&Value>, spec: &ReplySpec<'_>, stated: Option<Credits>) -> Outcome {
    match (reply.status, json, &reply.body) {
        (_, _, None) => Outcome::Unknown,
        (status, Some(json), _) if is_pending(status, json, spec) => Outcome::Pending { stated },
        (202, None, _) => Outcome::Unknown,
        (_, Some(json), _) if is_answer(json, spec.answer) => Outcome::Answered { stated },
        // A charge above the hold is booked at once.
        (_, Some(_), _) if stated > Some(spec.price) => Outcome::Answered { stated },
        (_, Some(json), _) if calls_itself_a_failure(json) => Outcome::Unconvincing,
        (_, Some(json), _) if has_fields(json) => Outcome::Unconvincing,
        (_, _, _) => Outcome::Unreadable,
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
fn is_pending(status: u16, json: &Value, spec: &ReplySpec<'_>) -> bool {
    match status {
        202 => !is_completed(json, spec),
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

fn server_clock(date: &str) -> Option<i64> {
    let since = httpdate::parse_http_date(date.trim()).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok()
}

/// Text from the service, made safe to print and limited in length, for messages, outputs and the ledger.
fn shown(text: &str) -> String {
    printable_cut(text, TEXT_CHARACTERS_MAX)
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
