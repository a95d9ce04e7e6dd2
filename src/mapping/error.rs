//! What stops a run before anything is sent: a mapping that cannot be meant. It owns the wording; every message names the
//! nearest right name or the flag to write.

use crate::{catalogue::CatalogueError, template::TemplateError};

/// A mistake in the mapping of a campaign.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    #[error(transparent)]
    UnknownCheck(#[from] CatalogueError),
    #[error("two checks of the campaign are called `{name}`; give one of them another `name`")]
    DuplicateName { name: String },
    #[error("check `{check}` has no field `{field}`{hint}")]
    UnknownField { check: String, field: String, hint: String },
    #[error("check `{check}` has nothing to expect called `{name}`{hint}")]
    UnknownExpectation { check: String, name: String, hint: String },
    #[error("check `{check}`, {place}: {fault}")]
    Template {
        check: String,
        place: String,
        #[source]
        fault: TemplateError,
    },
    #[error("check `{check}`, the constant of field `{field}`: {fault}")]
    Constant { check: String, field: String, fault: String },
    /// `known` ends the message: the nearest column and all there are.
    #[error("check `{check}`, {place}: no column is called `{column}`{known}")]
    UnknownColumn { check: String, place: String, column: String, known: String },
    #[error("check `{check}`: columns {columns} both fit field `{field}`; write `{flag}`")]
    Ambiguous { check: String, field: String, columns: String, flag: String },
    #[error("check `{check}` needs {field}, and no column feeds it{known}; write `{flag}`")]
    NoSource { check: String, field: String, known: String, flag: String },
    /// A name that a template takes from the row itself, and that may therefore be somebody's: it is not repeated.
    #[error(
        "check `{check}`, {place}: it looks a column up by a name of the row's own, and no column is called so (found at row {row_number}); is a quote missing, as in row[\"name\"]?"
    )]
    UnknownColumnInRow { check: String, place: String, row_number: u64 },
}
