//! The texts and lists that filters and methods make. Each is counted before it is made.

use super::{
    missing::{is_missing, used},
    refusal::refuse_limit,
    spent,
    text::text,
};
use minijinja::{Error, Value};

/// Makes a text from a text. The result may be three times as long: some characters have three in upper case.
pub(super) fn made(value: &Value, make: impl Fn(&str) -> String) -> Result<String, Error> {
    let text = text(value)?;
    if text.len() > spent::TEXT_BYTES_MAX {
        return Err(refuse_limit(spent::TOO_LONG));
    }
    spent::read(text.len())?;
    let made = make(&text);
    spent::text(made.len())?;
    Ok(made)
}

pub(super) fn replace(value: &Value, from: &Value, to: &Value) -> Result<String, Error> {
    let (value, from, to) = (text(value)?, text(from)?, text(to)?);
    spent::read(value.len())?;
    let found = value.matches(from.as_ref()).count();
    let added = found.saturating_mul(to.len());
    spent::text((value.len() - found * from.len()).saturating_add(added))?;
    Ok(value.replace(from.as_ref(), &to))
}

/// A list of texts.
pub(super) fn parts<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Value, Error> {
    let mut list = Vec::new();
    for part in parts {
        spent::items(1)?;
        spent::text(part.len())?;
        list.push(Value::from(part));
    }
    Ok(Value::from(list))
}

pub(super) fn join(value: &Value, joint: Option<&str>) -> Result<String, Error> {
    if is_missing(value) {
        return Err(used(value));
    }
    let mut joined = String::new();
    for (at, item) in value.try_iter()?.enumerate() {
        let joint = if at > 0 { joint.unwrap_or_default() } else { "" };
        let item = text(&item)?;
        let length = joint.len() + item.len();
        if joined.len() + length > spent::TEXT_BYTES_MAX {
            return Err(refuse_limit(spent::TOO_LONG));
        }
        spent::text(length)?;
        joined.push_str(joint);
        joined.push_str(&item);
    }
    Ok(joined)
}

pub(super) fn capitalized(text: &str) -> String {
    let mut rest = text.chars();
    rest.next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + &rest.as_str().to_lowercase())
}
