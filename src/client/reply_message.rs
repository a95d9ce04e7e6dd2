//! What a reply that is not an answer says, for people: the message of its body in any of the known formats, or its plain
//! text. Nothing is decided by it.

use super::{reply_kind::ReplyKind, transport::Reply};
use crate::model::json_pointer;
use serde_json::Value;

/// The places of a message, the most telling first.
const POINTERS: [&str; 5] = ["/error/message", "/message", "/detail", "/error_description", "/error/detail"];
/// The most entries of a list of errors that are shown.
const ERRORS_MAX: usize = 3;

/// The words of a reply, not yet made safe to print. Those of a redirect are where it leads.
pub(super) fn message(kind: ReplyKind, reply: &Reply, json: Option<&Value>) -> Option<String> {
    match &reply.location {
        Some(location) if kind == ReplyKind::Redirect => Some(format!("a redirect to {location}")),
        _ => said(json, reply.body.as_deref()),
    }
}

/// What a message says about a reply, with these words of it. A 401 names the other form of the key's header, because the
/// description does not say which one applies.
pub(super) fn told(kind: ReplyKind, reply: &Reply, words: Option<String>) -> String {
    let told = words.unwrap_or_else(|| described(kind, reply));
    match kind {
        ReplyKind::Unauthorised => {
            format!("{told} (the key can be sent in the other header: [service] auth = \"bearer\" or \"x-api-key\")")
        }
        _ => told,
    }
}

fn described(kind: ReplyKind, reply: &Reply) -> String {
    if let Some(fault) = &reply.undecoded {
        return fault.clone();
    }
    match &reply.body {
        None => "the body of the reply was cut off, stalled or too long".to_owned(),
        Some(_) if kind.is_success() => "the reply is not an answer in a known format".to_owned(),
        Some(_) => format!("HTTP {} without a message", reply.status),
    }
}

fn said(json: Option<&Value>, body: Option<&[u8]>) -> Option<String> {
    match json {
        Some(Value::String(text)) => Some(text.clone()),
        Some(json) => of_json(json),
        None => of_text(body?),
    }
    .filter(|message| !message.trim().is_empty())
}

fn of_json(json: &Value) -> Option<String> {
    let told = POINTERS.iter().find_map(|at| json_pointer::at(json, at)?.as_str()).map(str::to_owned);
    // Beside a message, a text in `error` is often only the name of the status.
    let error = json.get("error").and_then(Value::as_str).filter(|error| told.as_deref() != Some(*error));
    let listed = ["errors", "detail", "error"].iter().find_map(|name| listed(json.get(*name)?));
    let parts: Vec<String> = error.map(str::to_owned).into_iter().chain(told).chain(listed).collect();
    if parts.is_empty() { None } else { Some(parts.join(": ")) }
}

/// The first entries of a list of errors: texts, or objects with a message and perhaps a field.
fn listed(errors: &Value) -> Option<String> {
    let one = |error: &Value| match error {
        Value::String(text) => Some(text.clone()),
        Value::Object(members) => {
            let text = |names: [&str; 4]| names.iter().find_map(|name| members.get(*name)?.as_str());
            let told = text(["message", "msg", "detail", "error"])?;
            Some(match text(["field", "path", "param", "property"]) {
                Some(field) => format!("{field}: {told}"),
                None => told.to_owned(),
            })
        }
        _ => None,
    };
    let told: Vec<String> = match errors {
        Value::Array(list) => list.iter().filter_map(one).take(ERRORS_MAX).collect(),
        Value::Object(by_field) => {
            let told = |(field, error): (&String, &Value)| match error {
                Value::Array(list) => list.iter().find_map(one).map(|told| format!("{field}: {told}")),
                error => one(error).map(|told| format!("{field}: {told}")),
            };
            // An `error` object is read by its message.
            if by_field.contains_key("message") || by_field.contains_key("code") {
                return None;
            }
            by_field.iter().filter_map(told).take(ERRORS_MAX).collect()
        }
        _ => Vec::new(),
    };
    if told.is_empty() { None } else { Some(told.join("; ")) }
}

/// Plain text, or the title of a web page.
fn of_text(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text.starts_with('<') { title(text) } else { Some(text.to_owned()) }
}

/// The title of a web page, or else its first heading.
fn title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let inside = |tag: &str| {
        let open = lower.find(&format!("<{tag}"))?;
        let from = open + lower[open..].find('>')? + 1;
        let to = from + lower[from..].find("</")?;
        let words: Vec<&str> = page[from..to].split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    inside("title").or_else(|| inside("h1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(json: Value) -> String {
        said(Some(&json), None).unwrap_or_default()
    }

    #[test]
    fn every_known_format_gives_its_message() {
        for (body, says) in [
            (json!({"error": {"code": "X", "message": "no such bank"}}), "no such bank"),
            (json!({"error": "no such bank"}), "no such bank"),
            (json!({"error": "Bad Request", "message": "no such bank"}), "Bad Request: no such bank"),
            (json!({"message": "no such bank"}), "no such bank"),
            (json!({"detail": "no such bank"}), "no such bank"),
            (json!({"detail": [{"msg": "no such bank", "loc": ["body"]}]}), "no such bank"),
            (json!({"errors": ["one", "two", 3, "three", "four"]}), "one; two; three"),
            (json!({"errors": [{"field": "bankName", "message": "unknown"}]}), "bankName: unknown"),
            (json!({"message": "invalid", "errors": {"bankName": ["unknown", "x"]}}), "invalid: bankName: unknown"),
            (json!("no such bank"), "no such bank"),
            (json!({"errors": [], "error": ""}), ""),
            (json!({"success": false}), ""),
            (json!([1]), ""),
        ] {
            assert_eq!(of(body.clone()), says, "{body}");
        }
    }

    #[test]
    fn plain_text_is_a_message_and_of_a_web_page_only_the_title() {
        let text = |body: &[u8]| said(None, Some(body));
        assert_eq!(text(b" upstream timed out \n").as_deref(), Some("upstream timed out"));
        let page = b"\xef\xbb\xbf<!doctype html><HTML><Title lang=en> Just a\n moment </TITLE><h1>x</h1>";
        assert_eq!(text(page).as_deref(), Some("Just a moment"));
        assert_eq!(text(b"<title></title><h1>403 Forbidden</h1>").as_deref(), Some("403 Forbidden"));
        for body in [&b"<html>x</html>"[..], b"<title", b"<title>\xc4\xb0", b"  ", b"\xff\xfe"] {
            assert_eq!(text(body), None);
        }
    }
}
