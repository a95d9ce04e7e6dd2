//! Replies: a refusal in either dialect, or a completed answer; sent completely, cut in half, or not at all. Every
//! reply has the simulator's marker and a `Date` from the simulator's clock.

use super::{
    answer_style::{AnswerStyle, Dialect},
    retry_after::{ODD, RetryAfter},
};
use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{
    io,
    task::Poll,
    time::{Duration, SystemTime},
};

/// A header of every reply, which tells a client that the service is simulated.
const MARKER: &str = "x-rescreen-simulator";

/// Why the service refuses a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) retry_after: RetryAfter,
    /// Required and available credits, for a 402.
    pub(super) credits: Option<(u64, u64)>,
    /// The refusal states `creditsUsed` 0.
    pub(super) states_no_charge: bool,
    /// The stated charge of a refusal that was charged.
    pub(super) charged: Option<u64>,
}

impl Refusal {
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Refusal {
        let message = message.into();
        Refusal {
            status,
            code,
            message,
            retry_after: RetryAfter::Absent,
            credits: None,
            states_no_charge: false,
            charged: None,
        }
    }

    pub(super) fn rate_limited(retry_after: RetryAfter) -> Refusal {
        Refusal { retry_after, ..Refusal::new(429, "rate_limited", "too many requests") }
    }

    pub(super) fn insufficient_credits(required: u64, available: u64) -> Refusal {
        let refusal = Refusal::new(402, "insufficient_credits", "not enough credits for this check");
        Refusal { credits: Some((required, available)), ..refusal }
    }

    fn body(&self, style: AnswerStyle) -> Value {
        let dialect = style.dialect;
        let mut body = match dialect {
            Dialect::Described => {
                json!({"success": false, "error": {"code": self.code, "message": self.message}})
            }
            Dialect::Field => json!({"error": self.message}),
        };
        if let (Dialect::Field, Some((required, available))) = (dialect, self.credits) {
            body["requiredCredits"] = required.into();
            body["availableCredits"] = available.into();
        }
        if self.states_no_charge {
            body["creditsUsed"] = 0.into();
            style.statement.no_charge(&mut body);
            if dialect == Dialect::Field {
                body["code"] = self.code.into();
            }
        }
        if let Some(charged) = self.charged {
            style.statement.of_refusal(&mut body, charged);
        }
        body
    }
}

/// How much of a reply reaches the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Whole,
    /// The headers with the full length and half the body are sent, then the connection ends.
    Half,
    /// Nothing is sent: the connection ends.
    Nothing,
}

/// A reply before it is sent. It contains subject data, so it has no `Debug`.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) delivery: Delivery,
    content_type: &'static str,
    retry_after: RetryAfter,
    body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(status: u16, body: &Value) -> Reply {
        let body = serde_json::to_vec(body).expect("a JSON value always has a text");
        let content_type = "application/json";
        Reply { status, delivery: Delivery::Whole, content_type, retry_after: RetryAfter::Absent, body }
    }

    /// A body that is not necessarily valid JSON.
    pub(super) fn bytes(status: u16, body: Vec<u8>) -> Reply {
        Reply { body, ..Reply::json(status, &Value::Null) }
    }

    pub(super) fn refusal(refusal: &Refusal, style: AnswerStyle) -> Reply {
        let reply = Reply::json(refusal.status, &refusal.body(style));
        Reply { retry_after: refusal.retry_after, ..reply }
    }

    /// A web page that is not from the service.
    pub(super) fn html() -> Reply {
        let page = "<!doctype html><title>Sign in</title><p>Sign in to use this network.";
        let content_type = "text/html; charset=utf-8";
        Reply { content_type, body: page.into(), ..Reply::json(200, &Value::Null) }
    }

    /// A JSON object that is not an answer of the service.
    pub(super) fn foreign() -> Reply {
        Reply::json(200, &json!({"message": "ok", "code": 0}))
    }

    pub(super) fn delivered(self, delivery: Delivery) -> Reply {
        Reply { delivery, ..self }
    }

    /// The HTTP response. If it is not delivered completely, its body ends in an error, which breaks the connection. On
    /// a socket of [`super::serve()`], `Nothing` breaks it before the first header.
    pub(super) fn into_response(self, now: Timestamp) -> Response<Body> {
        let length = self.body.len();
        let body = match self.delivery {
            Delivery::Whole => Body::from(self.body),
            Delivery::Half => broken_after(Bytes::from(self.body).slice(..length / 2)),
            Delivery::Nothing => broken_after(Bytes::new()),
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.status).expect("the simulator's statuses are valid");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        let retry_after = match self.retry_after {
            RetryAfter::Absent => None,
            RetryAfter::Seconds(seconds) => Some(HeaderValue::from(seconds)),
            RetryAfter::Date(seconds) => {
                let until = SystemTime::from(now) + Duration::from_secs(seconds);
                HeaderValue::from_str(&httpdate::fmt_http_date(until)).ok()
            }
            RetryAfter::Odd(place) => Some(HeaderValue::from_static(ODD[place])),
        };
        if let Some(retry_after) = retry_after {
            headers.insert(header::RETRY_AFTER, retry_after);
        }
        if (300..400).contains(&self.status) {
            headers.insert(header::LOCATION, HeaderValue::from_static("/elsewhere"));
        }
        mark(headers, now);
        response
    }
}

fn mark(headers: &mut HeaderMap, now: Timestamp) {
    headers.insert(HeaderName::from_static(MARKER), HeaderValue::from_static("1"));
    let date = httpdate::fmt_http_date(SystemTime::from(now));
    headers.insert(header::DATE, HeaderValue::from_str(&date).expect("an HTTP date is plain ASCII"));
}

/// A body that sends these bytes and then fails. It pauses in between, so that these bytes are really sent.
fn broken_after(bytes: Bytes) -> Body {
    let mut part = Some(bytes).filter(|bytes| !bytes.is_empty());
    let mut paused = part.is_none();
    Body::from_stream(futures::stream::poll_fn(move |context| match (part.take(), paused) {
        (Some(bytes), _) => Poll::Ready(Some(Ok(bytes))),
        (None, false) => {
            paused = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
        (None, true) => Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::ConnectionReset)))),
    }))
}
