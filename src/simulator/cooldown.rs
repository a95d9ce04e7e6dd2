//! The sandbox's repeat cooldown. The service's API description, Limits: the same payload from the same IP is refused
//! for two seconds, and distinct inputs run immediately. A refused repeat does not extend that time, which can be set.

use super::digest::Digest;
use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

/// The payloads within the cooldown.
#[derive(Debug, Default)]
pub(super) struct Cooldown {
    order: VecDeque<(u64, Digest)>,
    warm: HashSet<Digest>,
}

impl Cooldown {
    /// Whether a payload (with its sender's address) may run now. If so, it is blocked for the cooldown.
    pub(super) fn admit(&mut self, payload: Digest, now_us: u64, cooldown: Duration) -> bool {
        let cooldown_us = u64::try_from(cooldown.as_micros()).unwrap_or(u64::MAX);
        while let Some((at, cold)) = self.order.front()
            && at.saturating_add(cooldown_us) <= now_us
        {
            self.warm.remove(cold);
            self.order.pop_front();
        }
        let fresh = self.warm.insert(payload);
        if fresh {
            self.order.push_back((now_us, payload));
        }
        fresh
    }
}
