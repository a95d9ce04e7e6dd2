//! Why a template cannot be used, or gave nothing for a row.

/// Why a template cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(pub(super) String);

/// Why a template gave nothing for one row. No variant repeats a cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderFault {
    /// A value it needs is null, missing or undefined.
    #[error("{what} has no value; `| default(…)` says what to use instead")]
    Missing { what: String },
    /// `row["…"]` names a column the source does not have: a mistake of the configuration, not of the row.
    #[error("no column is called `{name}`{hint}")]
    UnknownColumn { name: String, hint: String },
    /// Anything else.
    #[error("{message}")]
    Error { message: String },
}
