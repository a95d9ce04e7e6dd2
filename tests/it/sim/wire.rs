//! The wire between the client and the simulator: every message is recorded with its simulated time, some connections
//! are refused, and at a chosen message the life is ended.

use super::{
    clocks::Clocks,
    life::{Crash, Life, Move, STEPS, Step, When},
    onlooker::Onlooker,
    rng::Rng,
    stated_credits::{Said, said},
    upload_wire::{Trouble, spoilt, step_of},
};
use axum::{
    body::{Body, Bytes},
    http::Response,
};
use futures::stream;
use rescreen::{
    catalogue::{Catalogue, Declaration},
    client::{ApiKey, InProcess, InProcessRequest, TransportFault},
    simulator::Simulator,
};
use sha2::{Digest, Sha256};
use std::{
    fmt, io,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::{sync::Notify, time::Instant};

/// The most messages of one life: 120 requests with six attempts and thirty push-backs each are about 4,000.
const MESSAGES_MAX: u64 = 10_000;

/// One message that was sent.
#[derive(Debug, Clone)]
pub struct Message {
    pub life: usize,
    /// Microseconds of simulated time since the campaign started, which is the time of timers.
    pub at_us: u64,
    /// Microseconds since 1970 by the service's clock.
    pub wall_us: i64,
    /// This machine's clock less the service's, in seconds.
    pub apart_s: i64,
    pub submit: bool,
    pub step: Step,
    /// A document that is sent with a secret of the service.
    pub leaks: bool,
    pub path: String,
    /// The check of a request. Checks that share a route differ in what is fixed in their bodies.
    pub check: String,
    pub key: String,
    pub api_key: String,
    pub body: String,
    /// The digest of the body without what it has from its key.
    pub content: String,
    /// The status and the time, once a reply arrived.
    pub reply: Option<(u16, u64)>,
    /// What the reply states about money.
    pub said: Said,
    /// Seconds for which a reply asks that nothing be sent, if it says so readably.
    pub retry_after: Option<u64>,
    /// A 429 without any `Retry-After`.
    pub bare: bool,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Message { life, at_us, path, key, api_key, body, reply, retry_after, said, .. } = self;
        write!(f, "{life} {at_us:>12} {path:<16} {key:<36} {api_key} {body:<8.8} {reply:?} {retry_after:?}")?;
        match said {
            Said { charge: Some(charge), .. } => write!(f, " charge {charge}"),
            Said { odd: true, .. } => f.write_str(" odd charge"),
            Said { balance: Some(balance), .. } => write!(f, " balance {balance}"),
            _ => Ok(()),
        }
    }
}

impl Message {
    /// A 5xx that states that nothing was charged.
    pub fn is_uncharged(&self) -> bool {
        matches!(self.reply, Some((500.., _))) && self.said.charge == Some(0)
    }
}

struct State {
    life: usize,
    crash: Crash,
    strike: Arc<Notify>,
    since: u64,
    unreachable: u64,
    /// Requests of this life so far, and what must happen before some of them.
    submits: u64,
    moves: Vec<(u64, Move)>,
    rng: Rng,
    /// The messages of this life so far, by step.
    of_step: [u64; STEPS],
    upload_trouble: u64,
    upload_rng: Rng,
    /// The last reply of this life that announced a place and arrived, for one that repeats it. The program cannot tell
    /// one that repeats a reply that was lost.
    last_place: Option<Bytes>,
    api_key: &'static str,
    log: Vec<Message>,
    /// Messages whose connection was refused: the service did not see them.
    refused: Vec<Message>,
}

/// The wire of one campaign.
#[derive(Clone)]
pub struct Wire {
    simulator: Simulator,
    onlooker: Onlooker,
    clocks: Clocks,
    checks: [Declaration; 2],
    begun: Instant,
    state: Arc<Mutex<State>>,
}

impl Wire {
    pub fn new(simulator: Simulator, onlooker: Onlooker, clocks: Clocks, checks: [&'static str; 2], seed: u64) -> Wire {
        let state = State {
            life: 0,
            crash: Crash::Never,
            strike: Arc::default(),
            since: 0,
            unreachable: 0,
            submits: 0,
            moves: Vec::new(),
            rng: Rng::new(!seed),
            of_step: [0; STEPS],
            upload_trouble: 0,
            upload_rng: Rng::new(seed.rotate_left(5) ^ 0x0710ad),
            last_place: None,
            api_key: "",
            log: Vec::new(),
            refused: Vec::new(),
        };
        let checks = checks.map(|name| Catalogue::built_in().get(name).expect("a check of the catalogue").clone());
        Wire { simulator, onlooker, clocks, checks, begun: Instant::now(), state: Arc::new(Mutex::new(state)) }
    }

    /// From here on messages belong to this life. `strike` is notified when it ends.
    pub fn begin(&self, number: usize, life: &Life, strike: &Arc<Notify>) {
        let mut state = self.state();
        (state.life, state.crash, state.unreachable, state.since) = (number, life.crash, life.unreachable, 0);
        state.strike = Arc::clone(strike);
        (state.submits, state.moves) = (0, life.moves.clone());
        (state.of_step, state.upload_trouble, state.api_key) = ([0; STEPS], life.upload_trouble, life.api_key);
        state.last_place = None;
    }

    /// What must happen before the next request reaches the service.
    fn moved(&self) {
        let moves: Vec<Move> = {
            let mut state = self.state();
            state.submits += 1;
            let nth = state.submits;
            state.moves.iter().filter(|(at, _)| *at == nth).map(|(_, moved)| *moved).collect()
        };
        for moved in moves {
            match moved {
                Move::Price(check, credits) => self.simulator.set_price(&self.checks[check].name, credits),
                Move::Spend(credits) => {
                    self.simulator.set_balance(self.simulator.stats().balance.saturating_sub(credits));
                }
            }
        }
    }

    /// Messages whose connection was refused.
    pub fn refused(&self) -> Vec<Message> {
        self.state().refused.clone()
    }

    /// How many messages the service saw.
    pub fn sent(&self) -> usize {
        self.state().log.len()
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
        let message_submits = message.submit;
        let step = message.step;
        if message.submit {
            let content_type = request.headers().get("content-type").and_then(|text| text.to_str().ok());
            self.onlooker.submitted(&message.key, content_type.unwrap_or_default(), request.body());
        }
        let document = (step == Step::Put).then(|| (message.path.clone(), request.body().clone()));
        let (at, nth, crash, strike, trouble) = {
            let mut state = self.state();
            let unreachable = state.unreachable;
            if state.rng.chance(unreachable) {
                let message = Message { life: state.life, ..message };
                state.refused.push(message);
                return Err(TransportFault::NotWritten("connection refused".to_owned()));
            }
            state.since += 1;
            let message = Message { life: state.life, ..message };
            state.log.push(message);
            if state.since > MESSAGES_MAX {
                let last: Vec<String> = state.log.iter().rev().take(8).map(Message::to_string).collect();
                panic!("a life sends without end, at last {}", last.join("; "));
            }
            state.of_step[step as usize] += 1;
            let of_step = state.of_step[step as usize];
            let crash = match state.crash {
                Crash::AtUpload(wanted, When::BeforeService, at) if (wanted, at) == (step, of_step) => {
                    Crash::BeforeService(state.since)
                }
                Crash::AtUpload(wanted, When::BeforeReply, at) if (wanted, at) == (step, of_step) => {
                    Crash::BeforeReply(state.since)
                }
                Crash::AtUpload(wanted, When::AfterReply, at) if (wanted, at) == (step, of_step) => {
                    Crash::AfterReply(state.since)
                }
                crash => crash,
            };
            let percent = state.upload_trouble;
            let trouble = Trouble::draw(&mut state.upload_rng, step, percent);
            (state.log.len() - 1, state.since, crash, Arc::clone(&state.strike), trouble)
        };
        if matches!(crash, Crash::BeforeService(wanted) if wanted == nth) {
            strike.notify_one();
            std::future::pending::<()>().await;
        }
        if message_submits {
            self.moved();
        }
        let mut response = if trouble == Some(Trouble::LostBefore) {
            Trouble::lost()
        } else {
            self.simulator.exchange(request.map(Body::from)).await
        };
        if let Some((path, document)) = document.filter(|_| response.status().is_success()) {
            self.onlooker.placed(&path, &document);
        }
        let last_place = self.state().last_place.clone();
        let mut place = None;
        if step == Step::Announce {
            (response, place) = self.announced(response).await;
        }
        if let Some(trouble) = trouble {
            response = spoilt(trouble, response, last_place).await;
        } else if place.is_some() {
            self.state().last_place = place;
        }
        if matches!(crash, Crash::BeforeReply(wanted) if wanted == nth) {
            strike.notify_one();
            std::future::pending::<()>().await;
        }
        if matches!(crash, Crash::AfterReply(wanted) if wanted == nth) {
            strike.notify_one();
        }
        let (said, response) = heard(response).await;
        let now_us = self.now_us();
        let message = &mut self.state().log[at];
        message.reply = Some((response.status().as_u16(), now_us));
        message.said = said;
        message.retry_after = retry_after(&response);
        message.bare = response.status().as_u16() == 429 && !response.headers().contains_key("retry-after");
        Ok(response)
    }

    /// Notes the place that a reply announces. Returns the reply, and its body if it announces one.
    async fn announced(&self, response: Response<Body>) -> (Response<Body>, Option<Bytes>) {
        let (parts, body) = response.into_parts();
        let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else { return (Trouble::lost(), None) };
        let reply: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let place = reply["reference"].as_str().map(|reference| {
            self.onlooker.announced(reference);
            bytes.clone()
        });
        (Response::from_parts(parts, Body::from(bytes)), place)
    }

    fn check_of(&self, request: &InProcessRequest) -> String {
        let body = String::from_utf8_lossy(request.body());
        let contains =
            |text: &str| [format!("\"{text}\""), format!("\r\n{text}\r\n")].iter().any(|one| body.contains(one));
        let made_it = |check: &&Declaration| {
            let is_fixed = |value: &serde_json::Value| value.as_str().is_some_and(contains);
            check.routes.all().any(|path| path == request.uri().path()) && check.fixed.values().all(is_fixed)
        };
        self.checks.iter().find(made_it).map_or_else(String::new, |check| check.name.clone())
    }

    fn message(&self, request: &InProcessRequest) -> Message {
        let header = |name: &str| request.headers().get(name).and_then(|text| text.to_str().ok()).unwrap_or_default();
        let step = step_of(request);
        // A document is sent without an API key, and counts for the rate of the run's key.
        let secrets = ["x-api-key", "authorization", "idempotency-key", "cookie"];
        let leaks = step == Step::Put && secrets.iter().any(|name| request.headers().contains_key(*name));
        let api_key = if step == Step::Put { self.state().api_key } else { header("x-api-key") };
        let digest = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let body = digest(request.body());
        let content = match header("content-type").split_once("boundary=") {
            Some((_, boundary)) => digest(String::from_utf8_lossy(request.body()).replace(boundary, "").as_bytes()),
            None => body.clone(),
        };
        Message {
            life: 0,
            at_us: self.now_us(),
            wall_us: self.clocks.service().now_us(),
            apart_s: self.clocks.apart_s(),
            submit: step == Step::Check,
            step,
            leaks,
            path: request.uri().path().to_owned(),
            check: self.check_of(request),
            key: header("idempotency-key").to_owned(),
            api_key: api_key.to_owned(),
            body,
            content,
            reply: None,
            said: Said::default(),
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

/// What a reply states about money, and the reply. A truncated reply states nothing and stays truncated.
async fn heard(response: Response<Body>) -> (Said, Response<Body>) {
    let (parts, body) = response.into_parts();
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(bytes) => (said(&bytes), Response::from_parts(parts, Body::from(bytes))),
        Err(_) => {
            let cut = stream::once(async { Err::<Bytes, _>(io::Error::from(io::ErrorKind::ConnectionReset)) });
            (Said::default(), Response::from_parts(parts, Body::from_stream(cut)))
        }
    }
}

fn retry_after(response: &Response<Body>) -> Option<u64> {
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let date = |text: &str| httpdate::parse_http_date(text).ok();
    let text = header("retry-after")?;
    let seconds = || date(text)?.duration_since(date(header("date")?)?).ok().map(|wait| wait.as_secs());
    text.parse().ok().or_else(seconds)
}
