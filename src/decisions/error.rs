//! Errors of the file of decisions.

use std::{io, path::PathBuf};

/// The file of decisions cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DecisionsError {
    #[error("{step} the decisions {}: {fault}", .path.display())]
    Storage { path: PathBuf, step: &'static str, fault: io::Error },
    /// A line is not what `rescreen decide` wrote.
    #[error(
        "{}, line {line}: {fault}; restore the file from a copy: each line ends with a digest of itself and of all lines \
         before it, so no line can be changed, removed or inserted",
        .path.display()
    )]
    Line { path: PathBuf, line: u64, fault: String },
    /// Another process has added to it.
    #[error("{}: another `rescreen decide` has added to this file meanwhile; run the same command again", .path.display())]
    Meanwhile { path: PathBuf },
    /// It does not continue the file that the campaign used before.
    #[error(
        "{}: expected the decisions that this campaign was published with, whose line {count} ends with the digest {}…, \
         found {found}; restore that file, or name it in the campaign file: [decisions] file",
        .path.display(), chain.get(..12).unwrap_or_default()
    )]
    Another { path: PathBuf, count: u64, chain: String, found: String },
}

impl DecisionsError {
    /// Whether the user has to change something, rather than the machine.
    pub fn is_usage(&self) -> bool {
        !matches!(self, DecisionsError::Storage { .. })
    }
}
