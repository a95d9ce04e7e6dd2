//! The receiver of a job's deliveries: where they are sent, and the secret that signs them. The signature is made here
//! without the code of the program that checks it, so that neither inherits the other's mistakes.

use super::{digest::hex, reply::Refusal};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use sha2::Sha256;
use std::net::IpAddr;

/// The fields that name the receiver.
const URL: &str = "webhookUrl";
const SECRET: &str = "webhookSecret";
/// The service's description, Limits: "Webhook secret length: at least 32 characters".
const SECRET_CHARACTERS_MIN: usize = 32;

/// Where the deliveries of a job are sent.
#[derive(Clone)]
pub(super) struct Receiver {
    url: Url,
    secret: SecretString,
}

impl std::fmt::Debug for Receiver {
    /// The URL may contain a password too.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Receiver([redacted])")
    }
}

impl Receiver {
    /// Takes the receiver out of the fields of a request: `None` if they name none. The secret is not left in the fields.
    ///
    /// # Errors
    /// One of the two fields is missing or invalid.
    pub(super) fn take(fields: &mut Map<String, Value>) -> Result<Option<Receiver>, Refusal> {
        let (url, secret) = match (fields.get(URL).cloned(), fields.remove(SECRET)) {
            (None, None) => return Ok(None),
            (Some(url), Some(secret)) => (url, secret),
            _ => return Err(refused(URL, "this field and webhookSecret must be sent together")),
        };
        let url = url.as_str().and_then(|text| text.parse().ok()).filter(is_allowed);
        let url = url.ok_or_else(|| refused(URL, "an https URL, or an http URL of this machine"))?;
        let secret = match secret {
            Value::String(text) if text.chars().count() >= SECRET_CHARACTERS_MIN => text,
            _ => return Err(refused(SECRET, "at least 32 characters, as a JSON string")),
        };
        Ok(Some(Receiver { url, secret: secret.into() }))
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// The signature over a delivery. The service's description, Events: HMAC-SHA256 over the timestamp, a full stop and
    /// the exact bytes of the body.
    pub(super) fn sign(&self, timestamp: &str, body: &[u8]) -> String {
        let key = self.secret.expose_secret().as_bytes();
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of an HMAC has any length");
        [timestamp.as_bytes(), b".", body].into_iter().for_each(|part| mac.update(part));
        format!("v1={}", hex(&mac.finalize().into_bytes()))
    }
}

fn refused(name: &str, expected: &str) -> Refusal {
    Refusal::new(400, "invalid_webhook", format!("{name}: {expected}"))
}

/// The service's description wants a public HTTPS URL. A rehearsal receives on this machine, where nobody else listens.
fn is_allowed(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_here = address.map_or(host == "localhost", |address| address.to_canonical().is_loopback());
    match url.scheme() {
        "https" => true,
        "http" => is_here,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET_TEXT: &str = "0123456789abcdef0123456789abcdef";

    fn take(mut body: Value) -> Result<Option<Receiver>, String> {
        Receiver::take(body.as_object_mut().unwrap()).map_err(|refusal| refusal.message)
    }

    fn with(url: Value, secret: Value) -> Result<Option<Receiver>, String> {
        take(json!({"webhookUrl": url, "webhookSecret": secret}))
    }

    #[test]
    fn both_fields_or_none() {
        assert!(take(json!({})).unwrap().is_none());
        assert!(take(json!({"webhookUrl": "https://x.example"})).unwrap_err().contains("together"));
        assert!(take(json!({"webhookSecret": SECRET_TEXT})).unwrap_err().contains("together"));
        assert!(with(Value::Null, Value::Null).is_err());
    }

    #[test]
    fn a_url_is_https_or_on_this_machine() {
        let secret = || json!(SECRET_TEXT);
        for url in [
            "https://x.example/hooks/1?a=b",
            "http://127.0.0.1:9/x",
            "http://localhost:9/",
            "http://[::1]:9/",
            "https://10.0.0.1",
        ] {
            assert!(with(json!(url), secret()).unwrap().is_some(), "{url}");
        }
        for url in [
            "",
            "x.example",
            "http://x.example/",
            "http://10.0.0.1/",
            "ftp://127.0.0.1/",
            "http://localhost.x.example",
            "https://",
        ] {
            assert!(with(json!(url), secret()).unwrap_err().starts_with("webhookUrl: "), "{url}");
        }
        assert!(with(json!(7), secret()).is_err());
    }

    #[test]
    fn a_secret_has_32_characters_and_is_not_shown() {
        let url = || json!("https://x.example");
        for secret in [json!(&SECRET_TEXT[1..]), json!(""), json!(7), json!([SECRET_TEXT])] {
            assert!(with(url(), secret.clone()).unwrap_err().starts_with("webhookSecret: "), "{secret}");
        }
        let mut body = json!({"webhookUrl": url(), "webhookSecret": SECRET_TEXT, "mode": "sandbox"});
        let receiver = Receiver::take(body.as_object_mut().unwrap()).unwrap().unwrap();
        assert!(!format!("{receiver:?}").contains(SECRET_TEXT), "{receiver:?}");
        assert_eq!(body, json!({"webhookUrl": url(), "mode": "sandbox"}), "the secret is taken out");
    }

    /// The known answers were computed with `openssl dgst -sha256 -hmac`.
    #[test]
    fn a_signature_is_that_of_another_program() {
        let receiver = with(json!("https://x.example"), json!(SECRET_TEXT)).unwrap().unwrap();
        let body = br#"{"id":"evt_1","data":{"jobId":"job_1"}}"#;
        let wanted = "v1=b3770075d7716e530fc203b0f5d915cdb0015ea173cf2c28ead529b651d53e82";
        assert_eq!(receiver.sign("1795168800", body), wanted);
        assert_eq!(
            receiver.sign("1795168801", b""),
            "v1=c9701c4b8e233a9f7382f8092df9a67e3b33fa58fc05d1d6abce0a5350d31e84"
        );
    }
}
