//! Why a template cannot be used, or has no result for a row.

/// Why a template cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(pub(super) String);

/// Why a template has no result for one row. No variant repeats a cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderFault {
    /// A value it needs is null, missing or undefined.
    #[error("{what} has no value; set a value to use instead with `| default(…)`")]
    Missing { what: String },
    /// `row["…"]` names a column that the source does not have: a mistake in the configuration, not in the row.
    #[error("there is no column `{name}`{hint}")]
    UnknownColumn { name: String, hint: String },
    /// Anything else.
    #[error("{message}")]
    Error { message: String },
}
