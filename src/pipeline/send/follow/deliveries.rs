//! Reads the deliveries that the receiver has stored. A delivery only says which job to ask for next.

use super::super::context::RunContext;
use crate::{
    error::Error,
    ledger::Reading,
    model::JobId,
    pipeline::campaign::{Campaign, receiver::receiver_id},
    webhook::{Inbox, ReceiverId},
};

/// The maximum number of deliveries that are read at once.
const PAGE: usize = 256;

/// The deliveries of a ledger.
pub struct Deliveries {
    inbox: Inbox,
    receiver: ReceiverId,
    /// The number of the last delivery that was read.
    number: i64,
}

impl Deliveries {
    /// Opens the inbox, if the ledger has a receiver and the inbox exists.
    ///
    /// # Errors
    /// The ledger or the inbox cannot be read.
    pub fn open(campaign: &Campaign, reading: &Reading) -> Result<Option<Deliveries>, Error> {
        let Some(path) = campaign.inbox().filter(|path| path.exists()) else { return Ok(None) };
        if reading.receivers()?.is_empty() {
            return Ok(None);
        }
        let Some(receiver) = receiver_id(&reading.ledger_id()?, 1) else { return Ok(None) };
        Ok(Some(Deliveries { inbox: Inbox::open(&path)?, receiver, number: reading.delivery_read()? }))
    }

    /// Records what has arrived since the last time.
    pub async fn read(&mut self, context: &RunContext) -> Result<(), Error> {
        loop {
            let page = self.inbox.after(&self.receiver, self.number, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            let number = last.number;
            let jobs: Vec<JobId> = page.iter().filter_map(|event| event.job.clone()).collect();
            context.ledger.note_deliveries(jobs, number, context.clock.now_us()).await?;
            self.number = number;
        }
    }
}
