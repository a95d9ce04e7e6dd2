//! One HTTP exchange, over the network or with a service in this process. This is the only module that writes to the
//! network. It reads a reply completely or not at all, and distinguishes a failure before the first byte from all
//! others.

use super::{
    ApiKey,
    coding::{self, Undecoded},
    retry_after::longest,
    room::{RESPONSE_BYTES_MAX, Room, Rooms},
};
use crate::model::SIMULATOR_MARKER;
use axum::body::Body;
use futures::{Stream, StreamExt, future::BoxFuture, stream};
use reqwest::{
    Method, Url,
    header::{DATE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER},
};
use rustls::CertificateError;
use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::time::Instant;

/// How long an exchange may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// Connecting, including the TLS handshake.
    pub(super) connect: Duration,
    /// A whole exchange. Live registry calls take over 15 s, and a client that gives up early pays twice.
    pub(super) total: Duration,
    /// A body that stalls.
    pub(super) idle: Duration,
}

const TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(10), total: Duration::from_secs(120), idle: Duration::from_secs(20) };

/// The longest that an exchange may take.
pub const EXCHANGE_MAX: Duration = TIMEOUTS.total;

impl Default for Timeouts {
    fn default() -> Timeouts {
        TIMEOUTS
    }
}

/// Why no reply came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportFault {
    /// Connecting or TLS failed: no byte of the request was sent.
    NotWritten(String),
    /// The server's certificate is not trusted: no byte of the request was sent.
    Untrusted { host: String, fault: String },
    /// Anything else: it is unknown what arrived.
    Unknown(String),
}

impl TransportFault {
    /// What happened, in words.
    pub fn message(&self) -> String {
        match self {
            TransportFault::NotWritten(fault) | TransportFault::Unknown(fault) => fault.clone(),
            TransportFault::Untrusted { host, fault } => format!("the certificate of {host} is not trusted: {fault}"),
        }
    }
}

/// An HTTP reply.
#[derive(Clone, Default)]
pub struct Reply {
    pub status: u16,
    /// The decoded body; `None` if it was cut off, stalled or too long, or could not be decoded.
    pub body: Option<Vec<u8>>,
    /// Why the body could not be decoded.
    pub undecoded: Option<String>,
    pub retry_after: Option<String>,
    /// Where a redirect leads, without query and user. It is shown, and never followed.
    pub location: Option<String>,
    pub date: Option<String>,
    /// Headers about the rate limit, as `name: value`.
    pub rate_headers: Vec<String>,
    /// Whether the reply has the mark of the simulator.
    pub simulated: bool,
}

/// The result of an exchange.
#[derive(Clone)]
pub struct Exchange {
    pub reply: Result<Reply, TransportFault>,
    pub latency: Duration,
    /// The memory that is reserved for the body. It is given back when the exchange is dropped.
    pub room: Room,
}

impl Exchange {
    /// An exchange that ended without a reply, for this reason.
    pub fn without_reply(fault: String) -> Exchange {
        Exchange::not_sent(TransportFault::Unknown(fault))
    }

    /// The exchange of a request that was not sent.
    pub(super) fn not_sent(fault: TransportFault) -> Exchange {
        Exchange { reply: Err(fault), latency: Duration::ZERO, room: Room::default() }
    }
}

/// A request for a service in this process.
pub type InProcessRequest = axum::http::Request<Vec<u8>>;
type InProcessReply = Result<axum::http::Response<Body>, TransportFault>;

/// A service in this process: a function instead of a socket, for tests under paused time.
#[derive(Clone)]
pub struct InProcess {
    service: Arc<dyn Fn(InProcessRequest) -> BoxFuture<'static, InProcessReply> + Send + Sync>,
    /// The API key that is sent to it, instead of the campaign's.
    pub api_key: Option<ApiKey>,
}

impl InProcess {
    pub fn new<F, R>(service: F) -> InProcess
    where
        F: Fn(InProcessRequest) -> R + Send + Sync + 'static,
        R: Future<Output = InProcessReply> + Send + 'static,
    {
        InProcess { service: Arc::new(move |request| Box::pin(service(request))), api_key: None }
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a service in this process")
    }
}

/// How requests are sent.
pub(super) enum Transport {
    Http { http: reqwest::Client, timeouts: Timeouts, rooms: Rooms },
    InProcess(InProcess),
}

impl Transport {
    /// Sends a request and reads its reply.
    pub(super) async fn exchange(&self, method: Method, url: Url, headers: HeaderMap, body: Vec<u8>) -> Exchange {
        let start = Instant::now();
        let mut room = Room::default();
        let reply = match self {
            Transport::Http { http, timeouts, rooms } => {
                room = rooms.room();
                over_http(http.request(method, url).headers(headers).body(body), *timeouts, &mut room).await
            }
            Transport::InProcess(service) => {
                let mut request = InProcessRequest::new(body);
                *request.method_mut() = method;
                *request.headers_mut() = headers;
                match url.as_str().parse() {
                    Ok(uri) => {
                        *request.uri_mut() = uri;
                        in_process(service, request).await
                    }
                    Err(error) => Err(TransportFault::NotWritten(error.to_string())),
                }
            }
        };
        Exchange { reply, latency: start.elapsed(), room }
    }
}

async fn over_http(
    request: reqwest::RequestBuilder,
    timeouts: Timeouts,
    room: &mut Room,
) -> Result<Reply, TransportFault> {
    let deadline = Instant::now() + timeouts.total;
    match tokio::time::timeout_at(deadline, request.send()).await {
        Ok(Ok(response)) => {
            let reply = head(response.status().as_u16(), response.headers());
            let codings = coding::stated(response.headers());
            room.expect(response.content_length(), !codings.is_empty());
            let chunks = stream::unfold(response, async |mut response| {
                let chunk = response.chunk().await.transpose()?;
                Some((chunk, response))
            });
            let body = whole_body(chunks, deadline, timeouts.idle, room).await;
            let reply = with_body(reply, body, &codings, deadline, room).await;
            room.shrink_to(reply.body.as_ref().map_or(0, Vec::len));
            Ok(reply)
        }
        Ok(Err(error)) => Err(fault(&error)),
        Err(_) => Err(TransportFault::Unknown("timed out".to_owned())),
    }
}

async fn in_process(service: &InProcess, request: InProcessRequest) -> Result<Reply, TransportFault> {
    let exchanged = async {
        let (parts, body) = (service.service)(request).await?.into_parts();
        let body = axum::body::to_bytes(body, RESPONSE_BYTES_MAX).await.ok().map(Vec::from);
        let (head, codings) = (head(parts.status.as_u16(), &parts.headers), coding::stated(&parts.headers));
        let deadline = Instant::now() + TIMEOUTS.total;
        Ok(with_body(head, body, &codings, deadline, &mut Room::default()).await)
    };
    match tokio::time::timeout(TIMEOUTS.total, exchanged).await {
        Ok(reply) => reply,
        Err(_) => Err(TransportFault::Unknown("timed out".to_owned())),
    }
}

/// The reply with its decoded body. It has no body, as if it were cut off, if the decoded body is too long or memory for it
/// is not free before the deadline.
async fn with_body(
    head: Reply,
    body: Option<Vec<u8>>,
    codings: &[String],
    deadline: Instant,
    room: &mut Room,
) -> Reply {
    let body = match body {
        Some(body) if !codings.is_empty() => body,
        body => return Reply { body, ..head },
    };
    let decoded = async {
        room.grow_to_decode().await;
        coding::decoded(body, codings).await
    };
    match tokio::time::timeout_at(deadline, decoded).await {
        Ok(Ok(mut body)) => {
            body.shrink_to_fit();
            Reply { body: Some(body), ..head }
        }
        Ok(Err(Undecoded::Unreadable(fault))) => Reply { undecoded: Some(fault), ..head },
        Ok(Err(Undecoded::TooLong)) | Err(_) => head,
    }
}

/// A reply without its body.
fn head(status: u16, headers: &HeaderMap) -> Reply {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let simulated = headers.contains_key(SIMULATOR_MARKER);
    let rate_headers = rate_headers(headers);
    let date = text(DATE);
    let waits = headers.get_all(RETRY_AFTER).into_iter().filter_map(|value| value.to_str().ok());
    let retry_after = longest(waits, date.as_deref(), SystemTime::now()).map(str::to_owned);
    let location = text(LOCATION).filter(|_| (300..400).contains(&status)).map(|text| shown_location(&text));
    Reply { status, body: None, undecoded: None, retry_after, location, date, rate_headers, simulated }
}

/// The target of a redirect, for people. Its query may contain what was sent, and its user a secret.
fn shown_location(target: &str) -> String {
    let target = target.split(['?', '#']).next().unwrap_or_default();
    match (target.split_once("://"), target.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => target.to_owned(),
    }
}

/// The headers about the rate limit, of which a service may state several. They are for a person to read, and are cut
/// when the API key was removed from them.
fn rate_headers(headers: &HeaderMap) -> Vec<String> {
    const COUNT_MAX: usize = 6;
    let shown =
        headers.iter().filter(|(name, _)| name.as_str().contains("ratelimit") || name.as_str().contains("rate-limit"));
    let line = |(name, value): (&HeaderName, &HeaderValue)| format!("{name}: {}", value.to_str().unwrap_or("…"));
    shown.take(COUNT_MAX).map(line).collect()
}

/// The whole body, or `None` if it was cut off, stalled, too long, or incomplete at the deadline. If there is no memory
/// for the body, it waits until the deadline; then it counts as cut off, so the request is in doubt and is sent again
/// later.
async fn whole_body<C: AsRef<[u8]>, E>(
    chunks: impl Stream<Item = Result<C, E>>,
    deadline: Instant,
    idle: Duration,
    room: &mut Room,
) -> Option<Vec<u8>> {
    let mut chunks = std::pin::pin!(chunks);
    let mut body = Vec::new();
    loop {
        let due = deadline.min(Instant::now() + idle);
        match tokio::time::timeout_at(due, chunks.next()).await {
            Ok(Some(Ok(chunk))) if body.len() + chunk.as_ref().len() <= RESPONSE_BYTES_MAX => {
                let bytes = body.len() + chunk.as_ref().len();
                let granted = tokio::time::timeout_at(deadline, room.grow_to(bytes)).await.ok()?;
                // Reserved exactly: a growing `Vec` doubles, and may use more memory than was granted.
                body.reserve_exact(granted.saturating_sub(body.len()));
                body.extend_from_slice(chunk.as_ref());
            }
            Ok(None) => {
                body.shrink_to_fit();
                return Some(body);
            }
            Ok(Some(_)) | Err(_) => return None,
        }
    }
}

/// Why no reply came. Only a failure to connect proves that nothing was sent.
fn fault(error: &reqwest::Error) -> TransportFault {
    match certificate_fault(error).filter(|_| error.is_connect()) {
        Some(fault) => {
            let host = error.url().and_then(reqwest::Url::host_str).unwrap_or("the service");
            TransportFault::Untrusted { host: host.to_owned(), fault }
        }
        None if error.is_connect() || error.is_builder() => TransportFault::NotWritten(describe(error)),
        None => TransportFault::Unknown(describe(error)),
    }
}

/// What is wrong with the server's certificate, if that is the cause.
fn certificate_fault(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(rustls::Error::InvalidCertificate(fault)) = error.downcast_ref() {
        return Some(in_words(fault));
    }
    // The `source` of an I/O error skips the error that it wraps, so the wrapped error is examined first.
    match error.downcast_ref::<std::io::Error>() {
        Some(wrapping) => certificate_fault(wrapping.get_ref()?),
        None => certificate_fault(error.source()?),
    }
}

fn in_words(fault: &CertificateError) -> String {
    let description = match fault {
        CertificateError::UnknownIssuer => "the authority that issued it is not known on this machine",
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => "it is for another host",
        other => return other.to_string(),
    };
    description.to_owned()
}

/// Causes that only name a layer of the libraries: the next one says what happened.
const LAYERS: [&str; 3] = ["client error (Connect)", "tcp connect error", "dns error"];

/// An error of reqwest without its URL, but with its causes, because the first error alone says little.
pub(super) fn describe(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    let mut describe = if error.is_timeout() {
        "timed out".to_owned()
    } else if causes.iter().any(|cause| cause == "dns error") {
        "cannot connect: no address is known for the name of the host".to_owned()
    } else if error.is_connect() {
        "cannot connect".to_owned()
    } else if error.is_builder() {
        "it is invalid".to_owned()
    } else {
        "the connection failed".to_owned()
    };
    for cause in causes.iter().filter(|cause| !LAYERS.contains(&cause.as_str())) {
        if !describe.contains(cause) {
            describe.push_str(": ");
            describe.push_str(cause);
        }
    }
    describe
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a body of `bytes` bytes, which arrive one at a time at this interval.
    async fn dribbled(every: Duration, bytes: usize) -> (Option<Vec<u8>>, Duration) {
        let start = Instant::now();
        let chunks = stream::iter(0..bytes).then(move |_| async move {
            tokio::time::sleep(every).await;
            Ok::<_, ()>(b"x")
        });
        (whole_body(chunks, start + TIMEOUTS.total, TIMEOUTS.idle, &mut Room::default()).await, start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_of_one_byte_a_second_ends_at_the_total_timeout() {
        let (body, elapsed) = dribbled(Duration::from_secs(1), 1_000).await;
        assert_eq!((body, elapsed.as_secs()), (None, TIMEOUTS.total.as_secs()));
        assert_eq!(dribbled(Duration::from_secs(1), 100).await.0.map(|body| body.len()), Some(100));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stalls_ends_at_the_idle_timeout() {
        let (body, elapsed) = dribbled(Duration::from_secs(25), 3).await;
        assert_eq!((body, elapsed.as_secs()), (None, TIMEOUTS.idle.as_secs()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_kept_up_to_the_limit_and_not_beyond() {
        let of = async |bytes: usize| {
            let chunks = stream::iter([Ok::<_, ()>(vec![0; bytes - 1]), Ok(vec![0; 1])]);
            whole_body(chunks, Instant::now() + TIMEOUTS.total, TIMEOUTS.idle, &mut Room::default()).await
        };
        assert_eq!(of(RESPONSE_BYTES_MAX).await.map(|body| body.len()), Some(RESPONSE_BYTES_MAX));
        assert_eq!(of(RESPONSE_BYTES_MAX + 1).await, None);
    }
}
