//! `[service]` of the campaign file: one declaration of its keys, of the flags that replace them, and of what the ledger
//! records of them.

use super::{check_settings::ByCheck, flags, secret::SecretSource};
use crate::{catalogue::Spelling, client::Auth, throttle::Rate};
use clap::Args;
use merge::Merge;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The limits that the service documents.
const RATE: Rate = Rate { per_minute: 60, per_minute_max: 120 };
const IN_FLIGHT: usize = 64;

/// `[service]`.
#[derive(Args, Merge, Debug, Clone, Default, Serialize, Deserialize)]
#[merge(strategy = flags::over)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceTable {
    /// Rate limit: steady rate in requests per minute; without --per-minute-max, the maximum is twice this
    #[arg(long, value_name = "N", help_heading = flags::SERVICE)]
    pub per_minute: Option<u32>,
    /// Rate limit: maximum requests in any one minute
    #[arg(long, value_name = "N", help_heading = flags::SERVICE)]
    pub per_minute_max: Option<u32>,
    /// Maximum number of concurrent requests
    #[arg(long, value_name = "N", help_heading = flags::SERVICE)]
    pub in_flight: Option<usize>,
    /// Base URL of the service
    #[arg(long = "service", value_name = "URL", help_heading = flags::SERVICE)]
    #[serde(skip_serializing)]
    pub url: Option<String>,
    /// URL of an HTTP proxy to the service; `none` for none [default: HTTPS_PROXY or ALL_PROXY, except for NO_PROXY]
    // It is about this machine and this run, so it is neither a key of the file nor recorded.
    #[arg(long = "proxy", value_name = "URL", help_heading = flags::SERVICE)]
    #[serde(skip)]
    pub proxy_flag: Option<String>,
    /// The URL of a proxy. `""` or `"none"` turns off the proxy of the environment.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// Where to find `USER:PASSWORD` for the proxy.
    #[arg(skip)]
    #[serde(skip_serializing)]
    pub proxy_auth: Option<SecretSource>,
    /// Where to find the API key; `RESCREEN_API_KEY` by default.
    #[arg(skip)]
    #[serde(skip_serializing)]
    pub api_key: Option<SecretSource>,
    #[arg(skip)]
    #[merge(skip)]
    pub auth: Auth,
    #[arg(skip)]
    #[merge(skip)]
    pub routes: Spelling,
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// JSON pointer to the balance in the response of `GET /my_credits`.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance_pointer: Option<String>,
    /// JSON pointer to the charge that a reply states; replaces the known ones. If empty, only the balance proves prices.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge_pointer: Option<String>,
    /// JSON pointer to the balance that a reply states; replaces the known ones. If empty, replies state no balance.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_pointer: Option<String>,
    /// Header form, route spelling and limits of single checks.
    #[arg(skip)]
    #[merge(skip)]
    #[serde(skip_serializing_if = "ByCheck::is_empty")]
    pub checks: ByCheck,
    /// Hosts that documents may be uploaded to, besides the service itself. Not recorded: collecting makes no new upload.
    #[arg(skip)]
    #[merge(skip)]
    #[serde(skip_serializing)]
    pub upload_hosts: Vec<String>,
    /// The most bytes of all files in one request; some services refuse more than 4.5 MB. Not recorded: collecting maps no
    /// rows.
    #[arg(skip)]
    #[serde(skip_serializing)]
    pub body_bytes_max: Option<u64>,
}

impl ServiceTable {
    /// The limits of the account.
    pub fn rate(&self) -> Rate {
        Rate {
            per_minute: self.per_minute.unwrap_or(RATE.per_minute),
            per_minute_max: self.per_minute_max.unwrap_or(RATE.per_minute_max),
        }
    }

    /// The maximum number of concurrent requests.
    pub fn in_flight(&self) -> usize {
        self.in_flight.unwrap_or(IN_FLIGHT)
    }

    /// The same with the defaults written out, as the ledger records it.
    pub fn with_defaults(self) -> ServiceTable {
        let Rate { per_minute, per_minute_max } = self.rate();
        let in_flight = Some(self.in_flight());
        ServiceTable { per_minute: Some(per_minute), per_minute_max: Some(per_minute_max), in_flight, ..self }
    }
}
