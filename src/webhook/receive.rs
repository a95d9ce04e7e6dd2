//! The receiver: an HTTP server on a socket that the caller has bound. A delivery is checked before anything is stored,
//! and stored before it is answered. The number of connections, the size of a body and the time of every step are
//! limited, because anyone can send to a public address.

use super::{
    delivery::{Delivery, EVENT_ID},
    inbox::{DATASET_UPDATES, Inbox, InboxError, ReceiverId},
    signature::{SIGNATURE, TIMESTAMP, WebhookSecret, verify},
    store::{Kept, Store},
};
use axum::{
    body::{Body, Bytes, to_bytes},
    http::{HeaderMap, Method, Request, Response, StatusCode, header},
    serve::Listener,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    collections::HashMap,
    convert::Infallible,
    io::{self, BufRead, BufReader, Read, Write},
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    time::timeout,
};

/// The path that the id of a receiver is appended to.
pub const PATH: &str = "/hooks/";
/// The path at which a receiver says whether it works. A proxy does not forward it.
const HEALTH: &str = "/health";
/// The reply of a receiver that can read its inbox. Few other servers reply with it.
const HEALTHY: StatusCode = StatusCode::NO_CONTENT;
/// How long [`is_healthy`] waits for a connection, and for the reply.
const HEALTH_TIME: Duration = Duration::from_secs(10);
/// The most connections at once. Further ones wait.
const CONNECTIONS_MAX: u32 = 64;
/// The largest body. The documented events have a few kilobytes.
const BODY_BYTES_MAX: usize = 1 << 20;
/// How long the header of a request may take, from the end of the previous request.
const HEADER_TIME: Duration = Duration::from_secs(10);
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(5);
/// How long an event may take to be stored. The service waits 15 seconds for the reply to a delivery.
const STORE_TIME: Duration = Duration::from_secs(8);
/// The most secrets that are kept in memory.
const SECRETS_MAX: usize = 10_000;
/// How long a secret is kept in memory. A secret that was replaced in the inbox is not accepted for longer.
const SECRET_LIFE: Duration = Duration::from_secs(10);

/// How many deliveries a receiver got, by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// New events, which are stored.
    pub new: u64,
    /// Deliveries of events that were stored before.
    pub repeated: u64,
    /// Requests that are not genuine deliveries.
    pub refused: u64,
}

/// Receives until `shutdown` completes. Deliveries that arrived by then are finished.
///
/// # Errors
/// The inbox failed.
pub async fn receive(
    inbox: Inbox,
    mut listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> Result<Received, InboxError> {
    let (store, ended_with) = Store::start(inbox)?;
    let shared = Arc::new(Shared { store, secrets: Mutex::default(), counts: Counts::default() });
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    let (end, ended) = watch::channel(());
    let accepting = async {
        loop {
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            let (stream, _) = Listener::accept(&mut listener).await;
            let (shared, ended) = (Arc::clone(&shared), ended.clone());
            tokio::spawn(async move {
                serve_connection(shared, stream, ended).await;
                drop(permit);
            });
        }
    };
    let failed = tokio::select! {
        () = accepting => None,
        () = shutdown => None,
        failed = ended_with => failed.ok(),
    };
    drop((listener, end));
    drop(permits.acquire_many(CONNECTIONS_MAX).await);
    failed.map_or_else(|| Ok(shared.counts.read()), Err)
}

/// Asks the receiver at an address whether it works.
///
/// # Errors
/// What is wrong with it, as words for a person.
pub fn is_healthy(address: SocketAddr) -> Result<(), String> {
    let asked = || {
        let mut stream = std::net::TcpStream::connect_timeout(&address, HEALTH_TIME)?;
        stream.set_read_timeout(Some(HEALTH_TIME))?;
        let question = format!("GET {HEALTH} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(question.as_bytes())?;
        let mut status_line = String::new();
        BufReader::new(stream).take(200).read_line(&mut status_line)?;
        Ok(status_line)
    };
    let status_line = asked().map_err(|error: io::Error| error.to_string())?;
    match status_line.split(' ').nth(1) {
        Some(status) if status == HEALTHY.as_str() => Ok(()),
        Some("503") => Err("it cannot read its inbox".to_owned()),
        _ => Err("what listens there is not `rescreen listen` of this release".to_owned()),
    }
}

/// Serves one connection until it ends.
async fn serve_connection(shared: Arc<Shared>, stream: TcpStream, mut ended: watch::Receiver<()>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(reply(shared.answer(request).await)) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIME)
            .serve_connection(TokioIo::new(stream), service)
    );
    // It does not matter how it ended: the sender disconnected or took too long.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ended.changed() => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}

/// A reply has no body, because a sender that is not genuine must learn nothing.
fn reply(status: StatusCode) -> Response<Body> {
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = status;
    // The rest of a body that was not read would be taken for the next request. Only who delivers keeps a connection.
    if status != StatusCode::OK {
        reply.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    }
    reply
}

/// What the connections share.
struct Shared {
    store: Store,
    secrets: Mutex<HashMap<ReceiverId, (WebhookSecret, Instant)>>,
    counts: Counts,
}

impl Shared {
    async fn answer(&self, request: Request<Incoming>) -> StatusCode {
        if request.uri().path() == HEALTH && request.method() == Method::GET {
            return self.health().await;
        }
        let found = self.answered(request).await;
        let count = match found {
            Ok(Kept::New) => &self.counts.new,
            Ok(Kept::Known) => &self.counts.repeated,
            Err(_) => &self.counts.refused,
        };
        count.fetch_add(1, Ordering::Relaxed);
        found.map_or_else(|status| status, |_| StatusCode::OK)
    }

    /// Looks for a receiver in the inbox, as each delivery does.
    async fn health(&self) -> StatusCode {
        match timeout(STORE_TIME, self.store.secret(ReceiverId::random())).await {
            Ok(Some(_)) => HEALTHY,
            Ok(None) | Err(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    async fn answered(&self, request: Request<Incoming>) -> Result<Kept, StatusCode> {
        let (head, body) = request.into_parts();
        let receiver = head.uri.path().strip_prefix(PATH).and_then(ReceiverId::new).ok_or(StatusCode::NOT_FOUND)?;
        if head.method != Method::POST {
            return Err(StatusCode::METHOD_NOT_ALLOWED);
        }
        let (timestamp, signature) = (only(&head.headers, TIMESTAMP)?, only(&head.headers, SIGNATURE)?);
        let secret = self.secret(&receiver).await?.ok_or(StatusCode::UNAUTHORIZED)?;
        let body = whole(body).await?;
        verify(&secret, timestamp, signature, &body, now_s()).map_err(|forged| {
            tracing::info!(%receiver, "a delivery was refused: {forged}");
            StatusCode::UNAUTHORIZED
        })?;
        let event_id = head.headers.get(EVENT_ID).and_then(|id| id.to_str().ok());
        let delivery = if receiver.to_string() == DATASET_UPDATES {
            Delivery::read_or_digest(body.into(), event_id)
        } else {
            Delivery::read(body.into(), event_id).ok_or(StatusCode::BAD_REQUEST)?
        };
        match timeout(STORE_TIME, self.store.put(receiver, delivery)).await {
            Ok(Some(kept)) => Ok(kept),
            // The service delivers it again.
            Ok(None) | Err(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// The secret of a receiver. A secret that is not known is always looked for in the inbox, because a campaign may
    /// have just registered it.
    async fn secret(&self, receiver: &ReceiverId) -> Result<Option<WebhookSecret>, StatusCode> {
        let known = self.secrets.lock().unwrap_or_else(PoisonError::into_inner).get(receiver).cloned();
        if let Some((secret, _)) = known.filter(|(_, read_at)| read_at.elapsed() < SECRET_LIFE) {
            return Ok(Some(secret));
        }
        let found = timeout(STORE_TIME, self.store.secret(receiver.clone())).await;
        let found = found.ok().flatten().ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if secrets.len() >= SECRETS_MAX {
            secrets.clear();
        }
        if let Some(secret) = found.clone() {
            secrets.insert(receiver.clone(), (secret, Instant::now()));
        }
        Ok(found)
    }
}

/// The value of a header that occurs once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<&'a str, StatusCode> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().map_err(|_| StatusCode::UNAUTHORIZED),
        _ => Err(StatusCode::UNAUTHORIZED),
    }
}

async fn whole(body: Incoming) -> Result<Bytes, StatusCode> {
    let read = timeout(BODY_TIME, to_bytes(Body::new(body), BODY_BYTES_MAX)).await;
    read.map_err(|_| StatusCode::REQUEST_TIMEOUT)?.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)
}

fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[derive(Default)]
struct Counts {
    new: AtomicU64,
    repeated: AtomicU64,
    refused: AtomicU64,
}

impl Counts {
    fn read(&self) -> Received {
        let [new, repeated, refused] =
            [&self.new, &self.repeated, &self.refused].map(|count| count.load(Ordering::Relaxed));
        Received { new, repeated, refused }
    }
}
