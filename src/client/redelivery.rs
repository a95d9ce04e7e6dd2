//! Asks the service to deliver the result of a job again, and reads its reply. Path and body are made here, from nothing
//! but a declared route, a plain job id and a receiver, so that nothing that is charged can be sent this way.

use super::{
    author::Author,
    json_body::json_body,
    reply_message::message,
    retry_after::{RetryAfter, retry_after},
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
use std::time::{Duration, SystemTime};

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
    /// It does not, for a reason of this job: 409 if the job has no result yet, 404 if the service does not know it.
    Refused {
        status: u16,
        message: String,
    },
    /// It refuses the API key.
    Unauthorised {
        status: u16,
    },
    /// It asks to wait. `None` if it does not say for how long.
    PushedBack {
        wait: Option<Duration>,
    },
    /// It did not answer, or it failed. The job is unchanged, and may be asked for again.
    Unavailable {
        message: String,
    },
    Untrusted {
        host: String,
        fault: String,
    },
    /// Something else than the service answers.
    NotTheService {
        status: u16,
    },
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

/// Reads the reply to [`Client::deliver_again`]. `now` is this machine's clock.
pub fn redelivered(exchange: &Exchange, now: SystemTime) -> Redelivered {
    let reply = match &exchange.reply {
        Ok(reply) => reply,
        Err(TransportFault::Untrusted { host, fault }) => {
            return Redelivered::Untrusted { host: host.clone(), fault: fault.clone() };
        }
        Err(fault) => return Redelivered::Unavailable { message: fault.message() },
    };
    let status = reply.status;
    let json = reply.body.as_deref().and_then(json_body).map(|json| json.value);
    let wait = || match retry_after(reply.retry_after.as_deref(), reply.date.as_deref(), now) {
        RetryAfter::Wait(wait) => Some(wait),
        RetryAfter::Unstated => None,
    };
    match status {
        200..300 if json.is_some() || reply.body.as_ref().is_some_and(Vec::is_empty) => Redelivered::Accepted,
        200..500 if Author::of_reply(reply) == Author::Another => Redelivered::NotTheService { status },
        401 | 403 => Redelivered::Unauthorised { status },
        429 => Redelivered::PushedBack { wait: wait() },
        503 if wait().is_some() => Redelivered::PushedBack { wait: wait() },
        200..300 | 500.. => Redelivered::Unavailable { message: format!("HTTP {status}") },
        _ => {
            let told = message(reply, json.as_deref()).unwrap_or_default();
            Redelivered::Refused { status, message: printable_cut(told.trim(), TEXT_CHARACTERS_MAX) }
        }
    }
}

#[cfg(test)]
#[path = "redelivery_tests.rs"]
mod tests;
