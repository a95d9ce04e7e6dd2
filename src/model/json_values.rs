//! Counts the values in a JSON text, and says whether it is JSON, without building them. A short text can have very many:
//! in `[0,0,…]` a value takes two bytes as text, and a hundred in memory.

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::fmt;

/// The number of values in a JSON text: every text, number, boolean, null, list and object, including the outermost;
/// names are not values. Counting stops above `max`. For a text that is not JSON the result is meaningless.
pub fn count(text: &str, max: usize) -> usize {
    // A list or an object that is not empty has one value more than commas. So a value begins at the start of the text,
    // after each comma, and after each opening bracket that is not followed by its closing bracket.
    let (mut values, mut in_text, mut opened) = (1, false, false);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_text => _ = bytes.next(),
            b'"' if in_text => in_text = false,
            _ if in_text || byte.is_ascii_whitespace() => {}
            b']' | b'}' => opened = false,
            b',' => values += 1,
            _ => {
                values += usize::from(opened);
                opened = matches!(byte, b'[' | b'{');
                in_text = byte == b'"';
            }
        }
        if values > max {
            break;
        }
    }
    values
}

/// Whether a text is one JSON value, which is nested no deeper than readers of JSON accept: 127 levels.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<Well>(text).is_ok()
}

/// A value that was read and not kept.
struct Well;

impl<'de> Deserialize<'de> for Well {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Well, D::Error> {
        deserializer.deserialize_any(WellVisitor)
    }
}

struct WellVisitor;

impl<'de> Visitor<'de> for WellVisitor {
    type Value = Well;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Well, E> {
        Ok(Well)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Well, E> {
        Ok(Well)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Well, E> {
        Ok(Well)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Well, E> {
        Ok(Well)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Well, E> {
        Ok(Well)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Well, E> {
        Ok(Well)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Well, A::Error> {
        while items.next_element::<Well>()?.is_some() {}
        Ok(Well)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Well, A::Error> {
        while members.next_entry::<IgnoredAny, Well>()?.is_some() {}
        Ok(Well)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn a_text_is_json_if_it_can_be_read_as_a_tree() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let texts = [
            "1",
            "-0.5e3",
            "null",
            "true",
            "\"a\\u00e9\"",
            "[]",
            "{}",
            "[1,{\"a\":[]}]",
            " {\"a\":1,\"a\":2} ",
            "",
            "a",
            "[1,]",
            "{\"a\"}",
            "{1:2}",
            "01",
            "1 2",
            "\"\\ud800\"",
            "1e999",
            "nul",
            "[1",
            "\"a\nb\"",
        ];
        for text in texts.map(str::to_owned).into_iter().chain([127, 128, 5_000].map(deep)) {
            assert_eq!(is_json(&text), serde_json::from_str::<Value>(&text).is_ok(), "{text:.40}");
        }
    }

    /// The same count, on the parsed tree.
    fn in_tree(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(in_tree).sum(),
            Value::Object(members) => members.values().map(in_tree).sum(),
            _ => 0,
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            r#"[ -~é\n\t]{0,8}"#.prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(r#"[ -~]{0,4}"#, inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_are_counted_as_in_the_parsed_tree(value in json()) {
            prop_assert_eq!(count(&value.to_string(), usize::MAX), in_tree(&value));
            prop_assert_eq!(count(&serde_json::to_string_pretty(&value).unwrap(), usize::MAX), in_tree(&value));
        }
    }

    #[test]
    fn empty_lists_and_punctuation_inside_texts_are_not_counted() {
        for (text, values) in [
            ("7", 1),
            ("[]", 1),
            ("{ }", 1),
            ("[[],{}]", 3),
            (r#"{"a,b":"[1,2]","\\":"\"{,"}"#, 3),
            (r#"[{"":0},{"":0}]"#, 5),
        ] {
            assert_eq!(count(text, usize::MAX), values, "{text}");
        }
        assert_eq!(count("[0,0,0,0,0,0]", 3), 4, "counting stops");
    }
}
