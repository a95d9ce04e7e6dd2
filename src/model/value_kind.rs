//! The type of a column of the input. CSV has only text; JSON and Parquet also have numbers and booleans. This module
//! decides which type all values of a column have, and whether a value fits a type without losing anything.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// The most decimal digits that a number of 64 bits of floating point has.
const DIGITS_MAX: usize = 767;

/// The type of a column of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueKind {
    Text,
    /// 64 bits, signed.
    Integer,
    /// 64 bits, floating point.
    Number,
    Boolean,
}

/// A value in its type.
#[derive(Clone, PartialEq)]
pub enum TypedValue {
    Text(String),
    Integer(i64),
    Number(f64),
    Boolean(bool),
}

/// What the values of a column have in common, as far as they were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeenValues {
    kind: Option<ValueKind>,
    /// A text such as `1.10`. The reader of JSON keeps a number as text if its digits would change. So it may have been
    /// a number, if the column has other numbers.
    has_digits: bool,
}

impl ValueKind {
    /// The word in the campaign file.
    pub fn as_str(self) -> &'static str {
        match self {
            ValueKind::Text => "text",
            ValueKind::Integer => "integer",
            ValueKind::Number => "number",
            ValueKind::Boolean => "boolean",
        }
    }

    /// With its article, for messages.
    pub fn with_article(self) -> &'static str {
        match self {
            ValueKind::Text => "a text",
            ValueKind::Integer => "a whole number",
            ValueKind::Number => "a number",
            ValueKind::Boolean => "true or false",
        }
    }

    /// The type that has all values of both.
    pub fn joined(self, other: ValueKind) -> ValueKind {
        match (self, other) {
            (one, same) if one == same => one,
            (ValueKind::Integer | ValueKind::Number, ValueKind::Integer | ValueKind::Number) => ValueKind::Number,
            _ => ValueKind::Text,
        }
    }

    /// A value in this type; `None` if it does not fit, or would lose digits.
    pub fn read(self, value: &Value) -> Option<TypedValue> {
        match self {
            ValueKind::Text => Some(TypedValue::Text(match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })),
            ValueKind::Integer => match value {
                Value::Number(number) => number.as_i64(),
                Value::String(text) => text.trim().parse().ok(),
                _ => None,
            }
            .map(TypedValue::Integer),
            ValueKind::Number => match value {
                // The reader of JSON keeps a number as text if its digits would change.
                Value::Number(number) if number.is_f64() => number.as_f64(),
                Value::Number(number) => exact(&number.to_string()),
                Value::String(text) => exact(text.trim()),
                _ => None,
            }
            .map(TypedValue::Number),
            ValueKind::Boolean => match value {
                Value::Bool(truth) => Some(*truth),
                Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
                _ => None,
            }
            .map(TypedValue::Boolean),
        }
    }
}

impl SeenValues {
    /// Adds a value. A null says nothing about the type.
    pub fn add(&mut self, value: &Value) {
        let kind = match value {
            Value::Null => return,
            Value::Bool(_) => ValueKind::Boolean,
            Value::Number(number) if number.is_i64() => ValueKind::Integer,
            Value::Number(number) if number.is_f64() => ValueKind::Number,
            Value::String(text) if is_number_kept_as_text(text) => {
                self.has_digits = true;
                return;
            }
            _ => ValueKind::Text,
        };
        self.add_kind(kind);
    }

    /// Adds a column of this type.
    pub fn add_kind(&mut self, kind: ValueKind) {
        self.kind = Some(self.kind.map_or(kind, |known| known.joined(kind)));
    }

    /// Adds what was seen of the same column elsewhere.
    pub fn join(&mut self, other: SeenValues) {
        other.kind.into_iter().for_each(|kind| self.add_kind(kind));
        self.has_digits |= other.has_digits;
    }

    /// The type of all values; text if there are none.
    pub fn kind(self) -> ValueKind {
        match self.kind {
            Some(ValueKind::Integer | ValueKind::Number) if self.has_digits => ValueKind::Number,
            Some(ValueKind::Boolean) if self.has_digits => ValueKind::Text,
            kind => kind.unwrap_or(ValueKind::Text),
        }
    }
}

/// The number that a text is, if it has only what a number has, and keeps its digits in 64 bits of floating point.
fn exact(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let number: f64 = text.parse().ok().filter(|number: &f64| is_plain && number.is_finite())?;
    let written = decimal(text)?;
    if written.digits.len() > DIGITS_MAX {
        return None;
    }
    let digits = written.digits.len().saturating_sub(1);
    (decimal(&format!("{number:.digits$e}"))? == written).then_some(number)
}

/// A number in decimal digits.
#[derive(PartialEq)]
struct Decimal {
    is_negative: bool,
    /// Without zeros at the ends, so empty for zero.
    digits: String,
    /// The power of ten of the last digit.
    power: i64,
}

fn decimal(text: &str) -> Option<Decimal> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{}{fraction}", whole.trim_start_matches(['+', '-']));
    let digits = all.trim_matches('0').to_owned();
    if digits.is_empty() {
        return Some(Decimal { is_negative: false, digits, power: 0 });
    }
    let zeros = i64::try_from(all.len() - all.trim_end_matches('0').len()).ok()?;
    let places = i64::try_from(fraction.len()).ok()?;
    let power = exponent.parse::<i64>().ok()?.checked_add(zeros)?.checked_sub(places)?;
    Some(Decimal { is_negative: whole.starts_with('-'), digits, power })
}

/// Whether a text is a number of JSON whose digits would change, and which fits into 64 bits of floating point.
fn is_number_kept_as_text(text: &str) -> bool {
    exact(text).is_some() && text.parse::<Number>().is_ok_and(|number| number.to_string() != text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind(values: &[Value]) -> ValueKind {
        let mut seen = SeenValues::default();
        values.iter().for_each(|value| seen.add(value));
        seen.kind()
    }

    #[test]
    fn a_column_has_the_type_of_all_its_values() {
        for (values, expected) in [
            (vec![json!(true), json!(null), json!(false)], ValueKind::Boolean),
            (vec![json!(1), json!(-7), json!(i64::MAX)], ValueKind::Integer),
            (vec![json!(1), json!(1.5)], ValueKind::Number),
            // `2.50` and `1e5` of a JSON file: the reader keeps their digits.
            (vec![json!(1), json!("2.50"), json!("1e5")], ValueKind::Number),
            (vec![json!("2.50"), json!("1.10")], ValueKind::Text),
            (vec![json!(1), json!("x")], ValueKind::Text),
            (vec![json!(1), json!("12345678901234567890123")], ValueKind::Text),
            (vec![json!(u64::MAX)], ValueKind::Text),
            (vec![json!(1), json!(true)], ValueKind::Text),
            (vec![json!(true), json!("1.10")], ValueKind::Text),
            (vec![json!([1])], ValueKind::Text),
            (vec![json!(null)], ValueKind::Text),
            (vec![], ValueKind::Text),
        ] {
            assert_eq!(kind(&values), expected, "{values:?}");
        }
    }

    #[test]
    fn a_value_fits_a_type_if_it_loses_nothing() {
        let fits = |kind: ValueKind, value: Value| kind.read(&value).is_some();
        for (kind, value) in [
            (ValueKind::Integer, json!(7)),
            (ValueKind::Integer, json!(" 7 ")),
            (ValueKind::Number, json!(7)),
            (ValueKind::Number, json!("1.10")),
            (ValueKind::Number, json!("-1e5")),
            (ValueKind::Number, json!("1E+2")),
            (ValueKind::Number, json!("-0")),
            (ValueKind::Number, json!("0.000")),
            (ValueKind::Number, json!("1e22")),
            (ValueKind::Number, json!("12345678.123456789")),
            // 17 digits, as `%.17g` writes them.
            (ValueKind::Number, json!("0.10000000000000001")),
            (ValueKind::Number, json!("100000000000000000000000")),
            (ValueKind::Number, json!(0.300_000_000_000_000_04)),
            (ValueKind::Number, json!("9007199254740994")),
            (ValueKind::Boolean, json!("TRUE")),
            (ValueKind::Text, json!({"a": 1})),
        ] {
            assert!(fits(kind, value.clone()), "{kind:?} {value}");
        }
        for (kind, value) in [
            (ValueKind::Integer, json!(7.5)),
            (ValueKind::Integer, json!("7.0")),
            (ValueKind::Integer, json!(u64::MAX)),
            (ValueKind::Number, json!("x")),
            (ValueKind::Number, json!("inf")),
            (ValueKind::Number, json!("9007199254740993")),
            (ValueKind::Number, json!("9007199254740993.0")),
            (ValueKind::Number, json!("0.1234567890123456789")),
            (ValueKind::Number, json!("1e-400")),
            (ValueKind::Number, json!(format!("1.{}", "1".repeat(70_000)))),
            (ValueKind::Number, json!("1e400")),
            (ValueKind::Number, json!(u64::MAX)),
            (ValueKind::Number, json!(9_007_199_254_740_993_i64)),
            (ValueKind::Boolean, json!(1)),
            (ValueKind::Boolean, json!("yes")),
        ] {
            assert!(!fits(kind, value.clone()), "{kind:?} {value}");
        }
    }
}
