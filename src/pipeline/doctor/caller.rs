//! The doctor's requests: reads of the account and sandbox requests, at the account's rate. It waits once if the service
//! pushes back, and never sends a request of another mode.

use crate::{
    client::{Auth, Balance, Client, Exchange, RetryAfter, retry_after},
    model::{Clock, IdempotencyKey, KeyMaker, Mode},
    throttle::Throttle,
};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::time::Duration;

/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest push-back that is waited for.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// How long to wait after a 429 without a time: the longest sandbox cooldown that was seen.
const COOLDOWN_MAX: Duration = Duration::from_secs(11);

/// Sends the doctor's requests.
pub(super) struct Caller<'a> {
    client: &'a Client,
    throttle: &'a Throttle,
    auth: Auth,
    clock: Clock,
    /// Distinguishes the keys of this examination from those of an earlier one.
    begun_us: i64,
}

impl<'a> Caller<'a> {
    pub(super) fn new(client: &'a Client, throttle: &'a Throttle, auth: Auth, clock: Clock) -> Caller<'a> {
        Caller { client, throttle, auth, clock, begun_us: clock.now_us() }
    }

    /// The header form of the settings in use.
    pub(super) fn auth(&self) -> Auth {
        self.auth
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A key that no earlier examination used.
    pub(super) fn key(&self, check: &str, fields: &Map<String, Value>, number: u32) -> IdempotencyKey {
        let campaign = format!("doctor {}", self.begun_us);
        KeyMaker { campaign, mode: Mode::Sandbox, secret: None }.key(check, fields, number)
    }

    /// Reads the account.
    pub(super) async fn get(&self, auth: Auth) -> Exchange {
        let first = self.got(auth).await;
        match self.wait_for(&first) {
            Some(wait) => {
                tokio::time::sleep(wait).await;
                self.got(auth).await
            }
            None => first,
        }
    }

    async fn got(&self, auth: Auth) -> Exchange {
        let permit = self.throttle.admit().await;
        let got = self.client.get_with(permit, Balance::PATH, auth);
        tokio::time::timeout(PATIENCE, got).await.unwrap_or_else(|_| slow())
    }

    /// Sends a sandbox request.
    pub(super) async fn post(
        &self,
        path: &str,
        auth: Auth,
        key: IdempotencyKey,
        body: &Map<String, Value>,
    ) -> Exchange {
        let first = self.posted(path, auth, key, body).await;
        match self.wait_for(&first) {
            Some(wait) => {
                tokio::time::sleep(wait).await;
                self.posted(path, auth, key, body).await
            }
            None => first,
        }
    }

    async fn posted(&self, path: &str, auth: Auth, key: IdempotencyKey, body: &Map<String, Value>) -> Exchange {
        let permit = self.throttle.admit().await;
        let posted = self.client.send_in_sandbox(permit, path, auth, key, body);
        tokio::time::timeout(PATIENCE, posted).await.unwrap_or_else(|_| slow())
    }

    /// How long to wait before sending again, if the service pushes back.
    fn wait_for(&self, exchange: &Exchange) -> Option<Duration> {
        let reply = exchange.reply.as_ref().ok().filter(|reply| reply.status == 429)?;
        match retry_after(reply.retry_after.as_deref(), reply.date.as_deref(), self.now().into()) {
            RetryAfter::Wait(wait) if wait <= WAIT_MAX => Some(wait.max(Duration::from_millis(100))),
            RetryAfter::Wait(_) => None,
            RetryAfter::Unstated => Some(COOLDOWN_MAX),
        }
    }
}

fn slow() -> Exchange {
    Exchange::without_reply(format!("no reply within {} seconds", PATIENCE.as_secs()))
}
