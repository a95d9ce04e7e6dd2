//! The signature of a delivery, by the service's API description, Events: the hexadecimal HMAC-SHA256 over the
//! timestamp, a full stop and the exact bytes of the body, with the secret that the request named.

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use std::{fmt, time::Duration};

/// The header with the time of the delivery, in seconds since 1970.
pub const TIMESTAMP: &str = "x-service-timestamp";
/// The header with the signature.
pub const SIGNATURE: &str = "x-service-signature";
/// How far the time of a delivery may be from the receiver's clock, in either direction.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// The version of the signature. The description names no other.
const VERSION: &str = "v1=";
const DIGEST_BYTES: usize = 32;
/// The longest timestamp that is read: seconds until the year 5138.
const TIMESTAMP_DIGITS_MAX: usize = 11;
/// The service refuses shorter secrets.
const SECRET_CHARACTERS_MIN: usize = 32;

/// The secret that the service signs deliveries with.
#[derive(Clone)]
pub struct WebhookSecret(SecretString);

impl WebhookSecret {
    /// The secret, if the service accepts it: at least 32 characters, all of them visible ASCII.
    pub fn new(text: SecretString) -> Option<WebhookSecret> {
        let is_visible = |byte: u8| (0x21..0x7f).contains(&byte);
        let fits = text.expose_secret().len() >= SECRET_CHARACTERS_MIN && text.expose_secret().bytes().all(is_visible);
        fits.then_some(WebhookSecret(text))
    }

    /// The secret as the service gets it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret([redacted])")
    }
}

/// Why a delivery is not accepted. The reply to it does not say which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Forged {
    #[error("expected the time as seconds since 1970 in `{TIMESTAMP}`, found something else")]
    Timestamp,
    #[error("its time is {seconds} s away from this machine's clock, and at most 300 s are accepted")]
    Stale { seconds: u64 },
    #[error("expected `{VERSION}` and 64 hexadecimal digits in `{SIGNATURE}`, found something else")]
    Format,
    #[error("its signature was not made with the secret of this receiver")]
    Signature,
}

/// Checks a delivery. The signature is compared in constant time, and before the time is judged, so that a reply says
/// nothing about a delivery that is not genuine. `now` is this machine's clock, in seconds since 1970.
///
/// # Errors
/// Why the delivery is not genuine, or not recent.
pub fn verify(secret: &WebhookSecret, timestamp: &str, signature: &str, body: &[u8], now: i64) -> Result<(), Forged> {
    let is_plain =
        (1..=TIMESTAMP_DIGITS_MAX).contains(&timestamp.len()) && timestamp.bytes().all(|b| b.is_ascii_digit());
    let at: i64 =
        if is_plain { timestamp.parse().map_err(|_| Forged::Timestamp)? } else { return Err(Forged::Timestamp) };
    let digest = signature.strip_prefix(VERSION).and_then(digest_of).ok_or(Forged::Format)?;
    if !is_hmac(secret.expose().as_bytes(), &[timestamp.as_bytes(), b".", body], &digest) {
        return Err(Forged::Signature);
    }
    match at.abs_diff(now) {
        seconds if seconds > TOLERANCE.as_secs() => Err(Forged::Stale { seconds }),
        _ => Ok(()),
    }
}

/// Whether a digest is the HMAC-SHA256 of these parts, one after the other. It takes the same time for every digest.
pub fn is_hmac(key: &[u8], parts: &[&[u8]], digest: &[u8]) -> bool {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return false };
    parts.iter().for_each(|part| mac.update(part));
    mac.verify_slice(digest).is_ok()
}

/// The bytes of a digest in hexadecimal digits of either case.
fn digest_of(text: &str) -> Option<[u8; DIGEST_BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * DIGEST_BYTES {
        return None;
    }
    let mut digest = [0; DIGEST_BYTES];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
