//! The campaign settings that the ledger records, and the campaign that is rebuilt from them without the campaign file.
//! This module decides what is recorded: addresses, prices, limits and declarations, but never a secret or a command
//! that prints one.

use super::{
    Campaign, Guards, SIMULATED_ORIGIN,
    carried::Carried,
    file::{CampaignFile, ServiceTable, Share},
    input,
    mappings::RecordedMapping,
    place::decisions_named,
    result_layout::{ResultLayout, named_columns},
    rules::Rules,
    service::{BookSource, Service},
    webhook::Webhook,
};
use crate::{
    catalogue::{Catalogue, Declaration, DeclaredCheck},
    client::{self, json_body},
    error::Error,
    files::Root,
    ledger::{CheckUseRow, CommitMode, Identity, LedgerError, Reading},
    mapping::{CheckUse, FieldSource},
    model::{Clock, Credits, budget::Allowance},
    sink::{AnswerOutput, ImageOutput, OutputFormat},
    source::SourceOptions,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The settings of a run as the ledger records them.
#[derive(Serialize, Deserialize)]
struct Settings {
    #[serde(flatten)]
    service: ServiceTable,
    declarations: Vec<Declaration>,
    prices: BTreeMap<String, Credits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_credits: Option<Credits>,
    keep_balance: Credits,
    format: OutputFormat,
    /// The name of the account in the charge book, if the runs share one. Where the book is, the user says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    book_account: Option<String>,
    /// The folder below which rows name files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files_root: Option<PathBuf>,
    /// The file of decisions about matches, if the user names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decisions: Option<PathBuf>,
    #[serde(default)]
    images: ImageOutput,
    /// The columns and templates that fill secret fields, by the name of the check in the campaign. Outputs hide them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    secret_sources: BTreeMap<String, BTreeMap<String, FieldSource>>,
    /// The mappings of all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mappings: Vec<RecordedMapping>,
    /// The command line of the last run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    command: Vec<String>,
}

/// The settings of a campaign as the ledger records them, in JSON.
pub fn settings_of(campaign: &Campaign, mappings: Vec<RecordedMapping>) -> Result<String, Error> {
    let service = &campaign.service.settings;
    let settings = Settings {
        service: ServiceTable { ca_file: service.ca_file.as_deref().map(absolute), ..service.clone() },
        declarations: campaign.checks().into_iter().cloned().collect(),
        prices: campaign.prices.clone(),
        max_credits: campaign.allowance.limit,
        keep_balance: campaign.allowance.keep_balance,
        format: campaign.format,
        book_account: campaign.service.book.as_ref().map(|book| book.account.clone()),
        files_root: campaign.files_root.as_ref().map(|root| absolute(root.path())),
        decisions: campaign.decisions.as_deref().map(absolute),
        images: campaign.images,
        secret_sources: secret_sources(campaign)?,
        mappings,
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
    match json_body(text.as_bytes()).map(|json| Arc::unwrap_or_clone(json.value)) {
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
    let unsent = || {
        Error::Config(format!(
            "no run with the ledger {} has sent anything; there is nothing to collect",
            ledger.display()
        ))
    };
    let settings: Settings = settings_in(reading)?.ok_or_else(unsent)?;
    let checks = reading.check_uses()?;
    let catalogue = settings.declarations.iter().cloned().try_fold(Catalogue::built_in(), Catalogue::with)?;
    let catalogue = with_current_rules(catalogue, reading, &checks, file.map(|(file, _)| file))?;
    Ok(Campaign {
        name: identity.campaign.clone(),
        file: None,
        text: None,
        mode: identity.mode,
        uses: checks.values().map(|row| check_use(row, &settings.secret_sources)).collect(),
        catalogue,
        inputs: Vec::new(),
        source_options: SourceOptions::default(),
        expect_rows: None,
        id: None,
        carry: carried(&checks)?,
        carries_all: false,
        allowance: Allowance { limit: settings.max_credits, keep_balance: settings.keep_balance },
        prices: settings.prices.clone(),
        guards: no_guards(),
        out: out.to_owned(),
        format: settings.format,
        images: file.and_then(|(file, _)| file.output.images).unwrap_or(settings.images),
        // The layouts that the ledger records decide.
        answer: AnswerOutput::default(),
        sent: true,
        ledger: ledger.to_owned(),
        decisions: file.and_then(|(file, base)| decisions_named(file, base)).or(settings.decisions.clone()),
        // Nothing new is asked.
        reuse: None,
        // The secret is needed only to make new keys, and collecting sends only requests that already have a key.
        key_secret: None,
        key_secret_is_placeholder: false,
        clock: Clock::System,
        commit_mode: CommitMode::default(),
        new_ledger: false,
        accept_older_ledger: false,
        service_moved_from: None,
        command: settings.command.clone(),
        null: Vec::new(),
        null_in: BTreeMap::new(),
        tables: BTreeMap::new(),
        consent_evidence: None,
        files_root: files_root(settings.files_root.as_deref(), file)?,
        // The inbox is never named by the ledger, which others may have changed.
        webhook: collected_from(file),
        service: service_of(&identity, settings, file)?,
    })
}

/// The checks of the last run whose declaration is the user's, as far as a run has recorded them.
///
/// # Errors
/// The ledger cannot be read.
pub fn declared_in(reading: &Reading) -> Result<Vec<DeclaredCheck>, Error> {
    Ok(declarations_in(reading)?.iter().filter_map(DeclaredCheck::of).collect())
}

/// The declarations of the last run with their current rules, as far as a run has recorded them.
///
/// # Errors
/// The ledger cannot be read.
pub fn declarations_in(reading: &Reading) -> Result<Vec<Declaration>, Error> {
    let Some(settings) = settings_in::<Settings>(reading)? else { return Ok(Vec::new()) };
    let rules = reading.current_rules()?;
    let current = settings.declarations.into_iter().map(|declaration| match rules.get(&declaration.name) {
        Some(row) => Ok(Rules::recorded(row)?.in_place(&declaration)),
        None => Ok(declaration),
    });
    current.collect()
}

/// The file of decisions that the last run named.
///
/// # Errors
/// The ledger cannot be read.
pub fn decisions_in(reading: &Reading) -> Result<Option<PathBuf>, LedgerError> {
    Ok(settings_in::<Settings>(reading)?.and_then(|settings| settings.decisions))
}

/// The limits of the last run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct RecordedLimits {
    /// The steady rate, in requests a minute.
    pub per_minute: u32,
    /// The most requests in any minute.
    pub per_minute_max: u32,
    /// The most credits that the campaign may cost.
    #[serde(default)]
    pub max_credits: Option<Credits>,
}

/// The limits of the last run; `None` if no run has sent anything.
///
/// # Errors
/// The ledger cannot be read.
pub fn limits_in(reading: &Reading) -> Result<Option<RecordedLimits>, LedgerError> {
    settings_in(reading)
}

/// The settings of the last run, or a part of them.
fn settings_in<T: DeserializeOwned>(reading: &Reading) -> Result<Option<T>, LedgerError> {
    let damaged = |error| LedgerError::Damaged(format!("the settings of its last run: {error}"));
    reading.settings()?.map(|text| serde_json::from_str(&text).map_err(damaged)).transpose()
}

/// The account in the charge book that the last run shared, if there is one.
///
/// # Errors
/// The ledger cannot be read.
pub fn book_account_in(reading: &Reading) -> Result<Option<String>, Error> {
    Ok(settings_in::<Settings>(reading)?.and_then(|recorded| recorded.book_account))
}

fn service_of(identity: &Identity, settings: Settings, file: Option<(&CampaignFile, &Path)>) -> Result<Service, Error> {
    let simulate = identity.origin == SIMULATED_ORIGIN;
    let url = (!simulate).then(|| identity.origin.clone());
    url.as_deref().map_or(Ok(()), client::check_url)?;
    let base = file.map_or(Path::new(""), |(_, base)| base);
    let recorded = settings.service;
    let own = file.map(|(file, _)| file.service.clone()).unwrap_or_default();
    let service = ServiceTable {
        url,
        per_minute: recorded.per_minute.map(|rate| rate.max(1)),
        per_minute_max: recorded.per_minute_max.map(|rate| rate.max(1)),
        in_flight: recorded.in_flight.map(|most| most.max(1)),
        proxy: own.proxy.or(recorded.proxy),
        proxy_auth: own.proxy_auth,
        ca_file: own.ca_file.map(|path| base.join(path)).or(recorded.ca_file),
        api_key: own.api_key,
        // Not recorded, and not read either: others may have changed the ledger.
        upload_hosts: Vec::new(),
        body_bytes_max: None,
        ..recorded
    };
    let named = file.map(|(file, _)| BookSource::of(&file.ledger)).transpose()?.flatten();
    let recorded = settings.book_account.map(|account| BookSource { account, ..BookSource::default() });
    Ok(Service { book: named.or(recorded), ..Service::with(service, simulate, base) })
}

/// The inbox that the campaign file names.
fn collected_from(file: Option<(&CampaignFile, &Path)>) -> Webhook {
    let inbox = file.and_then(|(file, base)| Some(base.join(file.webhook.inbox.as_ref()?)));
    Webhook { url: None, inbox }
}

/// The folder of the files, opened: that of the campaign file, else the recorded one. Without it, requests with files
/// are not sent again.
fn files_root(recorded: Option<&Path>, file: Option<(&CampaignFile, &Path)>) -> Result<Option<Arc<Root>>, Error> {
    if let Some((file, base)) = file
        && let Some(root) = input::files_root(file, base)?
    {
        return Ok(Some(root));
    }
    Ok(recorded.and_then(|path| Root::open(path).ok()).map(Arc::new))
}

/// The sources of secret fields, without constants: a constant is itself the secret.
fn secret_sources(campaign: &Campaign) -> Result<BTreeMap<String, BTreeMap<String, FieldSource>>, Error> {
    let mut sources = BTreeMap::new();
    for one in &campaign.uses {
        let declaration = campaign.catalogue.get(&one.check)?;
        let secret = declaration.fields.iter().filter(|field| field.secret);
        let source = |name: &String| match one.fields.get(name)? {
            FieldSource::Constant(_) => None,
            source => Some((name.clone(), source.clone())),
        };
        let of_check: BTreeMap<_, _> = secret.filter_map(|field| source(&field.name)).collect();
        if !of_check.is_empty() {
            sources.insert(one.name().to_owned(), of_check);
        }
    }
    Ok(sources)
}

fn check_use(row: &CheckUseRow, secrets: &BTreeMap<String, BTreeMap<String, FieldSource>>) -> CheckUse {
    CheckUse {
        check: row.check.clone(),
        name: Some(row.name.clone()),
        when: None,
        fields: secrets.get(&row.name).cloned().unwrap_or_default(),
        expect: BTreeMap::new(),
    }
}

/// The catalogue with the rules by which answers are judged: those of the file's declaration of a check, or else the
/// current ones of the ledger. A declaration of the file must have the columns that the campaign was begun with.
fn with_current_rules(
    mut catalogue: Catalogue,
    reading: &Reading,
    checks: &BTreeMap<i64, CheckUseRow>,
    file: Option<&CampaignFile>,
) -> Result<Catalogue, Error> {
    let recorded = reading.current_rules()?;
    for row in checks.values() {
        let own = file.and_then(|file| file.declarations.iter().find(|declared| declared.name == row.check));
        let rules = match own {
            Some(own) => {
                let known = ResultLayout::of(row)?;
                let layout = ResultLayout { columns: named_columns(own), ..known };
                layout.agreed(Some(row), false)?;
                Rules::of(own)
            }
            None => match recorded.get(&row.check) {
                Some(recorded) => Rules::recorded(recorded)?,
                None => continue,
            },
        };
        let declaration = rules.in_place(catalogue.get(&row.check)?);
        catalogue = catalogue.with(declaration)?;
    }
    Ok(catalogue)
}

fn carried(checks: &BTreeMap<i64, CheckUseRow>) -> Result<Vec<Carried>, Error> {
    let Some(first) = checks.values().next() else { return Ok(Vec::new()) };
    Ok(ResultLayout::of(first)?.carry)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mode;
    use serde_json::json;

    #[test]
    fn a_changed_ledger_adds_no_setting_that_is_not_recorded() {
        let settings = serde_json::from_value(json!({
            "auth": "x-api-key", "routes": "guide", "per_minute": 60, "per_minute_max": 120, "in_flight": 0,
            "declarations": [], "prices": {}, "keep_balance": 0, "format": "parquet",
            "url": "https://elsewhere.example", "upload_hosts": ["elsewhere.example"], "body_bytes_max": 1,
            "api_key": { "command": ["elsewhere"] }, "proxy_auth": { "env": "elsewhere" }, "proxy_flag": "http://elsewhere",
        }));
        let identity = Identity {
            campaign: "2026-11".to_owned(),
            mode: Mode::Sandbox,
            origin: "https://service.example".to_owned(),
            moved_from: None,
            key_secret: None,
        };
        let service = service_of(&identity, settings.unwrap(), None).unwrap();
        assert!(!format!("{service:?}").contains("elsewhere"), "{service:?}");
        assert_eq!((service.settings.body_bytes_max, service.settings.in_flight()), (None, 1));
    }
}
