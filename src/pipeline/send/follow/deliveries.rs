//! Reads the deliveries that the receiver has stored. A delivery only says which job to ask for next, so an inbox that
//! cannot be read stops nothing: this module decides that jobs are then asked for by schedule, and says so once.

use super::super::context::RunContext;
use crate::{
    error::Error,
    ledger::Reading,
    model::JobId,
    pipeline::campaign::{Campaign, receiver::receiver_id},
    webhook::{Inbox, InboxError, ReceiverId, Unread},
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::Instant;

/// The maximum number of deliveries that are read at once.
const PAGE: usize = 256;
/// How long an inbox that cannot be read is left alone.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// The deliveries of a ledger.
pub struct Deliveries {
    path: PathBuf,
    receiver: ReceiverId,
    /// `None` until the file exists and can be read.
    inbox: Option<Inbox>,
    /// The number of the last delivery that was read.
    number: i64,
    /// When an inbox that could not be read is tried again.
    again_at: Instant,
    is_said: bool,
}

impl Deliveries {
    /// The deliveries, if the ledger has a receiver.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn of(campaign: &Campaign, reading: &Reading) -> Result<Option<Deliveries>, Error> {
        let Some(path) = campaign.inbox() else { return Ok(None) };
        if reading.receivers()?.is_empty() {
            return Ok(None);
        }
        let Some(receiver) = receiver_id(&reading.ledger_id()?, 1) else { return Ok(None) };
        let (number, again_at) = (reading.delivery_read()?, Instant::now());
        Ok(Some(Deliveries { path, receiver, inbox: None, number, again_at, is_said: false }))
    }

    /// Whether the inbox could be read when it was last looked into.
    pub fn are_readable(&self) -> bool {
        self.inbox.is_some()
    }

    /// Records what has arrived since the last time.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn read(&mut self, context: &RunContext) -> Result<(), Error> {
        loop {
            let page = self.page();
            let Some(last) = page.last() else { return Ok(()) };
            let number = last.number;
            let jobs: Vec<JobId> = page.iter().filter_map(|event| event.job.clone()).collect();
            context.ledger.note_deliveries(jobs, number, context.clock.now_us()).await?;
            self.number = number;
        }
    }

    /// The next deliveries; none if the inbox cannot be read.
    fn page(&mut self) -> Vec<Unread> {
        let found = match self.next_page() {
            // Another file may have taken its place.
            Err(InboxError::Gone { .. }) if self.path.exists() => {
                self.inbox = None;
                self.next_page()
            }
            found => found,
        };
        found.unwrap_or_else(|error| {
            self.inbox = None;
            self.again_at = Instant::now() + AGAIN_AFTER;
            if !std::mem::replace(&mut self.is_said, true) {
                tracing::warn!("{}", unreadable(&self.path, &error));
            }
            Vec::new()
        })
    }

    fn next_page(&mut self) -> Result<Vec<Unread>, InboxError> {
        if self.inbox.is_none() {
            // Without a file, nothing was delivered to this machine yet.
            if Instant::now() < self.again_at || !self.path.exists() {
                return Ok(Vec::new());
            }
            self.inbox = Some(Inbox::open_to_read(&self.path)?);
        }
        self.inbox.as_ref().map_or_else(|| Ok(Vec::new()), |inbox| inbox.after(&self.receiver, self.number, PAGE))
    }
}

fn unreadable(path: &Path, error: &InboxError) -> String {
    let fault = match error {
        InboxError::Sqlite(fault) => format!("{}: {fault}", path.display()),
        other => other.to_string(),
    };
    format!(
        "the deliveries of the service cannot be read: {fault}. Jobs are asked for by their schedule all the same, so \
         no result is lost. If the file is damaged, move it away and start `rescreen listen` again"
    )
}
