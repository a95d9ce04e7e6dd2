//! Decides where blocking work runs.

use crate::{error::Error, ledger::CommitMode};

/// Runs blocking work on a separate thread, or on the caller's if commits are inline.
pub async fn blocking<T: Send + 'static>(
    commit_mode: CommitMode,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match commit_mode {
        CommitMode::Background => tokio::task::spawn_blocking(work).await.map_err(Error::from)?,
        CommitMode::Inline => work(),
    }
}
