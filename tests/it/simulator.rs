//! The simulator follows every rule of the service's description. It is driven over TCP by a plain HTTP client, and in
//! process where tokio's time is paused.

mod answers;
mod checks;
mod faults;
mod keys;
mod limits;
mod misbehaviour;
mod parameters;
mod routes;
mod visitors;
mod witness;

use crate::support::service::{checks_with, simulated};
use axum::{
    body::{Body, to_bytes},
    http::{Request, Response},
};
use reqwest::header::HeaderMap;
use rescreen::{
    catalogue::{Catalogue, Declaration},
    model::{Clock, SIMULATOR_MARKER},
    simulator::{self, Settings, Simulator, Stats, serve},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};

const AML: &str = "/aml-screening";
const ID: &str = "/verify";
const KEY: &str = "key-0001";

/// Limits that no test reaches by accident.
fn unlimited() -> Settings {
    Settings { per_minute: 60_000, per_minute_max: 90_000, ..Settings::default() }
}

/// A clock that starts at the same time in all tests and follows tokio's time.
fn driven() -> simulator::Clock {
    simulated(Clock::driven("2026-11-03T08:00:00Z".parse().unwrap()))
}

fn aml(mode: &str, name: &str) -> Value {
    json!({"mode": mode, "name": name, "entity": 0, "country": "za", "dataset": "all"})
}

fn id(mode: &str, number: &str) -> Value {
    json!({"mode": mode, "reportType": "said_verification", "idNumber": number})
}

/// A user-declared check that shares its path with another.
fn own_check() -> Declaration {
    toml::from_str(
        r#"
        name = "own-check"
        summary = "a check of the user's own"
        flow = "direct"
        routes.guide = "/verify"
        fixed.reportType = "own_report"
        field = [
            { name = "reference", kind = "text", required = true },
            { name = "email", kind = "text" },
            { name = "phone", kind = "text" },
        ]
        rule = [{ together = ["email", "phone"] }]
        [answer]
        payload = ["/results/own_report", "/data"]
        column = [
            { name = "standing", pointers = ["/standing/word"], type = "text" },
            { name = "points", pointers = ["/points"], type = "integer" },
            { name = "hits", pointers = ["/hits"], type = "count" },
            { name = "since", pointers = ["/since"], type = "date" },
            { name = "first", pointers = ["/list/0/score"], type = "number" },
        ]
        [verdict]
        recognised = "payload.points is defined"
        otherwise = { verdict = "data", finding = "fact" }
        "#,
    )
    .unwrap()
}

fn with_own_check() -> Settings {
    Settings { checks: checks_with(own_check()), ..unlimited() }
}

/// What a client received.
#[derive(Debug, Clone, PartialEq)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    fn code(&self) -> &str {
        self.body.pointer("/error/code").and_then(Value::as_str).unwrap_or("")
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// The simulator on a socket, and a client for it.
struct Service {
    simulator: Simulator,
    url: String,
    client: reqwest::Client,
    _until_dropped: oneshot::Sender<()>,
}

impl Service {
    async fn start(settings: Settings) -> Service {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (until_dropped, dropped) = oneshot::channel::<()>();
        let simulator = Simulator::new(settings);
        tokio::spawn(serve(simulator.clone(), listener, async { drop(dropped.await) }));
        let client = reqwest::Client::builder().retry(reqwest::retry::never()).build().unwrap();
        Service { simulator, url, client, _until_dropped: until_dropped }
    }

    /// A POST with the usual API key, and with an idempotency key unless it is empty.
    async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.try_post(path, key, body).await.unwrap()
    }

    async fn try_post(&self, path: &str, key: &str, body: &Value) -> reqwest::Result<Answer> {
        let mut request = self.request("POST", path).header("x-api-key", "api-key").body(body.to_string());
        if !key.is_empty() {
            request = request.header("Idempotency-Key", key);
        }
        self.send(request).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(self.request("GET", path).header("x-api-key", "api-key")).await.unwrap()
    }

    fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method.parse().unwrap(), format!("{}{path}", self.url))
    }

    /// Sends, reads the whole body, and checks what every answer contains.
    async fn send(&self, request: reqwest::RequestBuilder) -> reqwest::Result<Answer> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await?;
        assert!(headers.contains_key(SIMULATOR_MARKER) && headers.contains_key("date"), "{headers:?}");
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        Ok(Answer { status, headers, body })
    }

    fn stats(&self) -> Stats {
        self.simulator.stats()
    }
}

/// A POST in process, without a socket, for tests in paused time. Returns `None` if the body cannot be read.
async fn post_in_process(simulator: &Simulator, path: &str, key: &str, body: &Value) -> Option<Answer> {
    let request = Request::post(path).header("x-api-key", "api-key").header("Idempotency-Key", key);
    let response: Response<Body> = simulator.exchange(request.body(Body::from(body.to_string())).unwrap()).await;
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.ok()?;
    Some(Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: serde_json::from_slice(&bytes).unwrap(),
    })
}
