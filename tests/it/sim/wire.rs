//! The wire between the client and the simulator: every message is written down with its simulated time, some connections
//! are refused, and at a chosen message the life is struck.

use super::script::{Crash, Dice};
use axum::{body::Body, http::Response};
use rescreen::{
    client::{InProcess, InProcessRequest, TransportFault},
    simulator::Simulator,
};
use sha2::{Digest, Sha256};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::{sync::Notify, time::Instant};

/// One message that left.
#[derive(Debug, Clone)]
pub struct Message {
    pub life: usize,
    /// Microseconds of simulated time since the campaign began.
    pub at_us: u64,
    pub submit: bool,
    pub path: String,
    pub key: String,
    pub body: String,
    /// The status, once a reply came back, and when.
    pub reply: Option<(u16, u64)>,
    /// Seconds.
    pub retry_after: Option<u64>,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Message { life, at_us, path, key, body, reply, retry_after, .. } = self;
        write!(f, "{life} {at_us:>12} {path:<16} {key:<36} {:<8.8} {reply:?} {retry_after:?}", body)
    }
}

struct State {
    life: usize,
    crash: Crash,
    strike: Arc<Notify>,
    since: u64,
    unreachable: u64,
    dice: Dice,
    log: Vec<Message>,
}

/// The wire of one campaign.
#[derive(Clone)]
pub struct Wire {
    simulator: Simulator,
    begun: Instant,
    state: Arc<Mutex<State>>,
}

impl Wire {
    pub fn new(simulator: Simulator, seed: u64) -> Wire {
        let state = State {
            life: 0,
            crash: Crash::Never,
            strike: Arc::default(),
            since: 0,
            unreachable: 0,
            dice: Dice::new(!seed),
            log: Vec::new(),
        };
        Wire { simulator, begun: Instant::now(), state: Arc::new(Mutex::new(state)) }
    }

    /// From here on messages are of this life; what strikes it is told by the handle.
    pub fn begin(&self, life: usize, crash: Crash, unreachable: u64) -> Arc<Notify> {
        let mut state = self.state();
        (state.life, state.crash, state.unreachable, state.since) = (life, crash, unreachable, 0);
        state.strike = Arc::default();
        Arc::clone(&state.strike)
    }

    pub fn log(&self) -> Vec<Message> {
        self.state().log.clone()
    }

    pub fn service(&self) -> InProcess {
        let wire = self.clone();
        InProcess::new(move |request| {
            let wire = wire.clone();
            async move { wire.carry(request).await }
        })
    }

    async fn carry(&self, request: InProcessRequest) -> Result<Response<Body>, TransportFault> {
        let (at, nth, crash, strike) = {
            let mut state = self.state();
            let unreachable = state.unreachable;
            if state.dice.falls(unreachable) {
                return Err(TransportFault::NotWritten("connection refused".to_owned()));
            }
            state.since += 1;
            let message = self.message(state.life, &request);
            state.log.push(message);
            (state.log.len() - 1, state.since, state.crash, Arc::clone(&state.strike))
        };
        if matches!(crash, Crash::BeforeService(wanted) if wanted == nth) {
            strike.notify_one();
            std::future::pending::<()>().await;
        }
        let response = self.simulator.exchange(request.map(Body::from)).await;
        if matches!(crash, Crash::BeforeReply(wanted) if wanted == nth) {
            strike.notify_one();
            std::future::pending::<()>().await;
        }
        if matches!(crash, Crash::AfterReply(wanted) if wanted == nth) {
            strike.notify_one();
        }
        let now_us = self.now_us();
        let message = &mut self.state().log[at];
        message.reply = Some((response.status().as_u16(), now_us));
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        message.retry_after = retry_after.and_then(|text| text.parse().ok());
        Ok(response)
    }

    fn message(&self, life: usize, request: &InProcessRequest) -> Message {
        let key = request.headers().get("idempotency-key").and_then(|key| key.to_str().ok());
        let body: String = Sha256::digest(request.body()).iter().map(|byte| format!("{byte:02x}")).collect();
        Message {
            life,
            at_us: self.now_us(),
            submit: request.method().as_str() == "POST",
            path: request.uri().path().to_owned(),
            key: key.unwrap_or_default().to_owned(),
            body,
            reply: None,
            retry_after: None,
        }
    }

    fn now_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it writes down a message")
    }
}
