//! The methods of a text and of an object, as in Python. Each defines its behaviour for missing values, and counts what
//! it makes and reads before it does so, like the filters.

use super::{
    made::{capitalized, join, made, parts, replace},
    missing::{is_missing, missing, used},
    refusal::refuse,
    spent,
    text::text,
};
use minijinja::{Error, ErrorKind, State, Value, filters, value::ValueKind};
use std::borrow::Cow;

/// Maximum characters that `strip` and its relatives remove.
const STRIPPED_MAX: usize = 100;
/// Maximum length that `zfill` pads to.
const PADDED_MAX: usize = 1_000;

/// Calls a method that MiniJinja does not know.
pub(super) fn call(_: &State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    if is_missing(value) {
        return Err(used(value));
    }
    match name {
        "get" | "items" | "keys" | "values" => of_object(value, name, arguments),
        _ => of_text(value, name, arguments),
    }
}

fn of_text(value: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let whole = text(value)?;
    let whole = whole.as_ref();
    let is_each = |is: fn(char) -> bool| read(whole).map(|()| Value::from(!whole.is_empty() && whole.chars().all(is)));
    let is_cased = |is: fn(&str) -> bool| {
        read(whole)?;
        Ok(Value::from(whole.chars().any(char::is_alphabetic) && is(whole)))
    };
    match name {
        "capitalize" => made(value, capitalized).map(Value::from),
        "lower" => made(value, str::to_lowercase).map(Value::from),
        "upper" => made(value, str::to_uppercase).map(Value::from),
        "title" => made(value, |text| filters::title(Cow::Borrowed(text))).map(Value::from),
        "strip" => stripped(value, arguments, |text, is| text.trim_matches(is)),
        "lstrip" => stripped(value, arguments, |text, is| text.trim_start_matches(is)),
        "rstrip" => stripped(value, arguments, |text, is| text.trim_end_matches(is)),
        "removeprefix" => {
            let prefix = text_of(arguments, 0)?;
            made(value, |text| text.strip_prefix(prefix.as_ref()).unwrap_or(text).to_owned()).map(Value::from)
        }
        "removesuffix" => {
            let suffix = text_of(arguments, 0)?;
            made(value, |text| text.strip_suffix(suffix.as_ref()).unwrap_or(text).to_owned()).map(Value::from)
        }
        "replace" => replaced(value, arguments),
        "split" => split(whole, arguments, End::Start),
        "rsplit" => split(whole, arguments, End::Last),
        "splitlines" => parts(whole.lines()),
        "join" => join(argument(arguments, 0)?, Some(whole)).map(Value::from),
        "zfill" => padded(whole, arguments),
        "startswith" => is_any(arguments, |part| whole.starts_with(part)),
        "endswith" => is_any(arguments, |part| whole.ends_with(part)),
        "count" => {
            read(whole)?;
            Ok(Value::from(whole.matches(text_of(arguments, 0)?.as_ref()).count()))
        }
        "find" => place(whole, whole.find(text_of(arguments, 0)?.as_ref())),
        "rfind" => place(whole, whole.rfind(text_of(arguments, 0)?.as_ref())),
        "isalnum" => is_each(char::is_alphanumeric),
        "isalpha" => is_each(char::is_alphabetic),
        "isdigit" => is_each(|c| c.is_ascii_digit()),
        "isspace" => is_each(char::is_whitespace),
        "islower" => is_cased(|text| !text.chars().any(char::is_uppercase)),
        "isupper" => is_cased(|text| !text.chars().any(char::is_lowercase)),
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

fn of_object(value: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    if value.kind() != ValueKind::Map {
        return Err(refuse("expected an object, found another value"));
    }
    if name == "get" {
        let key = argument(arguments, 0)?;
        let found = value.get_item(key)?;
        return Ok(match arguments.get(1) {
            Some(other) if is_missing(&found) => other.clone(),
            None if found.is_undefined() => missing("a member of an object"),
            _ => found,
        });
    }
    spent::items(value.len().unwrap_or_default().saturating_mul(3))?;
    let mut list = Vec::new();
    for key in value.try_iter()? {
        list.push(match name {
            "keys" => key,
            "values" => value.get_item(&key)?,
            _ => Value::from(vec![key.clone(), value.get_item(&key)?]),
        });
    }
    Ok(Value::from(list))
}

fn argument(arguments: &[Value], at: usize) -> Result<&Value, Error> {
    let found = arguments.get(at).ok_or_else(|| refuse("expected another argument, found none"))?;
    if is_missing(found) { Err(used(found)) } else { Ok(found) }
}

fn text_of(arguments: &[Value], at: usize) -> Result<Cow<'_, str>, Error> {
    text(argument(arguments, at)?)
}

/// The argument that limits how often something is done; below 0 means no limit.
fn times(arguments: &[Value], at: usize) -> Result<Option<usize>, Error> {
    if at >= arguments.len() {
        return Ok(None);
    }
    let times = i64::try_from(argument(arguments, at)?.clone());
    let times = times.map_err(|_| refuse("expected a whole number of times"))?;
    Ok(usize::try_from(times).ok())
}

fn read(text: &str) -> Result<(), Error> {
    spent::read(text.len())
}

fn stripped(
    value: &Value,
    arguments: &[Value],
    strip: impl for<'a> Fn(&'a str, &dyn Fn(char) -> bool) -> &'a str,
) -> Result<Value, Error> {
    let unwanted = if arguments.is_empty() { Cow::Borrowed("") } else { text_of(arguments, 0)? };
    if unwanted.len() > 4 * STRIPPED_MAX || unwanted.chars().count() > STRIPPED_MAX {
        return Err(refuse(format!("expected at most {STRIPPED_MAX} characters to remove, found more")));
    }
    let is_unwanted = |c: char| if arguments.is_empty() { c.is_whitespace() } else { unwanted.contains(c) };
    made(value, |text| strip(text, &is_unwanted).to_owned()).map(Value::from)
}

fn replaced(value: &Value, arguments: &[Value]) -> Result<Value, Error> {
    let (from, to) = (argument(arguments, 0)?, argument(arguments, 1)?);
    let Some(times) = times(arguments, 2)? else { return replace(value, from, to).map(Value::from) };
    let (whole, from, to) = (text(value)?, text(from)?, text(to)?);
    read(&whole)?;
    let found = whole.matches(from.as_ref()).take(times).count();
    spent::text((whole.len() - found * from.len()).saturating_add(found.saturating_mul(to.len())))?;
    Ok(Value::from(whole.replacen(from.as_ref(), &to, times)))
}

/// Where a split with a limit begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Start,
    Last,
}

/// The parts between a separator, or between runs of whitespace.
fn split(whole: &str, arguments: &[Value], end: End) -> Result<Value, Error> {
    read(whole)?;
    let times = times(arguments, 1)?.unwrap_or(usize::MAX);
    let by = if arguments.is_empty() { None } else { Some(text_of(arguments, 0)?) };
    let by = by.as_deref();
    if by == Some("") {
        return Err(refuse("expected a separator that is not empty"));
    }
    let limit = times.saturating_add(1);
    match (by, end) {
        (Some(by), End::Start) => parts(whole.splitn(limit, by)),
        (Some(by), End::Last) => reversed(parts(whole.rsplitn(limit, by))?),
        (None, End::Start) => parts(words(whole, times, End::Start)),
        (None, End::Last) => reversed(parts(words(whole, times, End::Last))?),
    }
}

fn reversed(list: Value) -> Result<Value, Error> {
    spent::items(list.len().unwrap_or_default())?;
    let mut items: Vec<Value> = list.try_iter()?.collect();
    items.reverse();
    Ok(Value::from(items))
}

/// The words of a text from one end; after so many, the rest is one part.
fn words(whole: &str, times: usize, end: End) -> impl Iterator<Item = &str> {
    let (mut rest, mut left) = (whole.trim(), times);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = |text: &'_ str| match end {
            End::Start => text.find(char::is_whitespace),
            End::Last => text.char_indices().rev().find(|(_, c)| c.is_whitespace()).map(|(at, c)| at + c.len_utf8()),
        };
        let Some(at) = cut(rest).filter(|_| left > 0) else { return Some(std::mem::take(&mut rest)) };
        left -= 1;
        let (before, after) = rest.split_at(at);
        let word;
        (word, rest) = if end == End::Start { (before, after.trim_start()) } else { (after, before.trim_end()) };
        Some(word)
    })
}

/// A place in characters, from a place in bytes.
fn place(whole: &str, found: Option<usize>) -> Result<Value, Error> {
    read(whole)?;
    Ok(found.map_or_else(|| Value::from(-1), |at| Value::from(whole[..at].chars().count())))
}

fn padded(whole: &str, arguments: &[Value]) -> Result<Value, Error> {
    let width = times(arguments, 0)?.unwrap_or(0);
    if width > PADDED_MAX {
        return Err(refuse(format!("expected a length of at most {PADDED_MAX}, found a larger one")));
    }
    read(whole)?;
    let zeros = "0".repeat(width.saturating_sub(whole.chars().count()));
    spent::text(zeros.len() + whole.len())?;
    // Zeros come after the sign of a number.
    let sign = usize::from(whole.starts_with(['+', '-']));
    Ok(Value::from(format!("{}{zeros}{}", &whole[..sign], &whole[sign..])))
}

/// Whether a test holds for the argument, or for one item of it.
fn is_any(arguments: &[Value], is: impl Fn(&str) -> bool) -> Result<Value, Error> {
    let wanted = argument(arguments, 0)?;
    if !matches!(wanted.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Ok(Value::from(is(&text(wanted)?)));
    }
    spent::read(wanted.len().unwrap_or_default())?;
    let mut held = false;
    for part in wanted.try_iter()? {
        held |= is(&text(&part)?);
    }
    Ok(Value::from(held))
}
