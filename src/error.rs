//! What stops a run. A failure of an ask is data and never comes here.

use crate::{
    catalogue::CatalogueError,
    client::ClientError,
    ledger::LedgerError,
    mapping::MappingError,
    model::{ExitCode, Stop},
    sink::SinkError,
    source::SourceError,
};
use std::path::PathBuf;

/// An error with its exit code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Configuration: what was expected, what came, what to do.
    #[error("{0}")]
    Config(String),
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
    /// The input cannot be read as the campaign knows it, and requests of the campaign were sent.
    #[error(
        "{source}; what was sent and answered is safe, and needs no input: `rescreen collect {}` settles and publishes it",
        .out.display()
    )]
    Input { source: Box<Error>, out: PathBuf },
    /// A reason to stop that came before anything was begun.
    #[error("{0}")]
    Stopped(Stop),
    #[error("internal error: {0}; this is a defect of the program, please report it")]
    Internal(String),
}

impl Error {
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::Config(_)
            | Error::CampaignFile { .. }
            | Error::Catalogue(_)
            | Error::Client(_)
            | Error::Mapping(_)
            | Error::Source(_) => ExitCode::Usage,
            Error::Ledger(error) if error.is_usage() => ExitCode::Usage,
            Error::Ledger(LedgerError::IllegalMove(_)) => ExitCode::Internal,
            Error::Ledger(_) | Error::Sink(_) => ExitCode::Storage,
            Error::Input { source, .. } => source.exit_code(),
            Error::Stopped(stop) => stop.exit_code(),
            Error::Internal(_) => ExitCode::Internal,
        }
    }
}
