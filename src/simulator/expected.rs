//! What the rows of a rehearsal expect of their answers. Without it, almost every row with an expectation would differ
//! from its answer, because the simulator invents people and vehicles: a rehearsal could not show what such a campaign
//! looks like. Most answers of a rehearsal therefore repeat the expected values.
//!
//! The expected values come from the ledger of the rehearsal, never from a request: they are not sent to a service.

use super::{
    check::{Check, ColumnKind},
    digest::Digest,
    order::Order,
    rng::Rng,
};
use serde_json::{Map, Value};
use std::{fmt, sync::Arc};

/// How many of a hundred rows have what they expect.
const AGREEING_OF_HUNDRED: u64 = 95;

/// The expected values by idempotency key.
#[derive(Clone)]
pub struct ExpectedValues(Arc<OfKey>);

type OfKey = dyn Fn(&str) -> Map<String, Value> + Send + Sync;

impl fmt::Debug for ExpectedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExpectedValues")
    }
}

impl ExpectedValues {
    /// The values as a function of the key: by the names that the declaration gives to its expectations.
    pub fn new(of_key: impl Fn(&str) -> Map<String, Value> + Send + Sync + 'static) -> ExpectedValues {
        ExpectedValues(Arc::new(of_key))
    }

    /// What the row of an order expects.
    pub(super) fn of(&self, order: &Order) -> Map<String, Value> {
        order.idempotency_key.as_deref().map(|key| (self.0)(key)).unwrap_or_default()
    }
}

/// Puts what a row expects into the content of its answer, for most rows. The content of the request decides which.
/// Only values that the content has are replaced, and none that decides the verdict.
pub(super) fn put(check: &Check, content: &mut Value, expected: &Map<String, Value>, seed: u64, subject: Digest) {
    // A separate generator, so that expectations do not change what else the seed decides.
    let mut rng = Rng::of(seed.rotate_left(29) ^ 0xe9ec, subject);
    if rng.below(100) >= AGREEING_OF_HUNDRED {
        return;
    }
    for (column, name) in check.expectations() {
        let Some(value) = expected.get(name) else { continue };
        let Some(pointer) = column.pointers.iter().find(|pointer| content.pointer(pointer).is_some()) else { continue };
        let Some(found) = content.pointer_mut(pointer) else { continue };
        let is_stated = !found.is_null() && found.as_str() != Some("");
        if is_stated && column.kind != ColumnKind::Boolean && !is_judged(check, pointer, found) {
            *found = value.clone();
        }
    }
}

/// Whether a rule of the check compares this place with this value.
fn is_judged(check: &Check, pointer: &str, found: &Value) -> bool {
    let name = pointer.rsplit('/').next().unwrap_or_default();
    let Some(text) = found.as_str().map(str::to_lowercase) else { return false };
    let compares = |when: &str| when.contains(name) && when.to_lowercase().contains(&format!("\"{text}\""));
    check.verdict.rules.iter().any(|rule| compares(&rule.when))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Checks;
    use serde_json::json;

    fn expected(values: Value) -> Map<String, Value> {
        values.as_object().cloned().unwrap()
    }

    fn put_into(check: &str, content: &Value, values: Value, row: u128) -> Value {
        let (checks, mut content) = (Checks::built_in(), content.clone());
        put(checks.get(check).unwrap(), &mut content, &expected(values), 1, (row << 40).to_be_bytes());
        content
    }

    #[test]
    fn about_95_of_100_answers_agree_and_always_the_same_ones() {
        let person = json!({"realTimeResults": {"Verification": {"Lastname": "Naidoora"}}});
        let of = |row| put_into("said-verification", &person, json!({"surname": "Nkosi"}), row);
        let agreeing = (0..10_000).filter(|row| of(*row) != person).count();
        assert!((9_400..9_600).contains(&agreeing), "{agreeing}");
        assert!((0..100).all(|row| of(row) == of(row)));
    }

    #[test]
    fn nothing_is_added_to_an_answer_without_the_value_and_no_verdict_is_changed() {
        for (check, content, values) in [
            (
                "said-verification",
                json!({"realTimeResults": {"Status": "ID Number Not Found"}}),
                json!({"surname": "A"}),
            ),
            ("cipc-company", json!({"company_status": "Final Deregistration"}), json!({"status": "In Business"})),
            ("licence-disc", json!({"expired": true}), json!({"expired": false})),
        ] {
            assert!((0..200).all(|row| put_into(check, &content, values.clone(), row) == content), "{check}");
        }
    }
}
