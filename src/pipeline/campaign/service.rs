//! The service as a campaign uses it: its URL, how to reach it, the rate, and where to find its secrets. This module
//! decides when a secret is read: only when it is needed, and from a program only if something may be sent.

use super::{
    check_settings::ByCheck,
    file::{CampaignFile, SecretSource},
    secret,
};
use crate::{
    catalogue::Spelling,
    client::{self, ApiKey, ClientError, InProcess, Proxy, ProxyFault, ProxySource},
    error::Error,
    pipeline::state_folder::state_folder,
    throttle::Rate,
};
use secrecy::SecretString;
use std::path::{Path, PathBuf};

/// A rate that this machine does not reach.
const UNLIMITED: Rate = Rate { per_minute: 6_000_000, per_minute_max: 12_000_000 };

/// How to reach the service. The API key is read only when it is needed.
#[derive(Debug, Clone)]
pub struct Service {
    /// The base URL. If the service is simulated, the code that starts the simulator sets its address.
    pub url: Option<String>,
    /// The service is the built-in simulator.
    pub simulate: bool,
    /// It is rehearsed as fast as this machine can: the rate and the hourly limits do not apply.
    pub unlimited: bool,
    pub auth: client::Auth,
    pub routes: Spelling,
    /// The same for single checks.
    pub checks: ByCheck,
    pub rate: Rate,
    pub in_flight: usize,
    /// The proxy of the campaign file.
    pub proxy: Option<String>,
    /// The proxy of the command line. It is not recorded: it is about this machine.
    pub proxy_flag: Option<String>,
    pub proxy_auth: Option<SecretSource>,
    pub ca_file: Option<PathBuf>,
    pub balance_pointer: Option<String>,
    /// JSON pointers to the charge and the balance that a reply states; they replace the known ones.
    pub charge_pointer: Option<String>,
    pub remaining_pointer: Option<String>,
    /// A service in this process, used instead of the network.
    pub in_process: Option<InProcess>,
    /// The folder of the account's rate bucket, which all runs on this machine share.
    pub state_folder: Option<PathBuf>,
    pub api_key: SecretSource,
    /// Hosts that documents may be uploaded to, besides the service itself.
    pub upload_hosts: Vec<String>,
    /// The most bytes of all files in one request.
    pub body_bytes_max: Option<u64>,
    pub base: PathBuf,
    /// Do not start any program, not even for the API key.
    pub starts_nothing: bool,
}

impl Service {
    /// The service settings of a campaign file.
    pub fn new(file: &CampaignFile, base: &Path) -> Result<Service, Error> {
        let table = &file.service;
        if !file.simulate && table.url.is_none() {
            return Err(Error::NoService);
        }
        // Checked before the URL is used or shown: it may contain a password.
        table.url.as_deref().map_or(Ok(()), client::check_url)?;
        if table.per_minute == 0 || table.per_minute_max < table.per_minute || table.in_flight == 0 {
            return Err(Error::Config(
                "[service] per_minute and in_flight must be at least 1, and per_minute_max must be at least per_minute"
                    .to_owned(),
            ));
        }
        for host in &table.upload_hosts {
            client::check_upload_host(host)
                .map_err(|fault| Error::Config(format!("[service] upload_hosts: {fault}")))?;
        }
        Ok(Service {
            url: table.url.clone(),
            simulate: file.simulate,
            unlimited: file.simulate && file.unlimited,
            auth: table.auth,
            routes: table.routes,
            checks: table.checks.clone(),
            rate: Rate { per_minute: table.per_minute, per_minute_max: table.per_minute_max },
            in_flight: table.in_flight,
            proxy: table.proxy.clone(),
            proxy_flag: table.proxy_flag.clone(),
            proxy_auth: table.proxy_auth.clone(),
            ca_file: table.ca_file.as_ref().map(|path| base.join(path)),
            balance_pointer: table.balance_pointer.clone(),
            charge_pointer: table.charge_pointer.clone(),
            remaining_pointer: table.remaining_pointer.clone(),
            in_process: None,
            state_folder: state_folder(|name| std::env::var_os(name)),
            api_key: table.api_key.clone().unwrap_or_else(|| SecretSource::Env("RESCREEN_API_KEY".to_owned())),
            upload_hosts: table.upload_hosts.clone(),
            body_bytes_max: table.body_bytes_max,
            base: base.to_owned(),
            starts_nothing: file.starts_nothing,
        })
    }

    /// The rate at which requests are sent: that of the account, except in a rehearsal without limits.
    pub fn pace(&self) -> Rate {
        if self.unlimited { UNLIMITED } else { self.rate }
    }

    /// How the API key is sent to a check.
    pub fn auth_of(&self, check: &str) -> client::Auth {
        self.checks.get(check).and_then(|one| one.auth).unwrap_or(self.auth)
    }

    /// The spelling of a check's route.
    pub fn routes_of(&self, check: &str) -> Spelling {
        self.checks.get(check).and_then(|one| one.routes).unwrap_or(self.routes)
    }

    /// Whether the API key, or the password of the proxy, comes from a program.
    pub fn needs_program(&self) -> bool {
        let is_program = |source: &SecretSource| matches!(source, SecretSource::Command(_));
        !self.simulate && (is_program(&self.api_key) || self.proxy_auth.as_ref().is_some_and(is_program))
    }

    /// Reads the API key from its source.
    pub fn api_key(&self) -> Result<ApiKey, Error> {
        if let Some(given) = self.in_process.as_ref().and_then(|service| service.api_key.as_ref()) {
            return Ok(given.clone());
        }
        if self.simulate {
            return Ok(ApiKey::new("built-in-sim".to_owned().into()));
        }
        self.secret(&self.api_key, "the API key").map(ApiKey::new)
    }

    fn secret(&self, source: &SecretSource, what: &str) -> Result<SecretString, Error> {
        match source {
            SecretSource::Command(_) if self.starts_nothing => {
                Err(Error::Config(format!("{what}: it comes from a program, and `plan` does not start programs")))
            }
            source => secret::read(source, what, &self.base),
        }
    }

    /// The proxy through which the service is reached.
    ///
    /// # Errors
    /// The proxy of the command line, the campaign file or the environment is not a valid one.
    pub fn proxy_in_use(&self) -> Result<Option<Proxy>, ClientError> {
        let Some(url) = &self.url else { return Ok(None) };
        Ok(self.proxy_to(url)?.filter(|proxy| proxy.is_for(url)))
    }

    fn proxy_to(&self, url: &str) -> Result<Option<Proxy>, ProxyFault> {
        match (&self.proxy_flag, &self.proxy) {
            _ if self.simulate || self.in_process.is_some() => Ok(None),
            (Some(text), _) => Proxy::configured(text, ProxySource::Flag, url),
            (None, Some(text)) => Proxy::configured(text, ProxySource::CampaignFile, url),
            (None, None) => Proxy::of_environment(url, |name| std::env::var_os(name)),
        }
    }

    /// The settings of the client; `url` is that of the service or of the built-in simulator.
    ///
    /// # Errors
    /// The proxy is not a valid one, or its user and password cannot be read.
    pub fn client_settings(&self, url: String, api_key: ApiKey) -> Result<client::Settings, Error> {
        let proxy_auth = self.proxy_auth.as_ref().filter(|_| !self.simulate);
        let proxy_auth = proxy_auth.map(|source| self.secret(source, "the proxy's user and password"));
        let proxy = self.proxy_to(&url).map_err(ClientError::from)?;
        Ok(client::Settings {
            proxy_auth: proxy_auth.transpose()?,
            url,
            auth: self.auth,
            api_key,
            in_flight: self.in_flight,
            proxy,
            ca_file: self.ca_file.clone(),
            in_process: self.in_process.clone(),
            upload_hosts: self.upload_hosts.clone(),
            known_secrets: Vec::new(),
        })
    }
}
