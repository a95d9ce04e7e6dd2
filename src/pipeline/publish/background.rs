//! Periodic publishing in the background while requests are sent. Only one publication runs at a time.

use super::{PART_ROWS_MAX, Publisher, Stage};
use crate::{
    error::Error,
    ledger::{CheckSums, CommitMode},
    model::{fault_point::unless_failing, state::State},
    pipeline::wording::grouped,
};
use futures::FutureExt;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::Instant};

/// How often to publish, if anything is new: often where storage is made to fail, so that it can fail in a short run.
fn publish_every() -> Duration {
    unless_failing(Duration::from_secs(60), Duration::from_millis(300))
}

/// The background publication of a run.
pub struct Publishing {
    publisher: Arc<Publisher>,
    commit_mode: CommitMode,
    task: Option<JoinHandle<Result<(), Error>>>,
    last: Instant,
    answered: u64,
    times: u64,
    /// The manifest says that a run is under way.
    is_marked: bool,
    /// What the last publication found. If nothing has changed since, there is nothing to publish.
    found: BTreeMap<i64, CheckSums>,
}

impl Publishing {
    pub fn new(publisher: Arc<Publisher>, commit_mode: CommitMode) -> Publishing {
        let found = publisher.sums().checks.clone();
        Publishing {
            publisher,
            commit_mode,
            task: None,
            last: Instant::now(),
            answered: 0,
            times: 0,
            is_marked: false,
            found,
        }
    }

    /// Marks the manifest of an earlier run before this run sends or waits for anything. A reader must not take it as the
    /// result of this run.
    ///
    /// # Errors
    /// The manifest cannot be written.
    pub fn begin(&mut self) -> Result<(), Error> {
        let sums = self.publisher.sums();
        let is_open = |state: State| !state.is_settled() && state != State::Quarantined;
        let has_work = State::ALL.into_iter().any(|state| is_open(state) && sums.in_state(state) > 0);
        if has_work { self.mark() } else { Ok(()) }
    }

    fn mark(&mut self) -> Result<(), Error> {
        if self.is_marked {
            return Ok(());
        }
        self.is_marked = true;
        self.publisher.mark_under_way()
    }

    /// Starts a publication if one is due. Returns the number of publications so far, and when the next one is due if
    /// anything is new.
    ///
    /// # Errors
    /// The error of this publication or of the one before. A disk that cannot be written stops the run now, not days
    /// later.
    pub fn now_and_then(&mut self, answered: u64) -> Result<(u64, Option<Instant>), Error> {
        if let Some(task) = self.task.take_if(|task| task.is_finished()) {
            // The task is finished, so this does not wait.
            task.now_or_never().unwrap_or(Ok(Ok(()))).map_err(Error::from)??;
        }
        if self.is_anything_new() {
            self.mark()?;
        }
        let is_due = answered - self.answered >= PART_ROWS_MAX || self.last.elapsed() >= publish_every();
        if is_due && self.task.is_none() && self.is_anything_new() {
            self.start(answered)?;
        }
        let next = self.is_anything_new().then(|| self.last + publish_every());
        Ok((self.times, next))
    }

    fn start(&mut self, answered: u64) -> Result<(), Error> {
        (self.last, self.answered) = (Instant::now(), answered);
        self.times += 1;
        self.found = self.publisher.sums().checks.clone();
        let publisher = Arc::clone(&self.publisher);
        let publish = move || {
            let manifest = publisher.publish(Stage::UnderWay)?;
            let results: u64 = manifest.totals.iter().map(|totals| totals.results).sum();
            tracing::info!("published: {} results so far", grouped(results));
            Ok(())
        };
        if self.commit_mode == CommitMode::Inline {
            return publish();
        }
        self.task = Some(tokio::task::spawn_blocking(publish));
        Ok(())
    }

    /// Whether asks were added, answered or failed since the last publication. Publishing itself changes only the count
    /// of published asks, and verdicts.
    fn is_anything_new(&self) -> bool {
        let counts = |checks: &BTreeMap<i64, CheckSums>| -> Vec<(u64, u64, u64, u64)> {
            checks.values().map(|check| (check.asks, check.skipped, check.failed(), check.answered())).collect()
        };
        counts(&self.publisher.sums().checks) != counts(&self.found)
    }

    pub async fn finish(self) -> Result<(), Error> {
        match self.task {
            Some(task) => task.await.map_err(Error::from)?,
            None => Ok(()),
        }
    }
}
