//! Counters of the service's requests and charges.

use super::check::JOB_ID;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counters of requests and charges since start or reset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// HTTP requests received, including refused ones.
    pub requests: u64,
    /// Replies by status. 0 counts connections that were cut without a reply.
    pub by_status: BTreeMap<u16, u64>,
    /// Requests by `METHOD /path`. Unknown paths are `other`.
    pub by_route: BTreeMap<String, u64>,
    /// Distinct idempotency keys of valid requests.
    pub distinct_keys: u64,
    /// Answers that were returned again under their key, without a charge.
    pub replays: u64,
    pub charges: u64,
    pub credits_charged: u64,
    /// Charges beyond the first for the same check and subject content in production, even with another API key or
    /// after the end of an idempotency key's lifetime.
    pub double_charges: u64,
    /// 409s for an idempotency key that was used with two contents.
    pub conflicts: u64,
    /// The most requests received in any 60 seconds, including refused ones.
    pub max_in_any_minute: u64,
    /// Requests that were accepted as jobs.
    #[serde(default)]
    pub jobs: u64,
    /// Attempts to deliver the event of a job.
    #[serde(default)]
    pub deliveries: u64,
    /// Those that the receiver accepted.
    #[serde(default)]
    pub delivered: u64,
    pub balance: u64,
}

impl Stats {
    /// Requests to checks, including refused ones and those in progress.
    pub fn checks(&self) -> u64 {
        let is_check = |route: &str| route.starts_with("POST") && !route.contains(JOB_ID);
        self.by_route.iter().filter(|(route, _)| is_check(route)).map(|(_, count)| count).sum()
    }
}
