//! The service on loopback: every rule of its description, on declared checks, with its own charge book as the witness of
//! what was charged. It knows the model and the catalogue only, never the client, whose mistakes it must not inherit.
//!
//! It is an axum router over shared state. Served on a socket ([`serve`]) it is what `rescreen simulate` runs; in process
//! ([`Simulator::exchange`]) it runs under tokio's paused time, with wall clock and `Date` from the injected clock.
//!
//! What the description leaves open is assumed here and said where it is decided: the order in which a message is judged
//! (key, rate, route, body, cooldown, idempotency key, credits), the error codes, the field of the balance, that a
//! reserved input ending in 91 answers 500, that fields no declaration names are ignored, that a key's life begins when its
//! request is accepted, and the spelling of `requestId`, `latency` and `credits_spent` in `meta`.
//!
//! It states no more than the description promises: the results envelope has `remainingCredits` and no charge, the other has
//! a charge in `meta` and no balance. [`ChargeStated`] plays every other service. What goes wrong is never by default:
//! [`Faults`] decides about single messages, and about rows that are treated badly for ever.

mod answer;
mod book;
mod cooldown;
mod desk;
mod dice;
mod digest;
mod exchange;
mod fault;
mod keys;
mod order;
mod rate;
mod reply;
mod row;
mod serve;
mod spoil;
mod statement;
mod visitor;

pub use fault::{Faults, FaultsError};
pub use serve::serve;
pub use statement::{ChargeStated, CreditsFormat, ELSEWHERE};

use crate::{
    catalogue::{Catalogue, Declaration},
    model::Clock,
};
use answer::Manner;
use axum::{Router, body::Body, http::Request};
use desk::Desk;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use statement::Statement;
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::time::Instant;

/// Which service is played. It holds an API key and so has no `Debug`.
#[derive(Clone)]
pub struct Settings {
    /// The one API key that is accepted; `None` accepts any that is not empty, each with a rate and idempotency keys of its own.
    pub api_key: Option<String>,
    /// The balance at the start. All API keys draw on it.
    pub credits: u64,
    /// Messages a minute that are sustained.
    pub per_minute: u32,
    /// Messages in any one minute, at most.
    pub per_minute_max: u32,
    /// How long a check takes.
    pub latency: Duration,
    /// Decides answers and faults: equal seeds, equal service.
    pub seed: u64,
    pub faults: Faults,
    pub clock: Clock,
    pub catalogue: Catalogue,
    /// Credits by check name; where none is given the declaration's price, else 1.
    pub prices: BTreeMap<String, u64>,
    pub dialect: Dialect,
    pub envelope: Envelope,
    pub unstated: Unstated,
    /// Where replies state credits; where it is `None`, as the dialect does in this envelope.
    pub charge_stated: Option<ChargeStated>,
    pub credits_format: CreditsFormat,
    /// How far the service's `Date` is ahead of its clock, in seconds.
    pub date_ahead_s: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            api_key: None,
            credits: 1_000_000,
            per_minute: 60,
            per_minute_max: 120,
            latency: Duration::ZERO,
            seed: 1,
            faults: Faults::none(),
            clock: Clock::System,
            catalogue: Catalogue::built_in(),
            prices: BTreeMap::new(),
            dialect: Dialect::default(),
            envelope: Envelope::default(),
            unstated: Unstated::default(),
            charge_stated: None,
            credits_format: CreditsFormat::default(),
            date_ahead_s: 0,
        }
    }
}

/// How errors, charges and the balance are spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// As the service is described: structured errors, and what each envelope is described to state.
    #[default]
    Described,
    /// As such services were seen to answer: flat errors, only `remainingCredits` stated, the balance as text.
    Field,
}

/// Where an answer's content stands. Both forms are in the service's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Envelope {
    /// `results` beside `requestId`, `remainingCredits` and the rest.
    #[default]
    Results,
    /// A `data` object and a `meta` object.
    DataMeta,
}

/// What the description does not state. The default is the reading it suggests; a client must bear the others too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unstated {
    /// A 402 is kept under its idempotency key and given again for it.
    pub keeps_402: bool,
    pub keeps_429: bool,
    /// 500, 502 and 503 are kept.
    pub keeps_5xx: bool,
    /// A repeat of what is still worked on gets 409, not 202.
    pub conflict_in_flight: bool,
    /// `GET /my_credits` does not count to the rate.
    pub free_balance: bool,
}

impl Unstated {
    fn keeps(self, status: u16) -> bool {
        match status {
            402 => self.keeps_402,
            429 => self.keeps_429,
            500.. => self.keeps_5xx,
            _ => false,
        }
    }
}

/// What the service saw and charged since start or reset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// HTTP messages received, refused ones included.
    pub requests: u64,
    /// Replies by status; 0 counts connections that were cut without one.
    pub by_status: BTreeMap<u16, u64>,
    /// Messages by `METHOD /path`; paths the service does not have are `other`.
    pub by_route: BTreeMap<String, u64>,
    /// Idempotency keys seen with a valid request.
    pub distinct_keys: u64,
    /// Answers given again under their key, at no charge.
    pub replays: u64,
    pub charges: u64,
    pub credits_charged: u64,
    /// Charges beyond the first for one check and subject content in production: neither another API key nor the end of
    /// an idempotency key's life excuses.
    pub double_charges: u64,
    /// 409s because one idempotency key came with two contents.
    pub conflicts: u64,
    /// The most messages received in any 60 seconds, refused ones included.
    pub max_in_any_minute: u64,
    pub balance: u64,
}

impl Stats {
    /// Messages to checks, refused ones and those under way included.
    pub fn checks(&self) -> u64 {
        self.by_route.iter().filter(|(route, _)| route.starts_with("POST")).map(|(_, count)| count).sum()
    }
}

/// The service. Clones share one state.
#[derive(Clone)]
pub struct Simulator(Arc<Shared>);

struct Shared {
    settings: Settings,
    /// The checks of each path, in both spellings.
    routes: HashMap<String, Vec<Arc<Declaration>>>,
    started: Instant,
    desk: Mutex<Desk>,
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Simulator")
    }
}

impl Simulator {
    /// A service at its start: nothing asked, nothing charged, the bucket full.
    pub fn new(settings: Settings) -> Simulator {
        let mut routes: HashMap<String, Vec<Arc<Declaration>>> = HashMap::new();
        for declaration in settings.catalogue.iter() {
            let check = Arc::new(declaration.clone());
            let paths = [Some(&check.routes.guide), check.routes.alternate.as_ref()];
            for path in paths.into_iter().flatten() {
                let checks = routes.entry(path.clone()).or_default();
                if !checks.iter().any(|known| known.name == check.name) {
                    checks.push(Arc::clone(&check));
                }
            }
        }
        let desk = Mutex::new(Desk::open(&settings, 0));
        Simulator(Arc::new(Shared { settings, routes, started: Instant::now(), desk }))
    }

    /// The service as a router, at the root.
    pub fn router(&self) -> Router {
        let simulator = self.clone();
        Router::new().fallback(move |request: Request<Body>| {
            let simulator = simulator.clone();
            async move { simulator.exchange(request).await }
        })
    }

    /// What was seen and charged so far.
    pub fn stats(&self) -> Stats {
        self.desk().stats()
    }

    /// Sets everything back to the start: keys, charge book, balance, rates, faults and counters.
    pub fn reset(&self) {
        self.desk().reset(&self.0.settings);
    }

    /// Other faults from now on; `name@nth` counts from here. `Faults::none()` heals the service.
    pub fn set_faults(&self, faults: Faults) {
        self.desk().set_faults(faults);
    }

    /// The balance from now on, as when somebody else spends or buys credits.
    pub fn set_balance(&self, credits: u64) {
        self.desk().set_balance(credits);
    }

    /// Credits charged in production under an idempotency key, of whichever API key.
    pub fn charged_under(&self, key: &str) -> u64 {
        self.desk().charged_under(key)
    }

    /// The charge book: credits charged in production, by idempotency key.
    pub fn charges(&self) -> BTreeMap<String, u64> {
        self.desk().charges()
    }

    /// What a check costs from now on, by its name.
    pub fn set_price(&self, check: &str, credits: u64) {
        self.desk().set_price(check, credits);
    }

    fn settings(&self) -> &Settings {
        &self.0.settings
    }

    fn manner(&self) -> Manner {
        let Settings { seed, dialect, envelope, charge_stated, credits_format: format, .. } = self.0.settings;
        let stated = charge_stated.unwrap_or(match (dialect, envelope) {
            (Dialect::Described, Envelope::DataMeta) => ChargeStated::Meta,
            (Dialect::Described, Envelope::Results) | (Dialect::Field, _) => ChargeStated::Remaining,
        });
        Manner { seed, dialect, envelope, statement: Statement { stated, format } }
    }

    /// What the service's `Date` says.
    fn date(&self) -> Timestamp {
        let Settings { clock, date_ahead_s, .. } = &self.0.settings;
        clock.now().saturating_add(SignedDuration::from_secs(*date_ahead_s)).unwrap_or(Timestamp::MAX)
    }

    fn checks_at(&self, path: &str) -> Option<&[Arc<Declaration>]> {
        self.0.routes.get(path).map(Vec::as_slice)
    }

    /// Microseconds of tokio time since the simulator was made: rates and cooldown do not follow a wall clock that jumps.
    fn now_us(&self) -> u64 {
        self.0.started.elapsed().as_micros() as u64
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.0.desk.lock().expect("nothing panics while it holds the desk")
    }
}
