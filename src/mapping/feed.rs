//! The source of a field as a user writes it: a column, a template or a constant. Plain text is a column, text with
//! `{{` or `{%` is a template, and a constant is written `{ value = … }`.

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;
use std::fmt;

/// Where a field's value comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldSource {
    /// A column by name, case-insensitive, with every run of whitespace as one space.
    Column(String),
    /// A MiniJinja template over the row.
    Template(String),
    /// The same value for every row.
    Constant(Value),
}

impl From<&str> for FieldSource {
    fn from(text: &str) -> FieldSource {
        if text.contains("{{") || text.contains("{%") {
            FieldSource::Template(text.to_owned())
        } else {
            FieldSource::Column(text.to_owned())
        }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Constant {
    value: Value,
}

impl Serialize for FieldSource {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FieldSource::Column(text) | FieldSource::Template(text) => serializer.serialize_str(text),
            FieldSource::Constant(value) => Constant { value: value.clone() }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for FieldSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FieldSource, D::Error> {
        deserializer.deserialize_any(FieldSourceVisitor)
    }
}

struct FieldSourceVisitor;

impl<'de> Visitor<'de> for FieldSourceVisitor {
    type Value = FieldSource;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a column's name, a template with `{{`, or a constant such as `{ value = 0 }`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<FieldSource, E> {
        Ok(FieldSource::from(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FieldSource, A::Error> {
        let constant = Constant::deserialize(MapAccessDeserializer::new(map))?;
        match constant.value {
            Value::String(_) | Value::Number(_) | Value::Bool(_) => Ok(FieldSource::Constant(constant.value)),
            _ => Err(A::Error::custom("a constant is a text, a number or a boolean")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_a_column_braces_make_a_template_and_a_table_a_constant() {
        let read = |value: Value| serde_json::from_value::<FieldSource>(value);
        assert_eq!(read(json!("Full Name")).unwrap(), FieldSource::Column("Full Name".into()));
        assert_eq!(read(json!("{{ a }}")).unwrap(), FieldSource::Template("{{ a }}".into()));
        assert_eq!(read(json!("{% if a %}b{% endif %}")).unwrap(), FieldSource::from("{% if a %}b{% endif %}"));
        assert_eq!(read(json!({"value": 0})).unwrap(), FieldSource::Constant(json!(0)));
    }

    #[test]
    fn anything_else_says_what_was_expected() {
        let message = |text: &str| toml::from_str::<std::collections::BTreeMap<String, FieldSource>>(text).unwrap_err();
        assert!(message("entity = 0").to_string().contains("a constant such as `{ value = 0 }`"));
        assert!(message("entity = { vlaue = 0 }").to_string().contains("unknown field `vlaue`"));
        assert!(message("entity = { value = [0] }").to_string().contains("a text, a number or a boolean"));
    }
}
