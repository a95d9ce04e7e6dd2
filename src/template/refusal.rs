//! The errors with which a filter, an operator or a look-up refuses a value.

use minijinja::{Error, ErrorKind};

/// The reason why a filter refused a value. It never repeats the value.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct FilterRefusal {
    pub message: String,
    /// It is a limit of the whole template, so no single filter is to blame.
    pub of_limit: bool,
}

/// A column that a flat source does not have.
#[derive(Debug, thiserror::Error)]
#[error("there is no column `{name}`{hint}")]
pub(super) struct UnknownColumn {
    pub name: String,
    pub hint: String,
}

pub(super) fn refuse(message: impl Into<String>) -> Error {
    refused(message.into(), false)
}

/// The error of a template that reached a limit.
pub(super) fn refuse_limit(message: impl Into<String>) -> Error {
    refused(message.into(), true)
}

fn refused(message: String, of_limit: bool) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(FilterRefusal { message, of_limit })
}
