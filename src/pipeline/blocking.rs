//! Blocking work beside the run.

use crate::{error::Error, ledger::Seat};

/// Runs blocking work on a thread of its own, or here where everything is inline.
pub async fn blocking<T: Send + 'static>(
    seat: Seat,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match seat {
        Seat::Thread => tokio::task::spawn_blocking(work).await.map_err(Error::from)?,
        Seat::Inline => work(),
    }
}
