//! Lossless JSON objects: a number whose text would change if it were parsed (`1.10`, `1e5`, twenty digits) is kept as
//! text. Duplicate names, strings with NUL and deep nesting are refused, because the service would receive something
//! other than what is in the input.

use super::NAME_RESERVED;
use crate::{
    model::{Failure, FailureCode, json_values},
    source::{COLUMNS_MAX, FIELD_BYTES_MAX, JSON_DEPTH_MAX, JSON_VALUES_MAX},
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Number, Value, error::Category, value::RawValue};
use std::fmt;

/// An object, and the number of values in it.
#[derive(Debug)]
pub struct ExactRow {
    pub row: Map<String, Value>,
    pub values: usize,
}

/// Parses the object on a line.
pub fn parse(line: &str, line_number: u64) -> Result<ExactRow, Failure> {
    let text = Text { line, line_number };
    // Counted before anything is built, because a short text can take a lot of memory.
    let values = json_values::count(line, JSON_VALUES_MAX);
    if values > JSON_VALUES_MAX {
        let message = format!(
            "line {line_number}: expected at most {JSON_VALUES_MAX} values in a row, found more; split the row, or \
             remove values that no field uses"
        );
        return Err(Failure::read(FailureCode::RowTooLarge, message));
    }
    let raw: &RawValue = serde_json::from_str(line).map_err(|fault| text.invalid(line, &fault))?;
    let kind = match raw.get().as_bytes()[0] {
        b'{' => return text.row(raw).map(|row| ExactRow { row, values }),
        b'[' => "a list",
        b'"' => "text",
        b't' | b'f' => "a boolean",
        b'n' => "null",
        _ => "a number",
    };
    Err(Failure::read(FailureCode::NotAnObject, format!("expected one JSON object on the line, found {kind}")))
}

/// The line that contains all parts of the object.
struct Text<'a> {
    line: &'a str,
    line_number: u64,
}

impl<'a> Text<'a> {
    fn row(&self, raw: &'a RawValue) -> Result<Map<String, Value>, Failure> {
        let members = self.members(raw)?;
        if members.len() > COLUMNS_MAX {
            let message = format!("expected at most {COLUMNS_MAX} columns, found {}", members.len());
            return Err(Failure::read(FailureCode::RowTooLarge, message));
        }
        let mut row = Map::new();
        for (name, raw) in members {
            let bytes = raw.get().len();
            if bytes > FIELD_BYTES_MAX {
                let message = format!("column `{name}`: expected at most 1 MiB, found {bytes} bytes");
                return Err(Failure::read(FailureCode::FieldTooLarge, message));
            }
            let value = self.value(raw, 1, &name)?;
            self.insert(&mut row, name, value)?;
        }
        Ok(row)
    }

    fn value(&self, raw: &'a RawValue, depth: usize, column: &str) -> Result<Value, Failure> {
        let text = raw.get();
        let first = text.as_bytes()[0];
        if matches!(first, b'{' | b'[') && depth == JSON_DEPTH_MAX {
            let message = format!("column `{column}`: expected at most {JSON_DEPTH_MAX} levels of nesting, found more");
            return Err(Failure::read(FailureCode::InvalidJson, message));
        }
        Ok(match first {
            b'{' => {
                let members = self.members(raw)?;
                // The exact capacity, because many small objects would otherwise take three times as much memory.
                let mut map = Map::with_capacity(members.len());
                for (name, raw) in members {
                    let value = self.value(raw, depth + 1, column)?;
                    self.insert(&mut map, name, value)?;
                }
                Value::Object(map)
            }
            b'[' => {
                let items: Vec<&RawValue> = self.read(text)?;
                let mut values = Vec::with_capacity(items.len());
                for raw in items {
                    values.push(self.value(raw, depth + 1, column)?);
                }
                Value::Array(values)
            }
            b'"' => Value::String(self.without_nul(self.read(text)?, column)?),
            b't' => Value::Bool(true),
            b'f' => Value::Bool(false),
            b'n' => Value::Null,
            _ => match text.parse::<Number>() {
                Ok(number) if number.to_string() == text => Value::Number(number),
                _ => Value::String(text.to_owned()),
            },
        })
    }

    fn members(&self, raw: &'a RawValue) -> Result<Vec<(String, &'a RawValue)>, Failure> {
        self.read::<Members<'a>>(raw.get()).map(|members| members.0)
    }

    fn insert(&self, map: &mut Map<String, Value>, name: String, value: Value) -> Result<(), Failure> {
        let name = self.without_nul(name, "")?;
        if name.starts_with(NAME_RESERVED) {
            let message =
                format!("line {}: expected a name, found one reserved by serde_json; rename it", self.line_number);
            return Err(Failure::read(FailureCode::InvalidJson, message));
        }
        if map.contains_key(&name) {
            let message =
                format!("line {}: expected unique names, found `{name}` twice in one object", self.line_number);
            return Err(Failure::read(FailureCode::InvalidJson, message));
        }
        map.insert(name, value);
        Ok(())
    }

    fn without_nul(&self, text: String, column: &str) -> Result<String, Failure> {
        if !text.contains('\0') {
            return Ok(text);
        }
        Err(Failure::read(
            FailureCode::NulByte,
            if column.is_empty() {
                "expected a column name, found one that contains NUL".to_owned()
            } else {
                format!("column `{column}`: expected text, found text that contains NUL")
            },
        ))
    }

    fn read<T: Deserialize<'a>>(&self, part: &'a str) -> Result<T, Failure> {
        serde_json::from_str(part).map_err(|fault| self.invalid(part, &fault))
    }

    /// The position and the kind of the fault, never the text there.
    fn invalid(&self, part: &str, fault: &serde_json::Error) -> Failure {
        let column = part.as_ptr().addr() - self.line.as_ptr().addr() + fault.column();
        let said = fault.to_string();
        let said = match fault.classify() {
            Category::Data => "invalid JSON",
            _ => said.split(" at line ").next().unwrap_or("invalid JSON"),
        };
        let message =
            format!("line {}, column {column}: expected a JSON object; the JSON is invalid: {said}", self.line_number);
        Failure::read(FailureCode::InvalidJson, message)
    }
}

/// The members of an object in order, with the text of each value.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fault(line: &str) -> (FailureCode, String) {
        let failure = parse(line, 7).unwrap_err();
        (failure.code, failure.message)
    }

    #[test]
    fn a_number_whose_text_would_change_stays_text() {
        let line = r#"{"a":42,"b":12345678901234567890123,"c":1.10,"d":1e5,"e":-0,"f":1.5,"g":[7e0],"h":-7}"#;
        let row = parse(line, 1).map(|exact| exact.row);
        let expected = json!({"a": 42, "b": "12345678901234567890123", "c": "1.10", "d": "1e5", "e": "-0", "f": 1.5,
            "g": ["7e0"], "h": -7});
        assert_eq!(Value::Object(row.unwrap()), expected);
        assert_eq!(parse(r#"{"n":1e400}"#, 1).unwrap().row["n"], json!("1e400"));
    }

    #[test]
    fn members_keep_their_order() {
        let row = parse(r#" { "z": {"y": null, "b": [true, "x"]}, "a": "0012" } "#, 1).unwrap().row;
        assert_eq!(Value::Object(row).to_string(), r#"{"z":{"y":null,"b":[true,"x"]},"a":"0012"}"#);
    }

    #[test]
    fn a_fault_names_its_place_and_never_its_content() {
        let (code, message) = fault(r#"{"name": "Thandi" "x"}"#);
        assert_eq!(code, FailureCode::InvalidJson);
        assert_eq!(message, "line 7, column 19: expected a JSON object; the JSON is invalid: expected `,` or `}`");
        let (_, message) = fault(r#"{"a": "b", "name": "Thandi \ud800"}"#);
        assert!(message.starts_with("line 7, column ") && !message.contains("Thandi"), "{message}");
    }

    #[test]
    fn the_kind_of_a_value_that_is_not_an_object_is_named() {
        assert_eq!(fault("[1]").1, "expected one JSON object on the line, found a list");
        assert_eq!(fault("12").0, FailureCode::NotAnObject);
    }

    #[test]
    fn a_duplicate_name_is_refused_at_every_level() {
        assert!(fault(r#"{"id":1,"id":1}"#).1.contains("found `id` twice"));
        assert!(fault(r#"{"a":[{"id":1,"\u0069d":2}]}"#).1.contains("found `id` twice"));
    }

    #[test]
    fn a_name_that_json_reads_as_something_else_is_refused_at_every_level() {
        assert!(fault(r#"{"$serde_json::private::RawValue":"1"}"#).1.contains("reserved by serde_json"));
        assert_eq!(fault(r#"{"a":[{"\u0024serde_json::private::RawValue":"["}]}"#).0, FailureCode::InvalidJson);
    }

    #[test]
    fn a_nul_is_refused_in_text_and_in_names() {
        assert_eq!(fault(r#"{"a":{"b":"x\u0000"}}"#), {
            (FailureCode::NulByte, "column `a`: expected text, found text that contains NUL".to_owned())
        });
        assert_eq!(fault(r#"{"a\u0000":1}"#).0, FailureCode::NulByte);
    }

    #[test]
    fn sixty_four_levels_are_read_and_one_more_is_not() {
        let nested = |levels: usize| format!("{{\"a\":{}1{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        assert!(parse(&nested(64), 1).is_ok());
        assert!(fault(&nested(65)).1.contains("at most 64 levels"));
        assert_eq!(fault(&"{\"a\":".repeat(99_000)).0, FailureCode::InvalidJson);
    }

    #[test]
    fn a_row_of_100_000_values_is_read_and_one_more_is_a_failure_of_the_row() {
        let of = |values: usize| format!("{{\"a\":[{}]}}", vec!["0"; values - 2].join(","));
        assert_eq!(parse(&of(JSON_VALUES_MAX), 1).unwrap().values, JSON_VALUES_MAX);
        let (code, message) = fault(&of(JSON_VALUES_MAX + 1));
        assert_eq!(code, FailureCode::RowTooLarge);
        assert!(message.starts_with("line 7: expected at most 100000 values in a row, found more"), "{message}");
        assert_eq!(fault(&"{\"a\":".repeat(100_001)).0, FailureCode::RowTooLarge);
    }

    #[test]
    fn a_value_of_one_mebibyte_is_read_and_one_byte_more_is_not() {
        let of = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 2));
        assert!(parse(&of(FIELD_BYTES_MAX), 1).is_ok());
        assert_eq!(fault(&of(FIELD_BYTES_MAX + 1)).0, FailureCode::FieldTooLarge);
    }
}
