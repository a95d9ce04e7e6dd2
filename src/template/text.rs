//! Converts a value to text. Only text, numbers and booleans become text; a missing value, a list and an object are
//! refused.

use super::{
    missing::{is_missing, used},
    refusal::refuse,
};
use minijinja::{Error, Value, value::ValueKind};
use std::borrow::Cow;

/// Converts a value to text. No other function does.
pub(super) fn text(value: &Value) -> Result<Cow<'_, str>, Error> {
    if is_missing(value) {
        return Err(used(value));
    }
    match value.kind() {
        ValueKind::String => Ok(Cow::Borrowed(value.as_str().unwrap_or_default())),
        ValueKind::Number => Ok(Cow::Owned(value.to_string())),
        ValueKind::Bool => Ok(Cow::Borrowed(if value.is_true() { "true" } else { "false" })),
        ValueKind::Seq | ValueKind::Iterable => Err(refuse(
            "expected text or a number from a template, found a list; convert it to text with `| join(\" \")`",
        )),
        _ => Err(refuse("expected text or a number from a template, found an object; select one of its members")),
    }
}
