//! The closed list of filters, tests and functions, each with a defined behaviour for missing values. Only text,
//! numbers and booleans become text; a list, an object or a missing value is refused.

use super::{
    calls::{add_filter, add_methods},
    error::{EMPTY, NO_ENTRY},
    lists,
    made::{capitalized, join, made, parts, replace},
    missing::{is_defined, is_missing, missing, used},
    operators,
    refusal::{RefusalKind, refuse, refuse_as},
    spent,
    text::text,
};
use crate::model::field::country;
use minijinja::{
    Environment, Error, Output, State, Value, filters, functions, tests,
    value::{Rest, ValueKind},
};
use serde::Deserialize;
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

/// Lookup tables: the name of the table, then key to value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Tables(pub BTreeMap<String, BTreeMap<String, String>>);

pub(super) const TESTS: [&str; 25] = [
    "boolean",
    "defined",
    "endingwith",
    "eq",
    "equalto",
    "false",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
    "float",
];

pub(super) fn install(environment: &mut Environment<'static>, tables: Tables) {
    let env = environment;
    env.set_formatter(|output: &mut Output, _: &State, value: &Value| {
        let text = text(value)?;
        spent::text(text.len())?;
        Ok(output.write_str(&text)?)
    });
    env.add_function("namespace", |defaults: Option<Value>| {
        spent::nested().and_then(|()| functions::namespace(defaults))
    });

    add_filter(env, "lower", |value: &Value| made(value, |text| text.to_lowercase()));
    add_filter(env, "upper", |value: &Value| made(value, |text| text.to_uppercase()));
    add_filter(env, "title", |value: &Value| made(value, |text| filters::title(Cow::Borrowed(text))));
    add_filter(env, "capitalize", |value: &Value| made(value, capitalized));
    add_filter(env, "trim", |value: &Value| made(value, |text| text.trim().to_owned()));
    add_filter(env, "digits", |value: &Value| made(value, |text| text.replace(|c: char| !c.is_ascii_digit(), "")));
    add_filter(env, "string", |value: &Value| made(value, str::to_owned));
    add_filter(env, "reverse", |value: &Value| made(value, |text| text.chars().rev().collect()));
    add_filter(env, "replace", replace);
    add_filter(env, "split", split);
    add_filter(env, "lines", |value: &Value| parts(text(value)?.lines()));
    add_filter(env, "format", format);
    add_filter(env, "date", date);
    add_filter(env, "country", country_code);
    let tables = Arc::new(tables);
    add_filter(env, "table", move |value: &Value, name: &str| table(&tables, value, name));

    for name in ["default", "d"] {
        add_filter(env, name, default);
    }
    for name in ["length", "count"] {
        add_filter(env, name, length);
    }
    add_filter(env, "first", |value: &Value| end_of(value, "first", |mut items| items.next()));
    add_filter(env, "last", |value: &Value| end_of(value, "last", |items| items.last()));
    add_filter(env, "join", join);
    add_filter(env, "int", filters::int);
    add_filter(env, "float", filters::float);
    add_filter(env, "round", filters::round);
    add_filter(env, "abs", filters::abs);
    lists::install(env);
    add_methods(env);

    env.add_test("defined", is_defined);
    env.add_test("undefined", |value: &Value| !is_defined(value));
    env.add_test("none", is_missing);
    env.add_test("boolean", tests::is_boolean);
    env.add_test("number", tests::is_number);
    env.add_test("integer", tests::is_integer);
    env.add_test("float", tests::is_float);
    env.add_test("string", tests::is_string);
    env.add_test("sequence", tests::is_sequence);
    env.add_test("iterable", tests::is_iterable);
    env.add_test("mapping", tests::is_mapping);
    env.add_test("true", tests::is_true);
    env.add_test("false", tests::is_false);
    env.add_test("startingwith", |value: &Value, with: &str| text(value).map(|text| text.starts_with(with)));
    env.add_test("endingwith", |value: &Value, with: &str| text(value).map(|text| text.ends_with(with)));
    for name in ["eq", "equalto", "=="] {
        env.add_test(name, tests::is_eq);
    }
    for name in ["ne", "!="] {
        env.add_test(name, tests::is_ne);
    }
    env.add_test("in", |state: &State, value: &Value, place: &Value| -> Result<bool, Error> {
        operators::sought(value)?;
        tests::is_in(state, value, place)
    });
    for name in ["lt", "lessthan", "<"] {
        env.add_test(name, |a: &Value, b: &Value| ordered(a, b).map(|()| a < b));
    }
    for name in ["gt", "greaterthan", ">"] {
        env.add_test(name, |a: &Value, b: &Value| ordered(a, b).map(|()| a > b));
    }
    for name in ["le", "<="] {
        env.add_test(name, |a: &Value, b: &Value| ordered(a, b).map(|()| a <= b));
    }
    for name in ["ge", ">="] {
        env.add_test(name, |a: &Value, b: &Value| ordered(a, b).map(|()| a >= b));
    }
}

fn ordered(a: &Value, b: &Value) -> Result<(), Error> {
    [a, b].into_iter().find(|value| is_missing(value)).map_or(Ok(()), |value| Err(used(value)))
}

fn default(value: &Value, other: Value, lax: Option<bool>) -> Value {
    if is_missing(value) || (lax == Some(true) && !value.is_true()) { other } else { value.clone() }
}

fn length(value: &Value) -> Result<usize, Error> {
    if is_missing(value) {
        return Err(used(value));
    }
    spent::read(value.as_str().map_or(0, str::len))?;
    value.len().ok_or_else(|| refuse("`length` takes a text, a list or an object"))
}

type ListItems = Box<dyn Iterator<Item = Value>>;

fn end_of(value: &Value, which: &str, pick: impl Fn(ListItems) -> Option<Value>) -> Result<Value, Error> {
    let items: ListItems = match value.kind() {
        _ if is_missing(value) => return Err(used(value)),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            let end = if which == "first" { text.chars().next() } else { text.chars().next_back() };
            Box::new(end.map(Value::from).into_iter())
        }
        ValueKind::Seq | ValueKind::Iterable => {
            spent::read(value.len().unwrap_or_default())?;
            Box::new(value.try_iter()?)
        }
        _ => return Err(refuse(format!("`{which}` takes a text or a list"))),
    };
    let (empty, item) = if value.kind() == ValueKind::String { (EMPTY[1], "character") } else { (EMPTY[0], "item") };
    Ok(pick(items).unwrap_or_else(|| missing(format!("{empty}{which} {item}"))))
}

fn split(value: &Value, by: Option<&str>) -> Result<Value, Error> {
    let text = text(value)?;
    match by {
        None => parts(text.split_whitespace()),
        Some(by) => parts(text.split(by)),
    }
}

/// Maximum width and precision of a number in `format`. MiniJinja panics above 65,535.
const FORMAT_MAX: usize = 1_000;
/// Maximum bytes of a number without width and precision.
const NUMBER_BYTES_MAX: usize = 400;

fn format(state: &State, pattern: &Value, values: Rest<Value>) -> Result<Value, Error> {
    let mut length = format_length(&text(pattern)?)?;
    for value in values.iter() {
        length = length.saturating_add(text(value)?.len());
    }
    spent::text(length)?;
    filters::format(state, pattern, values)
}

/// The maximum number of bytes that a pattern adds to its values. A width or precision that is too large is refused.
fn format_length(pattern: &str) -> Result<usize, Error> {
    let mut length = pattern.len();
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            rest = after;
            continue;
        }
        if let Some(named) = rest.strip_prefix('(') {
            rest = named.find(')').map_or("", |end| &named[end + 1..]);
        }
        length = length.saturating_add(NUMBER_BYTES_MAX);
        rest = rest.trim_start_matches(['#', '0', '-', ' ', '+']);
        for separator in ["", "."] {
            let Some(number) = rest.strip_prefix(separator) else { break };
            let digits = number.len() - number.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            // No digits means 0; a number that is too long to parse is too large.
            let size = if digits == 0 { 0 } else { number[..digits].parse().unwrap_or(usize::MAX) };
            if size > FORMAT_MAX {
                return Err(refuse(format!(
                    "`format` takes a width and a precision of at most {FORMAT_MAX}, found a larger one"
                )));
            }
            // A character has at most four bytes.
            length = length.saturating_add(4 * size);
            rest = &number[digits..];
        }
    }
    Ok(length)
}

/// A date in the given format. The format is never guessed: 03/04/2026 may be in April or in March.
fn date(value: &Value, format: &str) -> Result<String, Error> {
    let date = jiff::civil::Date::strptime(format, text(value)?.trim());
    date.map(|date| date.to_string()).map_err(|_| {
        refuse(format!("expected a date in the format `{format}`; set another format as in `| date(\"%d/%m/%Y\")`"))
    })
}

fn country_code(value: &Value) -> Result<&'static str, Error> {
    let text = text(value)?;
    let found = country::find(&text);
    found.map(|country| country.alpha2).ok_or_else(|| {
        let refusal = country::refusal(&text, "the English name, the ISO 3166 code or the demonym of a country");
        let advice = ", or translate the values of the column with `| table(…)`";
        refuse_as(RefusalKind::Country, refusal.message + advice)
    })
}

fn table(tables: &Tables, value: &Value, name: &str) -> Result<Value, Error> {
    let table = tables.0.get(name).ok_or_else(|| refuse(format!("there is no table `{name}`")))?;
    let found = table.get(text(value)?.trim());
    spent::text(found.map_or(0, String::len))?;
    Ok(found.map_or_else(|| missing(format!("{NO_ENTRY}`{name}`")), Value::from))
}
