//! Witness values: a request is sent only with a receipt for the ledger's durable commit and a permit from the
//! throttle, and sending consumes both. The constructors are `pub(crate)` because modules do not import each other; the
//! tidy test allows `Receipt::issue` only in `ledger/` and `Permit::issue` only in `throttle/`.

use super::{credits::Credits, key::IdempotencyKey};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};
use tokio::time::Instant;

/// The number of a request in its ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub i64);

/// Permission to send one HTTP message now.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    issued: Instant,
    /// The slot in which the throttle has counted the message.
    slot: u64,
}

impl Permit {
    /// A permit that is already this old.
    pub(crate) fn issue(slot: u64, age: Duration) -> Permit {
        let now = Instant::now();
        Permit { issued: now.checked_sub(age).unwrap_or(now), slot }
    }

    /// The slot in which the throttle has counted the message.
    pub(crate) fn slot(&self) -> u64 {
        self.slot
    }

    /// How long ago it was issued.
    pub fn age(&self) -> Duration {
        self.issued.elapsed()
    }
}

/// Proof that an attempt is durably recorded and its price held. It contains the exact bytes to send.
#[must_use]
pub struct Receipt {
    request: RequestId,
    attempt: u32,
    key: IdempotencyKey,
    path: String,
    body: Vec<u8>,
    content_type: String,
    held: Credits,
}

impl Receipt {
    pub(crate) fn issue(
        request: RequestId,
        attempt: u32,
        key: IdempotencyKey,
        path: String,
        body: Vec<u8>,
        held: Credits,
    ) -> Receipt {
        Receipt { request, attempt, key, path, body, content_type: "application/json".to_owned(), held }
    }

    /// The price that is held for the request.
    pub fn held(&self) -> Credits {
        self.held
    }

    /// The number of this attempt in the whole life of the request, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    pub fn key(&self) -> IdempotencyKey {
        self.key
    }

    /// The path that the key is bound to, relative to the service's base URL.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The bytes to send.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The same receipt with the body that was made from the recorded template and the files, and its media type.
    pub fn filled(self, body: Vec<u8>, content_type: String) -> Receipt {
        Receipt { body, content_type, ..self }
    }

    /// The media type of the body.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// Consumes the receipt and returns the bytes to send.
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receipt {{ request: {}, attempt: {}, [redacted] }}", self.request.0, self.attempt)
    }
}
