//! Idempotency keys, and what the service stores for each. Only completed answers are kept, not refusals. Of an answer
//! it keeps only what is needed to build it again from the same body: time, charge and stated balance.

use super::digest::Digest;
use std::collections::HashMap;

/// The stored part of a completed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Receipt {
    /// When the request was accepted: microseconds since 1970.
    pub(super) at_us: i64,
    pub(super) credits: u64,
    /// The balance after the charge.
    pub(super) remaining: u64,
    /// The status of a refusal that was charged.
    pub(super) refused: Option<u16>,
}

/// What the service stores for a key.
#[derive(Debug, Clone)]
enum Slot {
    /// The key was seen, but no request was completed under it.
    Refused,
    /// Its request is in progress.
    Working {
        content: Digest,
        at_us: i64,
    },
    /// It was answered with 202; a repeat completes it.
    Deferred {
        content: Digest,
        at_us: i64,
    },
    Completed {
        content: Digest,
        receipt: Receipt,
    },
    /// It was accepted as a job; a repeat names the same job.
    Job {
        content: Digest,
        at_us: i64,
        id: String,
    },
}

/// What a key means for the request that carries it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyStatus {
    /// Nothing is stored for it, or its lifetime is over: the request is new.
    New,
    /// The repeat of a request that was answered with 202.
    Awaited,
    InFlight,
    Replay(Receipt),
    /// The repeat of a request that was accepted as this job.
    Job(String),
    Conflict,
}

/// All keys that were seen, by the digest of API key and idempotency key.
#[derive(Debug, Default)]
pub(super) struct Keys {
    slots: HashMap<Digest, Slot>,
}

impl Keys {
    /// The number of distinct keys.
    pub(super) fn count(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Whether the service works or has worked on a request with this key.
    pub(super) fn has_work(&self, key: Digest) -> bool {
        self.slots.get(&key).is_some_and(|slot| !matches!(slot, Slot::Refused))
    }

    /// What `key` means for a request with this content at this time.
    pub(super) fn meaning(&self, key: Digest, content: Digest, now_us: i64, life_us: i64) -> KeyStatus {
        let (kept, at_us, same) = match self.slots.get(&key) {
            None | Some(Slot::Refused) => return KeyStatus::New,
            Some(Slot::Working { content, at_us }) => (content, *at_us, KeyStatus::InFlight),
            Some(Slot::Deferred { content, at_us }) => (content, *at_us, KeyStatus::Awaited),
            Some(Slot::Completed { content, receipt }) => (content, receipt.at_us, KeyStatus::Replay(*receipt)),
            Some(Slot::Job { content, at_us, id }) => (content, *at_us, KeyStatus::Job(id.clone())),
        };
        if now_us.saturating_sub(at_us) >= life_us {
            KeyStatus::New
        } else if *kept != content {
            KeyStatus::Conflict
        } else {
            same
        }
    }

    pub(super) fn work(&mut self, key: Digest, content: Digest, at_us: i64) {
        self.slots.insert(key, Slot::Working { content, at_us });
    }

    pub(super) fn defer(&mut self, key: Digest, content: Digest, at_us: i64) {
        self.slots.insert(key, Slot::Deferred { content, at_us });
    }

    pub(super) fn complete(&mut self, key: Digest, content: Digest, receipt: Receipt) {
        self.slots.insert(key, Slot::Completed { content, receipt });
    }

    pub(super) fn submit(&mut self, key: Digest, content: Digest, at_us: i64, id: String) {
        self.slots.insert(key, Slot::Job { content, at_us, id });
    }

    /// Forgets what was stored for a key that was seen.
    pub(super) fn forget(&mut self, key: Digest) {
        self.slots.insert(key, Slot::Refused);
    }

    /// Notes that the key was seen, and leaves what is stored for it unchanged.
    pub(super) fn note(&mut self, key: Digest) {
        self.slots.entry(key).or_insert(Slot::Refused);
    }
}
