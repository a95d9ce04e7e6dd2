//! The doctor: examines the service and this machine before a campaign runs, at no credit. It reads the account and sends
//! sandbox requests only, at the account's rate. It reports what it found and the settings that fit; it changes nothing.

mod account;
mod caller;
mod checks;
mod finding;
mod local;
#[cfg(test)]
mod replies_tests;
mod sample;

pub use finding::{Diagnosis, Finding, Recommended, Standing};

use super::{
    campaign::{check_settings, file::CampaignFile, service::Service},
    send::account_use::{AccountUse, account_use},
};
use crate::{
    catalogue::{Catalogue, Declaration},
    client::Client,
    error::Error,
    model::Clock,
    throttle::{Bucket, Throttle},
};
use caller::Caller;
use checks::Examined;
use std::path::{Path, PathBuf};

/// What to examine.
#[derive(Debug, Clone)]
pub struct Examination {
    pub service: Service,
    pub catalogue: Catalogue,
    /// The catalogue names of the campaign's checks; empty to examine all checks.
    pub checks: Vec<String>,
    /// The output folder, or the folder that it will be in.
    pub out: PathBuf,
    pub ledger: Option<PathBuf>,
    pub clock: Clock,
}

impl Examination {
    /// The examination for a campaign file, which may be incomplete. Paths are relative to `base`.
    ///
    /// # Errors
    /// The service settings or a declaration are not valid, or a check is not known.
    pub fn new(file: &CampaignFile, base: &Path) -> Result<Examination, Error> {
        let catalogue = file.declarations.iter().cloned().try_fold(Catalogue::built_in(), Catalogue::with)?;
        check_settings::validate(&file.service.checks, &catalogue)?;
        let mut checks: Vec<String> = Vec::new();
        for table in &file.checks {
            let name = catalogue.get(&table.check)?.name.clone();
            if !checks.contains(&name) {
                checks.push(name);
            }
        }
        let out = match (&file.output.dir, &file.campaign) {
            (Some(dir), _) => base.join(dir),
            (None, Some(campaign)) => base.join("out").join(campaign),
            (None, None) => base.join("out"),
        };
        let ledger = match (&file.ledger.path, &file.campaign) {
            (Some(path), _) => Some(base.join(path)),
            (None, Some(_)) => Some(out.join("ledger.sqlite")),
            (None, None) => None,
        };
        Ok(Examination { service: Service::new(file, base)?, catalogue, checks, out, ledger, clock: Clock::System })
    }

    /// Examines this machine, the account and the routes.
    ///
    /// # Errors
    /// The API key cannot be read, or the client cannot be set up.
    pub async fn run(&self) -> Result<Diagnosis, Error> {
        let mut diagnosis = Diagnosis::default();
        let Diagnosis { findings, recommended } = &mut diagnosis;
        findings.push(local::state_folder(self.service.state_folder.as_deref()));
        findings.push(local::disk(&self.out));
        findings.extend(self.ledger.as_deref().map(local::ledger));
        let url = self
            .service
            .settings
            .url
            .clone()
            .ok_or_else(|| Error::Config("no service is named: --service URL".to_owned()))?;
        let api_key = self.service.api_key()?;
        let client = Client::new(&self.service.client_settings(url, api_key.clone())?)?;
        let AccountUse { bucket, .. } = account_use(&self.service, &api_key, Bucket::Full, self.clock, None).await?;
        let throttle = Throttle::new(self.service.pace(), bucket);
        let caller = Caller::new(&client, &throttle, &self.service, self.clock);
        let pointer = self.service.settings.balance_pointer.as_deref();
        let Some(auth) = account::examine(&caller, pointer, findings, recommended).await else {
            findings.extend(caller.findings());
            return Ok(diagnosis);
        };
        let mut answered = None;
        for declaration in self.examined() {
            let name = &declaration.name;
            let one = Examined {
                declaration,
                spelling: self.service.routes_of(name),
                // If [service] auth is wrong, only a setting of the check itself counts.
                auth: self.service.settings.checks.get(name).and_then(|own| own.auth).unwrap_or(auth),
                is_used: self.checks.contains(name),
            };
            let sample = checks::routes(&caller, &one, findings, recommended).await;
            if caller.has_stopped() {
                break;
            }
            answered = answered.or(sample);
        }
        if let Some(sample) = answered.filter(|_| !caller.has_stopped()) {
            checks::keys(&caller, &sample, findings).await;
        }
        findings.extend(caller.findings());
        Ok(diagnosis)
    }

    /// The checks of the campaign, or all.
    fn examined(&self) -> impl Iterator<Item = &Declaration> {
        let all = self.checks.is_empty();
        self.catalogue.iter().filter(move |declaration| all || self.checks.contains(&declaration.name))
    }
}
