//! The errors with which a filter, an operator or a look-up refuses a value.

use minijinja::{Error, ErrorKind};

/// The reason why a filter refused a value. It never repeats the value.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct FilterRefusal {
    pub message: String,
    pub kind: RefusalKind,
}

/// What a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusalKind {
    /// A value that the filter does not take.
    Value,
    /// A text that is not a country.
    Country,
    /// A limit of the whole template, so no single filter is to blame.
    Limit,
}

/// A column that a flat source does not have.
#[derive(Debug, thiserror::Error)]
#[error("there is no column `{name}`{hint}")]
pub(super) struct UnknownColumn {
    pub name: String,
    pub hint: String,
}

pub(super) fn refuse(message: impl Into<String>) -> Error {
    refuse_as(RefusalKind::Value, message)
}

/// The error of a template that reached a limit.
pub(super) fn refuse_limit(message: impl Into<String>) -> Error {
    refuse_as(RefusalKind::Limit, message)
}

pub(super) fn refuse_as(kind: RefusalKind, message: impl Into<String>) -> Error {
    let message = message.into();
    Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(FilterRefusal { message, kind })
}
