//! The simulator on a socket, in its own thread: tests of the library and of the program use the same service, and no
//! test's runtime can starve it.

use axum::{
    Router,
    body::Body,
    http::{Method, Request, Response, StatusCode},
};
use rescreen::{
    model::SIMULATOR_MARKER,
    simulator::{Settings, Simulator, send_deliveries, serve},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{net::TcpListener, runtime::Runtime};

/// A service that listens until it is dropped.
pub struct Service {
    pub simulator: Simulator,
    pub url: String,
    /// Its replies come without the simulator's marker, as the real service's would.
    unmarked: Arc<AtomicBool>,
    /// The status that every request gets; 0 lets it through.
    turned_away: Arc<AtomicU16>,
    /// How many requests it still lets through.
    let_in: Arc<AtomicU64>,
    /// Checks it turned away.
    turned: Arc<AtomicU64>,
    runtime: Option<Runtime>,
}

/// Limits that no test reaches by accident, and jobs that all take the same time.
pub fn lifted() -> Settings {
    let job_time = Some(Duration::from_secs(20 * 60));
    Settings { per_minute: 600_000, per_minute_max: 900_000, job_time, ..Settings::default() }
}

impl Service {
    pub fn start(settings: Settings) -> Service {
        let (service, listener) = Service::bound(settings);
        let served = serve(service.simulator.clone(), listener, std::future::pending::<()>());
        service.spawn(async move { served.await.unwrap() });
        service
    }

    /// The simulator behind a proxy that can remove its marker and turn requests away.
    pub fn behind_a_proxy(settings: Settings) -> Service {
        let (service, listener) = Service::bound(settings);
        let (simulator, unmarked) = (service.simulator.clone(), service.unmarked.clone());
        let (turned_away, let_in) = (service.turned_away.clone(), service.let_in.clone());
        let turned = service.turned.clone();
        let router = Router::new().fallback(move |request: Request<Body>| {
            let (simulator, unmarked) = (simulator.clone(), unmarked.clone());
            let post = request.method() == Method::POST;
            let fewer = |left: u64| left.checked_sub(1);
            let let_in = post && let_in.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok();
            let status = turned_away.load(Ordering::Relaxed);
            let turned = turned.clone();
            async move {
                let mut response = match StatusCode::from_u16(status) {
                    Ok(status) if post && !let_in => {
                        turned.fetch_add(1, Ordering::Relaxed);
                        away(status)
                    }
                    _ => simulator.exchange(request).await,
                };
                if unmarked.load(Ordering::Relaxed) {
                    response.headers_mut().remove(SIMULATOR_MARKER);
                }
                response
            }
        });
        service.spawn(async move { axum::serve(listener, router).await.unwrap() });
        let simulator = service.simulator.clone();
        service.spawn(async move { send_deliveries(&simulator).await });
        service
    }

    /// From now on it looks like the real service, or like the simulator again.
    pub fn looks_real(&self, real: bool) {
        self.unmarked.store(real, Ordering::Relaxed);
    }

    /// From now on every request gets this status and does not reach the service; 0 lets requests through again.
    pub fn turns_away(&self, status: u16) {
        self.turns_away_after(0, status);
    }

    /// The same for all but this many requests from now on.
    pub fn turns_away_after(&self, requests: u64, status: u16) {
        self.let_in.store(requests, Ordering::Relaxed);
        self.turned_away.store(status, Ordering::Relaxed);
    }

    /// Checks that arrived, including those that were turned away.
    pub fn checks_arrived(&self) -> u64 {
        self.simulator.stats().checks() + self.turned.load(Ordering::Relaxed)
    }

    fn bound(settings: Settings) -> (Service, TcpListener) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let entered = runtime.enter();
        let listener = TcpListener::from_std(socket).unwrap();
        drop(entered);
        let (unmarked, turned_away) = (Arc::default(), Arc::default());
        let (let_in, turned) = (Arc::default(), Arc::default());
        let simulator = Simulator::new(settings);
        (Service { simulator, url, unmarked, turned_away, let_in, turned, runtime: Some(runtime) }, listener)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.as_ref().unwrap().spawn(task);
    }

    /// Waits until the service has made this many charges, and fails after 20 seconds.
    pub fn wait_for_charges(&self, charges: u64) {
        let begun = Instant::now();
        while self.simulator.stats().charges < charges {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", self.simulator.stats());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn away(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(r#"{"error": "turned away"}"#));
    *response.status_mut() = status;
    response.headers_mut().insert(SIMULATOR_MARKER, "1".parse().unwrap());
    response
}

impl Drop for Service {
    fn drop(&mut self) {
        // One runtime must not wait for another one.
        self.runtime.take().unwrap().shutdown_background();
    }
}
