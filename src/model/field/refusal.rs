//! Why a value is refused, in words that never repeat the value.

use crate::model::FailureCode;
use std::fmt;

/// Why a value is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRefusal {
    pub code: FailureCode,
    /// What was expected, what came and what to do; never the value.
    pub message: String,
}

impl FieldRefusal {
    /// A value that is none of its kind.
    pub fn invalid(message: impl Into<String>) -> FieldRefusal {
        FieldRefusal { code: FailureCode::InvalidValue, message: message.into() }
    }
}

impl From<String> for FieldRefusal {
    fn from(message: String) -> FieldRefusal {
        FieldRefusal::invalid(message)
    }
}

impl fmt::Display for FieldRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
