//! Reads an answer by its declaration: finds the payload and the value of each typed column. A value whose type differs
//! from the declaration is null in its column; the raw answer is always kept.

use super::declaration::{AnswerSpec, ColumnKind, ColumnSpec};
use crate::model::json_pointer;
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
    /// Microseconds since 1970, UTC.
    Timestamp(i64),
    /// A part of the answer, as JSON.
    Json(String),
}

impl AnswerSpec {
    /// The part of an answer that columns and rules read: the first payload pointer that is present and not null.
    pub fn payload<'a>(&self, answer: &'a Value) -> Option<&'a Value> {
        payload_at(&self.payload, answer)
    }

    /// The pointer of that part.
    pub fn payload_pointer(&self, answer: &Value) -> Option<&str> {
        pointer_to_payload(&self.payload, answer).map(|(pointer, _)| pointer)
    }
}

/// The value at the first of these JSON pointers that is present and not null.
pub fn payload_at<'a>(pointers: &[String], answer: &'a Value) -> Option<&'a Value> {
    pointer_to_payload(pointers, answer).map(|(_, found)| found)
}

/// The value that [`payload_at`] finds, with its pointer.
pub(super) fn pointer_to_payload<'p, 'a>(pointers: &'p [String], answer: &'a Value) -> Option<(&'p str, &'a Value)> {
    let found = |pointer: &'p String| Some((pointer.as_str(), json_pointer::at(answer, pointer)?));
    pointers.iter().filter_map(found).find(|(_, found)| !found.is_null())
}

impl ColumnSpec {
    /// The column's value in a payload.
    pub fn read(&self, payload: &Value) -> ColumnValue {
        let Some(found) = self.pointers.iter().find_map(|pointer| json_pointer::at(payload, pointer)) else {
            return ColumnValue::Null;
        };
        match (self.kind, found) {
            (_, Value::Null) => ColumnValue::Null,
            (ColumnKind::Json, found) => ColumnValue::Json(found.to_string()),
            (ColumnKind::Text, Value::String(text)) => ColumnValue::Text(text.clone()),
            (ColumnKind::Text, found @ (Value::Number(_) | Value::Bool(_))) => ColumnValue::Text(found.to_string()),
            (ColumnKind::Count, Value::Array(list)) => ColumnValue::Integer(list.len() as i64),
            (ColumnKind::Integer | ColumnKind::Count, found) => {
                whole(found).map_or(ColumnValue::Null, ColumnValue::Integer)
            }
            (ColumnKind::Number, found) => number(found).map_or(ColumnValue::Null, ColumnValue::Number),
            (ColumnKind::Boolean, Value::Bool(truth)) => ColumnValue::Boolean(*truth),
            (ColumnKind::Boolean, Value::String(word)) => yes_or_no(word),
            (ColumnKind::Date, Value::String(text)) => day(text).map_or(ColumnValue::Null, ColumnValue::Date),
            (ColumnKind::Timestamp, Value::String(text)) => {
                instant_us(text).map_or(ColumnValue::Null, ColumnValue::Timestamp)
            }
            (ColumnKind::Text | ColumnKind::Boolean | ColumnKind::Date | ColumnKind::Timestamp, _) => ColumnValue::Null,
        }
    }
}

/// Banks were seen to answer `Yes` and `No`.
fn yes_or_no(word: &str) -> ColumnValue {
    match word {
        "Yes" => ColumnValue::Boolean(true),
        "No" => ColumnValue::Boolean(false),
        _ => ColumnValue::Null,
    }
}

fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// The day of a date, or of a date with a time. The day is the stated one, whatever the offset of the time.
fn day(text: &str) -> Option<jiff::civil::Date> {
    let text = text.trim();
    let day = text.get(..10)?;
    let is_date = day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let rest = &text[10..];
    let is_with_time = || rest.starts_with(['T', 't', ' ']) && instant_us(text).is_some();
    if is_date && (rest.is_empty() || is_with_time()) { day.parse().ok() } else { None }
}

/// A time in microseconds since 1970. A time without an offset is taken as UTC.
fn instant_us(text: &str) -> Option<i64> {
    let text = text.trim();
    // Only a date with a time: jiff also reads a date alone, which names no instant.
    if !text.get(10..11).is_some_and(|separator| ["T", "t", " "].contains(&separator)) {
        return None;
    }
    let stated = text.parse::<jiff::Timestamp>().ok();
    let as_utc = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    let at = stated.or_else(|| as_utc().map(|zoned| zoned.timestamp()))?;
    Some(at.as_microsecond())
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn column(kind: ColumnKind, pointer: &str) -> ColumnSpec {
        ColumnSpec {
            name: "c".into(),
            pointers: vec![pointer.into()],
            kind,
            assumed: false,
            image: false,
            expect: None,
        }
    }

    #[test]
    fn both_envelopes_lead_to_the_payload() {
        let spec = AnswerSpec { payload: vec!["/results".into(), "/data".into()], ..AnswerSpec::default() };
        assert_eq!(spec.payload(&json!({"results": {"a": 1}})), Some(&json!({"a": 1})));
        assert_eq!(spec.payload(&json!({"data": {"a": 2}, "meta": {}})), Some(&json!({"a": 2})));
        assert_eq!(spec.payload(&json!({"results": null})), None);
    }

    #[test]
    fn a_date_is_the_stated_day_and_an_unreadable_one_is_null() {
        let read = |text: &str| column(ColumnKind::Date, "/x").read(&json!({ "x": text }));
        let day = ColumnValue::Date("2024-02-29".parse().unwrap());
        for text in ["2024-02-29", " 2024-02-29 ", "2024-02-29T23:30:00", "2024-02-29T23:30:00-11:00"] {
            assert_eq!(read(text), day, "{text}");
        }
        for text in ["", "2023-02-29", "29/02/2024", "20240229", "2024-02-29x", "2024-02-29T99:00:00", "unknown"] {
            assert_eq!(read(text), ColumnValue::Null, "{text}");
        }
    }

    #[test]
    fn a_time_is_utc_and_an_unreadable_one_is_null() {
        let read = |text: &str| column(ColumnKind::Timestamp, "/x").read(&json!({ "x": text }));
        let at = ColumnValue::Timestamp(1_709_208_000_123_456);
        for text in [
            "2024-02-29T12:00:00.123456Z",
            "2024-02-29T14:00:00.123456+02:00",
            "2024-02-29T12:00:00.123456",
            "2024-02-29 12:00:00.123456789",
        ] {
            assert_eq!(read(text), at, "{text}");
        }
        for text in ["", "2024-02-29", "12:00", "1709208000", "2024-02-29T12:00:00+99:00", "soon"] {
            assert_eq!(read(text), ColumnValue::Null, "{text}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_null_and_a_list_is_counted() {
        let payload = json!({"n": "x", "list": [1, 2], "day": "2026-02-30", "big": "12"});
        assert_eq!(column(ColumnKind::Integer, "/n").read(&payload), ColumnValue::Null);
        assert_eq!(column(ColumnKind::Count, "/list").read(&payload), ColumnValue::Integer(2));
        assert_eq!(column(ColumnKind::Date, "/day").read(&payload), ColumnValue::Null);
        assert_eq!(column(ColumnKind::Integer, "/big").read(&payload), ColumnValue::Integer(12));
        let flags = json!({"open": "Yes", "found": "No", "type": "yes", "debits": "Unknown"});
        for (at, value) in [("/open", ColumnValue::Boolean(true)), ("/found", ColumnValue::Boolean(false))] {
            assert_eq!(column(ColumnKind::Boolean, at).read(&flags), value);
        }
        for at in ["/type", "/debits"] {
            assert_eq!(column(ColumnKind::Boolean, at).read(&flags), ColumnValue::Null);
        }
        assert_eq!(column(ColumnKind::Text, "/absent").read(&payload), ColumnValue::Null);
    }
}
