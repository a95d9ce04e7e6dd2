//! The simulator on a socket, in its own thread: tests of the library and of the program use the same service, and no
//! test's runtime can starve it.

use axum::{Router, body::Body, http::Request};
use rescreen::{
    model::SIMULATOR_MARKER,
    simulator::{Settings, Simulator, send_deliveries, serve},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
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

    /// The simulator behind a proxy that can remove its marker.
    pub fn behind_a_proxy(settings: Settings) -> Service {
        let (service, listener) = Service::bound(settings);
        let (simulator, unmarked) = (service.simulator.clone(), service.unmarked.clone());
        let router = Router::new().fallback(move |request: Request<Body>| {
            let (simulator, unmarked) = (simulator.clone(), unmarked.clone());
            async move {
                let mut response = simulator.exchange(request).await;
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

    /// Checks that arrived.
    pub fn checks_arrived(&self) -> u64 {
        self.simulator.stats().checks()
    }

    fn bound(settings: Settings) -> (Service, TcpListener) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let entered = runtime.enter();
        let listener = TcpListener::from_std(socket).unwrap();
        drop(entered);
        let (simulator, unmarked) = (Simulator::new(settings), Arc::default());
        (Service { simulator, url, unmarked, runtime: Some(runtime) }, listener)
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

impl Drop for Service {
    fn drop(&mut self) {
        // One runtime must not wait for another one.
        self.runtime.take().unwrap().shutdown_background();
    }
}
