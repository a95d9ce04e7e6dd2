//! The operators `~`, `+` and `*`, the slices and the literals of a template. MiniJinja has no hook in its operators, and
//! these make text and lists of any size: so before a template is compiled, each becomes a filter of this file, which
//! counts what it makes (see `bounded`).

use super::{
    missing::{is_missing, used},
    refusal::refuse,
    spent,
    text::text,
};
use minijinja::{Environment, Error, ErrorKind, Value, value::ValueKind};

/// `[a, b, c]` becomes `a ~ b ~ c`.
pub(super) const JOINED: &str = "op_joined";
/// `[a, b, c]` becomes `a + b + c`.
pub(super) const SUM: &str = "op_sum";
/// `[a, b, c]` becomes `a * b * c`.
pub(super) const PRODUCT: &str = "op_product";
/// `x` with start, stop and step becomes `x[start:stop:step]`.
pub(super) const SLICE: &str = "op_slice";
/// A list or an object that was written as one.
pub(super) const LITERAL: &str = "op_literal";
/// What stands before `in`.
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
    let times = || times.as_usize().ok_or_else(|| refuse("text and lists are repeated by a whole number"));
    if let Some(text) = repeated.as_str() {
        let times = times()?;
        spent::text(text.len().saturating_mul(times))?;
        return Ok(Value::from(text.repeat(times)));
    }
    if is_list(repeated) {
        let items: Vec<Value> = repeated.try_iter()?.collect();
        let (times, count) = (times()?, items.len());
        spent::items(count.saturating_mul(times))?;
        // No item is repeated any number of times without cost.
        return Ok(items.iter().cycle().take(count * times).cloned().collect());
    }
    arithmetic("*", left, right, i128::checked_mul, |a, b| a * b)
}

/// Numbers as MiniJinja reckons with them: whole ones exactly, others as floating point.
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
        let number = whole(a, b).ok_or_else(|| refuse(format!("`{operator}` gives a number that is too large")))?;
        return Ok(i64::try_from(number).map_or_else(|_| Value::from(number), Value::from));
    }
    let float = |value: &Value| match value.kind() {
        ValueKind::Bool => Ok(f64::from(u8::from(value.is_true()))),
        _ => f64::try_from(value.clone()),
    };
    Ok(Value::from(floating(float(left)?, float(right)?)))
}

/// A part of a text or of a list: negative bounds count from the end. MiniJinja's own panics where it goes backwards through
/// nothing.
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
        let letters: Vec<char> = text.chars().collect();
        return Ok(Value::from(places(start, stop, step, length).map(|at| letters[at]).collect::<String>()));
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
        // A stop that comes to 0 is open for MiniJinja, unlike for Python; texts that were sent once stay what they were.
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

/// MiniJinja makes text of whatever is sought in a text, however long it gets.
pub(super) fn sought(value: &Value) -> Result<(), Error> {
    let is_plain = is_missing(value) || matches!(value.kind(), ValueKind::String | ValueKind::Number | ValueKind::Bool);
    if is_plain {
        Ok(())
    } else {
        Err(refuse("`in` looks for a text, a number or a boolean, and this is none of them"))
    }
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn length(value: &Value) -> usize {
    value.len().unwrap_or_default()
}
