//! From a value to text. Only text, numbers and booleans become text; a missing value, a list and an object are refused.

use super::{
    missing::{is_missing, used},
    refusal::refuse,
};
use minijinja::{Error, Value, value::ValueKind};
use std::borrow::Cow;

/// The one way from a value to text.
pub(super) fn text(value: &Value) -> Result<Cow<'_, str>, Error> {
    if is_missing(value) {
        return Err(used(value));
    }
    match value.kind() {
        ValueKind::String => Ok(Cow::Borrowed(value.as_str().unwrap_or_default())),
        ValueKind::Number => Ok(Cow::Owned(value.to_string())),
        ValueKind::Bool => Ok(Cow::Borrowed(if value.is_true() { "true" } else { "false" })),
        ValueKind::Seq | ValueKind::Iterable => {
            Err(refuse("a template must give text or a number, and this is a list; `| join(\" \")` makes text of one"))
        }
        _ => Err(refuse("a template must give text or a number, and this is an object; name one of its members")),
    }
}
