//! The simulated service: every rule of the service's description, for declared checks, with its own charge book as the
//! witness of what was charged. It is a separate crate, so that it does not inherit the mistakes of the client. The two share
//! only the text of the catalogue.
//!
//! It is an axum router over shared state. `rescreen simulate` runs it on a socket ([`serve()`]). In process
//! ([`Simulator::exchange`]) it runs under tokio's paused time, with wall clock and `Date` from the injected clock.
//!
//! What the description leaves open is assumed, and documented where it is decided: the order of the checks on a
//! request (key, rate, route, body, cooldown, idempotency key, credits), the error codes, the field of the balance,
//! that a reserved input ending in 91 gets a 500, that fields outside the declaration are ignored, that a key's
//! lifetime starts when its request is accepted, and the spelling of `requestId`, `latency` and `credits_spent` in
//! `meta`.
//!
//! It is stricter than the description, or says more, in these points, so a rehearsal cannot show that the client depends on
//! them: a route wants the fixed fields of its check in every spelling, such as `reportType`, `action` and `bundle`, also where the
//! client only assumes them; it answers 404, 405, 413 and 415 beside the documented statuses, and 409 to a concurrent retry of
//! the checks for which no 202 is described; `requestId` is the idempotency key; the state of a pending job states
//! `creditsUsed` 0; business jobs have events `business_bank.verification.*`; `lookupType` is `registration_vin` for a VIN; a
//! cached failure has the code `cached_failure`. It is laxer in these: keys of 8 to 160 characters are wanted by the two checks
//! for which the description says so; a request may have `reportType` and `bundle`; a reference names a document as often as
//! it is sent; JSON is read whatever its content type says. It always answers a verified face match with an identity beside
//! it, and the job of an African identity in one form.
//!
//! It states no more than the description promises: the results envelope has `remainingCredits` and no charge, the
//! other one has a charge in `meta` and no balance. [`ChargeStated`] simulates other services. There are no faults by
//! default: [`Faults`] defines faults for single requests, and for rows that always fail.

mod answer;
mod answer_style;
mod book;
#[path = "../catalogue/built_in.rs"]
mod built_in;
mod check;
mod checks;
mod clock;
mod cooldown;
mod countries;
mod deliveries;
mod digest;
mod exchange;
mod expected;
mod fault;
mod fault_text;
mod field;
mod identity_number;
mod job_exchange;
mod job_fault;
mod job_state;
mod job_time;
mod job_work;
mod jobs;
mod keys;
mod multipart;
mod openapi;
mod order;
mod outbox;
mod rate;
mod received;
mod received_file;
mod receiver;
mod reply;
mod request_body;
mod retry_after;
mod revision;
mod rng;
mod row;
mod seen_routes;
mod sender;
mod serve;
mod settings;
mod spoil;
mod state;
mod statement;
mod stats;
mod storage;
mod uploads;
mod visitor;

pub use answer_style::{Dialect, Envelope};
pub use checks::Checks;
pub use clock::Clock;
pub use deliveries::SignedDelivery;
pub use expected::ExpectedValues;
pub use fault::{Faults, FaultsError};
pub use job_fault::JobFaults;
pub use seen_routes::ServedRoutes;
pub use sender::send_deliveries;
pub use serve::serve;
pub use settings::{AuthAccepted, Quirks, Settings};
pub use statement::{ChargeStated, CreditsFormat, ELSEWHERE};
pub use stats::Stats;

use answer_style::AnswerStyle;
use axum::{Router, body::Body, http::Request};
use check::Check;
use jiff::{SignedDuration, Timestamp};
use seen_routes::routes;
use state::State;
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::{sync::Notify, time::Instant};

/// The simulated service. Clones share one state.
#[derive(Clone)]
pub struct Simulator(Arc<Shared>);

struct Shared {
    settings: Settings,
    /// The checks at each path that is served.
    routes: HashMap<String, Vec<Arc<Check>>>,
    started: Instant,
    /// Notified when there may be something to deliver, and when a delivery has ended.
    changed: Notify,
    state: Mutex<State>,
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Simulator")
    }
}

impl Simulator {
    /// A new service: no requests, no charges, and a full bucket.
    pub fn new(settings: Settings) -> Simulator {
        let routes = routes(&settings.checks, settings.routes);
        let state = Mutex::new(State::open(&settings, 0));
        Simulator(Arc::new(Shared { settings, routes, started: Instant::now(), changed: Notify::new(), state }))
    }

    /// The service as a router.
    pub fn router(&self) -> Router {
        let simulator = self.clone();
        Router::new().fallback(move |request: Request<Body>| {
            let simulator = simulator.clone();
            async move { simulator.exchange(request).await }
        })
    }

    /// The requests and charges so far.
    pub fn stats(&self) -> Stats {
        self.finish_jobs();
        self.state().stats()
    }

    /// Resets everything: keys, charge book, balance, rates, faults and counters.
    pub fn reset(&self) {
        self.state().reset(&self.0.settings);
        self.0.changed.notify_waiters();
    }

    /// Sets the faults from now on; `name@nth` counts from here. `Faults::none()` removes all faults.
    pub fn set_faults(&self, faults: Faults) {
        self.state().set_faults(faults);
    }

    /// Sets the faults of jobs and their deliveries from now on.
    pub fn set_job_faults(&self, faults: JobFaults) {
        self.state().job_faults = faults;
    }

    /// Sets the balance, as if another program had spent or bought credits.
    pub fn set_balance(&self, credits: u64) {
        self.state().set_balance(credits);
    }

    /// Credits charged in production under an idempotency key, for all API keys.
    pub fn charged_under(&self, key: &str) -> u64 {
        self.finish_jobs();
        self.state().charged_under(key)
    }

    /// The charge book: credits charged in production, by idempotency key.
    pub fn charges(&self) -> BTreeMap<String, u64> {
        self.finish_jobs();
        self.state().charges()
    }

    /// Sets the price of a check.
    pub fn set_price(&self, check: &str, credits: u64) {
        self.state().set_price(check, credits);
    }

    fn settings(&self) -> &Settings {
        &self.0.settings
    }

    fn style(&self) -> AnswerStyle {
        self.0.settings.style()
    }

    /// The time in the service's `Date` header.
    fn date(&self) -> Timestamp {
        let Settings { clock, date_ahead_s, .. } = &self.0.settings;
        clock.now().saturating_add(SignedDuration::from_secs(*date_ahead_s)).unwrap_or(Timestamp::MAX)
    }

    fn checks_at(&self, path: &str) -> Option<&[Arc<Check>]> {
        self.0.routes.get(path).map(Vec::as_slice)
    }

    /// Microseconds of tokio time since the simulator was created: rates and cooldown are independent of changes to the
    /// wall clock.
    fn now_us(&self) -> u64 {
        self.0.started.elapsed().as_micros() as u64
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("no code panics while it holds the lock")
    }
}
