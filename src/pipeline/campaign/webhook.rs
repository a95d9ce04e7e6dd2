//! The address of the receiver of deliveries, as a campaign names it: where the service sends word that a job has ended.

use super::flags;
use crate::error::Error;
use clap::Args;
use merge::Merge;
use serde::{Deserialize, Serialize};
use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};
use url::{Host, Url};

/// `[webhook]` of a campaign file.
#[derive(Args, Merge, Debug, Clone, Default, Serialize, Deserialize)]
#[merge(strategy = flags::over)]
#[serde(deny_unknown_fields, default)]
pub struct WebhookTable {
    /// Public https URL of `rescreen listen`, where the service reports finished jobs; without it, rescreen only asks for
    /// them
    #[arg(id = "webhook_url", long = "webhook-url", value_name = "URL", help_heading = flags::SERVICE)]
    pub url: Option<String>,
    /// The file in which the receiver stores deliveries.
    #[arg(skip)]
    pub inbox: Option<PathBuf>,
}

/// The receiver as a campaign names it.
#[derive(Debug, Clone, Default)]
pub struct Webhook {
    /// The public base URL of the receiver; `None` if jobs are only asked for.
    pub url: Option<String>,
    pub inbox: Option<PathBuf>,
}

impl Webhook {
    /// The receiver of a campaign file. The built-in simulator delivers nothing.
    ///
    /// # Errors
    /// The URL is not one that the service can deliver to.
    pub fn new(table: &WebhookTable, service: Option<&str>, simulate: bool, base: &Path) -> Result<Webhook, Error> {
        let url = table.url.as_ref().map(|text| checked(text, service)).transpose()?;
        Ok(Webhook { url: url.filter(|_| !simulate), inbox: table.inbox.as_ref().map(|path| base.join(path)) })
    }
}

/// The base URL of a receiver, without a slash at its end.
///
/// # Errors
/// It is not one that the service can deliver to.
pub fn checked(text: &str, service: Option<&str>) -> Result<String, Error> {
    check_url(text, service).map_err(|fault| Error::Config(format!("--webhook-url (or [webhook] url): {fault}")))?;
    Ok(text.trim_end_matches('/').to_owned())
}

/// Checks that the service can deliver to a base URL: https and a public host. If the service itself is on this
/// machine, the receiver may be, too.
fn check_url(text: &str, service: Option<&str>) -> Result<(), String> {
    let expected = "expected a public address such as https://hooks.example.co.za";
    let url: Url = text.parse().map_err(|_| format!("{expected}, found something that is not a URL"))?;
    if url.password().is_some() || !url.username().is_empty() || url.query().is_some() || url.fragment().is_some() {
        return Err(format!("{expected}, found user, password, `?` or `#` in it"));
    }
    let is_local = |url: &Url| url.host().is_some_and(|host| !is_public(&host));
    let service_is_local = service.and_then(|text| text.parse().ok()).is_some_and(|url| is_local(&url));
    match url.scheme() {
        _ if is_local(&url) && !service_is_local => Err(format!(
            "{expected}, found a host of a private network; put a reverse proxy with a public name in front of \
             `rescreen listen`, or leave the webhook out: jobs are then only asked for"
        )),
        "https" => Ok(()),
        "http" if is_local(&url) => Ok(()),
        scheme => Err(format!("{expected}, found the scheme `{scheme}`")),
    }
}

/// Whether a host can be reached from the internet, as far as its name or address says.
fn is_public(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let is_reserved = |end: &str| name.ends_with(end);
            name.contains('.')
                && ![".local", ".localhost", ".internal", ".lan", ".home.arpa"].into_iter().any(is_reserved)
        }
        Host::Ipv4(address) => is_public_address(IpAddr::V4(*address)),
        Host::Ipv6(address) => is_public_address(address.to_ipv4_mapped().map_or(IpAddr::V6(*address), IpAddr::V4)),
    }
}

fn is_public_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            // 100.64.0.0/10 is shared by the customers of one provider.
            let is_shared = first == 100 && (64..128).contains(&second);
            let is_own = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_unspecified();
            !(is_own || is_shared || v4.is_broadcast() || v4.is_multicast() || v4.is_documentation())
        }
        IpAddr::V6(v6) => {
            let is_own = v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local();
            !(is_own || v6.is_multicast())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_has_a_public_https_address() {
        for text in ["https://hooks.example.co.za", "https://hooks.example.co.za:8443/rescreen/", "https://8.8.8.8"] {
            assert_eq!(check_url(text, Some("https://api.example.co.za")), Ok(()), "{text}");
        }
        for text in [
            "hooks.example.co.za",
            "http://hooks.example.co.za",
            "ftp://hooks.example.co.za",
            "https://user:geheim@hooks.example.co.za",
            "https://hooks.example.co.za/?x=1",
            "https://hooks.example.co.za/#x",
            "https://localhost",
            "https://printer",
            "https://nas.local",
            "https://db.internal.",
            "https://127.0.0.1",
            "https://10.1.2.3",
            "https://192.168.0.9",
            "https://172.16.0.1",
            "https://169.254.169.254",
            "https://100.64.0.1",
            "https://0.0.0.0",
            "https://[::1]",
            "https://[fd00::1]",
            "https://[::ffff:10.0.0.1]",
            "https://2130706433",
        ] {
            let fault = check_url(text, Some("https://api.example.co.za")).unwrap_err();
            assert!(fault.contains("expected a public address") && !fault.contains("geheim"), "{text}: {fault}");
        }
    }

    #[test]
    fn a_service_on_this_machine_may_deliver_to_this_machine() {
        for text in ["http://127.0.0.1:8787", "https://localhost:8787", "https://hooks.example.co.za"] {
            assert_eq!(check_url(text, Some("http://127.0.0.1:9000")), Ok(()), "{text}");
        }
        assert!(check_url("http://hooks.example.co.za", Some("http://127.0.0.1:9000")).is_err());
    }
}
