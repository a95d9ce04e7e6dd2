//! The sandbox's repeat cooldown. The service's API description, Limits: the same payload from the same IP is refused
//! for two seconds, and distinct inputs run immediately. A refused repeat does not extend the two seconds.

use super::digest::Digest;
use std::collections::{HashSet, VecDeque};

const COOLDOWN_US: u64 = 2_000_000;

/// The payloads of the last two seconds.
#[derive(Debug, Default)]
pub(super) struct Cooldown {
    order: VecDeque<(u64, Digest)>,
    warm: HashSet<Digest>,
}

impl Cooldown {
    /// Whether a payload (with its sender's address) may run now. If so, it is blocked for the next two seconds.
    pub(super) fn admit(&mut self, payload: Digest, now_us: u64) -> bool {
        while let Some((at, cold)) = self.order.front()
            && at + COOLDOWN_US <= now_us
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
