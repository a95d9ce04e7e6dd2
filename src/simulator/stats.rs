//! What the service saw and charged.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the service saw and charged since start or reset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// HTTP messages received, refused ones included.
    pub requests: u64,
    /// Replies by status; 0 counts connections that were cut without one.
    pub by_status: BTreeMap<u16, u64>,
    /// Messages by `METHOD /path`; paths the service does not have are `other`.
    pub by_route: BTreeMap<String, u64>,
    /// Idempotency keys seen with a valid request.
    pub distinct_keys: u64,
    /// Answers given again under their key, at no charge.
    pub replays: u64,
    pub charges: u64,
    pub credits_charged: u64,
    /// Charges beyond the first for one check and subject content in production: neither another API key nor the end of
    /// an idempotency key's life excuses.
    pub double_charges: u64,
    /// 409s because one idempotency key came with two contents.
    pub conflicts: u64,
    /// The most messages received in any 60 seconds, refused ones included.
    pub max_in_any_minute: u64,
    pub balance: u64,
}

impl Stats {
    /// Messages to checks, refused ones and those under way included.
    pub fn checks(&self) -> u64 {
        self.by_route.iter().filter(|(route, _)| route.starts_with("POST")).map(|(_, count)| count).sum()
    }
}
