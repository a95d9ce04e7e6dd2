//! The matches of an answer: the entries of a list that it names. A person decides about each of them by its identity and its
//! digest. This module decides which answers show all their matches, and when two matches are the same.

use super::{
    AnswerSpec, MatchesSpec,
    answer_digest::{canonical, remove},
};
use crate::model::{json_pointer, key::hex};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{borrow::Cow, collections::BTreeMap};

/// A match of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// What identifies it from one answer to the next.
    pub id: String,
    /// `m-` and 32 hexadecimal characters. It changes with anything in the match that is not volatile. The letters keep
    /// spreadsheet programs from reading it as a number.
    pub digest: String,
    /// Its entries: usually one, or several with the same identity.
    pub entries: Vec<Value>,
}

/// The longest identity of a match, in characters. One that is longer is replaced by its digest.
const ID_CHARACTERS_MAX: usize = 200;

impl AnswerSpec {
    /// The matches of an answer in the order of the answer; `None` if it has none, or does not show all of them.
    pub fn matches(&self, answer: &Value) -> Option<Vec<Match>> {
        let spec = self.matches.as_ref()?;
        let mut payload = Cow::Borrowed(self.payload(answer)?);
        self.volatile.iter().for_each(|pointer| remove(&mut payload, pointer));
        let mut entries: Vec<&Value> = Vec::new();
        for pointer in &spec.lists {
            match json_pointer::at(&payload, pointer) {
                None => {}
                Some(Value::Array(list)) => entries.extend(list),
                Some(_) => return None,
            }
        }
        let at = |pointer: &String| json_pointer::at(&payload, pointer);
        let total = spec.total.iter().find_map(at);
        let is_whole = spec.required.iter().all(|pointer| at(pointer).is_some())
            && total.is_none_or(|total| total.as_u64() == Some(entries.len() as u64))
            && !spec.more.iter().filter_map(at).any(says_more);
        if entries.is_empty() || !is_whole || entries.iter().any(|entry| is_inexact(entry)) {
            return None;
        }
        let mut found: Vec<(String, Vec<&Value>)> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for entry in entries {
            let id = spec.id_of(entry);
            let place = *places.entry(id.clone()).or_insert_with(|| {
                found.push((id, Vec::new()));
                found.len() - 1
            });
            found[place].1.push(entry);
        }
        let whole = |(id, entries): (String, Vec<&Value>)| Match {
            id,
            digest: digest_of(&entries),
            entries: entries.into_iter().cloned().collect(),
        };
        Some(found.into_iter().map(whole).collect())
    }
}

impl MatchesSpec {
    fn id_of(&self, entry: &Value) -> String {
        let found = self.id.iter().find_map(|pointer| match json_pointer::at(entry, pointer)? {
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
        let is_plain = |id: &String| id.chars().count() <= ID_CHARACTERS_MAX && !id.chars().any(char::is_control);
        found.filter(is_plain).unwrap_or_else(|| digest_of(&[entry]))
    }
}

/// Whether a value says that there is more, such as `true`, the link to another page, or its number.
fn says_more(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Array(list) => !list.is_empty(),
        Value::Bool(true) | Value::Object(_) => true,
    }
}

/// Whether a value contains a number that is too large to be read exactly. Two different ones could look equal.
fn is_inexact(value: &Value) -> bool {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => number.as_f64().is_none_or(|number| number.abs() >= EXACT_MAX),
        Value::Array(list) => list.iter().any(is_inexact),
        Value::Object(members) => members.values().any(is_inexact),
        _ => false,
    }
}

/// The digest of the entries of one match, whatever their order.
fn digest_of(entries: &[&Value]) -> String {
    let mut form = Vec::new();
    let mut forms: Vec<Vec<u8>> = Vec::with_capacity(entries.len());
    for entry in entries {
        canonical(entry, &mut form);
        forms.push(std::mem::take(&mut form));
    }
    forms.sort_unstable();
    format!("m-{}", hex(&Sha256::digest(forms.join(&b','))[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use serde_json::json;

    fn matches(answer: &Value) -> Option<Vec<Match>> {
        Catalogue::built_in().get("aml-screening").unwrap().answer.matches(answer)
    }

    fn ids(answer: &Value) -> Option<Vec<String>> {
        matches(answer).map(|found| found.into_iter().map(|one| one.id).collect())
    }

    #[test]
    fn a_match_keeps_its_identity_and_its_digest_follows_its_content() {
        let answer = |score: f64| json!({"results": {"match": [{"id": "m1", "score": score}, {"id": 7, "name": "B"}]}});
        let (one, same, other) =
            (matches(&answer(0.9)).unwrap(), matches(&answer(0.90)), matches(&answer(0.8)).unwrap());
        assert_eq!(Some(&one), same.as_ref());
        assert_eq!(ids(&answer(0.9)).unwrap(), ["m1", "7"]);
        assert_eq!((&one[0].id, &one[1]), (&other[0].id, &other[1]));
        assert_ne!(one[0].digest, other[0].digest);
        assert!(one[0].digest.starts_with("m-") && one[0].digest.len() == 34);
    }

    #[test]
    fn a_match_without_an_identity_is_identified_by_its_content() {
        let answer = json!({"results": {"match": [{"name": "A"}, {"id": "", "name": "B"}, {"id": null}, "text", {"id": "x".repeat(201)}]}});
        for one in matches(&answer).unwrap() {
            assert_eq!(one.id, one.digest);
        }
    }

    #[test]
    fn entries_with_one_identity_are_one_match_whatever_their_order() {
        let (a, b) = (json!({"id": 1, "list": "un"}), json!({"id": 1, "list": "eu"}));
        let both = matches(&json!({"results": {"match": [a, b]}})).unwrap();
        assert_eq!((both.len(), both[0].entries.len()), (1, 2));
        assert_eq!(both[0].digest, matches(&json!({"results": {"match": [b, a]}})).unwrap()[0].digest);
        assert_ne!(both[0].digest, matches(&json!({"results": {"match": [a]}})).unwrap()[0].digest);
    }

    #[test]
    fn a_list_that_must_be_there_may_not_be_missing() {
        let media = |payload: Value| {
            let declaration = Catalogue::built_in().get("adverse-media").unwrap().clone();
            declaration.answer.matches(&json!({ "results": payload })).is_some()
        };
        assert!(media(json!({"articles": [{"id": 1}]})) && media(json!({"articles": [], "screening": [{"id": 1}]})));
        assert!(!media(json!({"articles": [{"id": 1}], "screening": null})));
        assert!(
            !media(json!({"screening": [{"id": 1}]})) && !media(json!({"articles": null, "screening": [{"id": 1}]}))
        );
    }

    #[test]
    fn an_answer_that_does_not_show_all_its_matches_has_none_to_decide_about() {
        let one = json!({"id": 1});
        for (payload, is_whole) in [
            (json!({"match": [one]}), true),
            (json!({"match": [one], "totalHits": 1}), true),
            (json!({"match": [], "matches": [one]}), true),
            (json!({"match": [one], "matches": null}), false),
            (json!({"match": [one], "hasMore": false, "next": null}), true),
            (json!({"match": [one], "hasMore": true}), false),
            (json!({"match": [one], "next": "/page/2"}), false),
            (json!({"match": [one], "total": 250}), false),
            // Two such numbers may be read as one.
            (json!({"match": [{"id": 123_456_789_012_345_678_901_234.0}]}), false),
            (json!({"match": [{"id": u64::MAX, "score": 0.5}]}), true),
            (json!({"match": [one], "totalHits": 2}), false),
            (json!({"match": [one], "totalHits": "1"}), false),
            (json!({"match": {"0": one}}), false),
            (json!({"match": [one], "matches": "more"}), false),
            (json!({"match": []}), false),
            (json!({"totalHits": 3}), false),
        ] {
            assert_eq!(ids(&json!({ "results": payload })).is_some(), is_whole, "{payload}");
        }
        let both = json!({"results": {"match": [one], "matches": [{"id": 2}]}});
        assert_eq!(ids(&both).unwrap(), ["1", "2"]);
    }
}
