//! `docs/rescreen.schema.json`, and a check of JSON against it. It knows the keywords that the schema uses, and a keyword
//! that it does not know fails, so that no part of the schema is ignored.

use serde_json::{Map, Value};
use std::{fs, path::Path};

/// The schema of everything that `--json` prints.
pub fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rescreen.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Expects a text to be one object that the schema allows.
#[track_caller]
pub fn valid(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(value.is_object() && text.trim_end().lines().count() == 1, "one object on one line: {text}");
    assert_eq!(value.as_object().unwrap().keys().next().unwrap(), "format");
    let faults = faults(&value);
    assert!(faults.is_empty(), "{faults:#?}\n{value:#}");
    value
}

/// What the schema does not allow in a value.
pub fn faults(value: &Value) -> Vec<String> {
    let schema = schema();
    let mut faults = Vec::new();
    check(&schema, &schema, value, "", &mut faults);
    faults
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else { panic!("{at}: expected a schema, found {schema}") };
    for (keyword, rule) in rules {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "properties" => {}
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                if !types.iter().any(|name| is_of_type(value, name.as_str().unwrap())) {
                    faults.push(format!("{at}: expected {rule}, found {value}"));
                }
            }
            "const" if value != rule => faults.push(format!("{at}: expected {rule}, found {value}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                faults.push(format!("{at}: {value} is not in {rule}"))
            }
            "const" | "enum" => {}
            "minimum" if value.as_f64().is_some_and(|number| number < rule.as_f64().unwrap()) => {
                faults.push(format!("{at}: {value} is below {rule}"))
            }
            "maximum" if value.as_f64().is_some_and(|number| number > rule.as_f64().unwrap()) => {
                faults.push(format!("{at}: {value} is above {rule}"))
            }
            "minimum" | "maximum" => {}
            "format" => {
                assert_eq!(rule, "date-time");
                if value.as_str().is_some_and(|text| !text.ends_with('Z') || text.parse::<jiff::Timestamp>().is_err()) {
                    faults.push(format!("{at}: {value} is not a time in UTC"));
                }
            }
            "required" => {
                let Some(object) = value.as_object() else { continue };
                for name in rule.as_array().unwrap() {
                    if !object.contains_key(name.as_str().unwrap()) {
                        faults.push(format!("{at}: {name} is missing"));
                    }
                }
            }
            "additionalProperties" => {
                let (Some(object), empty) = (value.as_object(), Map::new()) else { continue };
                let known = rules.get("properties").map_or(&empty, |known| known.as_object().unwrap());
                for (name, value) in object {
                    match (known.get(name), rule) {
                        (Some(_), _) => {}
                        (None, Value::Bool(false)) => faults.push(format!("{at}: `{name}` is not in the schema")),
                        (None, rule) => check(root, rule, value, &format!("{at}/{name}"), faults),
                    }
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}/{index}"), faults);
                }
            }
            "$ref" => check(root, target(root, rule), value, at, faults),
            "anyOf" | "oneOf" => {
                let all: Vec<Vec<String>> =
                    rule.as_array().unwrap().iter().map(|one| faults_of(root, one, value, at)).collect();
                let fitting = all.iter().filter(|faults| faults.is_empty()).count();
                if fitting == 0 {
                    // The nearest one says most about the fault.
                    faults.extend(all.into_iter().min_by_key(Vec::len).unwrap());
                } else if keyword == "oneOf" && fitting > 1 {
                    faults.push(format!("{at}: {fitting} of `oneOf` fit"));
                }
            }
            other => panic!("the check does not know the keyword `{other}`"),
        }
    }
    let properties = rules.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (name, rule) in properties {
        if let Some(value) = value.get(name) {
            check(root, rule, value, &format!("{at}/{name}"), faults);
        }
    }
}

fn faults_of(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut faults = Vec::new();
    check(root, schema, value, at, &mut faults);
    faults
}

fn target<'a>(root: &'a Value, reference: &Value) -> &'a Value {
    let pointer = reference.as_str().unwrap().strip_prefix('#').expect("a reference inside the schema");
    root.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"))
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("the check does not know the type `{other}`"),
    }
}
