//! The input for the content of an answer, and where the content is placed.

use crate::{answer_style::Dialect, order::Order, rng::Rng};
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use serde_json::{Map, Value};

/// The hour at which the list of a day is published, in UTC.
const LIST_HOUR: i64 = 4;

/// The input for the content of an answer.
pub(super) struct Question<'a> {
    pub(super) order: &'a Order,
    pub(super) at: Timestamp,
    /// A sandbox input that ends in 90: the answer has no finding.
    pub(super) negative: bool,
    pub(super) dialect: Dialect,
    pub(super) rng: Rng,
    /// The day of the list, if it is not that of the request.
    pub(super) dataset: Option<Date>,
    /// Draws the details of the hits, if this version of the list changes only them.
    pub(super) details: Option<Rng>,
}

impl Question<'_> {
    /// The day of the list that the answer is made with.
    pub(super) fn list_day(&self) -> Date {
        self.dataset.unwrap_or_else(|| (self.at - SignedDuration::from_hours(LIST_HOUR)).to_zoned(TimeZone::UTC).date())
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.order.fields.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Sets the value at a JSON pointer, and creates missing parents: a number creates a list. If there is already an
/// object at this place, or at the root, the objects are merged.
pub(super) fn place(root: &mut Value, pointer: &str, value: Value) {
    let mut at = root;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        at = match token.parse::<usize>() {
            Ok(index) if !at.is_object() && index < 100 => {
                if !at.is_array() {
                    *at = Value::Array(Vec::new());
                }
                let list = at.as_array_mut().expect("it was made a list above");
                while list.len() <= index {
                    list.push(Value::Null);
                }
                &mut list[index]
            }
            _ => {
                if !at.is_object() {
                    *at = Value::Object(Map::new());
                }
                at.as_object_mut().expect("it was made an object above").entry(token).or_insert(Value::Null)
            }
        };
    }
    match (at, value) {
        (Value::Object(there), Value::Object(more)) => there.extend(more),
        (at, value) => *at = value,
    }
}
