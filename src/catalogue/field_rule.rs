//! Rules between the fields of one request, as a declaration has them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A rule between fields of one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum FieldRule {
    /// Either all of these fields or none of them.
    Together(Vec<String>),
    /// At least one of these fields.
    OneOf(Vec<String>),
    /// At most one of these fields, which are forms of the same value.
    AtMostOne(Vec<String>),
}

impl FieldRule {
    /// The fields that the rule applies to.
    pub fn fields(&self) -> &[String] {
        match self {
            FieldRule::Together(fields) | FieldRule::OneOf(fields) | FieldRule::AtMostOne(fields) => fields,
        }
    }

    /// Checks whether the given fields satisfy the rule.
    ///
    /// # Errors
    /// What was expected.
    pub fn check(&self, given: &Map<String, Value>) -> Result<(), String> {
        let count = self.fields().iter().filter(|field| given.contains_key(*field)).count();
        match self {
            FieldRule::Together(fields) if count != 0 && count != fields.len() => {
                Err(format!("expected all of {} or none of them, found only some", fields.join(", ")))
            }
            FieldRule::OneOf(fields) if count == 0 => {
                Err(format!("expected at least one of {}, found none", fields.join(", ")))
            }
            FieldRule::AtMostOne(fields) if count > 1 => Err(format!(
                "expected at most one of {}, found {count}; they are forms of the same value: map one of them",
                fields.join(", ")
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn two_forms_of_one_value_are_refused_by_name() {
        let rule = FieldRule::AtMostOne(vec!["image".to_owned(), "image_base64".to_owned()]);
        let check = |given: Value| rule.check(given.as_object().unwrap());
        assert_eq!((check(json!({})), check(json!({"image": "a"}))), (Ok(()), Ok(())));
        let fault = check(json!({"image": "a", "image_base64": "b"})).unwrap_err();
        assert!(fault.contains("at most one of image, image_base64, found 2"), "{fault}");
    }
}
