//! Reads an answer by its declaration: finds the payload and the value of each typed column. A value whose type differs
//! from the declaration is null in its column; the raw answer is always kept.

use super::declaration::{AnswerSpec, ColumnKind, ColumnSpec};
use serde_json::Value;

/// A typed value of a result column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValue {
    Null,
    Text(String),
    Integer(i64),
    Number(f64),
    Boolean(bool),
    Date(jiff::civil::Date),
}

impl AnswerSpec {
    /// The part of an answer that columns and rules read: the first payload pointer that is present and not null.
    pub fn payload<'a>(&self, answer: &'a Value) -> Option<&'a Value> {
        payload_at(&self.payload, answer)
    }
}

/// The value at the first of these JSON pointers that is present and not null.
pub fn payload_at<'a>(pointers: &[String], answer: &'a Value) -> Option<&'a Value> {
    pointers.iter().find_map(|pointer| answer.pointer(pointer).filter(|found| !found.is_null()))
}

impl ColumnSpec {
    /// The column's value in a payload.
    pub fn read(&self, payload: &Value) -> ColumnValue {
        let Some(found) = self.pointers.iter().find_map(|pointer| payload.pointer(pointer)) else {
            return ColumnValue::Null;
        };
        match (self.kind, found) {
            (_, Value::Null) => ColumnValue::Null,
            (ColumnKind::Json, found) => ColumnValue::Text(found.to_string()),
            (ColumnKind::Text, Value::String(text)) => ColumnValue::Text(text.clone()),
            (ColumnKind::Text, found @ (Value::Number(_) | Value::Bool(_))) => ColumnValue::Text(found.to_string()),
            (ColumnKind::Count, Value::Array(list)) => ColumnValue::Integer(list.len() as i64),
            (ColumnKind::Integer | ColumnKind::Count, found) => {
                whole(found).map_or(ColumnValue::Null, ColumnValue::Integer)
            }
            (ColumnKind::Number, found) => number(found).map_or(ColumnValue::Null, ColumnValue::Number),
            (ColumnKind::Boolean, Value::Bool(truth)) => ColumnValue::Boolean(*truth),
            (ColumnKind::Date, Value::String(text)) => text.parse().map_or(ColumnValue::Null, ColumnValue::Date),
            (ColumnKind::Text | ColumnKind::Boolean | ColumnKind::Date, _) => ColumnValue::Null,
        }
    }
}

fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn column(kind: ColumnKind, pointer: &str) -> ColumnSpec {
        ColumnSpec { name: "c".into(), pointers: vec![pointer.into()], kind, assumed: false, expect: None }
    }

    #[test]
    fn both_envelopes_lead_to_the_payload() {
        let spec = AnswerSpec { payload: vec!["/results".into(), "/data".into()], columns: vec![] };
        assert_eq!(spec.payload(&json!({"results": {"a": 1}})), Some(&json!({"a": 1})));
        assert_eq!(spec.payload(&json!({"data": {"a": 2}, "meta": {}})), Some(&json!({"a": 2})));
        assert_eq!(spec.payload(&json!({"results": null})), None);
    }

    #[test]
    fn a_value_of_another_type_is_null_and_a_list_is_counted() {
        let payload = json!({"n": "x", "list": [1, 2], "day": "2026-02-30", "big": "12"});
        assert_eq!(column(ColumnKind::Integer, "/n").read(&payload), ColumnValue::Null);
        assert_eq!(column(ColumnKind::Count, "/list").read(&payload), ColumnValue::Integer(2));
        assert_eq!(column(ColumnKind::Date, "/day").read(&payload), ColumnValue::Null);
        assert_eq!(column(ColumnKind::Integer, "/big").read(&payload), ColumnValue::Integer(12));
        assert_eq!(column(ColumnKind::Text, "/absent").read(&payload), ColumnValue::Null);
    }
}
