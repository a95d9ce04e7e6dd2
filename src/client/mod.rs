//! The client: sends one HTTP request and classifies its reply. What happens to the request next is decided by the
//! state machine. The client never retries and follows no redirect, because either would send the key and the subject's
//! data again without the ledger knowing.

mod amounts;
mod author;
mod balance;
mod cached_failure;
mod classify;
mod coding;
mod connect_gate;
mod delays;
mod form;
mod job_reply;
mod job_status;
mod job_words;
mod json_body;
mod key_mask;
mod own_failure;
mod proxy;
mod redelivery;
mod reply_kind;
mod reply_message;
mod retry_after;
mod room;
mod roots;
mod said;
mod service;
mod transport;
mod upload;

pub use author::Author;
pub use balance::{BALANCE_POINTERS, Balance, BalanceReply, balance_in, balance_reply};
pub use classify::{Classified, EarlyAnswer, ReplySpec, classify};
pub use delays::Delays;
pub use form::{Form, FormFault, Template};
pub use job_status::{JobNews, job_news};
pub use job_words::is_word_of_failure;
pub use json_body::{JsonBody, json_body};
pub use own_failure::{calls_itself_a_failure, has_error};
pub use proxy::{Proxy, ProxyFault, ProxySource};
pub use redelivery::{DeliveryRefusal, NewReceiver, Redelivered, redelivered};
pub use reply_kind::ReplyKind;
pub use room::Room;
pub use roots::RootsFault;
pub use said::{NotAnswered, PushBack, Said};
pub use service::{Auth, Client, ClientError, Settings, check_url, origin_of};
pub use transport::{EXCHANGE_MAX, Exchange, InProcess, InProcessRequest, Reply, TransportFault};
pub use upload::{Begun, Stored, Ticket, check_upload_host, stored};

use crate::model::key::fingerprint;
use secrecy::{ExposeSecret, SecretString};
use std::fmt;

/// The API key. It is never printed or stored; the ledger contains only its fingerprint.
#[derive(Clone)]
pub struct ApiKey(SecretString);

impl ApiKey {
    pub fn new(key: SecretString) -> ApiKey {
        ApiKey(key)
    }

    /// Sixteen hexadecimal characters that distinguish keys.
    pub fn fingerprint(&self) -> String {
        fingerprint(b"rescreen api key", self.0.expose_secret())
    }

    /// The last three characters, by which a person can recognise the key. Only `…` for keys shorter than 16
    /// characters.
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
