//! A reply as a test scripts it: status, headers, body, cost and transport.

use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// What the service charges for a key that it has not charged before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    Nothing,
    /// The service's price at that moment.
    Price,
    Credits(f64),
}

/// How the bytes are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Travel {
    Whole,
    /// The connection ends without a byte.
    Lost,
    /// The headers announce the whole body, and the connection ends after this many bytes of it.
    CutAfter(usize),
    /// The whole reply, then the connection ends without notice.
    ThenClosed,
    /// The headers announce the whole body, and no byte of it comes for this long.
    Stalls(Duration),
    /// This many interim `100 Continue` replies come first.
    AfterContinues(usize),
}

/// A body. The service adds its statement of credits to an answer, and sends anything else unchanged.
#[derive(Debug, Clone)]
pub enum Body {
    Answer(Value),
    Bytes(Arc<Vec<u8>>),
}

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Body,
    pub cost: Cost,
    pub travel: Travel,
    pub delay: Duration,
}

impl Reply {
    fn new(status: u16, body: Body, cost: Cost) -> Reply {
        Reply { status, headers: Vec::new(), body, cost, travel: Travel::Whole, delay: Duration::ZERO }
    }

    /// A complete answer: 200 at the service's price, with the fields that the service adds to every answer.
    pub fn answer(answer: Value) -> Reply {
        Reply::new(200, Body::Answer(answer), Cost::Price)
    }

    /// The usual answer of a screening without a match.
    pub fn clear() -> Reply {
        Reply::answer(json!({ "success": true, "results": { "match": [] } }))
    }

    /// 200 at the service's price with exactly these bytes.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Reply {
        Reply::new(200, Body::Bytes(Arc::new(bytes.into())), Cost::Price)
    }

    /// The same with a JSON value and no additions.
    pub fn exactly(answer: &Value) -> Reply {
        Reply::bytes(answer.to_string())
    }

    /// An error of this status, which costs nothing.
    pub fn status(status: u16) -> Reply {
        Reply::error(status, json!({ "error": { "code": format!("E{status}"), "message": "not this one" } }))
    }

    /// An error with this body, which costs nothing.
    pub fn error(status: u16, body: Value) -> Reply {
        Reply::new(status, Body::Bytes(Arc::new(body.to_string().into_bytes())), Cost::Nothing)
    }

    /// Charged, and the connection ends without a byte.
    pub fn lost() -> Reply {
        Reply { travel: Travel::Lost, ..Reply::clear() }
    }

    pub fn cost(self, credits: f64) -> Reply {
        Reply { cost: Cost::Credits(credits), ..self }
    }

    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn travels(self, travel: Travel) -> Reply {
        Reply { travel, ..self }
    }

    pub fn after(self, delay: Duration) -> Reply {
        Reply { delay, ..self }
    }
}
