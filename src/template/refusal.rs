//! The error with which a filter or an operator refuses a value.

use minijinja::{Error, ErrorKind};

/// The reason why a filter refused a value. It never repeats the value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct FilterRefusal(String);

pub(super) fn refuse(message: impl Into<String>) -> Error {
    let message = message.into();
    Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(FilterRefusal(message))
}
