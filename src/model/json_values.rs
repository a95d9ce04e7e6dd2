//! How many values a JSON text has, counted without building any of them. A short text can have very many: `[0,0,…]` takes
//! two bytes a value, and in memory a value takes a hundred.

/// The values of a JSON text: every text, number, boolean, null, list and object, the outermost counted; names are not
/// values. Counting stops above `max`. For a text that is not JSON the result means nothing.
pub fn count(text: &str, max: usize) -> usize {
    // A list or an object has one value more than commas, unless it is empty: so a value begins at the start of the text,
    // after each comma, and after each bracket that anything but its own end follows.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    /// The same, of the finished tree.
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
    fn empty_lists_count_once_and_punctuation_inside_strings_is_not_counted() {
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
