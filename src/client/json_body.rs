//! Parses a reply's body as JSON, in one pass. It limits values and depth before memory is spent on them, and detects
//! duplicate names in an object. Most JSON parsers keep the last of two values, and it is unclear which one is right.

use crate::model::{json_numbers, reply_text::reply_text};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::{cell::Cell, fmt, sync::Arc};

/// The most values in one document. A real answer has hundreds.
const VALUES_MAX: usize = 100_000;
/// The deepest nesting of arrays and objects.
const DEPTH_MAX: usize = 64;

/// A parsed JSON document, and what is doubtful about its text.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonBody {
    pub value: Arc<Value>,
    /// An object has a duplicate name.
    pub duplicate_names: bool,
    /// Characters were lost in decoding.
    pub wrong_encoding: bool,
    /// A number is not one, such as `NaN`, or is beyond the range of a float. In its place is its text.
    pub unreadable_numbers: bool,
}

/// Parses a body. `None` if it is not a single JSON document within the limits.
pub fn json_body(bytes: &[u8]) -> Option<JsonBody> {
    let (text, wrong_encoding) = reply_text(bytes);
    let strict = document(&text).map(|(value, duplicate_names)| (value, duplicate_names, false));
    let (value, duplicate_names, unreadable_numbers) = strict.or_else(|| {
        let (value, duplicate_names) = document(&json_numbers::quoted(&text)?)?;
        // A number alone says nothing, so it is not worth a doubt.
        (!value.is_string()).then_some((value, duplicate_names, true))
    })?;
    Some(JsonBody { value: Arc::new(value), duplicate_names, wrong_encoding, unreadable_numbers })
}

/// The value of a JSON text, and whether an object in it has a duplicate name.
fn document(text: &str) -> Option<(Value, bool)> {
    let reading = JsonCount { values_left: Cell::new(VALUES_MAX), duplicate_names: Cell::new(false) };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Node { reading: &reading, depth: 0 }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some((value, reading.duplicate_names.get()))
}

/// The counters of one pass.
struct JsonCount {
    values_left: Cell<usize>,
    duplicate_names: Cell<bool>,
}

/// One value of the document, at its depth.
#[derive(Clone, Copy)]
struct Node<'a> {
    reading: &'a JsonCount,
    depth: usize,
}

impl Node<'_> {
    fn inside<E: Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH_MAX {
            return Err(E::custom("too deep"));
        }
        Ok(Node { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.reading.values_left.get().checked_sub(1).ok_or_else(|| D::Error::custom("too many values"))?;
        self.reading.values_left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let item = self.inside()?;
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(item)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let member = self.inside()?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(member)?;
            if object.insert(name, value).is_some() {
                self.reading.duplicate_names.set(true);
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(text: &str) -> Option<Value> {
        json_body(text.as_bytes()).map(|body| Value::clone(&body.value))
    }

    #[test]
    fn a_document_is_read_as_serde_json_reads_it() {
        for text in [r#"{"a": [1, -2, 2.5, "x", null, true], "b": {}}"#, "[]", "7", "\"text\"", "null"] {
            assert_eq!(value(text), serde_json::from_str(text).ok(), "{text}");
        }
        for text in ["", "{", "{} {}", "NaN", "1e999", "<html>", "{NaN: 1}", r#"{"a"}"#] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn a_duplicate_name_is_noticed_at_any_depth() {
        let twice = |text: &str| json_body(text.as_bytes()).unwrap().duplicate_names;
        assert!(twice(r#"{"results": {"match": [1]}, "results": {"match": []}}"#));
        assert!(twice(r#"{"a": [{"b": 1, "\u0062": 2}]}"#));
        assert!(!twice(r#"{"a": {"b": 1}, "c": {"b": 1}}"#));
    }

    #[test]
    fn a_number_that_cannot_be_read_is_kept_as_its_text_and_reported() {
        let body = json_body(br#"{"a": NaN, "b": [1e999, -Infinity], "c": "NaN", "d": 1.5}"#).unwrap();
        assert_eq!(*body.value, json!({"a": "NaN", "b": ["1e999", "-Infinity"], "c": "NaN", "d": 1.5}));
        assert!(body.unreadable_numbers && !body.duplicate_names && !body.wrong_encoding);
        assert!(!json_body(br#"{"a": "NaN", "b": 1e308}"#).unwrap().unreadable_numbers);
        assert!(json_body(br#"{"a": NaN, "a": 1}"#).unwrap().duplicate_names);
    }

    #[test]
    fn lost_characters_are_reported() {
        let body = json_body(b"{\"a\": \"\xe9\"}").unwrap();
        assert_eq!((&*body.value, body.wrong_encoding), (&json!({"a": "\u{fffd}"}), true));
    }

    #[test]
    fn values_and_depth_are_read_up_to_the_limit_and_not_beyond() {
        let list = |values: usize| format!("[{}]", vec!["1"; values - 1].join(","));
        assert!(value(&list(VALUES_MAX)).is_some());
        assert!(value(&list(VALUES_MAX + 1)).is_none());
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(value(&nested(DEPTH_MAX)).is_some());
        assert!(value(&nested(DEPTH_MAX + 1)).is_none());
    }
}
