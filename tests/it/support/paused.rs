//! Time travel: the service in this process, and both clocks driven by tokio's paused time, so that days pass in no
//! time. Our own clock can be set wrong, and the connection can lose every reply.

use axum::{body::Body, http::Response};
use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use rescreen::{
    client::{InProcess, InProcessRequest, TransportFault},
    ledger::CommitMode,
    model::{Clock, SIMULATOR_MARKER},
    pipeline::Campaign,
    simulator::Simulator,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// A reply in the place of the service, with the mark that lets a simulated campaign take it.
pub fn reply(status: u16, body: impl Into<Body>) -> Response<Body> {
    Response::builder().status(status).header(SIMULATOR_MARKER, "1").body(body.into()).unwrap()
}

/// What happens to checks on their way: the number means "as usual", "answered, and the answer is lost", "connection
/// refused", or a status that they get without reaching the service.
const AS_USUAL: u16 = 0;
const LOST: u16 = 1;
const AWAY: u16 = 2;

pub struct Paused {
    begun: Instant,
    origin: Timestamp,
    off: Mutex<SignedDuration>,
    line: Arc<AtomicU16>,
    /// Replies do not state the service's time.
    timeless: Arc<AtomicBool>,
    /// Checks that got a status on the way.
    turned: Arc<AtomicU64>,
    /// How many checks still reach the service before the others get a status.
    let_in: Arc<AtomicU64>,
    /// Replies about jobs that replace those of the service.
    about_jobs: Arc<Mutex<Option<AboutJobs>>>,
    /// What replies to messages that do not reach the service.
    between: Arc<Mutex<Option<Between>>>,
    /// What is left of the answers to checks on their way back.
    answers: Arc<Mutex<Option<Changed>>>,
}

/// Changes the body of an answer; `None` leaves it as it is.
type Changed = Box<dyn Fn(&str) -> Option<String> + Send>;

/// Makes the reply to a message from its path and its body; `None` lets it through to the service.
type Between = Box<dyn Fn(&str, &str) -> Option<Response<Body>> + Send>;

/// Makes the reply about a job from its path and from the body of the service's reply; `None` leaves that as it is.
type AboutJobs = Box<dyn Fn(&str, serde_json::Value) -> Option<(u16, String)> + Send>;

/// A reply as a socket brings it: nothing arrives of a reply whose connection is cut before its first byte.
async fn delivered(reply: Response<Body>) -> Result<Response<Body>, TransportFault> {
    let (head, body) = reply.into_parts();
    let mut bytes = body.into_data_stream();
    match bytes.next().await {
        None => Ok(Response::from_parts(head, Body::empty())),
        Some(Ok(first)) => Ok(Response::from_parts(head, Body::from_stream(stream::iter([Ok(first)]).chain(bytes)))),
        Some(Err(fault)) => Err(TransportFault::Unknown(fault.to_string())),
    }
}

/// A reply about a job that may replace the one of the service.
async fn about_job(path: &str, reply: Response<Body>, about: &Mutex<Option<AboutJobs>>) -> Response<Body> {
    let (mut head, body) = reply.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let said = serde_json::from_slice(&body).unwrap_or_default();
    match about.lock().unwrap().as_ref().and_then(|about| about(path, said)) {
        None => Response::from_parts(head, Body::from(body)),
        Some((status, body)) => {
            head.status = status.try_into().unwrap();
            Response::from_parts(head, Body::from(body))
        }
    }
}

impl Paused {
    pub fn begun() -> Paused {
        let origin = "2026-11-02T06:00:00Z".parse().unwrap();
        let (line, timeless, about_jobs, between, answers) = <(Arc<_>, Arc<_>, Arc<_>, Arc<_>, Arc<_>)>::default();
        let (turned, let_in) = (Arc::default(), Arc::default());
        let (begun, off) = (Instant::now(), Mutex::default());
        Paused { begun, origin, off, line, timeless, turned, let_in, about_jobs, between, answers }
    }

    /// The right time.
    pub fn clock(&self) -> Clock {
        Clock::driven_from(self.origin, self.begun)
    }

    /// From now on our clock is wrong by this much.
    pub fn our_clock_is_off(&self, seconds: i64) {
        *self.off.lock().unwrap() = SignedDuration::from_secs(seconds);
    }

    /// Advances to this time after the start.
    pub async fn at_hours_minutes(&self, hours: u64, minutes: u64) {
        let due = self.begun + Duration::from_secs(hours * 3_600 + minutes * 60);
        tokio::time::advance(due.duration_since(Instant::now())).await;
    }

    /// From now on checks are answered and charged, and all answers are lost.
    pub fn loses_answers(&self) {
        self.line.store(LOST, Ordering::Relaxed);
    }

    /// From now on checks get this status on the way and do not reach the service.
    pub fn turns_away(&self, status: u16) {
        self.turns_away_after(0, status);
    }

    /// The same for all but this many checks from now on.
    pub fn turns_away_after(&self, checks: u64, status: u16) {
        self.let_in.store(checks, Ordering::Relaxed);
        self.line.store(status, Ordering::Relaxed);
    }

    /// Checks that got a status on the way.
    pub(super) fn turned_away(&self) -> u64 {
        self.turned.load(Ordering::Relaxed)
    }

    /// From now on the connection of a check is refused.
    pub fn refuses_connections(&self) {
        self.line.store(AWAY, Ordering::Relaxed);
    }

    /// From now on no reply states the service's time.
    pub fn states_no_time(&self) {
        self.timeless.store(true, Ordering::Relaxed);
    }

    /// From now on replies about jobs are made by this.
    pub fn says_about_jobs(&self, about: impl Fn(&str, serde_json::Value) -> Option<(u16, String)> + Send + 'static) {
        *self.about_jobs.lock().unwrap() = Some(Box::new(about));
    }

    /// From now on this stands between us and the service, and may reply in its place.
    pub fn stands_between(&self, reply: impl Fn(&str, &str) -> Option<Response<Body>> + Send + 'static) {
        *self.between.lock().unwrap() = Some(Box::new(reply));
    }

    /// From now on the bodies of answers to checks arrive changed.
    pub fn changes_answers(&self, change: impl Fn(&str) -> Option<String> + Send + 'static) {
        *self.answers.lock().unwrap() = Some(Box::new(change));
    }

    pub fn works_again(&self) {
        *self.answers.lock().unwrap() = None;
        (*self.about_jobs.lock().unwrap(), *self.between.lock().unwrap()) = (None, None);
        self.let_in.store(0, Ordering::Relaxed);
        self.line.store(AS_USUAL, Ordering::Relaxed);
    }

    pub(super) fn applies_to(&self, campaign: &mut Campaign, simulator: &Simulator) {
        let origin = self.origin.checked_add(*self.off.lock().unwrap()).unwrap();
        campaign.clock = Clock::driven_from(origin, self.begun);
        campaign.commit_mode = CommitMode::Inline;
        let (simulator, line, timeless) = (simulator.clone(), self.line.clone(), self.timeless.clone());
        let (turned, let_in, about_jobs) = (self.turned.clone(), self.let_in.clone(), self.about_jobs.clone());
        let (between, answers) = (self.between.clone(), self.answers.clone());
        campaign.service.in_process = Some(InProcess::new(move |request: InProcessRequest| {
            let (simulator, timeless) = (simulator.clone(), timeless.load(Ordering::Relaxed));
            let (turned, about_jobs, answers) = (turned.clone(), about_jobs.clone(), answers.clone());
            let path = request.uri().path().to_owned();
            let body = String::from_utf8_lossy(request.body());
            let instead = between.lock().unwrap().as_ref().and_then(|between| between(&path, &body));
            drop(body);
            let is_check = request.method() == axum::http::Method::POST;
            let fewer = |left: u64| left.checked_sub(1);
            let let_in = is_check && let_in.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok();
            let line = if is_check && !let_in { line.load(Ordering::Relaxed) } else { AS_USUAL };
            async move {
                if let Some(reply) = instead {
                    turned.fetch_add(u64::from(is_check), Ordering::Relaxed);
                    return Ok(reply);
                }
                match line {
                    AS_USUAL => {
                        let mut reply = delivered(simulator.exchange(request.map(Body::from)).await).await?;
                        if timeless {
                            reply.headers_mut().remove(axum::http::header::DATE);
                        }
                        if path.contains("/jobs/") {
                            reply = about_job(&path, reply, &about_jobs).await;
                        }
                        if is_check && answers.lock().unwrap().is_some() {
                            let (head, body) = reply.into_parts();
                            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
                            let answer = String::from_utf8_lossy(&body);
                            let changed = answers.lock().unwrap().as_ref().and_then(|change| change(&answer));
                            reply = Response::from_parts(head, changed.map_or(Body::from(body), Body::from));
                        }
                        Ok(reply)
                    }
                    LOST => {
                        let _answer = simulator.exchange(request.map(Body::from)).await;
                        Err(TransportFault::Unknown("the answer was lost".to_owned()))
                    }
                    AWAY => Err(TransportFault::NotWritten("refused".to_owned())),
                    status => {
                        turned.fetch_add(1, Ordering::Relaxed);
                        Ok(reply(status, r#"{"error": "turned away"}"#))
                    }
                }
            }
        }));
    }
}
