//! How filters and methods are called. An error of a call names the filter or method and the kind of the value that it
//! was called on, and never repeats the value.

use super::{
    methods,
    missing::is_missing,
    refusal::{FilterRefusal, RefusalKind, UnknownColumn, refuse, refuse_as},
};
use minijinja::{
    Environment, Error, ErrorKind, State, Value,
    functions::Function,
    value::{FunctionArgs, FunctionResult, Rest, ValueKind},
};

/// Adds a filter whose errors name it.
pub(super) fn add_filter<F, Rv, Args>(env: &mut Environment<'static>, name: &'static str, filter: F)
where
    F: Function<Rv, Args>,
    Rv: FunctionResult,
    Args: for<'a> FunctionArgs<'a>,
{
    let filter = Value::from_function(filter);
    env.add_filter(name, move |state: &State<'_, '_>, values: Rest<Value>| {
        filter.call(state, &values).map_err(|error| named(name, values.first(), error))
    });
}

/// Adds the methods.
pub(super) fn add_methods(env: &mut Environment<'static>) {
    env.set_unknown_method_callback(|state, value, name, arguments| {
        methods::call(state, value, name, arguments).map_err(|error| named(name, Some(value), error))
    });
}

/// An error of a filter or method that names it. A missing value, an unknown column and a limit of the whole template
/// are reported as they are.
fn named(name: &str, value: Option<&Value>, error: Error) -> Error {
    let kept = [ErrorKind::UndefinedError, ErrorKind::OutOfFuel, ErrorKind::WriteFailure, ErrorKind::UnknownMethod];
    if kept.contains(&error.kind()) || value.is_some_and(is_missing) {
        return error;
    }
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(link) = cause {
        if link.is::<UnknownColumn>() {
            return error;
        }
        if let Some(refusal) = link.downcast_ref::<FilterRefusal>() {
            let is_named = refusal.message.starts_with('`');
            let message = format!("`{name}`: {}", refusal.message);
            return if refusal.kind == RefusalKind::Limit || is_named {
                error
            } else {
                refuse_as(refusal.kind, message)
            };
        }
        cause = link.source();
    }
    match error.kind() {
        ErrorKind::MissingArgument => refuse(format!("`{name}`: expected another argument, found none")),
        ErrorKind::TooManyArguments => refuse(format!("`{name}`: expected fewer arguments, found more")),
        ErrorKind::UnknownFilter | ErrorKind::UnknownTest => error,
        _ => refuse(format!("`{name}` cannot be applied to this {}", value.map_or("value", kind))),
    }
}

/// What a value is, in one word.
fn kind(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::String => "text",
        ValueKind::Number => "number",
        ValueKind::Bool => "boolean",
        ValueKind::Seq | ValueKind::Iterable => "list",
        _ => "object",
    }
}
