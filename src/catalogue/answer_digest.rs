//! The digest of an answer: the same for two answers of a subject that say the same, so that two rounds can be compared
//! without their answers. This module decides what is compared: the declared part of the payload, without its volatile
//! places, and whatever the order of its lists and names.

use super::{AnswerSpec, answer::pointer_to_payload, payload_at};
use crate::model::{json_pointer, key::hex, request::canonical_json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{borrow::Cow, cmp::Ordering};

/// How the digests of a dataset are made. Digests can be compared only if this is equal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestSpec {
    /// JSON pointers to the payload, of which the first that is present is used.
    pub payload: Vec<String>,
    /// JSON pointers into the payload to what is compared, of which the first that is present is used. If there is none,
    /// it is the whole payload.
    pub compared: Vec<String>,
    /// JSON pointers into the payload to what is removed before. `*` is every item of a list.
    pub volatile: Vec<String>,
}

impl AnswerSpec {
    /// How the digests of these answers are made.
    pub fn digest_spec(&self) -> DigestSpec {
        let AnswerSpec { payload, compared, volatile, .. } = self.clone();
        DigestSpec { payload, compared, volatile }
    }
}

impl DigestSpec {
    /// The first 16 bytes of the SHA-256 of the compared part, in hexadecimal. An answer without the payload is compared
    /// as a whole.
    pub fn digest(&self, answer: &Value) -> String {
        let payload = payload_at(&self.payload, answer).unwrap_or(answer);
        let mut form = Vec::new();
        match pointer_to_payload(&self.compared, payload) {
            // Nothing volatile is compared, so nothing has to be removed from a copy.
            Some((pointer, compared)) if !self.is_volatile(pointer) => canonical(compared, &mut form),
            _ => {
                let mut payload = Cow::Borrowed(payload);
                for pointer in &self.volatile {
                    remove(&mut payload, pointer);
                }
                canonical(payload_at(&self.compared, &payload).unwrap_or(&payload), &mut form);
            }
        }
        hex(&Sha256::digest(form)[..16])
    }

    /// Whether a volatile place may be at, above or below this pointer.
    fn is_volatile(&self, pointer: &str) -> bool {
        self.volatile.iter().any(|volatile| {
            let fixed = volatile.split('*').next().unwrap_or_default();
            fixed.starts_with(pointer) || pointer.starts_with(fixed)
        })
    }
}

/// Removes what a pointer names. A payload that does not have it is not copied, unless the pointer has a `*`.
pub(super) fn remove(payload: &mut Cow<'_, Value>, pointer: &str) {
    let tokens: Vec<String> =
        pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
    if tokens.iter().any(|token| token == "*") || json_pointer::at(payload, pointer).is_some() {
        remove_below(payload.to_mut(), &tokens);
    }
}

fn remove_below(value: &mut Value, tokens: &[String]) {
    let Some((token, rest)) = tokens.split_first() else { return };
    match value {
        Value::Object(members) if rest.is_empty() => drop(members.shift_remove(token)),
        Value::Object(members) => members.get_mut(token).into_iter().for_each(|member| remove_below(member, rest)),
        Value::Array(items) if token == "*" && rest.is_empty() => items.clear(),
        Value::Array(items) if token == "*" => items.iter_mut().for_each(|item| remove_below(item, rest)),
        Value::Array(items) => {
            if let Some(item) = token.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
                if rest.is_empty() { *item = Value::Null } else { remove_below(item, rest) }
            }
        }
        _ => {}
    }
}

/// Appends RFC 8785 JSON with sorted lists. Whole numbers of any size keep their digits.
pub(super) fn canonical(value: &Value, form: &mut Vec<u8>) {
    match value {
        Value::Null => form.extend(b"null"),
        Value::Bool(truth) => form.extend(truth.to_string().as_bytes()),
        Value::Number(number) if number.is_i64() || number.is_u64() => form.extend(number.to_string().as_bytes()),
        Value::Number(_) => form.extend(canonical_json(value)),
        Value::String(content) => text(content, form),
        Value::Array(items) => {
            let of_item = |item| {
                let mut form = Vec::new();
                canonical(item, &mut form);
                form
            };
            let mut items: Vec<Vec<u8>> = items.iter().map(of_item).collect();
            items.sort_unstable();
            form.push(b'[');
            form.extend(items.join(&b','));
            form.push(b']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by(|(one, _), (other, _)| in_utf16(one, other));
            form.push(b'{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    form.push(b',');
                }
                text(name, form);
                form.push(b':');
                canonical(value, form);
            }
            form.push(b'}');
        }
    }
}

/// Appends a text. RFC 8785 escapes the same characters as `serde_json`.
fn text(content: &str, form: &mut Vec<u8>) {
    if content.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        // Most texts. Nothing is escaped.
        form.push(b'"');
        form.extend_from_slice(content.as_bytes());
        form.push(b'"');
    } else {
        serde_json::to_writer(form, content).expect("a text can be written to memory");
    }
}

/// The order of two names in RFC 8785.
fn in_utf16(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() { one.cmp(other) } else { one.encode_utf16().cmp(other.encode_utf16()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use serde_json::json;

    fn of(check: &str) -> DigestSpec {
        Catalogue::built_in().get(check).unwrap().answer.digest_spec()
    }

    #[test]
    fn equal_matches_have_one_digest_whatever_their_order_and_the_request_id() {
        let spec = of("aml-screening");
        let (one, other) = (json!({"name": "A", "score": 91.5}), json!({"score": 70, "name": "B"}));
        let first = json!({"requestId": "r1", "results": {"Header": {"DatasetVersion": "1"}, "match": [one, other]}});
        let again = json!({"data": {"match": [{"name": "B", "score": 70.0}, {"name": "A", "score": 91.50}],
            "Header": {"DatasetVersion": "2"}}, "meta": {"requestId": "r2", "latency": 3}});
        assert_eq!(spec.digest(&first), spec.digest(&again));
        let changed = json!({"results": {"match": [{"name": "A", "score": 91.6}, {"name": "B", "score": 70}]}});
        assert_ne!(spec.digest(&first), spec.digest(&changed));
        assert_ne!(spec.digest(&json!({"results": {"match": []}})), spec.digest(&first));
    }

    #[test]
    fn what_the_declaration_calls_volatile_does_not_count() {
        let spec = of("said-verification");
        let report = |id: &str, age: u64, name: &str| {
            json!({"requestId": id, "results": {"said_verification": {
                "Status": "Success", "transaction_id": id, "meta": {"timestamp": id},
                "realTimeResults": {"Verification": {"Lastname": name, "Age": age}, "transaction_id": id}}}})
        };
        assert_eq!(spec.digest(&report("a", 40, "Nkosi")), spec.digest(&report("b", 41, "Nkosi")));
        assert_ne!(spec.digest(&report("a", 40, "Nkosi")), spec.digest(&report("a", 40, "Dube")));
    }

    #[test]
    fn a_star_names_every_item_of_a_list() {
        let spec = DigestSpec { volatile: vec!["/list/*/at".into(), "/more/1".into()], ..DigestSpec::default() };
        let answer = |at: u64, x: u64| json!({"list": [{"at": at, "x": x}, {"at": at}, 7], "more": [1, at, 3]});
        assert_eq!(spec.digest(&answer(1, 5)), spec.digest(&answer(2, 5)));
        assert_ne!(spec.digest(&answer(1, 5)), spec.digest(&answer(1, 6)));
    }

    #[test]
    fn a_large_whole_number_keeps_its_digits_and_an_answer_without_payload_counts_whole() {
        let spec = of("aml-screening");
        let list = |id: u64| json!({"results": {"match": [{"id": id}]}});
        assert_ne!(spec.digest(&list(12_345_678_901_234_567_890)), spec.digest(&list(12_345_678_901_234_567_891)));
        assert_ne!(spec.digest(&json!({"x": 1})), spec.digest(&json!({"x": 2})));
    }

    #[test]
    fn without_lists_the_form_is_that_of_rfc_8785() {
        let value = json!({"\u{20ac}": "Euro", "\r": "CR\u{1}\u{7f}\"\\/\u{8}\u{c}", "\u{fb33}": "Dalet", "1": 1.0e21,
            "\u{1f600}": {"b": true, "a": null}, "\u{80}": -0.0, "\u{f6}": "\u{1f600}\n\t", "": 4.5e-7});
        let mut form = Vec::new();
        canonical(&value, &mut form);
        assert_eq!(form, canonical_json(&value));
    }

    #[test]
    fn a_digest_never_changes() {
        // printf '[{"name":"A","score":91.5},{"name":"B"}]' | sha256sum
        let answer = json!({"results": {"match": [{"name": "B"}, {"score": 91.5, "name": "A"}]}});
        assert_eq!(of("aml-screening").digest(&answer), FROZEN);
    }

    const FROZEN: &str = "3d02b909b8405452caa66837d517a32f";
}
