//! What the simulator stores of keys, bodies and subjects: sixteen bytes of a SHA-256, so that a million requests need
//! little memory and no personal data stays in memory after its request.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Half a SHA-256. In practice, different contents never have the same one.
pub(super) type Digest = [u8; 16];

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of several parts. The boundaries between the parts matter.
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

/// The digest of fields by content: the order and formatting of the JSON do not matter.
pub(super) fn digest_of_fields(fields: &Map<String, Value>) -> Digest {
    let form = serde_json_canonicalizer::to_vec(fields);
    digest(&[&form.expect("text, numbers, booleans, lists and objects always have a form")])
}
