//! The simulator on a socket, in its own thread: tests of the library and of the program use the same service, and no
//! test's runtime can starve it.

use super::{answering::Answering, program::wait_until};
use axum::{
    Router,
    body::Body,
    http::{Method, Request, Response, StatusCode},
};
use rescreen::{
    catalogue::{Catalogue, Declaration},
    model::{Clock, SIMULATOR_MARKER},
    simulator::{self, Checks, Settings, Simulator, send_deliveries, serve},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{net::TcpListener, sync::watch};

/// The simulator's clock, which shows the same time as this one.
pub fn simulated(clock: Clock) -> simulator::Clock {
    simulator::Clock::new(move || clock.now())
}

/// The checks of the catalogue and this one.
pub fn checks_with(declaration: Declaration) -> Checks {
    let catalogue = Catalogue::built_in().with(declaration).unwrap();
    Checks::built_in().with(catalogue.own_declarations().unwrap()).unwrap()
}

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
    replies: Replies,
    answering: Answering,
}

/// Holds back the replies to some checks, in the order in which the checks arrived.
#[derive(Clone)]
struct Replies {
    /// The numbers of the checks whose replies are held back: from the first, up to the second.
    held: Arc<watch::Sender<(u64, u64)>>,
    /// Checks that arrived.
    arrived: Arc<AtomicU64>,
    /// Checks whose work is done and booked.
    done: Arc<AtomicU64>,
}

impl Replies {
    fn all() -> Replies {
        Replies { held: Arc::new(watch::channel((0, 0)).0), arrived: Arc::default(), done: Arc::default() }
    }

    /// Waits until the reply to the check of this number may be sent.
    async fn let_go(&self, number: u64) {
        self.done.fetch_add(1, Ordering::SeqCst);
        let mut held = self.held.subscribe();
        drop(held.wait_for(|(from, to)| !(*from..*to).contains(&number)).await);
    }
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
        service.answering.spawn(async move { served.await.unwrap() });
        service
    }

    /// The simulator behind a proxy that can remove its marker, turn requests away and hold replies back.
    pub fn behind_a_proxy(settings: Settings) -> Service {
        let (service, listener) = Service::bound(settings);
        let (simulator, unmarked) = (service.simulator.clone(), service.unmarked.clone());
        let (turned_away, let_in) = (service.turned_away.clone(), service.let_in.clone());
        let (turned, replies) = (service.turned.clone(), service.replies.clone());
        let router = Router::new().fallback(move |request: Request<Body>| {
            let (simulator, unmarked) = (simulator.clone(), unmarked.clone());
            let post = request.method() == Method::POST;
            let fewer = |left: u64| left.checked_sub(1);
            let let_in = post && let_in.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok();
            let status = turned_away.load(Ordering::Relaxed);
            let (turned, replies) = (turned.clone(), replies.clone());
            let number = if post { Some(replies.arrived.fetch_add(1, Ordering::SeqCst)) } else { None };
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
                // The service has recorded what it did. Its reply is not on the wire yet.
                if let Some(number) = number {
                    replies.let_go(number).await;
                }
                response
            }
        });
        service.answering.spawn(async move { axum::serve(listener, router).await.unwrap() });
        let simulator = service.simulator.clone();
        service.answering.spawn(async move { send_deliveries(&simulator).await });
        service
    }

    /// A service behind a proxy that replies to this many checks, and holds back the replies to all others. With `k`
    /// requests in flight, `checks + k` checks arrive, and no more until it is told.
    pub fn that_answers_only(checks: u64, settings: Settings) -> Service {
        let service = Service::behind_a_proxy(settings);
        service.answers_only(checks);
        service
    }

    /// Replies to this many checks, counted from its start. The replies to all others are held back.
    pub fn answers_only(&self, checks: u64) {
        self.replies.held.send_replace((checks, u64::MAX));
    }

    /// Replies to the next checks, and still holds back the replies that it holds back now.
    pub fn answers_new_checks(&self) {
        let arrived = self.replies.arrived.load(Ordering::SeqCst);
        self.replies.held.send_modify(|(_, to)| *to = arrived);
    }

    /// Lets all replies go.
    pub fn answers_all(&self) {
        self.replies.held.send_replace((0, 0));
    }

    /// Waits until this many checks are done and booked, whether their replies are held back or not.
    #[track_caller]
    pub fn wait_for_work(&self, checks: u64) {
        wait_until(&format!("{checks} checks that are done"), || self.replies.done.load(Ordering::SeqCst) >= checks);
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
        let (answering, listener) = Answering::bound();
        let (unmarked, turned_away) = (Arc::default(), Arc::default());
        let (let_in, turned) = (Arc::default(), Arc::default());
        let simulator = Simulator::new(settings);
        let (url, replies) = (answering.url.clone(), Replies::all());
        (Service { simulator, url, unmarked, turned_away, let_in, turned, replies, answering }, listener)
    }
}

fn away(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(r#"{"error": "turned away"}"#));
    *response.status_mut() = status;
    response.headers_mut().insert(SIMULATOR_MARKER, "1".parse().unwrap());
    response
}
