//! The service's state, under one short lock: rates, keys, credits, cooldown, charge book and counters. It decides what
//! a request means when it is accepted. The work and its latency happen outside the lock, between [`State::accept`] and
//! [`State::complete`], while the credits are held.

use super::{
    book::{Account, ChargeBook},
    check::{Flow, Mode},
    cooldown::Cooldown,
    digest::Digest,
    fault::{FaultKind, Faults},
    job_fault::JobFaults,
    jobs::Jobs,
    keys::{KeyStatus, Keys, Receipt},
    order::Order,
    outbox::Outbox,
    rate::{Limits, Rate, Window},
    reply::Refusal,
    retry_after::RetryAfter,
    rng::Rng,
    row::RowTreatment,
    settings::Settings,
    stats::Stats,
    uploads::Uploads,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

const HOUR_US: i64 = 3_600_000_000;

/// The service's API description, Limits: answers are kept 72 hours under their key.
const REFUSAL_KEPT_HOURS: i64 = 72;

/// The fault that was drawn for an admitted request, and its added delay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Admission {
    pub(super) fault: Option<FaultKind>,
    pub(super) delay: Duration,
}

/// What to do with an order.
#[derive(Debug)]
pub(super) enum Accepted {
    /// Work on it. Its credits are held.
    Work(Ticket),
    /// Return the earlier answer again.
    Replay(Receipt),
    /// 202: the client must repeat the request with the same key.
    Pending,
    /// 202: the service answers later, as this job.
    Job(String),
}

/// An order in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket {
    at_us: i64,
    price: u64,
    epoch: u64,
}

#[derive(Debug)]
pub(super) struct State {
    /// Counts resets: work that was started before a reset has no effect after it.
    epoch: u64,
    limits: Limits,
    rates: HashMap<Digest, Rate>,
    received: Window,
    cooldown: Cooldown,
    keys: Keys,
    kept_refusals: HashMap<Digest, (i64, Refusal)>,
    conflict_in_flight: bool,
    prices: BTreeMap<String, u64>,
    pub(super) account: Account,
    pub(super) book: ChargeBook,
    pub(super) jobs: Jobs,
    key_life: Option<Duration>,
    /// The events of jobs that are to be delivered.
    pub(super) outbox: Outbox,
    pub(super) job_faults: JobFaults,
    /// A separate generator, so that faults of jobs do not change what else the seed decides.
    pub(super) job_state_rng: Rng,
    faults: Faults,
    fault_rng: Rng,
    pub(super) seed: u64,
    pub(super) failed_jobs_of_hundred: u64,
    pub(super) time_scale: u32,
    /// The last answer of each check, for the fault `crossed`.
    last_answers: HashMap<String, (Digest, Value)>,
    drawn: u64,
    counts: Stats,
    pub(super) uploads: Uploads,
}

impl State {
    pub(super) fn open(settings: &Settings, epoch: u64) -> State {
        let limits = Limits { per_minute: settings.per_minute, per_minute_max: settings.per_minute_max };
        State {
            epoch,
            limits,
            rates: HashMap::new(),
            received: Window::new(limits),
            cooldown: Cooldown::default(),
            keys: Keys::default(),
            kept_refusals: HashMap::new(),
            conflict_in_flight: settings.quirks.conflict_in_flight,
            prices: settings.prices.clone(),
            account: Account::of(settings.credits),
            book: ChargeBook::default(),
            jobs: Jobs::default(),
            key_life: settings.key_life,
            outbox: Outbox::new(settings.time_scale, 0),
            job_faults: settings.job_faults.clone(),
            job_state_rng: Rng::new(settings.seed.rotate_left(37)),
            faults: settings.faults.clone(),
            fault_rng: Rng::new(settings.seed),
            seed: settings.seed,
            failed_jobs_of_hundred: settings.failed_jobs_of_hundred,
            time_scale: settings.time_scale.max(1),
            last_answers: HashMap::new(),
            drawn: 0,
            counts: Stats::default(),
            uploads: Uploads::default(),
        }
    }

    pub(super) fn reset(&mut self, settings: &Settings) {
        let next = self.outbox.next_number();
        *self = State::open(settings, self.epoch + 1);
        self.outbox = Outbox::new(settings.time_scale, next);
    }

    pub(super) fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
        self.drawn = 0;
    }

    /// Counts an attempt to deliver an event.
    pub(super) fn count_delivery(&mut self) {
        self.counts.deliveries += 1;
    }

    /// Ends an attempt to deliver an event.
    pub(super) fn end_delivery(&mut self, number: u64, accepted: bool, now_us: i64) {
        if self.outbox.end(number, accepted, now_us) && accepted {
            self.counts.delivered += 1;
        }
    }

    pub(super) fn set_balance(&mut self, credits: u64) {
        self.account.balance = credits;
    }

    pub(super) fn set_price(&mut self, check: &str, credits: u64) {
        self.prices.insert(check.to_owned(), credits);
    }

    pub(super) fn price(&self, check: &str) -> Option<u64> {
        self.prices.get(check).copied()
    }

    /// The stored refusal that a key gets again within its lifetime.
    pub(super) fn kept_refusal(&self, key: Digest, at_us: i64) -> Option<Refusal> {
        let (since_us, refusal) = self.kept_refusals.get(&key)?;
        (at_us.saturating_sub(*since_us) < REFUSAL_KEPT_HOURS * HOUR_US).then(|| refusal.clone())
    }

    pub(super) fn keep_refusal(&mut self, key: Digest, refusal: Refusal, at_us: i64) {
        self.kept_refusals.insert(key, (at_us, refusal));
    }

    /// Whether a request was completed, deferred or accepted under this key, or is in progress.
    pub(super) fn has_work(&self, key: Digest) -> bool {
        self.keys.has_work(key)
    }

    pub(super) fn charged_under(&self, key: &str) -> u64 {
        self.book.charged_under(key)
    }

    /// The charge book: credits by idempotency key.
    pub(super) fn charges(&self) -> BTreeMap<String, u64> {
        self.book.charges_by_key()
    }

    /// The permanent treatment of a row with this content, if it is picked.
    pub(super) fn row(&self, content: Digest) -> Option<RowTreatment> {
        self.faults.row(self.seed, content)
    }

    /// Swaps an answer with the previous one for another request of the same check.
    pub(super) fn cross(&mut self, order: &Order, answer: &Value) -> Option<Value> {
        let before = self.last_answers.insert(order.check.name.clone(), (order.content, answer.clone()));
        before.filter(|(content, _)| *content != order.content).map(|(_, answer)| answer)
    }

    pub(super) fn balance(&self) -> u64 {
        self.account.balance
    }

    /// Counts an arriving request, whatever its result.
    pub(super) fn receive(&mut self, route: &str, now_us: u64) {
        self.counts.requests += 1;
        match self.counts.by_route.get_mut(route) {
            Some(count) => *count += 1,
            None => drop(self.counts.by_route.insert(route.to_owned(), 1)),
        }
        let in_this_minute = self.received.record(now_us);
        self.counts.max_in_any_minute = self.counts.max_in_any_minute.max(in_this_minute);
    }

    /// Counts a POST that announced an upload apart from those that ask for an answer.
    pub(super) fn announced(&mut self, path: &str) {
        if let Some(count) = self.counts.by_route.get_mut(&format!("POST {path}")) {
            *count -= 1;
        }
        *self.counts.by_route.entry(format!("upload {path}")).or_default() += 1;
    }

    /// Counts a reply. 0 means a connection that was cut without a reply.
    pub(super) fn count_reply(&mut self, status: u16) {
        *self.counts.by_status.entry(status).or_default() += 1;
    }

    /// Admits a request if the account's rate allows it. A free request does not count.
    pub(super) fn admit(&mut self, account: Digest, now_us: u64, free: bool) -> Result<Admission, Refusal> {
        let limits = self.limits;
        let rate = self.rates.entry(account).or_insert_with(|| Rate::new(limits, now_us));
        if !free {
            rate.admit(now_us).map_err(|wait_s| Refusal::rate_limited(RetryAfter::Seconds(wait_s)))?;
        }
        self.drawn += 1;
        let (fault, delay) = self.faults.draw(&mut self.fault_rng, self.drawn);
        Ok(Admission { fault, delay })
    }

    /// Admits a sandbox payload, unless the same address sent it within the cooldown.
    pub(super) fn cool_down(&mut self, payload: Digest, now_us: u64, cooldown: Duration) -> Result<(), Refusal> {
        if self.cooldown.admit(payload, now_us, cooldown) {
            Ok(())
        } else {
            Err(Refusal::new(429, "sandbox_cooldown", "the same sandbox payload was sent a moment ago"))
        }
    }

    /// Accepts an order as a job. Its price is held until it has a result.
    pub(super) fn accept_job(&mut self, order: &Order, account: Digest, ticket: Ticket, takes: Duration) -> String {
        // After a reset, nothing is held for an order that was accepted before it.
        let price = if ticket.epoch == self.epoch { ticket.price } else { 0 };
        let id = self.submit(order, account, ticket.at_us, price, takes);
        if let Some(key) = order.key {
            self.keys.submit(key, order.content, ticket.at_us, id.clone());
        }
        id
    }

    /// Ends an order without a result, an answer or a charge.
    pub(super) fn give_up(&mut self, order: &Order, ticket: Ticket) {
        if ticket.epoch == self.epoch {
            self.refund(order, ticket.price);
        } else if let Some(key) = order.key {
            self.keys.forget(key);
        }
    }

    /// Gives back what is held for an order, and forgets its key.
    fn refund(&mut self, order: &Order, credits: u64) {
        self.account.release(credits);
        if let Some(key) = order.key {
            self.keys.forget(key);
        }
    }

    /// Decides what to do with an order at wall-clock time `at_us`. With `defer`, an order with a key is deferred once,
    /// with a 202.
    pub(super) fn accept(&mut self, order: &Order, price: u64, at_us: i64, defer: bool) -> Result<Accepted, Refusal> {
        let documented_us = i64::from(order.check.key_life_hours) * HOUR_US;
        let life = self.key_life.map(|life| i64::try_from(life.as_micros()).unwrap_or(i64::MAX));
        let life_us = life.unwrap_or(documented_us);
        let meaning = order.key.map(|key| {
            self.keys.note(key);
            self.keys.meaning(key, order.content, at_us, life_us)
        });
        match (meaning, order.key) {
            (Some(KeyStatus::Replay(receipt)), _) => {
                self.counts.replays += 1;
                return Ok(Accepted::Replay(receipt));
            }
            (Some(KeyStatus::Job(id)), _) => {
                self.counts.replays += 1;
                return Ok(Accepted::Job(id));
            }
            // The service's description names a 202 for the concurrent retry of two checks only.
            (Some(KeyStatus::InFlight), _) if self.conflict_in_flight || order.check.flow != Flow::Replay => {
                return Err(Refusal::new(
                    409,
                    "request_in_progress",
                    "a request with this Idempotency-Key is in progress",
                ));
            }
            (Some(KeyStatus::InFlight), _) => return Ok(Accepted::Pending),
            (Some(KeyStatus::Conflict), _) => {
                self.counts.conflicts += 1;
                let message = "this Idempotency-Key was used with another request";
                return Err(Refusal::new(409, "idempotency_conflict", message));
            }
            (Some(KeyStatus::New), Some(key)) if defer => {
                self.keys.defer(key, order.content, at_us);
                return Ok(Accepted::Pending);
            }
            (Some(KeyStatus::New | KeyStatus::Awaited) | None, _) => {}
        }
        if let Some(reference) = order.fields.get("document_reference").and_then(Value::as_str) {
            self.uploads.check_valid(reference, at_us)?;
        }
        // The service's API description, Errors, 3: inputs ending in 91 simulate failure. The status is assumed.
        if order.mode == Mode::Sandbox && order.ends_in("91") {
            return Err(Refusal::new(500, "simulated_failure", "a reserved sandbox input that always fails"));
        }
        let price = if order.mode == Mode::Production { price } else { 0 };
        self.account.hold(price).map_err(|available| Refusal::insufficient_credits(price, available))?;
        if let Some(key) = order.key {
            self.keys.work(key, order.content, at_us);
        }
        Ok(Accepted::Work(Ticket { at_us, price, epoch: self.epoch }))
    }

    /// Completes an order: charges it, and stores what is needed to build the answer again.
    pub(super) fn complete(&mut self, order: &Order, ticket: Ticket, refused: Option<u16>) -> Receipt {
        let receipt = |remaining| Receipt { at_us: ticket.at_us, credits: ticket.price, remaining, refused };
        if ticket.epoch != self.epoch {
            return receipt(self.account.balance);
        }
        if refused.is_some() && order.check.flow == Flow::Upload {
            // The service's API description, Errors, 2: technical failures are refunded on proof of address.
            self.refund(order, ticket.price);
            return Receipt { credits: 0, ..receipt(self.account.balance) };
        }
        self.account.take(ticket.price);
        if order.mode == Mode::Production {
            self.book.charge(order.subject, order.idempotency_key.as_deref(), ticket.price);
        }
        let receipt = receipt(self.account.balance);
        if let Some(key) = order.key {
            self.keys.complete(key, order.content, receipt);
        }
        receipt
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            distinct_keys: self.keys.count(),
            charges: self.book.charges,
            credits_charged: self.book.credits_charged,
            double_charges: self.book.double_charges,
            jobs: self.jobs.count(),
            balance: self.account.balance,
            ..self.counts.clone()
        }
    }
}
