//! Serves the simulator on a socket that the caller has bound. Each connection has a switch that cuts it, so that a
//! lost reply behaves as in reality: no status, no header, and the connection ends. The number of connections and the
//! time for a header are limited, because other programs may use the machine too.

use super::{Simulator, reply::Reply, sender::send_deliveries, visitor::Visitors};
use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Request, Response},
    serve::Listener,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
};

/// The most connections at once. Further ones wait.
const CONNECTIONS_MAX: u32 = 512;
/// How long the header of a request may take, from the end of the previous request.
const HEADER_TIME: Duration = Duration::from_secs(10);

/// Serves, and delivers the events of jobs, until `shutdown` completes. Exchanges that were started by then are finished;
/// deliveries are not.
///
/// # Errors
/// A socket error.
pub async fn serve(
    simulator: Simulator,
    mut listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let visitors = Visitors::of(listener.local_addr()?.ip());
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    let (end, ended) = watch::channel(());
    let sending = simulator.clone();
    let accepting = async {
        loop {
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            let (stream, address) = Listener::accept(&mut listener).await;
            // Without it, every second small reply on a connection waits for the client's delayed acknowledgement.
            let _ = stream.set_nodelay(true);
            let (simulator, ended) = (simulator.clone(), ended.clone());
            tokio::spawn(async move {
                converse(simulator, visitors, stream, address, ended).await;
                drop(permit);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        () = send_deliveries(&sending) => {}
        () = shutdown => {}
    }
    drop((listener, end));
    drop(permits.acquire_many(CONNECTIONS_MAX).await);
    Ok(())
}

/// Serves one connection until it ends.
async fn converse(
    simulator: Simulator,
    visitors: Visitors,
    stream: TcpStream,
    address: SocketAddr,
    mut ended: watch::Receiver<()>,
) {
    let cut = Arc::<AtomicBool>::default();
    let peer = Peer { address, cut: Arc::clone(&cut) };
    let service = service_fn(move |request: Request<Incoming>| {
        let (simulator, peer) = (simulator.clone(), peer.clone());
        async move { Ok::<_, Infallible>(answer(&simulator, visitors, peer, request).await) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIME)
            .serve_connection(TokioIo::new(Wire { stream, cut }), service)
    );
    // It does not matter how it ended: the client disconnected, was cut off or took too long.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ended.changed() => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}

async fn answer(simulator: &Simulator, visitors: Visitors, peer: Peer, request: Request<Incoming>) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    if let Some(refusal) = visitors.refusal(&parts.uri, &parts.headers) {
        return Reply::refusal(&refusal, simulator.style()).into_response(simulator.date());
    }
    parts.extensions.insert(ConnectInfo(peer));
    simulator.exchange(Request::from_parts(parts, Body::new(body))).await
}

/// The client's address, and the switch that cuts its connection.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    address: SocketAddr,
    cut: Arc<AtomicBool>,
}

impl Peer {
    pub(super) fn address(&self) -> IpAddr {
        self.address.ip()
    }

    /// Cuts the connection: nothing more is written to it.
    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::Release);
    }
}

/// A socket whose writes fail once it is cut.
struct Wire {
    stream: TcpStream,
    cut: Arc<AtomicBool>,
}

impl Wire {
    fn if_whole<T>(
        mut self: Pin<&mut Self>,
        write: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.cut.load(Ordering::Acquire) {
            Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
        } else {
            write(Pin::new(&mut self.stream))
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.if_whole(|stream| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.if_whole(|stream| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.if_whole(|stream| stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
