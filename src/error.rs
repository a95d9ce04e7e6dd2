//! The errors that stop a run. A failure of an ask is data and never becomes an [`Error`].

use crate::{
    catalogue::CatalogueError,
    client::ClientError,
    decisions::DecisionsError,
    ledger::LedgerError,
    mapping::MappingError,
    model::{ExitCode, Stop, StopKind},
    sink::SinkError,
    source::SourceError,
    webhook::InboxError,
};
use std::path::{Path, PathBuf};

/// An error with its exit code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A configuration mistake. The text says what was expected, what was found and what to do.
    #[error("{0}")]
    Config(String),
    /// A campaign without a service.
    #[error(
        "no service is named: --service URL (or [service] url), or --simulate to rehearse against the built-in simulator"
    )]
    NoService,
    #[error("{}: {fault}", .path.display())]
    CampaignFile { path: PathBuf, fault: String },
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Mapping(#[from] MappingError),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The decisions about matches cannot be used.
    #[error(transparent)]
    Decisions(#[from] DecisionsError),
    /// The inbox of deliveries cannot be used.
    #[error(transparent)]
    Inbox(#[from] InboxError),
    /// The input is not what the campaign recorded, and requests of the campaign were already sent.
    #[error(
        "{source}; requests that were already sent are safe: `rescreen collect {}` settles and publishes them without \
         the input",
        .out.display()
    )]
    Input { source: Box<Error>, out: PathBuf },
    /// The charge book cannot be used.
    #[cfg(feature = "book-postgres")]
    #[error(transparent)]
    Book(#[from] crate::book::BookError),
    /// A reason to stop that was found before anything was started.
    #[error("{0}")]
    Stopped(Stop),
    #[error("internal error: {0}; this is a bug, please report it")]
    Internal(String),
}

/// A task that panicked or was cancelled. The panic message may quote a cell, so it is not repeated here; the panic
/// hook has already printed where it happened.
impl From<tokio::task::JoinError> for Error {
    fn from(error: tokio::task::JoinError) -> Error {
        let what =
            if error.is_panic() { "a task of the program panicked" } else { "a task of the program was cancelled" };
        Error::Internal(what.to_owned())
    }
}

impl Error {
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::Config(_)
            | Error::NoService
            | Error::CampaignFile { .. }
            | Error::Catalogue(_)
            | Error::Client(_)
            | Error::Mapping(_)
            | Error::Source(_) => ExitCode::Usage,
            #[cfg(feature = "book-postgres")]
            Error::Book(error) => {
                if error.is_away() {
                    ExitCode::Storage
                } else {
                    ExitCode::Usage
                }
            }
            Error::Ledger(error) if error.is_usage() => ExitCode::Usage,
            Error::Sink(error) if error.is_usage() => ExitCode::Usage,
            Error::Inbox(error) if error.is_usage() => ExitCode::Usage,
            Error::Decisions(error) if error.is_usage() => ExitCode::Usage,
            Error::Ledger(LedgerError::IllegalMove(_)) => ExitCode::Internal,
            Error::Ledger(_) | Error::Sink(_) | Error::Inbox(_) | Error::Decisions(_) => ExitCode::Storage,
            Error::Input { source, .. } => source.exit_code(),
            Error::Stopped(stop) => stop.exit_code(),
            Error::Internal(_) => ExitCode::Internal,
        }
    }

    /// The same error, with the path of the ledger if it is one of the ledger.
    pub fn at_ledger(self, path: &Path) -> Error {
        match self {
            Error::Ledger(error) => Error::Ledger(error.at(path)),
            other => other,
        }
    }

    /// The kind of the error, for programs.
    pub fn kind(&self) -> StopKind {
        match self {
            Error::CampaignFile { .. } => StopKind::CampaignFile,
            Error::Source(_) | Error::Input { .. } => StopKind::Input,
            Error::Stopped(stop) => stop.kind(),
            Error::Ledger(_) if self.exit_code() == ExitCode::Usage => StopKind::Ledger,
            error => match error.exit_code() {
                ExitCode::Usage => StopKind::Usage,
                ExitCode::Storage => StopKind::Storage,
                _ => StopKind::Internal,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_error_of_a_task_that_panicked_does_not_repeat_its_message() {
        let panicked = tokio::spawn(async { panic!("Vexford") }).await.unwrap_err();
        assert!(panicked.to_string().contains("Vexford"), "tokio repeats it");
        let error = Error::from(panicked);
        assert_eq!(error.exit_code(), ExitCode::Internal);
        assert!(error.to_string().contains("panicked") && !error.to_string().contains("Vexford"), "{error}");
    }
}
