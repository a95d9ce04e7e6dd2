//! Corrupted answers: the service has processed and charged the request, but the answer that it sends is wrong. These
//! are pure changes to a correct answer, so that a repeat under the same key gives the correct one, or the same wrong
//! one if the row is the cause.

use super::{reply::Reply, row::RowTreatment};
use serde_json::{Value, json};

/// The name of the member that contains the content of an answer.
fn content_of(answer: &Value) -> &'static str {
    if answer.get("data").is_some() { "data" } else { "results" }
}

/// Sets all content of an answer to null and keeps its envelope.
pub(super) fn empty(answer: &mut Value) {
    let content = content_of(answer);
    if let Some(content) = answer[content].as_object_mut() {
        content.values_mut().for_each(|value| *value = Value::Null);
    }
}

/// Makes the answer state the other mode.
pub(super) fn other_mode(answer: &mut Value) {
    let other = if answer["mode"] == "production" { "sandbox" } else { "production" };
    if answer.get("mode").is_some() {
        answer["mode"] = other.into();
    } else {
        answer["meta"]["environment"] = other.into();
    }
}

/// Makes the answer echo an input that was not sent. An envelope without an echo is left unchanged.
pub(super) fn other_input(answer: &mut Value) {
    let Some(input) = answer.get_mut("input").and_then(Value::as_object_mut) else { return };
    let text = input.values_mut().find(|value| value.is_string());
    if let Some(Value::String(text)) = text {
        text.insert(0, 'X');
    }
}

/// Adds the content a second time under the same name: first with a hit and a failure, then unchanged.
pub(super) fn duplicate_names(answer: &Value) -> Reply {
    let first = json!({"match": [{"name": "Other Person", "score": 1.0}], "Status": "Failed"});
    after_the_brace(answer, &format!("\"{}\":{first},", content_of(answer)).into_bytes())
}

/// The permanent answer for a row whose requests the service processes and does not refuse.
pub(super) fn row(row: RowTreatment, mut answer: Value) -> Reply {
    match row {
        RowTreatment::Empty => Reply::bytes(200, Vec::new()),
        RowTreatment::Broken => {
            let mut text = answer.to_string();
            text.pop();
            Reply::bytes(200, text.into_bytes())
        }
        RowTreatment::BadUtf8 => after_the_brace(&answer, b"\"note\":\"caf\xe9\","),
        RowTreatment::Surrogate => after_the_brace(&answer, br#""note":"Li \ud83d","#),
        RowTreatment::Nan => after_the_brace(&answer, br#""score":NaN,"#),
        RowTreatment::Unsuccessful => {
            let content = content_of(&answer);
            answer[content] = json!({});
            answer["success"] = false.into();
            answer["error"] = json!({"code": "UPSTREAM_TIMEOUT", "message": "the register did not answer"});
            Reply::json(200, &answer)
        }
        RowTreatment::Status(_) | RowTreatment::Job | RowTreatment::Pending => Reply::json(200, &answer),
    }
}

/// The answer as text, with bytes inserted before its first name.
fn after_the_brace(answer: &Value, inserted: &[u8]) -> Reply {
    let text = answer.to_string().into_bytes();
    let body = [&text[..1], inserted, &text[1..]].concat();
    Reply::bytes(200, body)
}
