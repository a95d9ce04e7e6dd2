//! The filters over lists. They are MiniJinja's own, but their use is counted, and they accept only arguments from
//! which MiniJinja makes no long texts.

use super::{calls::add_filter, missing::is_missing, refusal::refuse, spent};
use minijinja::{
    Environment, Error, State, Value, filters,
    value::{Kwargs, Rest},
};
use std::borrow::Cow;

type Filtered = Result<Vec<Value>, Error>;

pub(super) fn install(env: &mut Environment<'static>) {
    add_filter(env, "list", |state: &State, value: Value| counted(&value).and_then(|()| filters::list(state, value)));
    add_filter(env, "map", map);
    add_filter(env, "select", |state: &State, list: Value, test: Option<&str>, rest: Rest<Value>| -> Filtered {
        counted(&list)?;
        filters::select(state, list, test.map(Cow::Borrowed), rest)
    });
    add_filter(env, "reject", |state: &State, list: Value, test: Option<&str>, rest: Rest<Value>| -> Filtered {
        counted(&list)?;
        filters::reject(state, list, test.map(Cow::Borrowed), rest)
    });
    add_filter(
        env,
        "selectattr",
        |state: &State, list: Value, name: &str, test: Option<&str>, rest: Rest<Value>| -> Filtered {
            counted(&list)?;
            filters::selectattr(state, list, Cow::Borrowed(name), test.map(Cow::Borrowed), rest)
        },
    );
    add_filter(
        env,
        "rejectattr",
        |state: &State, list: Value, name: &str, test: Option<&str>, rest: Rest<Value>| -> Filtered {
            counted(&list)?;
            filters::rejectattr(state, list, Cow::Borrowed(name), test.map(Cow::Borrowed), rest)
        },
    );
    add_filter(env, "unique", unique);
}

/// Counts a list with the same number of items as this one.
fn counted(list: &Value) -> Result<(), Error> {
    match list.as_str() {
        _ if is_missing(list) => Ok(()),
        Some(text) => spent::items(text.chars().count()),
        None => spent::items(list.len().unwrap_or_default()),
    }
}

fn map(state: &State, list: Value, rest: Rest<Value>) -> Filtered {
    // A `map` in a `map` would be a nested call.
    if rest.first().and_then(Value::as_str).is_some_and(|name| name.trim() == "map") {
        return Err(refuse("`map` does not accept `map`; use a loop for lists of lists"));
    }
    counted(&list)?;
    filters::map(state, list, rest)
}

/// MiniJinja compares lower-case copies of the texts, so they are counted.
fn unique(state: &State, list: Value, options: Kwargs) -> Result<Value, Error> {
    counted(&list)?;
    if !is_missing(&list) && list.as_str().is_none() {
        for item in list.try_iter()? {
            spent::text(item.as_str().map_or(0, str::len))?;
        }
    }
    filters::unique(state, list, options)
}
