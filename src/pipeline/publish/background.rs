//! Periodic publishing in the background while requests are sent. Only one publication runs at a time.

use super::{PART_ROWS_MAX, Publisher};
use crate::{error::Error, ledger::CommitMode, model::fault_point::unless_failing};
use futures::FutureExt;
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::Instant};

/// How often to publish at least. Builds with fault points publish more often, so that storage can fail during a short
/// run.
const PUBLISH_EVERY: Duration = unless_failing(Duration::from_secs(15 * 60), Duration::from_millis(300));

/// The background publication of a run.
pub struct Publishing {
    publisher: Arc<Publisher>,
    commit_mode: CommitMode,
    task: Option<JoinHandle<Result<(), Error>>>,
    last: Instant,
    answered: u64,
}

impl Publishing {
    pub fn new(publisher: Arc<Publisher>, commit_mode: CommitMode) -> Publishing {
        Publishing { publisher, commit_mode, task: None, last: Instant::now(), answered: 0 }
    }

    /// Starts a publication if one is due.
    ///
    /// # Errors
    /// The error of this publication or of the one before. A disk that cannot be written stops the run now, not days
    /// later.
    pub fn now_and_then(&mut self, answered: u64) -> Result<(), Error> {
        if let Some(task) = self.task.take_if(|task| task.is_finished()) {
            // The task is finished, so this does not wait.
            task.now_or_never().unwrap_or(Ok(Ok(()))).map_err(Error::from)??;
        }
        let due = answered - self.answered >= PART_ROWS_MAX || self.last.elapsed() >= PUBLISH_EVERY;
        if !due || self.task.is_some() {
            return Ok(());
        }
        self.last = Instant::now();
        self.answered = answered;
        let publisher = Arc::clone(&self.publisher);
        if self.commit_mode == CommitMode::Inline {
            return publisher.publish().map(drop);
        }
        self.task = Some(tokio::task::spawn_blocking(move || publisher.publish().map(drop)));
        Ok(())
    }

    pub async fn finish(self) -> Result<(), Error> {
        match self.task {
            Some(task) => task.await.map_err(Error::from)?,
            None => Ok(()),
        }
    }
}
