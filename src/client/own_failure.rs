//! Whether a reply says in its own fields that it failed. `success` and `error` are those of the service's API description.

use serde_json::Value;

/// Whether an answer reports a failure in its own fields: `success` is false, or `error` is set.
pub fn calls_itself_a_failure(answer: &Value) -> bool {
    denies_success(answer) || has_error(answer)
}

/// Whether `success` is false.
pub(super) fn denies_success(answer: &Value) -> bool {
    match answer.get("success") {
        Some(Value::Bool(truth)) => !truth,
        Some(Value::Number(number)) => number.as_f64() == Some(0.0),
        Some(Value::String(text)) => ["false", "no", "0"].iter().any(|no| text.trim().eq_ignore_ascii_case(no)),
        _ => false,
    }
}

/// Whether there is an `error` that says something: `false`, an empty one, and one of nothing but nulls say nothing.
pub fn has_error(answer: &Value) -> bool {
    match answer.get("error") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::Object(members)) => !members.values().all(Value::is_null),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_error_is_none() {
        for error in [json!(null), json!(false), json!(""), json!(" "), json!([]), json!({}), json!({"code": null})] {
            assert!(!calls_itself_a_failure(&json!({"error": error})), "{error}");
        }
        for error in [json!(true), json!("x"), json!(["x"]), json!({"code": "x"}), json!(7)] {
            assert!(calls_itself_a_failure(&json!({"error": error})), "{error}");
        }
        for no in [json!(false), json!(0), json!("False"), json!("no")] {
            assert!(calls_itself_a_failure(&json!({"success": no})), "{no}");
        }
        assert!(!calls_itself_a_failure(&json!({"success": true})) && !calls_itself_a_failure(&json!({})));
    }
}
