//! The simulator on a socket the caller has bound. Each connection carries a switch that cuts it, so that a lost reply is
//! lost as in life: no status, no header, the connection ends.

use super::Simulator;
use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// Serves until `shutdown` completes; exchanges begun by then are finished.
///
/// # Errors
/// Those of the socket.
pub async fn serve(
    simulator: Simulator,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let service = simulator.router().into_make_service_with_connect_info::<Peer>();
    axum::serve(Cuttable(listener), service).with_graceful_shutdown(shutdown).await
}

/// Who is at the other end of a connection, and the switch that ends it.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    address: SocketAddr,
    cut: Arc<AtomicBool>,
}

impl Peer {
    pub(super) fn address(&self) -> IpAddr {
        self.address.ip()
    }

    /// From now on nothing is written to this connection.
    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::Release);
    }
}

impl Connected<IncomingStream<'_, Cuttable>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Cuttable>) -> Peer {
        Peer { address: *stream.remote_addr(), cut: Arc::clone(&stream.io().cut) }
    }
}

struct Cuttable(TcpListener);

impl Listener for Cuttable {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // without it every second small reply on a connection waits for the client's delayed acknowledgement
        let _ = stream.set_nodelay(true);
        (Wire { stream, cut: Arc::default() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
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
        match self.cut.load(Ordering::Acquire) {
            true => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            false => write(Pin::new(&mut self.stream)),
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
