//! What the reply to a request says: the reading that all requests share, to a check, a job, the account, an upload or a
//! delivery. What it means for the request is decided by the reader of each: `classify`, `job_status`, `balance`,
//! `upload` and `redelivery`. Nothing is decided by the text of a message.

use super::{
    amounts::{charge_in, most_believed, remaining_in},
    author::{Author, is_page},
    json_body::{JsonBody, json_body},
    reply_kind::ReplyKind,
    reply_message::{message, told},
    retry_after::retry_after,
    transport::{Exchange, Reply, TransportFault},
};
use crate::model::{Credits, credits::Amount, json_pointer, printable::printable_cut};
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The maximum length of a code, a message or an identifier from the service.
pub(super) const TEXT_CHARACTERS_MAX: usize = 300;

/// How the service pushed back: with a 429, or with a 503 that states when to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushBack {
    /// With a readable `Retry-After`.
    Stated(Duration),
    /// A 429 without a readable `Retry-After`.
    Unstated,
}

impl PushBack {
    /// The wait that it states, or `unstated`.
    pub fn wait_or(self, unstated: Duration) -> Duration {
        match self {
            PushBack::Stated(wait) => wait,
            PushBack::Unstated => unstated,
        }
    }
}

/// Why a request that is free of charge got no reply about what it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAnswered {
    /// The certificate of the server is not trusted.
    Untrusted { host: String, fault: String },
    /// The service refuses the API key.
    Unauthorised { status: u16 },
    /// The service asks to wait.
    PushedBack(PushBack),
    /// A redirect.
    Redirect { status: u16, location: Option<String> },
    /// Something between here and the service replied.
    OfAnother { status: u16 },
    /// No reply, a part of one, or an error of the server.
    Unavailable { message: String },
}

/// A reply as it was read, or why there is none.
pub struct Said<'a> {
    pub kind: ReplyKind,
    /// Who wrote it.
    pub author: Author,
    /// The body, if it is whole and JSON.
    pub json: Option<JsonBody>,
    /// How long it asks to wait, with any status.
    pub wait: Option<Duration>,
    reply: Result<&'a Reply, &'a TransportFault>,
}

impl<'a> Said<'a> {
    /// Reads a reply. `now` is this machine's clock.
    pub fn of(exchange: &'a Exchange, now: SystemTime) -> Said<'a> {
        let reply = match &exchange.reply {
            Ok(reply) => reply,
            Err(fault) => {
                let kind = match fault {
                    TransportFault::NotWritten(_) | TransportFault::Untrusted { .. } => ReplyKind::NotWritten,
                    TransportFault::Unknown(_) => ReplyKind::NoReply,
                };
                return Said { kind, author: Author::Unclear, json: None, wait: None, reply: Err(fault) };
            }
        };
        let kind = ReplyKind::of(reply.status);
        let json = reply.body.as_deref().and_then(json_body);
        Said {
            kind,
            author: Author::of(kind, reply.body.as_deref(), json.as_ref()),
            json,
            wait: retry_after(reply.retry_after.as_deref(), reply.date.as_deref(), now),
            reply: Ok(reply),
        }
    }

    /// The number of the status; `None` if no reply came.
    pub fn status(&self) -> Option<u16> {
        self.reply.ok().map(|reply| reply.status)
    }

    /// The body, if it is whole.
    pub fn body(&self) -> Option<&'a [u8]> {
        self.reply.ok()?.body.as_deref()
    }

    /// The value of the body.
    pub fn value(&self) -> Option<&Value> {
        self.json.as_ref().map(|json| &*json.value)
    }

    /// Whether the body is a web page.
    pub fn is_page(&self) -> bool {
        is_page(self.body())
    }

    /// Whether the service asks all or some requests to wait.
    pub fn push_back(&self) -> Option<PushBack> {
        match (self.kind, self.wait) {
            (ReplyKind::TooMany | ReplyKind::Unavailable, Some(wait)) => Some(PushBack::Stated(wait)),
            (ReplyKind::TooMany, None) => Some(PushBack::Unstated),
            _ => None,
        }
    }

    /// The service's clock in microseconds since 1970, exact to one second.
    pub fn server_now_us(&self) -> Option<i64> {
        let date = self.reply.ok()?.date.as_deref()?;
        let since = httpdate::parse_http_date(date.trim()).ok()?.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_micros()).ok()
    }

    /// The charge that it states, whatever was requested. One far above the price is not believed. `configured` is the
    /// place that the user sets.
    pub fn charge(&self, configured: Option<&str>, price: Credits) -> Amount {
        charge_in(self.value(), configured, most_believed(price))
    }

    /// The charge that it states to a request that should be free: an amount above zero, or one that cannot be read.
    pub fn unexpected_charge(&self, configured: Option<&str>, price: Credits) -> Option<Amount> {
        let charge = self.charge(configured, price);
        (!matches!(charge, Amount::Absent | Amount::Credits(Credits::ZERO))).then_some(charge)
    }

    /// The balance that it states beside an answer.
    pub fn remaining(&self, configured: Option<&str>) -> Amount {
        remaining_in(self.value(), configured)
    }

    /// The service's code of an error, not yet made safe to print.
    pub fn code(&self) -> Option<&str> {
        self.text(&["/error/code", "/code"])
    }

    /// The service's identifier of the request.
    pub fn request_id(&self) -> Option<String> {
        self.text(&["/requestId", "/meta/requestId", "/meta/request_id"]).map(shown)
    }

    /// Where a redirect leads.
    pub fn location(&self) -> Option<String> {
        self.reply.ok()?.location.as_deref().map(shown)
    }

    fn text(&self, pointers: &[&str]) -> Option<&str> {
        pointers.iter().find_map(|at| json_pointer::at(self.value()?, at)?.as_str())
    }

    /// The words of the reply itself, if it has any.
    pub fn words(&self) -> Option<String> {
        message(self.kind, self.reply.ok()?, self.value()).map(|words| shown(&words))
    }

    /// Why no reply came. The fault may contain a certificate's name, or an invalid header.
    pub fn fault(&self) -> Option<String> {
        self.reply.err().map(|fault| shown(&fault.message()))
    }

    /// What a message says about the reply with these words of it, or why no reply came.
    pub(super) fn message(&self, words: Option<String>) -> String {
        match self.reply {
            Ok(reply) => told(self.kind, reply, words),
            Err(_) => self.fault().unwrap_or_default(),
        }
    }

    /// Why the body cannot be read, in a few words.
    pub fn unreadable(&self) -> Option<&'a str> {
        let reply = self.reply.ok()?;
        match (&reply.body, &self.json) {
            (None, _) => Some(reply.undecoded.as_deref().unwrap_or("cut off")),
            (Some(body), None) if body.is_empty() => Some("empty"),
            (Some(_), None) => Some("not JSON"),
            (Some(_), Some(_)) => None,
        }
    }

    /// What keeps a free request from its purpose. `None` if the reply is about what was requested.
    pub fn not_answered(&self) -> Option<NotAnswered> {
        let reply = match self.reply {
            Ok(reply) => reply,
            Err(TransportFault::Untrusted { host, fault }) => {
                return Some(NotAnswered::Untrusted { host: host.clone(), fault: fault.clone() });
            }
            Err(fault) => return Some(NotAnswered::Unavailable { message: fault.message() }),
        };
        let status = reply.status;
        let is_of_another = self.author == Author::Another
            && (self.kind == ReplyKind::SignIn
                || !(self.kind.is_misrouted() || self.kind.is_outage() || self.kind == ReplyKind::Timeout));
        match (self.kind, self.push_back()) {
            (ReplyKind::Redirect, _) => Some(NotAnswered::Redirect { status, location: self.location() }),
            _ if is_of_another => Some(NotAnswered::OfAnother { status }),
            (_, Some(push_back)) => Some(NotAnswered::PushedBack(push_back)),
            (kind, _) if kind.is_unauthorised() => Some(NotAnswered::Unauthorised { status }),
            (kind, _) if kind.is_outage() || kind == ReplyKind::Timeout => {
                Some(NotAnswered::Unavailable { message: format!("HTTP {status}") })
            }
            (kind, _) if kind.is_success() => {
                let fault = self.unreadable()?;
                Some(NotAnswered::Unavailable { message: format!("HTTP {status}, {fault}") })
            }
            _ => None,
        }
    }
}

/// Text from the service, made safe to print and limited in length, for messages, outputs and the ledger.
pub(super) fn shown(text: &str) -> String {
    printable_cut(text, TEXT_CHARACTERS_MAX)
}
