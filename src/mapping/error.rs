//! Mistakes in a mapping, which stop a run before anything is sent. Every message names the nearest valid name, or the
//! flag to write.

use crate::{catalogue::CatalogueError, template::TemplateError};

/// A mistake in the mapping of a campaign.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    #[error(transparent)]
    UnknownCheck(#[from] CatalogueError),
    #[error("expected unique check names, found two checks named `{name}`; give one of them another `name`")]
    DuplicateName { name: String },
    #[error("check `{check}` has no field `{field}`{hint}")]
    UnknownField { check: String, field: String, hint: String },
    #[error("check `{check}` has no expectation `{name}`{hint}")]
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
    /// `known` ends the message: the nearest column, and the list of columns.
    #[error("check `{check}`, {place}: there is no column `{column}`{known}")]
    UnknownColumn { check: String, place: String, column: String, known: String },
    /// `columns` names both.
    #[error(
        "check `{check}`, {place}: expected one column called `{column}`, found {columns}; rename one of them, or write one exactly"
    )]
    TwoColumns { check: String, place: String, column: String, columns: String },
    #[error(
        "check `{check}`, field `{field}`: expected the folder that contains the files of the rows, found none; name it \
         with --files-root DIR (or [input] files_root)"
    )]
    NoFilesRoot { check: String, field: String },
    #[error("check `{check}`: columns {columns} both match field `{field}`; choose one with `{flag}`")]
    Ambiguous { check: String, field: String, columns: String, flag: String },
    /// `ways` says how to set it.
    #[error("check `{check}` needs {field}, and no column matches it{known}; set it with {ways}")]
    NoSource { check: String, field: String, known: String, ways: String },
    #[error("check `{check}` needs field {fields}, and nothing fills it{known}; set it with `{flag}`")]
    NoneOf { check: String, fields: String, known: String, flag: String },
    /// The name comes from the row itself and may be personal data, so it is not repeated.
    #[error(
        "check `{check}`, {place}: it looks up a column whose name comes from the row, and there is no such column \
         (found at row {row_number}); check for a missing quote, as in row[\"name\"]"
    )]
    UnknownColumnInRow { check: String, place: String, row_number: u64 },
}
