//! A check between connecting and the first byte. Connecting may take long, and the machine may sleep meanwhile, so
//! what was allowed before may not be allowed any more. A request whose connection is refused here counts as not
//! written.

use std::{
    error::Error,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};
use tower::{Layer, Service};

type BoxError = Box<dyn Error + Send + Sync>;
type Allowed = Box<dyn Fn() -> bool + Send + Sync>;

tokio::task_local! {
    /// Set while a request is sent that may be charged. Free requests, such as the balance query, always pass the gate:
    /// their replies tell the service's time.
    static PAID: ();
}

/// Runs an exchange that may be charged.
pub(super) async fn paid<T>(exchange: impl Future<Output = T>) -> T {
    PAID.scope((), exchange).await
}

/// Decides whether a new connection may be written to. Open until a decision function is set.
#[derive(Clone, Default)]
pub(super) struct ConnectGate(Arc<OnceLock<Allowed>>);

impl ConnectGate {
    /// Sets the decision function. Only the first call has an effect.
    pub(super) fn set(&self, allowed: impl Fn() -> bool + Send + Sync + 'static) {
        self.0.get_or_init(|| Box::new(allowed));
    }

    fn is_open(&self) -> bool {
        self.0.get().is_none_or(|allowed| allowed())
    }
}

/// Why a connection is not used.
#[derive(Debug)]
struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "during connecting, this machine's clock was changed, the machine slept, or the service asked for a pause",
        )
    }
}

impl Error for Closed {}

impl<S> Layer<S> for ConnectGate {
    type Service = Gated<S>;

    fn layer(&self, inner: S) -> Gated<S> {
        Gated { inner, gate: self.clone() }
    }
}

/// A connector behind the gate.
#[derive(Clone)]
pub(super) struct Gated<S> {
    inner: S,
    gate: ConnectGate,
}

impl<S, R> Service<R> for Gated<S>
where
    S: Service<R, Error = BoxError>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, to: R) -> Self::Future {
        let (connecting, gate) = (self.inner.call(to), self.gate.clone());
        let is_paid = PAID.try_with(|()| ()).is_ok();
        Box::pin(async move {
            let connection = connecting.await?;
            if !is_paid || gate.is_open() { Ok(connection) } else { Err(Closed.into()) }
        })
    }
}
