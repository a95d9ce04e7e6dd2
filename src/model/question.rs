//! What a body asks: its members without those that say how the service should deal with the request. Two bodies with equal members
//! are one question, whichever campaign asks it.

use super::{attachment::UPLOAD_REFERENCE, request::canonical_json};
use serde_json::{Map, Value};

/// Members of a body that no field fills and that say nothing about the question.
const SET_BY_THE_PROGRAM: [&str; 4] = ["mode", "webhookUrl", "webhookSecret", UPLOAD_REFERENCE];

/// The question of a body, as canonical JSON. A body that cannot be read asks nothing that another one asks.
pub fn question_of(body: &[u8]) -> Vec<u8> {
    let Ok(mut members) = serde_json::from_slice::<Map<String, Value>>(body) else { return body.to_vec() };
    members.retain(|name, _| !SET_BY_THE_PROGRAM.contains(&name.as_str()));
    canonical_json(&members)
}

#[cfg(test)]
mod tests {
    use super::question_of;

    #[test]
    fn a_question_is_what_is_asked_and_not_how() {
        let of = |text: &str| question_of(text.as_bytes());
        let one = of(r#"{"name":"A","mode":"sandbox","webhookUrl":"https://a.example/1"}"#);
        assert_eq!(one, of(r#"{"mode":"production","name":"A"}"#));
        assert_ne!(one, of(r#"{"name":"A","dataset":"peps"}"#));
        assert_ne!(of("damaged"), of("other"));
    }
}
