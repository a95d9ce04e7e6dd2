//! The canonical form of a request: what its key is made of. RFC 8785 JSON of campaign, mode, check, the mapped fields and
//! the generation. Fixed fields and catalogue defaults stay outside: a change of those ends in a refusal or a 409 at the
//! service, never in a new charge.

use super::mode::Mode;
use serde::Serialize;
use serde_json::{Map, Value};

/// The header that stands on every answer of the simulator. A ledger that has met it is `simulated` for good, and one of
/// another mode refuses the answer. It stands here because client and simulator may not import each other.
pub const SIMULATOR_MARKER: &str = "x-rescreen-simulator";

/// The shape of the canonical form. A release that changes it would charge again what was paid for.
pub const KEY_VERSION: u32 = 1;

/// The content that decides a key. Equal content, equal key, one charge.
#[derive(Debug, Clone, Serialize)]
pub struct CanonicalRequest<'a> {
    /// The key version: the shape of this very form.
    pub v: u32,
    pub campaign: &'a str,
    pub mode: Mode,
    /// The check's name in the catalogue (not its name in the campaign: a check used twice is still one thing sold).
    pub check: &'a str,
    /// The mapped fields as sent. Files stand as the SHA-256 of their bytes; identifiers are text.
    pub fields: &'a Map<String, Value>,
    /// 0; a new one means a new charge and needs proof or the user's word.
    pub generation: u32,
}

impl<'a> CanonicalRequest<'a> {
    /// The canonical request of generation 0.
    pub fn first(campaign: &'a str, mode: Mode, check: &'a str, fields: &'a Map<String, Value>) -> Self {
        CanonicalRequest { v: KEY_VERSION, campaign, mode, check, fields, generation: 0 }
    }

    /// The RFC 8785 bytes.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        canonical_json(self)
    }
}

/// RFC 8785 (JCS) bytes of any JSON value.
pub fn canonical_json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).expect("text, integers, booleans, lists and objects always have a form")
}
