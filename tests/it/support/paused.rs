//! Time travel: the service in this process, and both clocks driven by tokio's paused time, so that days pass in no time.
//! Our own clock can be set wrong, and the line can lose every reply.

use axum::body::Body;
use jiff::{SignedDuration, Timestamp};
use rescreen::{
    client::{InProcess, InProcessRequest, TransportFault},
    ledger::CommitMode,
    model::Clock,
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

/// What becomes of checks on their way: the number stands for "as usual", "answered, and the answer is lost", "nobody
/// takes the connection", or a status that they meet without reaching the service.
const AS_USUAL: u16 = 0;
const LOST: u16 = 1;
const AWAY: u16 = 2;

pub struct Paused {
    begun: Instant,
    origin: Timestamp,
    off: Mutex<SignedDuration>,
    line: Arc<AtomicU16>,
    /// Replies come without the service's time.
    timeless: Arc<AtomicBool>,
    /// Checks that met a status on the way.
    turned: Arc<AtomicU64>,
}

impl Paused {
    pub fn begun() -> Paused {
        let origin = "2026-11-02T06:00:00Z".parse().unwrap();
        let (line, timeless, turned) = (Arc::default(), Arc::default(), Arc::default());
        Paused { begun: Instant::now(), origin, off: Mutex::default(), line, timeless, turned }
    }

    /// The right time.
    pub fn clock(&self) -> Clock {
        Clock::driven_from(self.origin, self.begun)
    }

    /// Our clock is wrong by so much from now on.
    pub fn our_clock_is_off(&self, seconds: i64) {
        *self.off.lock().unwrap() = SignedDuration::from_secs(seconds);
    }

    /// So long after the beginning.
    pub async fn at(&self, hours: u64, minutes: u64) {
        let due = self.begun + Duration::from_secs(hours * 3_600 + minutes * 60);
        tokio::time::advance(due.duration_since(Instant::now())).await;
    }

    /// From now on checks are answered and charged, and no answer arrives.
    pub fn loses_answers(&self) {
        self.line.store(LOST, Ordering::Relaxed);
    }

    /// From now on checks meet this status on the way and do not reach the service.
    pub fn turns_away(&self, status: u16) {
        self.line.store(status, Ordering::Relaxed);
    }

    /// Checks that met a status on the way.
    pub(super) fn turned_away(&self) -> u64 {
        self.turned.load(Ordering::Relaxed)
    }

    /// From now on nobody takes the connection of a check.
    pub fn is_away(&self) {
        self.line.store(AWAY, Ordering::Relaxed);
    }

    /// From now on no reply tells the service's time.
    pub fn tells_no_time(&self) {
        self.timeless.store(true, Ordering::Relaxed);
    }

    pub fn is_mended(&self) {
        self.line.store(AS_USUAL, Ordering::Relaxed);
    }

    pub(super) fn moves_into(&self, campaign: &mut Campaign, simulator: &Simulator) {
        let origin = self.origin.checked_add(*self.off.lock().unwrap()).unwrap();
        campaign.clock = Clock::driven_from(origin, self.begun);
        campaign.commit_mode = CommitMode::Inline;
        let (simulator, line, timeless) = (simulator.clone(), self.line.clone(), self.timeless.clone());
        let turned = self.turned.clone();
        campaign.service.in_process = Some(InProcess::new(move |request: InProcessRequest| {
            let (simulator, line, timeless) = (simulator.clone(), line.clone(), timeless.load(Ordering::Relaxed));
            let turned = turned.clone();
            let is_check = request.method() == axum::http::Method::POST;
            async move {
                let line = if is_check { line.load(Ordering::Relaxed) } else { AS_USUAL };
                match line {
                    AS_USUAL => {
                        let mut reply = simulator.exchange(request.map(Body::from)).await;
                        if timeless {
                            reply.headers_mut().remove(axum::http::header::DATE);
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
                        let reply = axum::http::Response::builder().status(status);
                        let reply = reply.header(rescreen::model::SIMULATOR_MARKER, "1");
                        Ok(reply.body(Body::from(r#"{"error": "turned away"}"#)).unwrap())
                    }
                }
            }
        }));
    }
}
