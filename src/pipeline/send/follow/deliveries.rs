//! Reads the deliveries that the receiver has stored. A delivery only says which job to poll next, so an inbox that
//! cannot be read stops nothing: this module decides that jobs are then polled by schedule, and says so once.

use super::super::context::RunContext;
use crate::{
    error::Error,
    ledger::{DeliveryMark, Reading},
    model::JobId,
    pipeline::campaign::{Campaign, receiver::id_of},
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
    receivers: Vec<ReceiverId>,
    /// `None` until the file exists and can be read.
    inbox: Option<Inbox>,
    /// The id of the inbox, and the number of the last delivery that was read.
    read_to: Option<DeliveryMark>,
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
        let receivers = reading.receivers()?.iter().map(id_of).collect::<Result<Vec<_>, _>>()?;
        if receivers.is_empty() {
            return Ok(None);
        }
        let (read_to, again_at) = (reading.deliveries_read()?, Instant::now());
        Ok(Some(Deliveries { path, receivers, inbox: None, read_to, again_at, is_said: false }))
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
            let (Some(last), Some(before)) = (page.last(), &self.read_to) else { return Ok(()) };
            let read_to = DeliveryMark { inbox: before.inbox.clone(), number: last.number };
            let jobs: Vec<JobId> = page.iter().filter_map(|event| event.job.clone()).collect();
            context.ledger.note_deliveries(jobs, read_to.clone(), context.clock.now_us()).await?;
            self.read_to = Some(read_to);
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
            let inbox = Inbox::open_to_read(&self.path)?;
            let (id, newest) = inbox.extent()?;
            self.read_to = Some(begin(self.read_to.take(), id, newest));
            self.inbox = Some(inbox);
        }
        let (Some(inbox), Some(read_to)) = (&self.inbox, &self.read_to) else { return Ok(Vec::new()) };
        inbox.after(&self.receivers, read_to.number, PAGE)
    }
}

/// Where to begin to read an inbox, whose newest event has this number. Another inbox, or an older copy of the same one,
/// is read from its beginning, because its numbers are not those that were read. To read an event again only asks for its
/// job once more.
fn begin(read_to: Option<DeliveryMark>, inbox: String, newest: i64) -> DeliveryMark {
    let number = read_to.filter(|read_to| read_to.inbox == inbox && read_to.number <= newest);
    DeliveryMark { number: number.map_or(0, |read_to| read_to.number), inbox }
}

fn unreadable(path: &Path, error: &InboxError) -> String {
    let what_to_do = "; if the file is damaged, move it away and start `rescreen listen` again";
    let fault = match error {
        InboxError::Sqlite(fault) => format!("{}: {fault}{what_to_do}", path.display()),
        InboxError::File { .. } => format!("{error}{what_to_do}"),
        // They say what to do.
        other => other.to_string(),
    };
    format!(
        "the deliveries of the service cannot be read: {fault}. Jobs are asked for by their schedule all the same, so \
         no result is lost"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_inbox_and_an_older_copy_are_read_from_the_beginning() {
        let mark = |inbox: &str, number| DeliveryMark { inbox: inbox.to_owned(), number };
        let begun = |read_to, newest| begin(read_to, "here".to_owned(), newest);
        assert_eq!(begun(None, 5), mark("here", 0));
        assert_eq!(begun(Some(mark("here", 3)), 5), mark("here", 3));
        assert_eq!(begun(Some(mark("here", 5)), 5), mark("here", 5));
        assert_eq!(begun(Some(mark("here", 6)), 5), mark("here", 0), "an older copy");
        assert_eq!(begun(Some(mark("other", 3)), 5), mark("here", 0));
    }
}
