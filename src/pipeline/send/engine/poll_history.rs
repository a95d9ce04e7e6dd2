//! What a run has heard about its jobs.

use crate::{
    model::{RequestId, Stop},
    pipeline::send::{guards::SAME_REFUSALS_MAX, moment::Moment},
};
use std::{collections::BTreeSet, time::Duration};

/// While the account was read this lately, a refusal of the API key on one route is not about the account.
pub const ACCOUNT_READ_LATELY: Duration = Duration::from_secs(60);

/// What a run has heard about its jobs.
#[derive(Debug, Default)]
pub struct PollHistory {
    /// The service said something about a job.
    pub anything: bool,
    /// How often it answered a poll.
    pub polled: u64,
    /// Why it last said nothing about one.
    pub fault: Option<String>,
    /// Jobs in a row whose route was refused with the same status.
    refused: (u16, BTreeSet<RequestId>),
    /// When the account was last read because the API key was refused on a route.
    pub account_read_at: Option<Moment>,
}

impl PollHistory {
    /// Counts a refusal of the route. Returns true once [`SAME_REFUSALS_MAX`] different jobs in a row were refused with the same
    /// status: the cause is then the route or the account.
    pub fn refused(&mut self, request: RequestId, status: u16) -> bool {
        if self.refused.0 != status {
            self.refused = (status, BTreeSet::new());
        }
        self.refused.1.insert(request);
        self.refused.1.len() >= SAME_REFUSALS_MAX
    }

    /// The stop if no reply said anything about a job.
    pub fn nothing(&self) -> Option<Stop> {
        let message = self.fault.clone().filter(|_| !self.anything)?;
        Some(Stop::Unavailable { message })
    }

    /// Records that a reply told the state of a job.
    pub fn told(&mut self) {
        self.anything = true;
        self.refused.1.clear();
    }
}
