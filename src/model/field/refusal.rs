//! Why a value is refused. The message never repeats the value.

use crate::model::FailureCode;
use std::fmt;

/// Why a value is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRefusal {
    pub code: FailureCode,
    /// What was expected, what was found and what to do; never the value.
    pub message: String,
}

impl FieldRefusal {
    /// A value that is not valid for its kind.
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
