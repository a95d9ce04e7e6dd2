//! The campaign settings that the ledger records, and the campaign that is rebuilt from them without the campaign file.
//! This module decides what is recorded: addresses, prices, limits and declarations, but never a secret or a command
//! that prints one.

use super::{
    Campaign, Guards, SIMULATED_ORIGIN,
    file::{CampaignFile, SecretSource, Share},
    result_layout::ResultLayout,
    service::Service,
};
use crate::{
    catalogue::{Catalogue, Declaration, Spelling},
    client::{self, Auth, json_body},
    error::Error,
    ledger::{CheckUseRow, CommitMode, Identity, LedgerError, Reading},
    mapping::CheckUse,
    model::{Clock, Credits, budget::Allowance},
    pipeline::state_folder::state_folder,
    sink::OutputFormat,
    source::SourceOptions,
    throttle::Rate,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The settings of a run as the ledger records them.
#[derive(Serialize, Deserialize)]
struct Settings {
    auth: Auth,
    routes: Spelling,
    per_minute: u32,
    per_minute_max: u32,
    in_flight: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ca_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    balance_pointer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    charge_pointer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remaining_pointer: Option<String>,
    declarations: Vec<Declaration>,
    prices: BTreeMap<String, Credits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_credits: Option<Credits>,
    keep_balance: Credits,
    format: OutputFormat,
    /// The command line of the last run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    command: Vec<String>,
}

/// The settings of a campaign as the ledger records them, in JSON.
pub fn settings_of(campaign: &Campaign) -> Result<String, Error> {
    let service = &campaign.service;
    let settings = Settings {
        auth: service.auth,
        routes: service.routes,
        per_minute: service.rate.per_minute,
        per_minute_max: service.rate.per_minute_max,
        in_flight: service.in_flight,
        proxy: service.proxy.clone(),
        ca_file: service.ca_file.as_deref().map(absolute),
        balance_pointer: service.balance_pointer.clone(),
        charge_pointer: service.charge_pointer.clone(),
        remaining_pointer: service.remaining_pointer.clone(),
        declarations: campaign.checks().into_iter().cloned().collect(),
        prices: campaign.prices.clone(),
        max_credits: campaign.allowance.limit,
        keep_balance: campaign.allowance.keep_balance,
        format: campaign.format,
        command: command_of(campaign),
    };
    serde_json::to_string(&settings).map_err(|error| Error::Internal(error.to_string()))
}

/// The absolute path, as the ledger records it.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The command line of a campaign as the ledger records it. It is empty if an argument may contain a password, for
/// example a URL with an `@`.
pub fn command_of(campaign: &Campaign) -> Vec<String> {
    if campaign.command.iter().any(|word| word.contains("://") && word.contains('@')) {
        Vec::new()
    } else {
        campaign.command.clone()
    }
}

/// Parses a JSON object from the ledger with the limits that apply to a reply, because others may have changed the
/// ledger. `what` names the object in errors.
///
/// # Errors
/// The text is not an object, or exceeds the limits.
pub fn recorded_object(text: &str, what: &str) -> Result<Map<String, Value>, LedgerError> {
    match json_body(text.as_bytes()).map(|json| json.value) {
        Some(Value::Object(object)) => Ok(object),
        _ => Err(LedgerError::Damaged(format!("{what} cannot be read"))),
    }
}

/// Rebuilds the campaign from its ledger, without inputs and mapping, which is enough to settle what was sent and to
/// publish what was answered. `file` is a campaign file that says where the API key is; `out` is the folder to publish
/// into.
pub fn campaign_of(
    reading: &Reading,
    ledger: &Path,
    out: &Path,
    file: Option<(&CampaignFile, &Path)>,
) -> Result<Campaign, Error> {
    let identity = reading.identity()?;
    let damaged = |error| LedgerError::Damaged(format!("the settings of its last run: {error}"));
    let unsent = || {
        Error::Config(format!(
            "no run with the ledger {} has sent anything; there is nothing to collect",
            ledger.display()
        ))
    };
    let settings: Settings = serde_json::from_str(&reading.settings()?.ok_or_else(unsent)?).map_err(damaged)?;
    let checks = reading.check_uses()?;
    let catalogue = settings.declarations.iter().cloned().try_fold(Catalogue::built_in(), Catalogue::with)?;
    Ok(Campaign {
        name: identity.campaign.clone(),
        mode: identity.mode,
        uses: checks.values().map(check_use).collect(),
        catalogue,
        inputs: Vec::new(),
        source_options: SourceOptions::default(),
        expect_rows: None,
        id: None,
        carry: carried(&checks)?,
        allowance: Allowance { limit: settings.max_credits, keep_balance: settings.keep_balance },
        prices: settings.prices.clone(),
        guards: no_guards(),
        out: out.to_owned(),
        format: settings.format,
        ledger: ledger.to_owned(),
        // The secret is needed only to make new keys, and collecting sends only requests that already have a key.
        key_secret: None,
        key_secret_stands_in: false,
        clock: Clock::System,
        commit_mode: CommitMode::default(),
        new_ledger: false,
        accept_older_ledger: false,
        command: settings.command.clone(),
        null: Vec::new(),
        null_in: BTreeMap::new(),
        tables: BTreeMap::new(),
        service: service_of(&identity, settings, file)?,
    })
}

fn service_of(identity: &Identity, settings: Settings, file: Option<(&CampaignFile, &Path)>) -> Result<Service, Error> {
    let simulate = identity.origin == SIMULATED_ORIGIN;
    let url = (!simulate).then(|| identity.origin.clone());
    url.as_deref().map_or(Ok(()), client::check_url)?;
    let base = file.map_or(Path::new(""), |(_, base)| base);
    let table = file.map(|(file, _)| &file.service);
    Ok(Service {
        url,
        simulate,
        auth: settings.auth,
        routes: settings.routes,
        rate: Rate { per_minute: settings.per_minute.max(1), per_minute_max: settings.per_minute_max.max(1) },
        in_flight: settings.in_flight.max(1),
        proxy: table.and_then(|table| table.proxy.clone()).or(settings.proxy),
        proxy_auth: table.and_then(|table| table.proxy_auth.clone()),
        ca_file: table.and_then(|table| table.ca_file.as_ref()).map(|path| base.join(path)).or(settings.ca_file),
        balance_pointer: settings.balance_pointer,
        charge_pointer: settings.charge_pointer,
        remaining_pointer: settings.remaining_pointer,
        in_process: None,
        state_folder: state_folder(|name| std::env::var_os(name)),
        api_key: table
            .and_then(|table| table.api_key.clone())
            .unwrap_or_else(|| SecretSource::Env("RESCREEN_API_KEY".to_owned())),
        base: base.to_owned(),
        starts_nothing: false,
    })
}

fn check_use(row: &CheckUseRow) -> CheckUse {
    CheckUse {
        check: row.check.clone(),
        name: Some(row.name.clone()),
        when: None,
        fields: BTreeMap::new(),
        expect: BTreeMap::new(),
    }
}

fn carried(checks: &BTreeMap<i64, CheckUseRow>) -> Result<Vec<String>, Error> {
    let damaged = |error| LedgerError::Damaged(format!("the layout of a check: {error}"));
    let Some(first) = checks.values().next() else { return Ok(Vec::new()) };
    Ok(serde_json::from_str::<ResultLayout>(&first.layout).map_err(damaged)?.carry)
}

/// Disables the guards. They limit spending on faults, and collecting does not spend anything new.
fn no_guards() -> Guards {
    Guards {
        max_errors: Share::Percent(100.0),
        max_errors_explicit: true,
        max_unrecognised: Share::Percent(100.0),
        accept_failures: None,
    }
}
