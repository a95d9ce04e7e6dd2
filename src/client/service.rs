//! The connection to the service: its URL, its API key and its connection pool. `send` is the only way in which a
//! chargeable request leaves the machine. It consumes the ledger's receipt and the throttle's permit.

use super::{
    ApiKey,
    connect_gate::{ConnectGate, paid},
    key_mask::KeyMask,
    proxy::{Proxy, ProxyFault, is_loopback},
    room::Rooms,
    roots::{self, RootsFault},
    transport::{Exchange, InProcess, Timeouts, Transport, TransportFault, describe},
};
use crate::model::{IdempotencyKey, Mode, Permit, Receipt};
use reqwest::{
    Method, Url,
    header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// A connection that was idle for longer is not used again. A service closes idle connections too, and a request that
/// is written at that moment is in doubt. Some servers close after 5 seconds, as Node.js 20 does by default.
const IDLE_MAX: Duration = Duration::from_secs(4);

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How the API key is sent. The description states both and does not say which one applies.
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
    /// The most requests in flight at once.
    pub in_flight: usize,
    /// The proxy between this machine and the service.
    pub proxy: Option<Proxy>,
    /// `USER:PASSWORD` for a proxy that the user configured.
    pub proxy_auth: Option<SecretString>,
    /// PEM file with certificate authorities to trust in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// A service in this process, instead of the network.
    pub in_process: Option<InProcess>,
    /// Hosts that documents may be uploaded to, besides the service itself: `HOST` or `HOST:PORT`.
    pub upload_hosts: Vec<String>,
    /// Other secrets that the service knows. Like the API key, they are removed from replies.
    pub known_secrets: Vec<SecretString>,
}

#[cfg(test)]
impl Settings {
    /// A service at this URL, with nothing else.
    pub(crate) fn at(url: &str) -> Settings {
        Settings {
            url: url.to_owned(),
            auth: Auth::XApiKey,
            api_key: ApiKey::new("sk-planted".to_owned().into()),
            in_flight: 1,
            proxy: None,
            proxy_auth: None,
            ca_file: None,
            in_process: None,
            upload_hosts: Vec::new(),
            known_secrets: Vec::new(),
        }
    }
}

/// Why the client cannot be set up. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("service url `{url}`: {fault}")]
    Url { url: String, fault: String },
    #[error(transparent)]
    Proxy(#[from] ProxyFault),
    #[error(
        "expected an API key of visible ASCII characters, found a different character; check what [service] api_key names"
    )]
    Key,
    #[error(transparent)]
    Roots(#[from] RootsFault),
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
}

/// A client for the service.
pub struct Client {
    transport: Transport,
    /// Removes the API key from replies.
    mask: KeyMask,
    base: String,
    /// `base`, parsed. The API key is sent to no other scheme, host or port.
    pub(super) service: Url,
    api_key: ApiKey,
    /// How the API key is sent to routes that belong to no check.
    auth: Auth,
    /// Other hosts that documents may be uploaded to.
    pub(super) upload_hosts: Vec<String>,
    gate: ConnectGate,
    /// The URLs of the routes that checks were sent to.
    urls: Mutex<BTreeMap<String, Url>>,
}

/// Checks that a URL is valid for the service: https, or http to this machine, with no secret in it.
///
/// # Errors
/// What is wrong with the URL. The message does not repeat anything that may be a secret.
pub fn check_url(text: &str) -> Result<(), ClientError> {
    checked_url(text).map(|_| ())
}

impl Client {
    /// Checks the settings and sets up the connection pool; sends nothing.
    ///
    /// # Errors
    /// A URL that is not https (or http to this machine), an API key that is not a valid header value, or an unreadable
    /// CA file.
    pub fn new(settings: &Settings) -> Result<Client, ClientError> {
        Client::with_timeouts(settings, Timeouts::default())
    }

    fn with_timeouts(settings: &Settings, timeouts: Timeouts) -> Result<Client, ClientError> {
        let url = checked_url(&settings.url)?;
        let base = url.as_str().trim_end_matches('/').to_owned();
        let gate = ConnectGate::default();
        let transport = match &settings.in_process {
            Some(service) => Transport::InProcess(service.clone()),
            None => {
                let http = http(settings, timeouts, &gate)?;
                Transport::Http { http, timeouts, rooms: Rooms::new(settings.in_flight) }
            }
        };
        // A key that is not a valid header value is found before anything is sent.
        headers(&settings.api_key, settings.auth)?;
        let (api_key, auth) = (settings.api_key.clone(), settings.auth);
        let upload_hosts = settings.upload_hosts.clone();
        let mask = KeyMask::new(&api_key, &settings.known_secrets);
        Ok(Client { transport, mask, base, service: url, api_key, auth, upload_hosts, gate, urls: Mutex::default() })
    }

    /// The same client, but it calls `allowed` after each new connection is made and writes to it only if that returns
    /// true: connecting may take long, and the machine may sleep meanwhile.
    pub fn writing_only_if(self, allowed: impl Fn() -> bool + Send + Sync + 'static) -> Client {
        self.gate.set(allowed);
        self
    }

    /// Sends an armed request, with the API key in the header `auth`. This is the only way in which a chargeable request
    /// leaves the machine.
    pub async fn send(&self, _permit: Permit, receipt: Receipt, auth: Auth) -> Exchange {
        let mut headers = self.headers(auth);
        let content_type = HeaderValue::from_str(receipt.content_type()).expect("a media type is visible ASCII");
        headers.insert(CONTENT_TYPE, content_type);
        let key = HeaderValue::from_str(&receipt.key().to_string()).expect("a UUID is letters, digits and hyphens");
        headers.insert(IDEMPOTENCY_KEY, key);
        let url = match self.url_of_check(receipt.path()) {
            Ok(url) => url,
            Err(fault) => return Exchange::not_sent(fault),
        };
        paid(self.exchange(Method::POST, url, headers, receipt.into_body())).await
    }

    /// Requests a path that is free of charge.
    pub async fn get(&self, permit: Permit, path: &str) -> Exchange {
        self.get_with(permit, path, self.auth).await
    }

    /// Sends a request in sandbox, where nothing is charged. A body of another mode is not sent.
    pub async fn send_in_sandbox(
        &self,
        _permit: Permit,
        path: &str,
        auth: Auth,
        key: IdempotencyKey,
        body: &Map<String, Value>,
    ) -> Exchange {
        if body.get("mode").and_then(Value::as_str) != Some(Mode::Sandbox.as_str()) {
            let fault = "expected a sandbox request, found another mode; it was not sent".to_owned();
            return Exchange::not_sent(TransportFault::NotWritten(fault));
        }
        let mut headers = self.headers(auth);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let key = HeaderValue::from_str(&key.to_string()).expect("a UUID is letters, digits and hyphens");
        headers.insert(IDEMPOTENCY_KEY, key);
        let bytes = Value::Object(body.clone()).to_string().into_bytes();
        match self.url(path) {
            Ok(url) => self.exchange(Method::POST, url, headers, bytes).await,
            Err(fault) => Exchange::not_sent(fault),
        }
    }

    /// Requests a path that is free of charge, with the API key in the header `auth`.
    pub async fn get_with(&self, _permit: Permit, path: &str, auth: Auth) -> Exchange {
        match self.url(path) {
            Ok(url) => self.exchange(Method::GET, url, self.headers(auth), Vec::new()).await,
            Err(fault) => Exchange::not_sent(fault),
        }
    }

    /// One exchange. The reply does not contain the API key. Without the header that asks for no compression, a server
    /// may use any (RFC 9110, 12.5.3), also one that cannot be read. The headers of an upload may ask for another.
    pub(super) async fn exchange(&self, method: Method, url: Url, mut headers: HeaderMap, body: Vec<u8>) -> Exchange {
        headers.entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
        self.mask.exchange(self.transport.exchange(method, url, headers, body).await)
    }

    pub(super) fn headers(&self, auth: Auth) -> HeaderMap {
        headers(&self.api_key, auth).expect("the key was a header value when the client was made")
    }

    /// The URL of a check's route. There are few, so each is made once.
    fn url_of_check(&self, route: &str) -> Result<Url, TransportFault> {
        let mut urls = self.urls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(url) = urls.get(route) {
            return Ok(url.clone());
        }
        let url = self.url(route)?;
        urls.insert(route.to_owned(), url.clone());
        Ok(url)
    }

    /// The URL of a route. It always has the configured origin, whatever the route's text.
    pub(super) fn url(&self, route: &str) -> Result<Url, TransportFault> {
        match format!("{}{route}", self.base).parse::<Url>() {
            Ok(url) if route.starts_with('/') && url.origin() == self.service.origin() => Ok(url),
            _ => Err(TransportFault::NotWritten(
                "expected a route on the configured service, found one that leads elsewhere".to_owned(),
            )),
        }
    }
}

/// The connection pool: no redirects, no retries, and no proxy except the one of the settings.
fn http(settings: &Settings, timeouts: Timeouts, gate: &ConnectGate) -> Result<reqwest::Client, ClientError> {
    // A second installation in one process fails and changes nothing.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = reqwest::Client::builder()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .connect_timeout(timeouts.connect)
        .connector_layer(gate.clone())
        .tcp_nodelay(true)
        .pool_idle_timeout(IDLE_MAX)
        .pool_max_idle_per_host(settings.in_flight)
        .user_agent(concat!("rescreen/", env!("CARGO_PKG_VERSION")));
    if let Some(proxy) = &settings.proxy {
        builder = builder.proxy(proxy.for_client(settings.proxy_auth.as_ref())?);
    }
    let is_https = settings.url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
    for certificate in roots::additional(settings.ca_file.as_deref(), is_https)? {
        builder = builder.add_root_certificate(certificate);
    }
    // The certificates are parsed only here.
    builder.build().map_err(|error| match &settings.ca_file {
        Some(path) => RootsFault::CaFile { path: path.clone(), fault: describe(&error) }.into(),
        None => setup(&error),
    })
}

fn headers(api_key: &ApiKey, auth: Auth) -> Result<HeaderMap, ClientError> {
    let (name, value) = match auth {
        Auth::XApiKey => (HeaderName::from_static("x-api-key"), api_key.expose().to_owned()),
        Auth::Bearer => (AUTHORIZATION, format!("Bearer {}", api_key.expose())),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| ClientError::Key)?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(name, value)]))
}

/// The origin of a URL in normalized format: scheme and host in lower case, explicit port, no dot at the end of the
/// host.
pub fn origin_of(text: &str) -> String {
    let Ok(url) = text.parse::<Url>() else { return text.to_ascii_lowercase() };
    let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    let port = url.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}", url.scheme())
}

/// The service's URL: https, or http to loopback; without query, fragment and user.
fn checked_url(text: &str) -> Result<Url, ClientError> {
    // Text before an `@` or after a `?` may be a secret. It is not repeated, even if the text is not a URL.
    let shown = if text.contains('@') { "…" } else { text.split(['?', '#']).next().unwrap_or_default() };
    let fault = |fault: &str| ClientError::Url { url: shown.to_owned(), fault: fault.to_owned() };
    let url: Url = text.parse().map_err(|_| fault("expected a URL like https://host/path"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("expected a URL without user and password; remove them"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fault("expected a URL without `?` and `#`, because routes are appended to it; remove them"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(fault(
            "expected https; http is allowed only for this machine, because it would expose the API key to the network",
        )),
        _ => Err(fault("expected https")),
    }
}

fn setup(error: &reqwest::Error) -> ClientError {
    ClientError::Setup(describe(error))
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
