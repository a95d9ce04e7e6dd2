//! Compares an answer with its request. The service echoes the submitted fields and the mode. If the echo differs, the
//! answer belongs to another request, or is a sandbox fixture returned in production.

use crate::model::json_pointer;
use serde_json::{Map, Value};

/// The result of comparing an echo with what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Echo {
    /// No echoed value differs.
    Fits,
    /// A field or the report type differs.
    Differs,
    /// The answer was made in this mode.
    OtherMode(String),
}

/// Compares what `answer` echoes with the members of the body that was sent.
pub fn echo(answer: &Value, payload: Option<&Value>, sent: &Map<String, Value>) -> Echo {
    if let Some(mode) = other_mode(answer, payload, sent) {
        return Echo::OtherMode(mode);
    }
    let inputs = ["/input", "/data/input", "/meta/input"];
    let inputs = inputs.iter().filter_map(|at| json_pointer::at(answer, at)?.as_object());
    let differs = inputs.flatten().any(|(name, echoed)| sent.get(name).is_some_and(|sent| differ(sent, echoed)));
    let report = |name: &str| Some(differ(sent.get(name)?, answer.get(name)?));
    if differs || report("reportType") == Some(true) { Echo::Differs } else { Echo::Fits }
}

/// The mode that an answer names, if it is a known mode and not the mode that was sent. The description shows
/// `environment` as a text, and not what it means. It is a reason to doubt an answer only in production, because a fixture
/// must never count as a verification, and a `mode` beside it may only repeat what was sent.
fn other_mode(answer: &Value, payload: Option<&Value>, sent: &Map<String, Value>) -> Option<String> {
    let mode = known_mode(sent.get("mode")?)?;
    let places = [Some(answer), answer.get("meta"), payload, payload.and_then(|payload| payload.get("meta"))];
    let named = |name: &str| -> Vec<&'static str> {
        places.iter().flatten().filter_map(|place| known_mode(place.get(name)?)).collect()
    };
    let environments = named("environment").into_iter().filter(|_| mode == "production");
    named("mode").into_iter().chain(environments).find(|named| *named != mode).map(str::to_owned)
}

/// The mode for a word: the two words of the service, and the usual synonyms.
fn known_mode(word: &Value) -> Option<&'static str> {
    match word.as_str()?.trim().to_ascii_lowercase().as_str() {
        "sandbox" | "test" => Some("sandbox"),
        "production" | "live" => Some("production"),
        _ => None,
    }
}

/// Whether two values differ for a person. Case, punctuation and the difference between number and text are ignored. A
/// masked echo does not count as a difference; an echo of null does.
fn differ(sent: &Value, echoed: &Value) -> bool {
    if sent == echoed {
        return false;
    }
    if echoed.is_null() {
        return !sent.is_null();
    }
    let (Some(sent), Some(echoed)) = (text(sent), text(echoed)) else { return false };
    let masked = echoed.contains(['*', '\u{2022}', '\u{2026}']);
    let characters =
        |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    !masked && characters(&sent) != characters(&echoed)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compared(answer: Value) -> Echo {
        let sent = json!({"mode": "production", "idNumber": "8001015009087", "name": "Jo O'Brien", "reportType": "r"});
        echo(&answer, answer.get("results"), sent.as_object().unwrap())
    }

    #[test]
    fn a_matching_echo_may_be_formatted_differently_masked_or_missing() {
        for input in [
            json!({}),
            json!({"idNumber": 8_001_015_009_087_u64}),
            json!({"name": "JO O\u{2019}BRIEN"}),
            json!({"idNumber": "800101*****87"}),
            json!({"other": "x"}),
        ] {
            let answer = json!({"mode": "Production", "reportType": "r", "input": input});
            assert_eq!(compared(answer.clone()), Echo::Fits, "{answer}");
        }
        assert_eq!(compared(json!({"meta": {"environment": "eu-west"}})), Echo::Fits);
    }

    #[test]
    fn an_echo_of_another_request_differs() {
        for answer in [
            json!({"input": {"idNumber": "9111060123086"}}),
            json!({"data": {"input": {"name": "Someone Else"}}}),
            json!({"reportType": "other"}),
            json!({"input": {"idNumber": null}}),
        ] {
            assert_eq!(compared(answer.clone()), Echo::Differs, "{answer}");
        }
    }

    #[test]
    fn an_environment_of_the_sandbox_counts_in_production_and_no_environment_in_sandbox() {
        let both = json!({"mode": "production", "results": {"meta": {"environment": "sandbox"}}});
        assert_eq!(compared(both), Echo::OtherMode("sandbox".into()));
        let sent = json!({"mode": "sandbox"});
        for answer in [
            json!({"meta": {"environment": "production"}}),
            json!({"mode": "sandbox", "meta": {"environment": "live"}}),
        ] {
            assert_eq!(echo(&answer, None, sent.as_object().unwrap()), Echo::Fits, "{answer}");
        }
        let other = Echo::OtherMode("production".into());
        assert_eq!(echo(&json!({"mode": "production"}), None, sent.as_object().unwrap()), other);
    }

    #[test]
    fn an_answer_of_the_other_mode_is_detected_in_every_place() {
        for answer in [
            json!({"mode": "sandbox"}),
            json!({"meta": {"environment": "SANDBOX"}}),
            json!({"mode": "production", "results": {"meta": {"mode": "test"}}}),
        ] {
            assert_eq!(compared(answer.clone()), Echo::OtherMode("sandbox".into()), "{answer}");
        }
    }
}
