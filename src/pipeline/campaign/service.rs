//! The service as a campaign uses it: its URL, how to reach it, the rate, and where to find its secrets. This module
//! decides when a secret is read: only when it is needed, and from a program only if something may be sent.

use super::{
    file::{CampaignFile, LedgerTable, SecretSource, ServiceTable},
    secret,
};
use crate::{
    catalogue::Spelling,
    client::{self, ApiKey, ClientError, InProcess, Proxy, ProxyFault, ProxySource},
    error::Error,
    model::field::visible::visible,
    pipeline::state_folder::state_folder,
    throttle::Rate,
};
use secrecy::SecretString;
use std::path::{Path, PathBuf};

/// A rate that this machine does not reach.
const UNLIMITED: Rate = Rate { per_minute: 6_000_000, per_minute_max: 12_000_000 };

/// The charge book of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookSource {
    /// Where its URL is.
    pub url: SecretSource,
    /// The name of the account in it.
    pub account: String,
    /// The partition of the campaign that this worker runs, if it names one.
    pub partition: Option<String>,
    /// Wait as long as another worker runs the partition.
    pub waits_for_place: bool,
}

impl Default for BookSource {
    fn default() -> BookSource {
        BookSource {
            url: SecretSource::Env("RESCREEN_BOOK".to_owned()),
            account: "default".to_owned(),
            partition: None,
            waits_for_place: false,
        }
    }
}

impl BookSource {
    /// The book that a campaign file names.
    ///
    /// # Errors
    /// The file names an account and no book, or an account without a name.
    pub fn of(table: &LedgerTable) -> Result<Option<BookSource>, Error> {
        let account = table.account.clone();
        match &table.book {
            None if account.is_some() => Err(Error::Config(
                "[ledger] account names an account in a charge book; name the book, too: book = { env = \"RESCREEN_BOOK\" }"
                    .to_owned(),
            )),
            None => Ok(None),
            Some(_) if account.as_ref().is_some_and(|name| name.trim().is_empty()) => {
                Err(Error::Config("[ledger] account: expected the name of an account, found nothing".to_owned()))
            }
            Some(url) => {
                let account = account.unwrap_or_else(|| BookSource::default().account);
                // Kubernetes numbers the pods of an Indexed Job.
                let partition = std::env::var("JOB_COMPLETION_INDEX").ok().filter(|index| !index.is_empty());
                Ok(Some(BookSource { url: url.clone(), account, partition, waits_for_place: false }))
            }
        }
    }
}

/// Whether a partition may have this name.
pub fn is_partition_name(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= 200 && visible(name).text == name && !name.contains(char::is_control)
}

/// How to reach the service. The API key is read only when it is needed.
#[derive(Debug, Clone)]
pub struct Service {
    /// What the user sets, with the defaults written out. If the service is simulated, the code that starts the simulator
    /// sets its URL. The paths are relative to the working folder.
    pub settings: ServiceTable,
    /// The service is the built-in simulator.
    pub simulate: bool,
    /// It is rehearsed as fast as this machine can: the rate and the hourly limits do not apply.
    pub unlimited: bool,
    /// A service in this process, used instead of the network.
    pub in_process: Option<InProcess>,
    /// The folder of the account's rate bucket, which all runs on this machine share.
    pub state_folder: Option<PathBuf>,
    /// The charge book that workers on several machines share, if they do.
    pub book: Option<BookSource>,
    pub base: PathBuf,
    /// Do not start any program, not even for the API key.
    pub runs_no_programs: bool,
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
        let Rate { per_minute, per_minute_max } = table.rate();
        if per_minute == 0 || per_minute_max < per_minute || table.in_flight() == 0 {
            return Err(Error::Config(
                "[service] per_minute and in_flight must be at least 1, and per_minute_max must be at least per_minute"
                    .to_owned(),
            ));
        }
        for host in &table.upload_hosts {
            client::check_upload_host(host)
                .map_err(|fault| Error::Config(format!("[service] upload_hosts: {fault}")))?;
        }
        let ca_file = table.ca_file.as_ref().map(|path| base.join(path));
        Ok(Service {
            unlimited: file.simulate && file.unlimited,
            runs_no_programs: file.runs_no_programs,
            book: BookSource::of(&file.ledger)?,
            ..Service::with(ServiceTable { ca_file, ..table.clone() }, file.simulate, base)
        })
    }

    /// The service with these settings, reached over the network from this machine.
    pub fn with(settings: ServiceTable, simulate: bool, base: &Path) -> Service {
        Service {
            settings: settings.with_defaults(),
            simulate,
            unlimited: false,
            in_process: None,
            state_folder: state_folder(|name| std::env::var_os(name)),
            book: None,
            base: base.to_owned(),
            runs_no_programs: false,
        }
    }

    /// The same, for one partition of its campaign.
    ///
    /// # Errors
    /// It names no charge book, or the partition has no name.
    pub fn in_partition(mut self, partition: &str) -> Result<Service, Error> {
        match &mut self.book {
            _ if self.simulate => {}
            _ if !is_partition_name(partition) => {
                let fault = "--partition: expected a name of at most 200 characters, such as 2026-11 or 7";
                return Err(Error::Config(fault.to_owned()));
            }
            None => {
                let fault = "--partition names a partition of a campaign in a charge book; name the book, too: [ledger] book = { \
                             env = \"RESCREEN_BOOK\" }";
                return Err(Error::Config(fault.to_owned()));
            }
            Some(book) => book.partition = Some(partition.to_owned()),
        }
        Ok(self)
    }

    /// The rate at which requests are sent: that of the account, except in a rehearsal without limits.
    pub fn pace(&self) -> Rate {
        if self.unlimited { UNLIMITED } else { self.settings.rate() }
    }

    /// How the API key is sent to a check.
    pub fn auth_of(&self, check: &str) -> client::Auth {
        self.settings.checks.get(check).and_then(|one| one.auth).unwrap_or(self.settings.auth)
    }

    /// The spelling of a check's route.
    pub fn routes_of(&self, check: &str) -> Spelling {
        self.settings.checks.get(check).and_then(|one| one.routes).unwrap_or(self.settings.routes)
    }

    /// Whether the API key, or the password of the proxy, comes from a program.
    pub fn needs_program(&self) -> bool {
        let is_program = |source: &SecretSource| matches!(source, SecretSource::Command(_));
        let sources = [&self.settings.api_key, &self.settings.proxy_auth];
        let book = self.book.as_ref().map(|book| &book.url);
        !self.simulate && sources.into_iter().flatten().chain(book).any(is_program)
    }

    /// Reads the API key from its source.
    pub fn api_key(&self) -> Result<ApiKey, Error> {
        if let Some(given) = self.in_process.as_ref().and_then(|service| service.api_key.as_ref()) {
            return Ok(given.clone());
        }
        if self.simulate {
            return Ok(ApiKey::new("built-in-sim".to_owned().into()));
        }
        let default = SecretSource::Env("RESCREEN_API_KEY".to_owned());
        self.secret(self.settings.api_key.as_ref().unwrap_or(&default), "the API key").map(ApiKey::new)
    }

    /// Reads the URL of the charge book from its source.
    pub fn book_url(&self, book: &BookSource) -> Result<SecretString, Error> {
        self.secret(&book.url, "the URL of the charge book")
    }

    fn secret(&self, source: &SecretSource, what: &str) -> Result<SecretString, Error> {
        match source {
            SecretSource::Command(_) if self.runs_no_programs => {
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
        let Some(url) = &self.settings.url else { return Ok(None) };
        Ok(self.proxy_to(url)?.filter(|proxy| proxy.is_for(url)))
    }

    fn proxy_to(&self, url: &str) -> Result<Option<Proxy>, ProxyFault> {
        match (&self.settings.proxy_flag, &self.settings.proxy) {
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
        let proxy_auth = self.settings.proxy_auth.as_ref().filter(|_| !self.simulate);
        let proxy_auth = proxy_auth.map(|source| self.secret(source, "the proxy's user and password"));
        let proxy = self.proxy_to(&url).map_err(ClientError::from)?;
        Ok(client::Settings {
            proxy_auth: proxy_auth.transpose()?,
            url,
            auth: self.settings.auth,
            api_key,
            in_flight: self.settings.in_flight(),
            proxy,
            ca_file: self.settings.ca_file.clone(),
            in_process: self.in_process.clone(),
            upload_hosts: self.settings.upload_hosts.clone(),
            known_secrets: Vec::new(),
        })
    }
}
