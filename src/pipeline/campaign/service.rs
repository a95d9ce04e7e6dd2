//! The service as a campaign uses it: where it is, how it is reached, at which rate, and where the secrets for it are. It
//! decides when a secret is read: not before it is needed, and from a program only where something may be sent.

use super::{
    file::{CampaignFile, SecretSource},
    secret,
};
use crate::{
    catalogue::Spelling,
    client::{self, ApiKey, InProcess},
    error::Error,
    pipeline::state_folder::state_folder,
    throttle::Rate,
};
use secrecy::SecretString;
use std::path::{Path, PathBuf};

/// How the service is reached; the API key is found only when it is needed.
#[derive(Debug, Clone)]
pub struct Service {
    /// The base URL; where the service is simulated, whoever starts the simulator says where it listens.
    pub url: Option<String>,
    /// The service is the built-in simulator.
    pub simulate: bool,
    pub auth: client::Auth,
    pub routes: Spelling,
    pub rate: Rate,
    pub in_flight: usize,
    pub proxy: Option<String>,
    pub proxy_auth: Option<SecretSource>,
    pub ca_file: Option<PathBuf>,
    pub balance_pointer: Option<String>,
    /// Where a reply states its charge and the balance, beside the known places.
    pub charge_pointer: Option<String>,
    pub remaining_pointer: Option<String>,
    /// A service in this process, in place of the network.
    pub in_process: Option<InProcess>,
    /// Where the bucket of the account is kept, for all runs on this machine to share.
    pub state_folder: Option<PathBuf>,
    pub api_key: SecretSource,
    pub base: PathBuf,
    /// No program is started, not even for the API key.
    pub starts_nothing: bool,
}

impl Service {
    /// What a campaign file says of the service.
    pub fn new(file: &CampaignFile, base: &Path) -> Result<Service, Error> {
        let table = &file.service;
        if !file.simulate && table.url.is_none() {
            return Err(Error::Config(
                "no service is named: --service URL (or [service] url), or --simulate to rehearse against the built-in simulator"
                    .to_owned(),
            ));
        }
        // Before anything is opened or said: a URL may hold what is nobody's business.
        table.url.as_deref().map_or(Ok(()), client::check_url)?;
        if table.per_minute == 0 || table.per_minute_max < table.per_minute || table.in_flight == 0 {
            return Err(Error::Config(
                "[service] per_minute and in_flight are 1 or more, and per_minute_max is not below per_minute"
                    .to_owned(),
            ));
        }
        Ok(Service {
            url: table.url.clone(),
            simulate: file.simulate,
            auth: table.auth,
            routes: table.routes,
            rate: Rate { per_minute: table.per_minute, per_minute_max: table.per_minute_max },
            in_flight: table.in_flight,
            proxy: table.proxy.clone(),
            proxy_auth: table.proxy_auth.clone(),
            ca_file: table.ca_file.as_ref().map(|path| base.join(path)),
            balance_pointer: table.balance_pointer.clone(),
            charge_pointer: table.charge_pointer.clone(),
            remaining_pointer: table.remaining_pointer.clone(),
            in_process: None,
            state_folder: state_folder(|name| std::env::var_os(name)),
            api_key: table.api_key.clone().unwrap_or_else(|| SecretSource::Env("RESCREEN_API_KEY".to_owned())),
            base: base.to_owned(),
            starts_nothing: file.starts_nothing,
        })
    }

    /// The API key, from where the user says it is.
    pub fn api_key(&self) -> Result<ApiKey, Error> {
        if let Some(given) = self.in_process.as_ref().and_then(|service| service.api_key.as_ref()) {
            return Ok(given.clone());
        }
        if self.simulate {
            return Ok(ApiKey::new("simulated".to_owned().into()));
        }
        self.secret(&self.api_key, "the API key").map(ApiKey::new)
    }

    fn secret(&self, source: &SecretSource, what: &str) -> Result<SecretString, Error> {
        match source {
            SecretSource::Command(_) if self.starts_nothing => {
                Err(Error::Config(format!("{what}: it comes from a program, and `plan` starts none")))
            }
            source => secret::read(source, what, &self.base),
        }
    }

    /// What the client needs; `url` is the service's or the built-in simulator's.
    ///
    /// # Errors
    /// The user and password of the proxy cannot be read.
    pub fn client_settings(&self, url: String, api_key: ApiKey) -> Result<client::Settings, Error> {
        let proxy_auth = self.proxy_auth.as_ref().filter(|_| !self.simulate);
        let proxy_auth = proxy_auth.map(|source| self.secret(source, "the proxy's user and password"));
        Ok(client::Settings {
            proxy_auth: proxy_auth.transpose()?,
            url,
            auth: self.auth,
            api_key,
            in_flight: self.in_flight,
            proxy: self.proxy.clone(),
            ca_file: self.ca_file.clone(),
            in_process: self.in_process.clone(),
        })
    }
}
