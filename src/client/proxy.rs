//! The HTTP proxy between this machine and the service. It decides which one is used: the one of the command line, else of
//! the campaign file, else of the environment. All traffic through it is encrypted end to end, so it sees neither the API
//! key nor the data; its own password is never printed.

use axum::http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{NoProxy, Url};
use secrecy::{ExposeSecret, SecretString};
use std::{ffi::OsString, fmt};

/// The variables that name a proxy for https, the first of which counts. `HTTP_PROXY` is for plain http, which is used for
/// this machine only, and this machine is reached without a proxy.
const VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// The variables that list the hosts that are reached without a proxy.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Where a proxy is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxySource {
    Flag,
    CampaignFile,
    Variable(&'static str),
}

impl fmt::Display for ProxySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProxySource::Flag => "--proxy",
            ProxySource::CampaignFile => "[service] proxy",
            ProxySource::Variable(name) => name,
        })
    }
}

/// Why a proxy cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{from}: {fault}")]
pub struct ProxyFault {
    from: ProxySource,
    fault: &'static str,
}

/// A proxy. `Debug` shows its host only.
#[derive(Clone)]
pub struct Proxy {
    /// With a user and a password only if it comes from the environment.
    url: Url,
    source: ProxySource,
    /// Hosts that are reached without it, comma-separated.
    exceptions: String,
}

impl Proxy {
    /// The proxy that a flag or the campaign file names for this service. None if the text is empty or `none`.
    ///
    /// # Errors
    /// The text is not a URL of a proxy, or has a password, which others could read; or the service is not reached over
    /// https.
    pub fn configured(text: &str, source: ProxySource, service: &str) -> Result<Option<Proxy>, ProxyFault> {
        if is_off(text) {
            return Ok(None);
        }
        let fault = |fault| ProxyFault { from: source, fault };
        let url: Url = text.parse().map_err(|_| fault(EXPECTED))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fault(
                "expected a URL without user and password; name the source of USER:PASSWORD with [service] proxy_auth, \
                 such as { env = \"PROXY_AUTH\" }",
            ));
        }
        if service.parse::<Url>().is_ok_and(|service| service.scheme() != "https") {
            return Err(fault(
                "expected a service with an https URL; over http, the proxy would see the API key in clear text",
            ));
        }
        Proxy::of(url, source, String::new()).map(Some)
    }

    /// The proxy that the environment names for this service. None if the service is on this machine.
    ///
    /// # Errors
    /// A variable is not a URL of a proxy. The message names the variable and does not repeat its value.
    pub fn of_environment(
        service: &str,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Proxy>, ProxyFault> {
        if service.parse::<Url>().is_ok_and(|url| url.scheme() != "https" || is_loopback(&url)) {
            return Ok(None);
        }
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let Some((name, value)) = VARIABLES.into_iter().find_map(|name| Some((name, set(name)?))) else {
            return Ok(None);
        };
        let source = ProxySource::Variable(name);
        let fault = || ProxyFault { from: source, fault: EXPECTED };
        let text = value.to_str().map(str::trim).ok_or_else(fault)?;
        // Other programs accept `HOST:PORT` too.
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let exceptions = EXCEPTIONS.into_iter().find_map(set).unwrap_or_default();
        let exceptions = exceptions.to_string_lossy();
        let exceptions: Vec<&str> = exceptions.split(',').map(str::trim).map(without_star).collect();
        Proxy::of(text.parse().map_err(|_| fault())?, source, exceptions.join(",")).map(Some)
    }

    fn of(url: Url, source: ProxySource, exceptions: String) -> Result<Proxy, ProxyFault> {
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(ProxyFault { from: source, fault: EXPECTED });
        }
        Ok(Proxy { url, source, exceptions })
    }

    /// Whether this URL is reached through the proxy.
    pub fn is_for(&self, url: &str) -> bool {
        let matcher = Matcher::builder().all(self.place()).no(self.exceptions.clone()).build();
        url.parse::<Uri>().is_ok_and(|uri| matcher.intercept(&uri).is_some())
    }

    /// The proxy as reqwest uses it. `auth` is `USER:PASSWORD` for a proxy that the user configured.
    pub(super) fn for_client(&self, auth: Option<&SecretString>) -> Result<reqwest::Proxy, ProxyFault> {
        let fault = |fault| ProxyFault { from: self.source, fault };
        let proxy = reqwest::Proxy::all(self.url.clone()).map_err(|_| fault(EXPECTED))?;
        let proxy = proxy.no_proxy(NoProxy::from_string(&self.exceptions));
        // A password of the campaign file belongs to no other proxy than the user's.
        let auth = auth.filter(|_| !matches!(self.source, ProxySource::Variable(_)));
        match auth.map(|auth| auth.expose_secret().split_once(':')) {
            None => Ok(proxy),
            Some(Some((user, password))) => Ok(proxy.basic_auth(user, password)),
            Some(None) => Err(fault("[service] proxy_auth: expected USER:PASSWORD, found no colon")),
        }
    }

    /// The scheme, host and port, without user and password.
    fn place(&self) -> String {
        format!("{}://{}", self.url.scheme(), self.host())
    }

    fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

/// `proxy.example:3128 (HTTPS_PROXY)`
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.host(), self.source)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whether a URL names this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        None => false,
    }
}

const EXPECTED: &str = "expected a URL like http://proxy.example:3128, found something else";

/// Whether the text says that no proxy is used.
fn is_off(text: &str) -> bool {
    matches!(text, "" | "none")
}

/// An entry of the exceptions without its wildcard: a domain includes its subdomains anyway.
fn without_star(entry: &str) -> &str {
    entry.strip_prefix("*.").unwrap_or(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: &str = "https://api.service.example/v1";

    fn found(service: &str, variables: &[(&str, &str)]) -> Result<Option<Proxy>, ProxyFault> {
        Proxy::of_environment(service, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    fn shown(service: &str, variables: &[(&str, &str)]) -> Option<String> {
        found(service, variables).unwrap().filter(|proxy| proxy.is_for(service)).map(|proxy| proxy.to_string())
    }

    #[test]
    fn the_first_variable_that_is_set_counts() {
        let all = [("all_proxy", "http://b:1"), ("https_proxy", "http://a:3128/"), ("HTTPS_PROXY", "")];
        assert_eq!(shown(SERVICE, &all).as_deref(), Some("a:3128 (https_proxy)"));
        assert_eq!(shown(SERVICE, &all[..1]).as_deref(), Some("b:1 (all_proxy)"));
        assert_eq!(
            shown(SERVICE, &[("HTTPS_PROXY", " proxy.example:80 ")]).as_deref(),
            Some("proxy.example:80 (HTTPS_PROXY)")
        );
        assert_eq!(shown(SERVICE, &[("HTTP_PROXY", "http://a:1")]), None);
        assert_eq!(shown(SERVICE, &[]), None);
    }

    #[test]
    fn hosts_that_are_excepted_and_this_machine_are_reached_without_a_proxy() {
        for (exceptions, is_used) in [
            ("", true),
            ("other.example", true),
            ("vice.example", true),
            ("service.example", false),
            ("localhost, .service.example", false),
            ("*.service.example", false),
            ("*", false),
        ] {
            let variables = [("HTTPS_PROXY", "http://a:1"), ("no_proxy", exceptions)];
            assert_eq!(shown(SERVICE, &variables).is_some(), is_used, "{exceptions}");
        }
        for service in ["http://127.0.0.1:9", "https://localhost", "https://[::1]:9", "https://127.8.8.8"] {
            assert_eq!(shown(service, &[("HTTPS_PROXY", "http://a:1")]), None, "{service}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let proxy = found(SERVICE, &[("HTTPS_PROXY", "http://me:hunter2@a:1")]).unwrap().unwrap();
        assert!(!format!("{proxy} {proxy:?}").contains("hunter2"));
        for value in ["http://me:hunter2@", "socks5://me:hunter2@a:1", "http://me:hunter2@a b", "://hunter2"] {
            let fault = found(SERVICE, &[("ALL_PROXY", value)]).unwrap_err().to_string();
            assert!(fault.starts_with("ALL_PROXY: expected") && !fault.contains("hunter2"), "{value}: {fault}");
        }
    }

    #[test]
    fn a_configured_proxy_can_be_turned_off() {
        let of = |text| Proxy::configured(text, ProxySource::Flag, SERVICE).unwrap();
        assert!(of("").is_none() && of("none").is_none());
        assert_eq!(of("http://a:1").unwrap().to_string(), "a:1 (--proxy)");
    }
}
