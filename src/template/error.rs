//! Why a template cannot be used, or has no result for a row.

/// Why a template cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(pub(super) String);

/// Why a template has no result for one row. No variant repeats a cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderFault {
    /// A value it needs is null, missing or undefined.
    #[error("{}; set a value to use instead with `| default(…)`", without_value(what))]
    Missing { what: String },
    /// `row["…"]` names a column that the source does not have: a mistake in the configuration, not in the row.
    #[error("there is no column `{name}`{hint}")]
    UnknownColumn { name: String, hint: String },
    /// A value that should name a country does not, or may mean several.
    #[error("{message}")]
    Country { message: String },
    /// Anything else.
    #[error("{message}")]
    Error { message: String },
}

/// The start of `what` for a key that a lookup table does not have.
pub(super) const NO_ENTRY: &str = "no entry in table ";

/// The starts of `what` for an end of something empty.
pub(super) const EMPTY: [&str; 2] = ["the list is empty and has no ", "the text is empty and has no "];

fn without_value(what: &str) -> String {
    match what {
        _ if what.starts_with(NO_ENTRY) => format!("there is {what} for this value"),
        _ if EMPTY.iter().any(|start| what.starts_with(start)) => what.to_owned(),
        _ => format!("{what} has no value"),
    }
}
