//! The client: one HTTP exchange at a time, and what its reply says. It decides nothing about a request's future: that is
//! the state machine's. It retries nothing by itself and follows no redirect, because either would send the key and the
//! subject's data again behind the ledger's back.

mod balance;
mod classify;
mod connect_gate;
mod delays;
mod json_body;
mod planted_readings;
mod retry_after;
mod room;
mod service;
mod transport;

pub use balance::{BALANCE_POINTERS, Balance, balance_in};
pub use classify::{Classified, PushBack, ReplySpec, calls_itself_a_failure};
pub use delays::Delays;
pub use json_body::{JsonBody, json_body};
pub use planted_readings::classify;
pub use retry_after::{RetryAfter, retry_after};
pub use room::Room;
pub use service::{Auth, Client, ClientError, Settings, check_url, origin_of};
pub use transport::{Exchange, InProcess, InProcessRequest, Reply, TransportFault};

use crate::model::key::fingerprint;
use secrecy::{ExposeSecret, SecretString};
use std::fmt;

/// The secret that pays. Never printed, never in the ledger: a fingerprint of it is.
#[derive(Clone)]
pub struct ApiKey(SecretString);

impl ApiKey {
    pub fn new(key: SecretString) -> ApiKey {
        ApiKey(key)
    }

    /// Sixteen hexadecimal characters that tell two keys apart.
    pub fn fingerprint(&self) -> String {
        fingerprint(b"rescreen api key", self.0.expose_secret())
    }

    /// The last three characters, for a person to recognise the key by; nothing of a key too short to spare them.
    pub fn hint(&self) -> String {
        let key = self.0.expose_secret();
        let tail: Vec<char> = key.chars().rev().take(3).collect();
        if key.chars().count() < 16 {
            "…".to_owned()
        } else {
            format!("…{}", tail.iter().rev().collect::<String>())
        }
    }

    fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
