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
    /// The service replied to a poll in any way.
    pub heard_service: bool,
    /// How many polls were sent.
    pub sent: u64,
    /// Why the last one got no reply.
    pub fault: Option<String>,
    /// Jobs in a row whose route was refused with the same status.
    refused: (u16, BTreeSet<RequestId>),
    /// When the account was last read because the API key was refused on a route.
    pub account_read_at: Option<Moment>,
}

impl PollHistory {
    /// Counts a refusal of the route. Returns true once [`SAME_REFUSALS_MAX`] different jobs in a row were refused with the
    /// same status: the cause is then the route or the account.
    pub fn route_refused(&mut self, request: RequestId, status: u16) -> bool {
        if self.refused.0 != status {
            self.refused = (status, BTreeSet::new());
        }
        self.refused.1.insert(request);
        self.refused.1.len() >= SAME_REFUSALS_MAX
    }

    /// The stop if no poll got a reply.
    pub fn nothing(&self) -> Option<Stop> {
        let message = self.fault.clone().filter(|_| !self.heard_service)?;
        Some(Stop::Unavailable { message })
    }

    /// Records that a reply told the state of a job.
    pub fn on_state(&mut self) {
        self.heard_service = true;
        self.refused.1.clear();
    }
}
