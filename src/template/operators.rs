//! The operators `~`, `+` and `*`, slices and literals of a template. They make text and lists of any size, and
//! MiniJinja has no hooks for its operators. Before a template is compiled, each is therefore replaced by a filter of
//! this file, which counts what it makes (see `bounded`).

use super::{
    missing::{is_missing, used},
    refusal::refuse,
    spent,
    text::text,
};
use minijinja::{Environment, Error, ErrorKind, Value, value::ValueKind};

/// Turns `[a, b, c]` into `a ~ b ~ c`.
pub(super) const JOINED: &str = "op_joined";
/// Turns `[a, b, c]` into `a + b + c`.
pub(super) const SUM: &str = "op_sum";
/// Turns `[a, b, c]` into `a * b * c`.
pub(super) const PRODUCT: &str = "op_product";
/// Turns `x` with start, stop and step into `x[start:stop:step]`.
pub(super) const SLICE: &str = "op_slice";
/// Counts a list or object literal.
pub(super) const LITERAL: &str = "op_literal";
/// Checks the left operand of `in`.
pub(super) const SOUGHT: &str = "op_sought";

pub(super) fn install(env: &mut Environment<'static>) {
    env.add_filter(JOINED, joined);
    env.add_filter(SUM, |parts: Vec<Value>| folded(parts, sum));
    env.add_filter(PRODUCT, |parts: Vec<Value>| folded(parts, product));
    env.add_filter(SLICE, slice);
    env.add_filter(LITERAL, |value: Value| spent::nested().map(|()| value));
    env.add_filter(SOUGHT, |value: Value| sought(&value).map(|()| value));
}

fn joined(parts: Vec<Value>) -> Result<String, Error> {
    let mut joined = String::new();
    for part in &parts {
        let part = text(part)?;
        spent::text(joined.len() + part.len())?;
        joined.push_str(&part);
    }
    Ok(joined)
}

fn folded(parts: Vec<Value>, fold: fn(&Value, &Value) -> Result<Value, Error>) -> Result<Value, Error> {
    let mut parts = parts.into_iter();
    let first = parts.next().ok_or_else(|| refuse("an operator needs its operands"))?;
    parts.try_fold(first, |left, right| match [&left, &right].into_iter().find(|value| is_missing(value)) {
        Some(missing) => Err(used(missing)),
        None => fold(&left, &right),
    })
}

fn sum(left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        spent::text(a.len() + b.len())?;
        return Ok(Value::from([a, b].concat()));
    }
    if let (true, true) = (is_list(left), is_list(right)) {
        spent::items(length(left) + length(right))?;
        return Ok(left.try_iter()?.chain(right.try_iter()?).collect());
    }
    arithmetic("+", left, right, i128::checked_add, |a, b| a + b)
}

fn product(left: &Value, right: &Value) -> Result<Value, Error> {
    let (repeated, times) = if left.as_str().is_some() || is_list(left) { (left, right) } else { (right, left) };
    let times = || times.as_usize().ok_or_else(|| refuse("text and lists can only be repeated by a whole number"));
    if let Some(text) = repeated.as_str() {
        let times = times()?;
        spent::text(text.len().saturating_mul(times))?;
        return Ok(Value::from(text.repeat(times)));
    }
    if is_list(repeated) {
        let items: Vec<Value> = repeated.try_iter()?.collect();
        let (times, count) = (times()?, items.len());
        spent::items(count.saturating_mul(times))?;
        // Repeating an empty list any number of times takes no time.
        return Ok(items.iter().cycle().take(count * times).cloned().collect());
    }
    arithmetic("*", left, right, i128::checked_mul, |a, b| a * b)
}

/// Arithmetic as in MiniJinja: whole numbers exactly, others as floating point.
fn arithmetic(
    operator: &str,
    left: &Value,
    right: &Value,
    whole: fn(i128, i128) -> Option<i128>,
    floating: fn(f64, f64) -> f64,
) -> Result<Value, Error> {
    let unsupported = || {
        let (left, right) = (left.kind(), right.kind());
        let message = format!("tried to use {operator} operator on unsupported types {left} and {right}");
        Error::new(ErrorKind::InvalidOperation, message)
    };
    let is_number = |value: &Value| matches!(value.kind(), ValueKind::Number | ValueKind::Bool);
    if !is_number(left) || !is_number(right) {
        return Err(unsupported());
    }
    let is_whole = |value: &Value| value.kind() == ValueKind::Bool || value.is_integer();
    if is_whole(left) && is_whole(right) {
        let (a, b) = (i128::try_from(left.clone())?, i128::try_from(right.clone())?);
        let number = whole(a, b).ok_or_else(|| refuse(format!("the result of `{operator}` is too large")))?;
        return Ok(i64::try_from(number).map_or_else(|_| Value::from(number), Value::from));
    }
    let float = |value: &Value| match value.kind() {
        ValueKind::Bool => Ok(f64::from(u8::from(value.is_true()))),
        _ => f64::try_from(value.clone()),
    };
    Ok(Value::from(floating(float(left)?, float(right)?)))
}

/// A slice of a text or a list: negative bounds count from the end. MiniJinja's own slice panics when it goes backwards
/// through an empty value.
fn slice(value: &Value, start: &Value, stop: &Value, step: &Value) -> Result<Value, Error> {
    if is_missing(value) {
        return Err(used(value));
    }
    let bound = |value: &Value| {
        if value.is_none() { Ok(None) } else { i64::try_from(value.clone()).map(Some) }
    };
    let (start, stop, step) = (bound(start)?, bound(stop)?, bound(step)?.unwrap_or(1));
    if step == 0 {
        return Err(refuse("cannot slice by a step of 0"));
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count();
        spent::text(text.len())?;
        if step == 1 {
            let (from, to) = forwards(start, stop, length);
            return Ok(Value::from(text.chars().skip(from).take(to.saturating_sub(from)).collect::<String>()));
        }
        spent::items(length)?;
        let characters: Vec<char> = text.chars().collect();
        return Ok(Value::from(places(start, stop, step, length).map(|at| characters[at]).collect::<String>()));
    }
    if !is_list(value) {
        return Err(refuse("only a text or a list can be sliced"));
    }
    spent::items(length(value).saturating_mul(2))?;
    let items: Vec<Value> = value.try_iter()?.collect();
    Ok(places(start, stop, step, items.len()).map(|at| items[at].clone()).collect())
}

fn clamped(bound: i64, length: i128) -> i128 {
    let bound = i128::from(bound);
    if bound < 0 { bound + length } else { bound }
}

fn forwards(start: Option<i64>, stop: Option<i64>, length: usize) -> (usize, usize) {
    let length = length as i128;
    let bound = |bound: Option<i64>, open: i128| bound.map_or(open, |at| clamped(at, length)).clamp(0, length) as usize;
    (bound(start, 0), bound(stop, length))
}

fn places(start: Option<i64>, stop: Option<i64>, step: i64, length: usize) -> impl Iterator<Item = usize> {
    let (step, end) = (i128::from(step), length as i128);
    let (mut at, stop) = if step > 0 {
        let (from, to) = forwards(start, stop, length);
        (from as i128, to as i128)
    } else {
        let bound = |at: i64| clamped(at, end).max(0);
        // A stop that results in 0 means no stop in MiniJinja, unlike in Python. It stays so, because a changed text
        // would be a new request.
        let stop = stop.map(bound).filter(|at| *at > 0);
        (start.map_or(end - 1, bound).min(end - 1), stop.unwrap_or(-1))
    };
    std::iter::from_fn(move || {
        let found = if step > 0 { at < stop } else { at > stop };
        let place = at;
        at += step;
        found.then_some(place as usize)
    })
}

/// MiniJinja converts any value that is looked for in a text to text, of any length.
pub(super) fn sought(value: &Value) -> Result<(), Error> {
    let is_plain = is_missing(value) || matches!(value.kind(), ValueKind::String | ValueKind::Number | ValueKind::Bool);
    if is_plain {
        Ok(())
    } else {
        Err(refuse("expected a text, a number or a boolean before `in`, found something else"))
    }
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn length(value: &Value) -> usize {
    value.len().unwrap_or_default()
}
