//! The wire between the client and the simulator: every message is written down with its simulated time, some connections
//! are refused, and at a chosen message the life is struck.

use super::{
    dice::Dice,
    hands::Hands,
    life::{Crash, Life},
    onlooker::Onlooker,
};
use axum::{body::Body, http::Response};
use rescreen::{
    client::{ApiKey, InProcess, InProcessRequest, TransportFault},
    simulator::Simulator,
};
use sha2::{Digest, Sha256};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::{sync::Notify, time::Instant};

/// Messages of one life: 120 requests with six attempts and thirty push-backs each are some 4,000.
const MESSAGES_MAX: u64 = 10_000;

/// One message that left.
#[derive(Debug, Clone)]
pub struct Message {
    pub life: usize,
    /// Microseconds of simulated time since the campaign began: what timers count.
    pub at_us: u64,
    /// Microseconds since 1970 by the service's clock.
    pub wall_us: i64,
    /// This machine's clock less the service's, in seconds.
    pub apart_s: i64,
    pub submit: bool,
    pub path: String,
    pub key: String,
    pub api_key: String,
    pub body: String,
    /// The status, once a reply came back, and when.
    pub reply: Option<(u16, u64)>,
    /// A 503 that states that nothing was charged.
    pub uncharged: bool,
    /// Seconds that a reply wants nothing to be sent, where it says so in a way that can be read.
    pub retry_after: Option<u64>,
    /// A 429 without any `Retry-After`.
    pub bare: bool,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Message { life, at_us, path, key, api_key, body, reply, retry_after, .. } = self;
        write!(f, "{life} {at_us:>12} {path:<16} {key:<36} {api_key} {body:<8.8} {reply:?} {retry_after:?}")
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
    onlooker: Onlooker,
    hands: Hands,
    begun: Instant,
    state: Arc<Mutex<State>>,
}

impl Wire {
    pub fn new(simulator: Simulator, onlooker: Onlooker, hands: Hands, seed: u64) -> Wire {
        let state = State {
            life: 0,
            crash: Crash::Never,
            strike: Arc::default(),
            since: 0,
            unreachable: 0,
            dice: Dice::new(!seed),
            log: Vec::new(),
        };
        Wire { simulator, onlooker, hands, begun: Instant::now(), state: Arc::new(Mutex::new(state)) }
    }

    /// From here on messages are of this life, which is told by `strike` when it is struck.
    pub fn begin(&self, number: usize, life: &Life, strike: &Arc<Notify>) {
        let mut state = self.state();
        (state.life, state.crash, state.unreachable, state.since) = (number, life.crash, life.unreachable, 0);
        state.strike = Arc::clone(strike);
    }

    pub fn log(&self) -> Vec<Message> {
        self.state().log.clone()
    }

    pub fn service(&self, api_key: &str) -> InProcess {
        let wire = self.clone();
        let mut service = InProcess::new(move |request| {
            let wire = wire.clone();
            async move { wire.carry(request).await }
        });
        service.api_key = Some(ApiKey::new(api_key.to_owned().into()));
        service
    }

    async fn carry(&self, request: InProcessRequest) -> Result<Response<Body>, TransportFault> {
        if self.onlooker.is_dead() {
            std::future::pending::<()>().await;
        }
        let message = self.message(&request);
        if message.submit {
            self.onlooker.submitted(&message.key, request.body());
        }
        let (at, nth, crash, strike) = {
            let mut state = self.state();
            let unreachable = state.unreachable;
            if state.dice.falls(unreachable) {
                return Err(TransportFault::NotWritten("connection refused".to_owned()));
            }
            state.since += 1;
            assert!(state.since <= MESSAGES_MAX, "a life sends without end");
            let message = Message { life: state.life, ..message };
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
        let (uncharged, response) = states_no_charge(response).await;
        let now_us = self.now_us();
        let message = &mut self.state().log[at];
        message.reply = Some((response.status().as_u16(), now_us));
        message.uncharged = uncharged;
        message.retry_after = retry_after(&response);
        message.bare = response.status().as_u16() == 429 && !response.headers().contains_key("retry-after");
        Ok(response)
    }

    fn message(&self, request: &InProcessRequest) -> Message {
        let header = |name: &str| request.headers().get(name).and_then(|text| text.to_str().ok()).unwrap_or_default();
        let body: String = Sha256::digest(request.body()).iter().map(|byte| format!("{byte:02x}")).collect();
        Message {
            life: 0,
            at_us: self.now_us(),
            wall_us: self.hands.service().now_us(),
            apart_s: self.hands.apart_s(),
            submit: request.method().as_str() == "POST",
            path: request.uri().path().to_owned(),
            key: header("idempotency-key").to_owned(),
            api_key: header("x-api-key").to_owned(),
            body,
            reply: None,
            uncharged: false,
            retry_after: None,
            bare: false,
        }
    }

    fn now_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it writes down a message")
    }
}

/// Whether a 503 states that nothing was charged. Its body is whole and short; those of others are left unread.
async fn states_no_charge(response: Response<Body>) -> (bool, Response<Body>) {
    if response.status().as_u16() != 503 {
        return (false, response);
    }
    let (parts, body) = response.into_parts();
    let body = axum::body::to_bytes(body, 1 << 16).await.expect("a 503 comes whole");
    let says = String::from_utf8_lossy(&body).contains(r#""creditsUsed":0"#);
    (says, Response::from_parts(parts, Body::from(body)))
}

fn retry_after(response: &Response<Body>) -> Option<u64> {
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let date = |text: &str| httpdate::parse_http_date(text).ok();
    let text = header("retry-after")?;
    let seconds = || date(text)?.duration_since(date(header("date")?)?).ok().map(|wait| wait.as_secs());
    text.parse().ok().or_else(seconds)
}
