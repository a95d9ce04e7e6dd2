//! `--metrics`: serves the metrics of a run to Prometheus. Decides who may read them: by default only this machine.

use super::exposition::{MEDIA_TYPE, exposition};
use axum::{
    Router,
    body::Body,
    http::{Request, header::CONTENT_TYPE},
    routing::get,
};
use clap::Args;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rescreen::{
    Error,
    model::Clock,
    pipeline::{Progress, campaign::flags},
};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinHandle,
};
use tower::Service;

/// The most connections at once. Further ones wait.
const CONNECTIONS_MAX: usize = 16;
/// How long a connection may take. A scrape is one small request.
const CONNECTION_TIME: Duration = Duration::from_secs(10);

#[derive(Args, Debug, Clone, Default)]
pub struct MetricsArgs {
    /// Serve metrics for Prometheus at http://ADDR/metrics while this runs; a port alone is on this machine
    #[arg(long, value_name = "ADDR", value_parser = address, help_heading = flags::OUTPUT)]
    metrics: Option<SocketAddr>,
    /// Allow --metrics on an address that other machines can reach
    #[arg(long, requires = "metrics", help_heading = flags::OUTPUT)]
    metrics_anywhere: bool,
}

/// An address, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| "expected a port such as 9184, or an address such as 127.0.0.1:9184".to_owned())
}

/// A socket that is bound, so that a port in use is noticed before anything is sent.
pub struct Metrics {
    listener: TcpListener,
    /// What the user should know.
    pub note: String,
}

/// Serves until it is dropped.
pub struct MetricsGuard(JoinHandle<()>);

impl Drop for MetricsGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl MetricsArgs {
    /// Binds the socket, if metrics are requested.
    pub async fn bind(&self) -> Result<Option<Metrics>, Error> {
        let Some(wanted) = self.metrics else { return Ok(None) };
        let is_here = wanted.ip().to_canonical().is_loopback();
        if !is_here && !self.metrics_anywhere {
            return Err(Error::Config(format!(
                "--metrics {wanted}: expected a loopback address such as 127.0.0.1, found one that other machines can \
                 reach and could read how many checks run and what they cost; add --metrics-anywhere to allow it"
            )));
        }
        let no_port = |error: std::io::Error| {
            Error::Config(format!(
                "--metrics {wanted}: {error}; choose another address, or end the program that uses it"
            ))
        };
        let listener = TcpListener::bind(wanted).await.map_err(no_port)?;
        let address = listener.local_addr().map_err(no_port)?;
        let warning = if is_here { "" } else { "warning: other machines can read the metrics; " };
        Ok(Some(Metrics { listener, note: format!("{warning}metrics: http://{address}/metrics") }))
    }
}

impl Metrics {
    /// Serves the progress until the guard is dropped.
    pub fn serve(self, progress: watch::Receiver<Progress>) -> MetricsGuard {
        MetricsGuard(tokio::spawn(serve(self.listener, progress)))
    }
}

async fn serve(listener: TcpListener, progress: watch::Receiver<Progress>) {
    let shown = move || {
        let text = exposition(progress.borrow().clone(), Clock::System.now_us());
        async move { ([(CONTENT_TYPE, MEDIA_TYPE)], text) }
    };
    let router = Router::new().route("/metrics", get(shown));
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Too many files are open. The run matters more.
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            // It does not matter how it ended.
            drop(tokio::time::timeout(CONNECTION_TIME, converse(router, stream)).await);
            drop(permit);
        });
    }
}

async fn converse(router: Router, stream: TcpStream) {
    let service = service_fn(move |request: Request<Incoming>| router.clone().call(request.map(Body::new)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(CONNECTION_TIME)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    drop(connection.await);
}
