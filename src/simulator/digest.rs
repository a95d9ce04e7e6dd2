//! What the simulator remembers of keys, bodies and subjects: sixteen bytes of a SHA-256, so that a million requests stay
//! small and no personal data lies in its memory longer than the request takes.

use crate::model::request::canonical_json;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Half a SHA-256: two different contents never share one in practice.
pub(super) type Digest = [u8; 16];

/// The digest of several parts; where one ends and the next begins counts.
pub(super) fn digest(parts: &[&[u8]]) -> Digest {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let mut half = Digest::default();
    half.copy_from_slice(&hasher.finalize()[..16]);
    half
}

/// The digest of fields as content: order and spelling of the JSON do not count.
pub(super) fn digest_of_fields(fields: &Map<String, Value>) -> Digest {
    digest(&[&canonical_json(fields)])
}
