//! What in a declaration is assumed and not documented, part by part, and the limits of a field in words. `rescreen
//! checks` and the generated page show them.

use super::{Declaration, FieldSpec, VerdictRule};
use crate::model::{
    field::{FieldKind, LetterCase},
    nearest::hint,
};
use serde_json::Value;

/// The parts of a declaration that `assumed_parts` can name, besides `fixed.NAME`.
const PARTS: [&str; 10] = [
    "flow",
    "key_life_hours",
    "routes.guide",
    "routes.alternate",
    "cached_failure",
    "rules",
    "answer.payload",
    "answer.compared",
    "answer.volatile",
    "answer.matches",
];
/// The parts of a field that its `assumed_parts` can name.
const FIELD_PARTS: [&str; 8] =
    ["required", "kind", "allowed", "choices", "digits", "length_max", "letter_case", "default"];

/// The values of a field that are listed.
const LISTED_MAX: usize = 20;

impl Declaration {
    /// Whether a part is assumed, such as `routes.guide`.
    pub fn is_assumed(&self, part: &str) -> bool {
        self.assumed_parts.iter().any(|known| known == part)
    }

    /// Whether a verdict rule is assumed.
    pub fn is_rule_assumed(&self, rule: &VerdictRule) -> bool {
        rule.assumed || self.verdict.assumed
    }
}

/// A limit of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Such as `at most 500 characters`.
    pub text: String,
    pub assumed: bool,
}

impl FieldSpec {
    /// Whether a part is assumed, such as `required`.
    pub fn is_assumed(&self, part: &str) -> bool {
        self.assumed_parts.iter().any(|known| known == part)
    }

    /// All values that it can have, as a user writes them; empty if they are not a closed set.
    pub fn closed_values(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match (&self.choices, self.kind) {
            _ if !self.allowed.is_empty() => self.allowed.iter().map(text).collect(),
            (Some(choices), _) => choices.texts.clone(),
            (None, FieldKind::Boolean) => vec!["true".to_owned(), "false".to_owned()],
            (None, _) => Vec::new(),
        }
    }

    fn allowed_in_words(&self) -> String {
        let values = self.closed_values();
        match values.len() {
            0..=LISTED_MAX => format!("one of {}", values.join(", ")),
            count => format!("one of {count} values, such as {}", values[..3].join(", ")),
        }
    }

    /// The limits of its value, in words.
    pub fn limits(&self) -> Vec<Limit> {
        let limit = |part: &str, text: String| Limit { text, assumed: self.is_assumed(part) };
        let digits = self.digits.map(|digits| limit("digits", digits.to_string()));
        let length = self.length_max.map(|most| limit("length_max", format!("at most {most} characters")));
        let choices = self.choices.as_ref().map(|_| limit("choices", self.choices_in_words()));
        // With names, the text of the field explains its values.
        let allowed = (!self.allowed.is_empty() && self.names.is_empty() && self.kind != FieldKind::Boolean)
            .then(|| limit("allowed", self.allowed_in_words()));
        let letter_case = match self.letter_case {
            LetterCase::AsIs => None,
            LetterCase::Lower => Some("sent in lower case"),
            LetterCase::Upper => Some("sent in upper case"),
        };
        let letter_case = letter_case.map(|text| limit("letter_case", text.to_owned()));
        digits.into_iter().chain(length).chain(choices).chain(allowed).chain(letter_case).collect()
    }
}

/// Checks that `assumed_parts` names parts that exist.
pub(super) fn check_marks(declaration: &Declaration) -> Result<(), String> {
    for part in &declaration.assumed_parts {
        let fixed = part.strip_prefix("fixed.");
        let exists = match fixed {
            Some(name) => declaration.fixed.contains_key(name),
            None => PARTS.contains(&part.as_str()),
        };
        if !exists {
            let known: Vec<String> = declaration.fixed.keys().map(|name| format!("fixed.{name}")).collect();
            let hint = hint(part, PARTS.into_iter().chain(known.iter().map(String::as_str)));
            return Err(format!("assumed_parts: expected a part of the declaration, found `{part}`{hint}"));
        }
    }
    for field in &declaration.fields {
        if let Some(part) = field.assumed_parts.iter().find(|part| !FIELD_PARTS.contains(&part.as_str())) {
            let (name, hint) = (&field.name, hint(part, FIELD_PARTS));
            return Err(format!("field `{name}`, assumed_parts: expected a part of the field, found `{part}`{hint}"));
        }
    }
    Ok(())
}
