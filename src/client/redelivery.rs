//! Asks the service to deliver the result of a job again, and reads its reply. Path and body are made here, from nothing
//! but a declared route, a plain job id and a receiver, so that nothing that is charged can be sent this way.

use super::{
    author::Author,
    own_failure::{denies_success, has_error},
    reply_kind::ReplyKind,
    said::{NotAnswered, Said},
    service::{Auth, Client},
    transport::{Exchange, TransportFault},
};
use crate::{
    catalogue::{JOB_ID, JobSpec},
    model::{JobId, Permit, printable::printable_cut},
};
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderValue},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// The longest message of a refusal that is shown, in characters.
const TEXT_CHARACTERS_MAX: usize = 200;

/// A receiver that replaces the one of a job.
#[derive(Debug, Clone)]
pub struct NewReceiver {
    /// The URL that the service delivers to.
    pub url: String,
    pub secret: SecretString,
}

/// What the service says about delivering a result again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redelivered {
    /// It delivers the result again.
    Accepted,
    /// It does not, for a reason of this job: a conflict if the job has no result yet, `NotFound` if the service does not
    /// know it.
    Refused(DeliveryRefusal),
    /// The job is unchanged, and may be asked for again.
    NotAnswered(NotAnswered),
}

/// Why the service does not deliver a result again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRefusal {
    pub kind: ReplyKind,
    pub status: u16,
    /// Its words, if it has any.
    pub message: String,
}

impl Client {
    /// Asks the service to deliver the result of a job again, to another receiver if one is given.
    ///
    /// It needs no receipt, because it cannot be charged: the service's description prices only checks, and says that
    /// reading and recovering a job is free of charge. It names an existing job, has no idempotency key, and contains no
    /// field of a check. The path is the declared route of the job's check, so no other route can be reached with it.
    /// Asking twice delivers the same event twice, which has no effect.
    pub async fn deliver_again(
        &self,
        _permit: Permit,
        job: &JobSpec,
        id: &JobId,
        auth: Auth,
        receiver: Option<&NewReceiver>,
    ) -> Exchange {
        let no_route = || TransportFault::NotWritten("its check has no route that delivers a result again".to_owned());
        let path = job.retry_webhook.as_ref().map(|path| path.replacen(JOB_ID, &id.in_path(), 1));
        let url = match path.ok_or_else(no_route).and_then(|path| self.url(&path)) {
            Ok(url) => url,
            Err(fault) => return Exchange::not_sent(fault),
        };
        let body = match receiver {
            None => serde_json::json!({}),
            Some(NewReceiver { url, secret }) => {
                serde_json::json!({ "webhookUrl": url, "webhookSecret": secret.expose_secret() })
            }
        };
        let mut headers = self.headers(auth);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.exchange(Method::POST, url, headers, body.to_string().into_bytes()).await
    }
}

/// Reads the reply to [`Client::deliver_again`].
pub fn redelivered(said: &Said<'_>) -> Redelivered {
    let status = said.status().unwrap_or_default();
    let refused = || {
        let message = printable_cut(said.words().unwrap_or_default().trim(), TEXT_CHARACTERS_MAX);
        Redelivered::Refused(DeliveryRefusal { kind: said.kind, status, message })
    };
    if said.kind.is_success() {
        match said.value() {
            Some(answer) if says_no(answer) => return refused(),
            // Words alone, such as "queued", are enough.
            Some(_) => return Redelivered::Accepted,
            None if said.body().is_some_and(<[u8]>::is_empty) => return Redelivered::Accepted,
            None => {}
        }
    }
    match said.not_answered() {
        Some(not_answered) => Redelivered::NotAnswered(not_answered),
        // Only the service knows that the job is not there.
        None if said.author == Author::Another => Redelivered::NotAnswered(NotAnswered::OfAnother { status }),
        None => refused(),
    }
}

/// Whether a success refuses all the same. An error beside a job is the job's own: one that failed is delivered too.
fn says_no(answer: &Value) -> bool {
    let is_about_job = ["jobId", "job", "status"].iter().any(|name| answer.get(name).is_some());
    denies_success(answer) || has_error(answer) && !is_about_job
}

#[cfg(test)]
#[path = "redelivery_tests.rs"]
mod tests;
