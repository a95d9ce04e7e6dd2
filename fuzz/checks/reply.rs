//! Any bytes as the reply to a request of each built-in check, and to the balance query. A case is written like an HTTP
//! message: the status, headers (`retry-after`, `date`, `cut` for a body that did not arrive), an empty line, and the
//! body.
//!
//! Only a complete JSON object in a known envelope is an answer. Only the service's own statement proves a charge of 0.
//! Text from a reply is harmless to a terminal. A charge that is read was stated, and a charge that is stated, in any
//! format, is read.

use super::charges;
use rescreen::{
    catalogue::{Catalogue, ColumnValue, Declaration},
    client::{Classified, Exchange, Reply, ReplySpec, Said, balance_in, classify, json_body},
    model::{Credits, state::Outcome},
};
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub fn check(data: &[u8]) {
    let Some(reply) = reply_of(data) else { return };
    let catalogue = Catalogue::built_in();
    for declaration in catalogue.iter() {
        let classified = classified(&reply, declaration);
        agrees_with_the_status(&reply, &classified);
        is_harmless(&classified);
        charges::agree(&reply, &classified, declaration.job.is_some());
        if let Outcome::Answered { .. } = classified.outcome {
            is_an_answer(&reply, declaration);
            let answer = classified.answer.as_ref().expect("an answered request has its answer");
            columns_are_typed(declaration, &answer.value);
        }
    }
    balance(&reply);
}

/// The reply that a case describes; `None` if it does not begin with a status.
pub fn reply_of(data: &[u8]) -> Option<Reply> {
    let end = data.windows(2).position(|pair| pair == b"\n\n").unwrap_or(data.len());
    let head = std::str::from_utf8(&data[..end]).ok()?;
    let body = data.get(end + 2..).unwrap_or_default();
    let mut lines = head.lines();
    let status = lines.next()?.trim().parse().ok().filter(|status| (100..600).contains(status))?;
    let mut reply = Reply {
        status,
        body: Some(body.to_vec()),
        undecoded: None,
        retry_after: None,
        location: None,
        date: None,
        rate_headers: Vec::new(),
        simulated: false,
    };
    for line in lines {
        match line.split_once(':') {
            Some(("retry-after", value)) => reply.retry_after = Some(value.to_owned()),
            Some(("date", value)) => reply.date = Some(value.to_owned()),
            _ if line == "cut" => reply.body = None,
            _ => {}
        }
    }
    Some(reply)
}

fn classified(reply: &Reply, declaration: &Declaration) -> Classified {
    let exchange = Exchange { reply: Ok(reply.clone()), latency: Duration::ZERO, room: Default::default() };
    let spec = ReplySpec {
        answer: &declaration.answer,
        job: declaration.job.as_ref(),
        cached_failure: declaration.cached_failure.as_ref(),
        charge_pointer: None,
        remaining_pointer: None,
        price: Credits(1),
    };
    classify(Said::of(&exchange, now()), &spec)
}

pub fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_168_800)
}

fn object(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok().filter(Value::is_object)
}

/// Checks what the status alone decides, whatever the body contains.
fn agrees_with_the_status(reply: &Reply, classified: &Classified) {
    assert_eq!(classified.http_status, Some(reply.status));
    let fits = match (reply.status, classified.outcome) {
        (202, outcome) => {
            matches!(outcome, Outcome::Pending { .. } | Outcome::Accepted { .. } | Outcome::Unknown)
        }
        (200..300, Outcome::Unreadable | Outcome::Unconvincing) => reply.body.is_some(),
        (200..300, outcome) => matches!(
            outcome,
            Outcome::Answered { .. } | Outcome::Accepted { .. } | Outcome::Pending { .. } | Outcome::Unknown
        ),
        (_, Outcome::ChargedRefusal { .. }) => reply.body.is_some(),
        (503, Outcome::NeedsWebhook) | (400..600, Outcome::CachedFailure) => reply.body.is_some(),
        (400 | 413 | 415 | 422, Outcome::Refused) => true,
        (401 | 403, Outcome::Unauthorised) | (402, Outcome::NoCredits) | (429, Outcome::RateLimited) => true,
        (300..400 | 404 | 405, Outcome::Misrouted) => true,
        (500..600, Outcome::Uncharged) => {
            reply.body.as_deref().and_then(object).is_some_and(|json| json.to_string().contains("redits"))
        }
        // A page of something between.
        (400..=405 | 413 | 415 | 422, Outcome::Unknown) => reply.body.as_deref().and_then(object).is_none(),
        (100..200 | 406..600, Outcome::Unknown) => reply.status != 429,
        _ => false,
    };
    assert!(fits, "HTTP {} is {:?}", reply.status, classified.outcome);
    assert!(classified.answer.is_none() || (200..300).contains(&reply.status), "an answer of HTTP {}", reply.status);
    assert!(
        classified.push_back.is_none() || matches!(reply.status, 429 | 503),
        "pushed back by HTTP {}",
        reply.status
    );
    if reply.body.is_none() {
        assert!(classified.answer.is_none() && classified.remaining.is_none() && classified.request_id.is_none());
        assert!(!matches!(classified.outcome, Outcome::Answered { .. } | Outcome::Pending { .. } | Outcome::Uncharged));
    }
}

fn is_an_answer(reply: &Reply, declaration: &Declaration) {
    let body = reply.body.as_deref().expect("an answer has a body");
    let json = json_body(body).expect("an answer is a complete JSON document").value;
    let content = |name| json.get(name).is_some_and(|value: &Value| value.is_object() || value.is_array());
    let known =
        ["results", "result", "data"].into_iter().any(content) || json.get("success") == Some(&Value::Bool(true));
    let charged = charges::is_stated(&json);
    assert!(
        known || charged || declaration.answer.payload(&json).is_some(),
        "an answer has content, or states success"
    );
    // No part of an answer is an answer.
    let whole = body.trim_ascii_end();
    for length in [whole.len() - 1, whole.len() / 2] {
        let part = Reply { body: Some(whole[..length].to_vec()), ..reply.clone() };
        assert_eq!(classified(&part, declaration).outcome, Outcome::Unreadable, "the first {length} bytes");
    }
}

fn columns_are_typed(declaration: &Declaration, answer: &Value) {
    let Some(payload) = declaration.answer.payload(answer) else { return };
    assert!(!payload.is_null(), "a payload is not null");
    for column in &declaration.answer.columns {
        if let ColumnValue::Number(number) = column.read(payload) {
            assert!(number.is_finite(), "{} is {number}", column.name);
        }
    }
}

fn is_harmless(classified: &Classified) {
    for text in classified.code.iter().chain([&classified.message]) {
        assert!(!text.contains(char::is_control) && text.chars().count() <= 300, "{text:?}");
    }
}

fn balance(reply: &Reply) {
    let Some(json) = reply.body.as_deref().and_then(json_body).map(|json| json.value) else { return };
    for pointer in [None, Some("/wallet/left")] {
        let Some(balance) = balance_in(&json, pointer) else { continue };
        let found = json.pointer(&balance.pointer).expect("a balance is at its pointer");
        assert!(found.is_number() || found.is_string(), "{found} is not a balance");
        assert!(pointer.is_none_or(|pointer| pointer == balance.pointer), "only the configured pointer is used");
    }
}
