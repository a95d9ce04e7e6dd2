//! The doctor's requests: reads of the account and sandbox requests, at the account's rate. It waits briefly if the
//! service pushes back, never sends a request of another mode, and sends nothing more once a sandbox request was charged.

use super::finding::{Finding, Standing};
use crate::{
    client::{Auth, Balance, Client, Exchange, ReplyKind, Said},
    model::{Clock, Credits, ExitCode, IdempotencyKey, KeyMaker, Mode, Permit},
    pipeline::{
        campaign::service::Service,
        judge::echo::{Echo, echo},
    },
    throttle::Throttle,
};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest push-back that is waited for, and the longest wait for all push-backs together.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How long to wait after a 429 without a time: the longest sandbox cooldown that was seen.
const COOLDOWN_MAX: Duration = Duration::from_secs(10);

/// Sends the doctor's requests.
pub(super) struct Caller<'a> {
    client: &'a Client,
    throttle: &'a Throttle,
    auth: Auth,
    clock: Clock,
    /// Distinguishes the keys of this examination from those of an earlier one.
    begun_us: i64,
    /// The place of a charge in a reply, if the user sets one.
    charge_pointer: Option<&'a str>,
    noticed: Mutex<Noticed>,
}

/// What replies showed that concerns the whole examination.
#[derive(Default)]
struct Noticed {
    /// How long push-backs were waited for.
    waited: Duration,
    /// The longest push-back that was not waited for.
    not_waited: Option<Duration>,
    /// The reply after which nothing more is posted.
    offence: Option<Finding>,
}

impl<'a> Caller<'a> {
    pub(super) fn new(client: &'a Client, throttle: &'a Throttle, service: &'a Service, clock: Clock) -> Caller<'a> {
        let (auth, charge_pointer) = (service.settings.auth, service.settings.charge_pointer.as_deref());
        let noticed = Mutex::default();
        Caller { client, throttle, auth, clock, begun_us: clock.now_us(), charge_pointer, noticed }
    }

    fn noticed(&self) -> MutexGuard<'_, Noticed> {
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing more is posted, because a sandbox request was charged or answered in another mode.
    pub(super) fn has_stopped(&self) -> bool {
        self.noticed().offence.is_some()
    }

    /// What concerns the whole examination.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut noticed = self.noticed();
        let waited = noticed.not_waited.take().map(|wait| {
            let detail = format!(
                "the service asks to wait {} s (HTTP 429), which the examination does not; run it again later, because \
                 what it found about replies with HTTP 429 is incomplete",
                wait.as_secs()
            );
            Finding::new("wait", Standing::Note, detail)
        });
        waited.into_iter().chain(noticed.offence.clone()).collect()
    }

    /// The header form of the settings in use.
    pub(super) fn auth(&self) -> Auth {
        self.auth
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// What was said in an exchange.
    pub(super) fn said<'b>(&self, exchange: &'b Exchange) -> Said<'b> {
        Said::of(exchange, self.now().into())
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

    /// A permit, or what a message that may not be sent gets.
    async fn permit(&self) -> Result<Permit, Exchange> {
        self.throttle.admit().await.map_err(|stop| Exchange::without_reply(stop.to_string()))
    }

    async fn got(&self, auth: Auth) -> Exchange {
        let permit = match self.permit().await {
            Ok(permit) => permit,
            Err(unsent) => return unsent,
        };
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
        if self.has_stopped() {
            return Exchange::without_reply("nothing more is sent".to_owned());
        }
        let permit = match self.permit().await {
            Ok(permit) => permit,
            Err(unsent) => return unsent,
        };
        let posted = self.client.send_in_sandbox(permit, path, auth, key, body);
        let exchange = tokio::time::timeout(PATIENCE, posted).await.unwrap_or_else(|_| slow());
        if let Some(offence) = self.offence(path, body, &exchange) {
            self.noticed().offence.get_or_insert(offence);
        }
        exchange
    }

    /// What is wrong with a reply to a sandbox request: nothing may be charged, and it must be answered in sandbox.
    fn offence(&self, path: &str, sent: &Map<String, Value>, exchange: &Exchange) -> Option<Finding> {
        let said = self.said(exchange);
        if said.unexpected_charge(self.charge_pointer, Credits::ZERO).is_some() {
            let detail = format!(
                "{path} states a charge for a sandbox request, which should be free; nothing more was sent. Ask the \
                 service whether it charged"
            );
            return Some(Finding::new("sandbox", Standing::Bad(ExitCode::Budget), detail));
        }
        let Echo::OtherMode(mode) = echo(said.value()?, None, sent) else { return None };
        let detail = format!(
            "{path} answers a sandbox request in the mode `{mode}`; nothing more was sent. Ask the service whether it \
             charged, and whether the API key allows sandbox requests"
        );
        Some(Finding::new("sandbox", Standing::Bad(ExitCode::Usage), detail))
    }

    /// How long to wait before sending again, if the service pushes back.
    fn wait_for(&self, exchange: &Exchange) -> Option<Duration> {
        let said = self.said(exchange);
        let push_back = said.push_back().filter(|_| said.kind == ReplyKind::TooMany)?;
        let wait = push_back.wait_or(COOLDOWN_MAX);
        let mut noticed = self.noticed();
        if noticed.waited + wait > WAIT_MAX {
            noticed.not_waited = noticed.not_waited.max(Some(wait));
            return None;
        }
        noticed.waited += wait;
        Some(wait)
    }
}

fn slow() -> Exchange {
    Exchange::without_reply(format!("no reply within {} seconds", PATIENCE.as_secs()))
}
