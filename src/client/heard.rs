//! What an exchange says: the pure reading of a reply. Decided by status and by whole values of fields, never by the words
//! of a message and never by `success` alone.

use super::{
    retry_after::{RetryAfter, retry_after},
    transport::{Exchange, Reply, TransportFault},
};
use crate::{
    catalogue::AnswerSpec,
    model::{
        Credits,
        planted::{Bug, planted},
        state::Outcome,
    },
};
use serde_json::{Map, Value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How the service pushed back: a 429, or a 503 that says when to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushBack {
    /// With a time that could be read.
    Stated(Duration),
    /// A 429 without one.
    Unstated,
}

/// What an exchange says.
#[derive(Clone)]
pub struct Heard {
    pub outcome: Outcome,
    pub http_status: Option<u16>,
    /// The balance the reply states.
    pub remaining: Option<Credits>,
    pub request_id: Option<String>,
    pub push_back: Option<PushBack>,
    /// The service's clock, microseconds since 1970, to a second.
    pub server_now_us: Option<i64>,
    /// Whether it is the simulator that answered; `None` where nobody did.
    pub simulated: Option<bool>,
    /// The parsed answer of a 2xx.
    pub answer: Option<Value>,
    /// The service's own code and message, or what went wrong on the way.
    pub code: Option<String>,
    pub message: String,
}

/// Reads an exchange. `spec` says where this check's answers have their content; `now` is this machine's clock.
pub fn hear(exchange: &Exchange, spec: &AnswerSpec, now: SystemTime) -> Heard {
    match &exchange.reply {
        Err(fault) => unheard(fault),
        Ok(reply) => heard(reply, spec, now),
    }
}

fn unheard(fault: &TransportFault) -> Heard {
    let (outcome, message) = match fault {
        TransportFault::NotWritten(message) => (Outcome::NotWritten, message.clone()),
        TransportFault::Untrusted { host, fault } => {
            (Outcome::NotWritten, format!("the certificate of {host} is not to be trusted: {fault}"))
        }
        TransportFault::Unknown(message) => (Outcome::Unknown, message.clone()),
    };
    Heard {
        outcome,
        http_status: None,
        remaining: None,
        request_id: None,
        push_back: None,
        server_now_us: None,
        simulated: None,
        answer: None,
        code: None,
        message,
    }
}

fn heard(reply: &Reply, spec: &AnswerSpec, now: SystemTime) -> Heard {
    let json: Option<Value> =
        reply.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()).filter(Value::is_object);
    let json = if planted(Bug::StatusAlone) { json.or(Some(Value::Object(Map::new()))) } else { json };
    let body = json.as_ref();
    let credits = |pointers: &[&str]| body.and_then(|json| pointers.iter().find_map(|at| whole(json.pointer(at)?)));
    let text = |pointers: &[&str]| body.and_then(|json| pointers.iter().find_map(|at| json.pointer(at)?.as_str()));
    // Service-api: `creditsUsed` on jobs, "credits spent" in `meta`, whose spelling is not shown.
    let stated = credits(&["/creditsUsed", "/meta/creditsUsed", "/meta/credits_used", "/meta/creditsSpent"]);
    let push_back = match retry_after(reply.retry_after.as_deref(), reply.date.as_deref(), now) {
        RetryAfter::Wait(_) if planted(Bug::RetryAfterIgnored) => None,
        RetryAfter::Wait(wait) if matches!(reply.status, 429 | 503) => Some(PushBack::Stated(wait)),
        RetryAfter::Unstated if reply.status == 429 => Some(PushBack::Unstated),
        _ => None,
    };
    let message = text(&["/error/message", "/error", "/message", "/detail"]);
    Heard {
        outcome: outcome(reply, body, spec, stated),
        http_status: Some(reply.status),
        remaining: credits(&["/remainingCredits", "/meta/remainingCredits"]),
        request_id: text(&["/requestId", "/meta/requestId", "/meta/request_id"]).map(str::to_owned),
        push_back,
        server_now_us: reply.date.as_deref().and_then(server_clock),
        simulated: Some(reply.simulated),
        code: text(&["/error/code", "/code"]).map(printable),
        message: message.map_or_else(|| described(reply), printable),
        answer: json.filter(|_| (200..300).contains(&reply.status)),
    }
}

/// The one table from replies to outcomes.
fn outcome(reply: &Reply, json: Option<&Value>, spec: &AnswerSpec, stated: Option<Credits>) -> Outcome {
    match reply.status {
        200 if planted(Bug::StatusAlone) => Outcome::Answered { stated },
        202 if planted(Bug::PendingAnswered) && json.is_some() => Outcome::Answered { stated },
        502 if planted(Bug::HoldFreedBy502) => Outcome::Uncharged,
        200..300 => match json {
            Some(json) if is_pending(reply.status, json) => Outcome::Pending,
            Some(json) if reply.status != 202 && is_answer(json, spec) => Outcome::Answered { stated },
            _ => Outcome::Unknown,
        },
        400 | 413 | 415 | 422 => Outcome::Refused,
        401 | 403 => Outcome::Unauthorised,
        402 => Outcome::NoCredits,
        429 => Outcome::RateLimited,
        300..400 | 404 | 405 => Outcome::Misrouted,
        500..600 if stated == Some(Credits::ZERO) => Outcome::Uncharged,
        // 409 is never proof of anything: the same key may hide a charge.
        _ => Outcome::Unknown,
    }
}

/// A known envelope: content where the check's answers have it, or under one of the names the description shows.
fn is_answer(json: &Value, spec: &AnswerSpec) -> bool {
    let content = |name| json.get(name).is_some_and(|value: &Value| value.is_object() || value.is_array());
    json.get("jobId").is_none()
        && (spec.payload(json).is_some() || ["results", "result", "data"].into_iter().any(content))
}

/// Service-api, Errors: 202 says pending. One that names a service job is not ours to repeat.
fn is_pending(status: u16, json: &Value) -> bool {
    let says_pending = json.get("status").and_then(Value::as_str) == Some("pending");
    json.get("jobId").is_none() && (status == 202 || says_pending)
}

fn whole(value: &Value) -> Option<Credits> {
    let credits = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok()).map(Credits);
    credits.map(|credits| credits.min(Credits::STATED_MAX))
}

fn server_clock(date: &str) -> Option<i64> {
    let since = httpdate::parse_http_date(date.trim()).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok()
}

fn described(reply: &Reply) -> String {
    match (reply.status, &reply.body) {
        (_, None) => "the reply was cut off, stalled or too long".to_owned(),
        (200..300, Some(_)) => "the reply is no answer in a known form".to_owned(),
        (status, Some(_)) => format!("HTTP {status} without a message"),
    }
}

/// Text of the service made safe to show: no control characters, none that turn the line around, and not endless.
fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().take(300).map(|c| if c.is_control() || turns(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
#[path = "heard_tests.rs"]
mod tests;
