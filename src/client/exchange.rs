//! One HTTP exchange: the only place that puts bytes on the wire. `send` consumes the ledger's receipt and the throttle's
//! permit.

use super::ApiKey;
use crate::model::{Permit, Receipt, request::SIMULATOR_MARKER};
use reqwest::{
    Url,
    header::{AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, time::Duration};
use tokio::time::Instant;

/// Connecting takes this long at most.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A body may stall this long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// A whole exchange takes this long at most. Live registry calls take over 15 s, and a client that cuts early pays twice.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(120);
/// A body is at most this long.
const RESPONSE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How the API key is sent: two forms are stated, and which applies is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
    #[default]
    XApiKey,
    Bearer,
}

/// How the service is reached.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The base URL; routes are appended to it. https, or http to this machine.
    pub url: String,
    pub auth: Auth,
    pub api_key: ApiKey,
    /// Requests under way at once, at most.
    pub in_flight: usize,
    pub proxy: Option<String>,
    /// PEM file of a certificate authority to trust beside the system's.
    pub ca_file: Option<PathBuf>,
}

/// What makes the service unreachable before anything is sent.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("service url `{url}`: {fault}")]
    Url { url: String, fault: String },
    #[error("the API key has a character that cannot stand in a header; check where it comes from")]
    Key,
    #[error("ca_file {}: {fault}", .path.display())]
    CaFile { path: PathBuf, fault: String },
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
}

/// Why no reply came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportFault {
    /// Connect or TLS failure: no byte of the request left.
    NotWritten(String),
    /// Anything else: nobody knows what arrived.
    Unknown(String),
}

/// A reply as it came.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    /// The body; `None` where it was cut, stalled or too long.
    pub body: Option<Vec<u8>>,
    pub retry_after: Option<String>,
    pub date: Option<String>,
    /// The simulator marks each of its answers.
    pub simulated: bool,
}

/// What an exchange came to.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub reply: Result<Reply, TransportFault>,
    pub latency: Duration,
}

/// The service, ready to be sent to.
pub struct Client {
    http: reqwest::Client,
    base: String,
    headers: HeaderMap,
}

impl Client {
    /// Checks the settings and sets up the connection pool; sends nothing.
    ///
    /// # Errors
    /// A URL that is not https (or http to this machine), a key that is no header value, an unreadable CA file.
    pub fn new(settings: &Settings) -> Result<Client, ClientError> {
        let url = checked_url(&settings.url)?;
        // A second installation in one process is refused and changes nothing.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = reqwest::Client::builder()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TOTAL_TIMEOUT)
            .tcp_nodelay(true)
            .pool_max_idle_per_host(settings.in_flight)
            .user_agent(concat!("rescreen/", env!("CARGO_PKG_VERSION")));
        if let Some(proxy) = &settings.proxy {
            builder = builder.proxy(reqwest::Proxy::all(proxy).map_err(|error| setup(&error))?);
        }
        if let Some(path) = &settings.ca_file {
            let ca_file = |fault: String| ClientError::CaFile { path: path.clone(), fault };
            let pem = std::fs::read(path).map_err(|error| ca_file(error.to_string()))?;
            let certificate = reqwest::Certificate::from_pem(&pem).map_err(|error| ca_file(error.to_string()))?;
            builder = builder.add_root_certificate(certificate);
        }
        let http = builder.build().map_err(|error| setup(&error))?;
        let base = url.as_str().trim_end_matches('/').to_owned();
        Ok(Client { http, base, headers: headers(settings)? })
    }

    /// Sends an armed request. The one way in which anything paid for leaves the machine.
    pub async fn send(&self, _permit: Permit, receipt: Receipt) -> Exchange {
        let request = self
            .http
            .post(format!("{}{}", self.base, receipt.path()))
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("Idempotency-Key", receipt.key().to_string())
            .body(receipt.into_body());
        exchange(request).await
    }

    /// Reads a path that costs nothing.
    pub async fn get(&self, _permit: Permit, path: &str) -> Exchange {
        exchange(self.http.get(format!("{}{path}", self.base)).headers(self.headers.clone())).await
    }
}

fn headers(settings: &Settings) -> Result<HeaderMap, ClientError> {
    let (name, value) = match settings.auth {
        Auth::XApiKey => (reqwest::header::HeaderName::from_static("x-api-key"), settings.api_key.expose().to_owned()),
        Auth::Bearer => (AUTHORIZATION, format!("Bearer {}", settings.api_key.expose())),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| ClientError::Key)?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(name, value)]))
}

/// The service's URL: https, or http to the loopback; no query, no fragment, no user in it.
fn checked_url(text: &str) -> Result<Url, ClientError> {
    let fault = |fault: &str| ClientError::Url { url: text.to_owned(), fault: fault.to_owned() };
    let url: Url = text.parse().map_err(|_| fault("expected a URL like https://host/path"))?;
    if !url.username().is_empty() || url.password().is_some() {
        // The text may hold a secret: it is not repeated.
        return Err(ClientError::Url { url: "…".to_owned(), fault: "expected no user or password in it".to_owned() });
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fault("expected no `?` or `#` in it; routes are appended to it"));
    }
    let loopback = match url.host_str() {
        Some("localhost") => true,
        Some(host) => host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        None => false,
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if loopback => Ok(url),
        "http" => Err(fault("expected https; http is for this machine only, it would show the API key to the network")),
        _ => Err(fault("expected https")),
    }
}

fn setup(error: &reqwest::Error) -> ClientError {
    ClientError::Setup(words(error))
}

async fn exchange(request: reqwest::RequestBuilder) -> Exchange {
    let start = Instant::now();
    let reply = match request.send().await {
        Ok(response) => Ok(reply(response).await),
        Err(error) if error.is_connect() || error.is_builder() => Err(TransportFault::NotWritten(words(&error))),
        Err(error) => Err(TransportFault::Unknown(words(&error))),
    };
    Exchange { reply, latency: start.elapsed() }
}

async fn reply(mut response: reqwest::Response) -> Reply {
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (retry_after, date) = (text(RETRY_AFTER), text(DATE));
    let simulated = response.headers().contains_key(SIMULATOR_MARKER);
    let status = response.status().as_u16();
    Reply { status, body: body(&mut response).await, retry_after, date, simulated }
}

/// The whole body, or nothing where it was cut, stalled or too long.
async fn body(response: &mut reqwest::Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        match tokio::time::timeout(IDLE_TIMEOUT, response.chunk()).await {
            Ok(Ok(Some(chunk))) if body.len() + chunk.len() <= RESPONSE_BYTES_MAX => body.extend_from_slice(&chunk),
            Ok(Ok(None)) => return Some(body),
            Ok(Ok(Some(_)) | Err(_)) | Err(_) => return None,
        }
    }
}

/// An error of the HTTP library without its URL, with its causes: the first alone says little.
fn words(error: &reqwest::Error) -> String {
    let mut words = if error.is_timeout() {
        "timed out".to_owned()
    } else if error.is_connect() {
        "cannot connect".to_owned()
    } else {
        "the exchange broke".to_owned()
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_leaves_the_machine() {
        for good in
            ["https://api.example.com/external", "http://127.0.0.1:8787", "http://localhost:1/x", "http://[::1]:9"]
        {
            assert!(checked_url(good).is_ok(), "{good}");
        }
        for bad in
            ["http://api.example.com", "ftp://127.0.0.1", "api.example.com", "https://h/?a=1", "http://127.0.0.1.x/"]
        {
            assert!(checked_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_secret_in_a_url_is_refused_and_not_repeated() {
        let message = checked_url("https://me:hunter2@h/").unwrap_err().to_string();
        assert!(!message.contains("hunter2"), "{message}");
    }
}
