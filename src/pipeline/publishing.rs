//! Publishing beside the sending, one at a time, from time to time.

use super::publish::{PART_ROWS_MAX, Publisher};
use crate::{error::Error, ledger::Seat};
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::Instant};

/// A part is cut at least this often.
const PUBLISH_EVERY: Duration = Duration::from_secs(15 * 60);

/// What is published beside the sending.
pub struct Publishing {
    publisher: Arc<Publisher>,
    seat: Seat,
    task: Option<JoinHandle<Result<(), Error>>>,
    last: Instant,
    answered: u64,
}

impl Publishing {
    pub fn new(publisher: Arc<Publisher>, seat: Seat) -> Publishing {
        Publishing { publisher, seat, task: None, last: Instant::now(), answered: 0 }
    }

    pub fn now_and_then(&mut self, answered: u64) -> Result<(), Error> {
        let due = answered - self.answered >= PART_ROWS_MAX || self.last.elapsed() >= PUBLISH_EVERY;
        if !due || self.task.as_ref().is_some_and(|task| !task.is_finished()) {
            return Ok(());
        }
        self.last = Instant::now();
        self.answered = answered;
        let publisher = Arc::clone(&self.publisher);
        if self.seat == Seat::Inline {
            return publisher.publish().map(drop);
        }
        // A failure of one before shows again in this one, or at the end.
        self.task = Some(tokio::task::spawn_blocking(move || publisher.publish().map(drop)));
        Ok(())
    }

    pub async fn finish(self) -> Result<(), Error> {
        match self.task {
            Some(task) => task.await.map_err(|error| Error::Internal(error.to_string()))?,
            None => Ok(()),
        }
    }
}
