//! What a filter or an operator says when it refuses a value.

use minijinja::{Error, ErrorKind};

/// A filter's own word on why it refused a value; it never repeats the value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct FilterRefusal(String);

pub(super) fn refuse(message: impl Into<String>) -> Error {
    let message = message.into();
    Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(FilterRefusal(message))
}
