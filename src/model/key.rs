//! The idempotency key: a pure function of campaign and content, so that a run on another machine or after a lost
//! ledger sends the same key, and the service replays its answer instead of charging again.
//!
//! All South African ID numbers can be hashed in minutes, so the plain hash of one is personal data. A key secret,
//! chosen before the first run of a campaign, makes keys unguessable.

use super::{mode::Mode, request::CanonicalRequest};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::fmt;
use uuid::{Uuid, uuid};

/// The project's own UUID namespace.
const NAMESPACE: Uuid = uuid!("7dc1efce-b273-4935-8fbf-17a34295fd1b");

/// The `Idempotency-Key` of a request: a UUID v5, 36 characters on the wire, 16 bytes in the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(Uuid);

impl IdempotencyKey {
    /// The UUID v5 of the canonical form, or with a secret, of its HMAC-SHA256.
    pub fn of(request: &CanonicalRequest<'_>, secret: Option<&KeySecret>) -> IdempotencyKey {
        let form = request.canonical_bytes();
        IdempotencyKey(match secret {
            None => Uuid::new_v5(&NAMESPACE, &form),
            Some(secret) => Uuid::new_v5(&NAMESPACE, &secret.sign(&form)),
        })
    }

    /// The 16 bytes that the ledger stores.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The key from its text on the wire.
    pub fn from_text(text: &str) -> Option<IdempotencyKey> {
        Uuid::try_parse(text).ok().map(IdempotencyKey)
    }

    /// The key from 16 bytes of the ledger; `None` for any other length.
    pub fn from_slice(bytes: &[u8]) -> Option<IdempotencyKey> {
        Uuid::from_slice(bytes).ok().map(IdempotencyKey)
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for IdempotencyKey {
    /// A key made without a secret can be traced back to its subject by guessing, so it is kept out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// Makes the keys of one campaign.
#[derive(Clone, Debug)]
pub struct KeyMaker {
    pub campaign: String,
    pub mode: Mode,
    pub secret: Option<KeySecret>,
}

impl KeyMaker {
    /// The key for a generation of a request, from 0. A later generation is a new charge: it needs proof that the ones
    /// before it cost nothing, or a person's decision.
    pub fn key(&self, check: &str, fields: &Map<String, Value>, generation: u32) -> IdempotencyKey {
        let request =
            CanonicalRequest { generation, ..CanonicalRequest::first(&self.campaign, self.mode, check, fields) };
        IdempotencyKey::of(&request, self.secret.as_ref())
    }
}

/// A secret mixed into every key of a campaign.
#[derive(Clone)]
pub struct KeySecret(SecretString);

impl KeySecret {
    pub fn new(secret: SecretString) -> KeySecret {
        KeySecret(secret)
    }

    /// The digest that the ledger stores to detect another secret. It does not reveal the secret.
    pub fn fingerprint(&self) -> String {
        fingerprint(b"rescreen key secret", self.0.expose_secret())
    }

    /// A digest of a text that only those who know the secret can make.
    pub fn digest(&self, text: &str) -> String {
        hex(&self.sign(text.as_bytes()))
    }

    fn sign(&self, form: &[u8]) -> Vec<u8> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.0.expose_secret().as_bytes()).expect("HMAC takes a key of any length");
        mac.update(form);
        mac.finalize().into_bytes().to_vec()
    }
}

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Sixteen hexadecimal characters that distinguish two secrets and reveal neither.
pub fn fingerprint(purpose: &[u8], secret: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(purpose);
    hasher.update([0]);
    hasher.update(secret.as_bytes());
    hex(&hasher.finalize()[..8])
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
