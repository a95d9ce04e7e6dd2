//! A campaign: everything a run needs, validated before anything is opened. It is made from a campaign file merged with
//! the command-line flags.

pub mod carried;
pub mod check_settings;
pub mod consent;
mod declaration_line;
pub mod file;
mod file_text;
pub mod flags;
pub mod input;
pub mod input_table;
pub mod mappings;
pub mod out_folder;
pub mod place;
mod production;
pub mod receiver;
pub mod recorded;
pub mod remains;
pub mod result_layout;
pub mod reuse;
pub mod rules;
pub mod secret;
pub mod service;
mod service_table;
mod share;
pub mod tables;
pub mod webhook;

use crate::{
    catalogue::{Catalogue, Declaration, DeclaredCheck, is_identifier},
    client::check_url,
    error::Error,
    files::Root,
    ledger::{CommitMode, Identity},
    mapping::{CheckUse, Mapping, MappingOptions},
    model::{
        Clock, Credits, KeyMaker, KeySecret, Mode, budget::Allowance, file_name::check_file_name, key::hex,
        shell_words::quoted,
    },
    sink::{AnswerOutput, ImageOutput, OutputFormat},
    source::{HeaderLine, SourceOptions},
    template::Tables,
};
use carried::Carried;
use file::{CampaignFile, CheckTable, SecretSource, ServiceTable, Share};
pub use file_text::{parse, read_file, read_open_file, text as campaign_text};
use input::Input;
use reuse::Reuse;
use service::Service;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use webhook::Webhook;

/// The origin that a ledger records when its answers come from the built-in simulator.
pub const SIMULATED_ORIGIN: &str = "simulated";

/// A campaign, ready to be planned or run.
#[derive(Debug, Clone)]
pub struct Campaign {
    pub name: String,
    /// The campaign file in use; `None` if it is defined by flags alone.
    pub file: Option<PathBuf>,
    /// The campaign file with the flags beside it, as the ledger records it; `None` if it was not made with them.
    pub text: Option<String>,
    pub mode: Mode,
    pub catalogue: Catalogue,
    /// The checks used, in the order of the file.
    pub uses: Vec<CheckUse>,
    pub inputs: Vec<Input>,
    pub source_options: SourceOptions,
    pub expect_rows: Option<(u64, u64)>,
    /// The column that fills `subject`.
    pub id: Option<String>,
    pub carry: Vec<Carried>,
    /// The results carry every column, so an input may lack one that another has.
    pub carries_all: bool,
    pub service: Service,
    pub allowance: Allowance,
    /// The known prices, by catalogue name.
    pub prices: BTreeMap<String, Credits>,
    pub guards: Guards,
    pub out: PathBuf,
    pub format: OutputFormat,
    /// What becomes of the images in answers.
    pub images: ImageOutput,
    /// Where the answers are in the outputs.
    pub answer: AnswerOutput,
    /// Whether the results have a column for what was sent.
    pub sent: bool,
    pub ledger: PathBuf,
    /// The file of decisions about matches, if the user names one.
    pub decisions: Option<PathBuf>,
    /// The answers of an earlier round that are used again.
    pub reuse: Option<Reuse>,
    pub key_secret: Option<KeySecret>,
    /// The key secret is a placeholder, because it comes from a program and a rehearsal does not start programs. The
    /// keys therefore differ from those of a real run.
    pub key_secret_is_placeholder: bool,
    pub clock: Clock,
    /// Where commits are made. `Inline` also runs everything else on the caller's task.
    pub commit_mode: CommitMode,
    /// Set aside what an earlier campaign left in the output folder, if its ledger is lost.
    pub new_ledger: bool,
    /// Accept a ledger that lost its newest commits. The requests they recorded may be paid for again.
    pub accept_older_ledger: bool,
    /// The address that the service had before, if the user says that it has moved.
    pub service_moved_from: Option<String>,
    /// The command line that started this run. `rescreen collect` shows it when rows are left.
    pub command: Vec<String>,
    pub null: Vec<String>,
    pub null_in: BTreeMap<String, Vec<String>>,
    pub tables: BTreeMap<String, BTreeMap<String, String>>,
    /// What shows that every person consented, where one value confirms it for every row.
    pub consent_evidence: Option<String>,
    /// The open folder below which rows name files.
    pub files_root: Option<Arc<Root>>,
    /// Where the service delivers word of jobs.
    pub webhook: Webhook,
}

/// The limits at which a run stops without being asked to.
#[derive(Debug, Clone, Copy)]
pub struct Guards {
    pub max_errors: Share,
    /// The user set `max_errors`, so the guard on identical refusals is off.
    pub max_errors_explicit: bool,
    pub max_unrecognised: Share,
    /// The failures that are accepted with exit code 0.
    pub accept_failures: Option<Share>,
}

impl Campaign {
    /// Reads a campaign file; its paths are relative to it.
    ///
    /// # Errors
    /// The file cannot be read, or its settings are invalid.
    pub fn load(path: &Path) -> Result<Campaign, Error> {
        let base = path.parent().unwrap_or(Path::new("."));
        Campaign::new(read_file(path)?, base)
    }

    /// Validates the merged settings of a file and flags. Relative paths are relative to `base`.
    pub fn new(file: CampaignFile, base: &Path) -> Result<Campaign, Error> {
        let catalogue = file.declarations.iter().cloned().try_fold(Catalogue::built_in(), Catalogue::with)?;
        check_settings::validate(&file.service.checks, &catalogue)?;
        carried::check_names(&file.output.carry)?;
        let prices = production::prices(&file, &catalogue)?;
        production::refuse_incomplete(&file, &catalogue, &prices)?;
        let name = place::campaign_name(&file)?;
        let out = place::output_folder(&file, &name, base);
        out_folder::refuse_file(&out)?;
        let tables = tables::read_all(&file.tables, base)?;
        let campaign = Campaign {
            uses: check_uses(&file, &catalogue)?,
            inputs: input::inputs(&file, base)?,
            source_options: input::source_options(&file)?,
            expect_rows: file.input.expect_rows,
            id: file.input.id.clone(),
            carries_all: file.output.carry.iter().any(Carried::is_all),
            carry: file.output.carry.clone(),
            service: Service::new(&file, base)?,
            allowance: Allowance {
                limit: file.budget.max_credits,
                keep_balance: file.budget.keep_balance.unwrap_or_default(),
            },
            prices,
            guards: guards(&file),
            ledger: file.ledger.path.as_ref().map_or_else(|| out.join("ledger.sqlite"), |path| base.join(path)),
            decisions: place::decisions_named(&file, base),
            reuse: Reuse::of(&file, base, &out, &catalogue)?,
            file: file.path.clone(),
            text: file_text::used(&file, &catalogue),
            out,
            format: file.output.format.unwrap_or(OutputFormat::Parquet),
            images: file.output.images.unwrap_or_default(),
            answer: file.output.answer,
            sent: file.output.sent.unwrap_or(true),
            key_secret: key_secret(&file, base)?,
            key_secret_is_placeholder: file.runs_no_programs
                && matches!(file.keys.secret, Some(SecretSource::Command(_))),
            clock: Clock::System,
            commit_mode: CommitMode::default(),
            new_ledger: false,
            accept_older_ledger: false,
            service_moved_from: None,
            command: Vec::new(),
            null: file.input.null.clone().unwrap_or_else(|| vec![String::new()]),
            null_in: file.input.null_in.clone(),
            consent_evidence: consent::evidence(&file, &catalogue, &Tables(tables.clone()))?,
            tables,
            files_root: input::files_root(&file, base)?,
            webhook: Webhook::new(&file.webhook, file.service.url.as_deref(), file.simulate, base)?,
            mode: file.mode(),
            name,
            catalogue,
        };
        campaign.mapping().map(|_| campaign)
    }

    /// The mapping of rows to requests.
    pub fn mapping(&self) -> Result<Mapping, Error> {
        let options = MappingOptions {
            campaign: self.name.clone(),
            mode: self.mode,
            key_secret: self.key_secret.clone(),
            null: self.null.clone(),
            null_in: self.null_in.clone(),
            tables: Tables(self.tables.clone()),
            files_root: self.files_root.clone(),
            body_bytes_max: self.service.settings.body_bytes_max,
        };
        let mapping = Mapping::new(&self.catalogue, &self.uses, options)?;
        Ok(if self.source_options.header == HeaderLine::First { mapping } else { mapping.without_header_line() })
    }

    /// What makes the keys of its requests.
    pub fn keys(&self) -> KeyMaker {
        KeyMaker { campaign: self.name.clone(), mode: self.mode, secret: self.key_secret.clone() }
    }

    /// The price of one request of a check: zero in sandbox, the table price in production.
    pub fn price(&self, check: &str) -> Option<Credits> {
        match self.mode {
            Mode::Sandbox => Some(Credits::ZERO),
            Mode::Production => self.prices.get(check).copied(),
        }
    }

    /// The checks of the campaign with a limit of requests in an hour.
    pub fn hourly_limits(&self) -> Vec<(String, u32)> {
        let limit = |declaration: &Declaration| {
            let own = self.service.settings.checks.get(&declaration.name).and_then(|own| own.per_hour);
            Some((declaration.name.clone(), own.or(declaration.per_hour)?))
        };
        self.checks().into_iter().filter_map(limit).collect()
    }

    /// The credits that a job of a check holds: zero in sandbox, and if it is never answered by a job.
    pub fn job_hold(&self, declaration: &Declaration) -> Credits {
        let hold = declaration.job.as_ref().and_then(|job| job.hold);
        hold.filter(|_| self.mode == Mode::Production).unwrap_or_default()
    }

    /// The declarations of the checks used, without duplicates.
    pub fn checks(&self) -> Vec<&Declaration> {
        let mut checks: Vec<&Declaration> = Vec::new();
        for one in self.uses.iter().filter_map(|one| self.catalogue.get(&one.check).ok()) {
            if !checks.iter().any(|known| known.name == one.name) {
                checks.push(one);
            }
        }
        checks
    }

    /// The checks whose declaration is the user's, and what it changes.
    pub fn declared(&self) -> Vec<DeclaredCheck> {
        self.checks().into_iter().filter_map(DeclaredCheck::of).collect()
    }

    /// The shortest key lifetime of all its checks, in hours.
    pub fn key_life_hours(&self) -> u32 {
        self.checks().iter().map(|declaration| declaration.key_life_hours).min().unwrap_or(72)
    }

    /// Digest of all settings that a user may change to resolve a stop: prices, limits, guards, pointers, mapping,
    /// declarations and the API key. `api_key` is the fingerprint of the key. The first half is of the settings that the
    /// ledger records. A campaign that is rebuilt from its ledger has only that half.
    ///
    /// # Errors
    /// A declaration cannot be serialized.
    pub fn settings_digest(&self, api_key: &str) -> Result<String, Error> {
        let declarations = serde_json::to_string(&self.checks()).map_err(|error| Error::Internal(error.to_string()))?;
        let ServiceTable { charge_pointer, remaining_pointer, balance_pointer, routes, checks, .. } =
            &self.service.settings;
        let pointers = (charge_pointer, remaining_pointer, balance_pointer, routes, checks);
        let mapping = (&self.uses, &self.null, &self.null_in, &self.tables, &self.id);
        let recorded = format!("{api_key}\n{:?}\n{:?}\n{pointers:?}\n{declarations}", self.prices, self.allowance);
        let recorded = digest_of(&recorded);
        if self.inputs.is_empty() {
            return Ok(recorded);
        }
        Ok(recorded + &digest_of(&format!("{:?}\n{mapping:?}", self.guards)))
    }

    /// What the ledger records of the campaign and may not change.
    pub fn identity(&self) -> Identity {
        Identity {
            campaign: self.name.clone(),
            mode: self.mode,
            origin: self.origin(),
            moved_from: self.service_moved_from.clone(),
            key_secret: self.key_secret.as_ref().map(KeySecret::fingerprint),
        }
    }

    /// Whether each input is a file, which can be read again from its start.
    pub fn reads_only_files(&self) -> bool {
        self.inputs.iter().all(|input| input.path.as_ref().is_some_and(|path| path.is_file()))
    }

    /// Says that the service has moved from this address to the one of the campaign. The ledger follows.
    ///
    /// # Errors
    /// It is not the URL of a service, or the campaign uses the built-in simulator.
    pub fn moves_from(&mut self, address: &str) -> Result<(), Error> {
        check_url(address)?;
        if self.service.simulate {
            let fault = "--service-moved-from: the built-in simulator does not move; leave out --simulate";
            return Err(Error::Config(fault.to_owned()));
        }
        self.service_moved_from = Some(address.to_owned());
        Ok(())
    }

    /// The service as the ledger records it.
    pub fn origin(&self) -> String {
        match &self.service.settings.url {
            Some(url) if !self.service.simulate => url.trim_end_matches('/').to_owned(),
            _ => SIMULATED_ORIGIN.to_owned(),
        }
    }
}

/// The first 32 hexadecimal characters of a text's SHA-256.
fn digest_of(text: &str) -> String {
    hex(&Sha256::digest(text)[..16])
}

fn check_uses(file: &CampaignFile, catalogue: &Catalogue) -> Result<Vec<CheckUse>, Error> {
    if file.checks.is_empty() {
        let names: Vec<&str> = catalogue.iter().map(|declaration| declaration.name.as_str()).collect();
        let names = names.join(", ");
        let propose = match &file.path {
            Some(_) => String::new(),
            None => {
                let input = file
                    .input
                    .paths
                    .first()
                    .filter(|path| path.as_os_str() != "-")
                    .map(|path| quoted(&[path.display().to_string()]));
                format!(
                    ", and there is no campaign file: `rescreen init {}` proposes the checks that fit a list, and writes \
                     the file",
                    input.unwrap_or_else(|| "FILE".to_owned())
                )
            }
        };
        return Err(Error::Config(format!(
            "no check is named{propose}; to name one: --check NAME (or [[check]] use); the checks are {names}"
        )));
    }
    let check_use = |table: &CheckTable| {
        catalogue.get(&table.check)?;
        if let Some(name) = &table.name {
            let fits = is_identifier(name, '-').and_then(|()| check_file_name(name));
            fits.map_err(|fault| Error::Config(format!("[[check]] name `{name}`: {fault}")))?;
        }
        let CheckTable { check, name, when, fields, expect } = table.clone();
        Ok(CheckUse { check, name, when, fields, expect })
    };
    file.checks.iter().map(check_use).collect()
}

fn guards(file: &CampaignFile) -> Guards {
    Guards {
        max_errors: file.guards.max_errors.unwrap_or(Share::Percent(25.0)),
        max_errors_explicit: file.guards.max_errors.is_some(),
        max_unrecognised: file.guards.max_unrecognised.unwrap_or(Share::Percent(1.0)),
        accept_failures: file.guards.accept_failures,
    }
}

/// The key secret. If programs may not be started, a placeholder replaces a secret that comes from a program; keys made
/// with it are just as distinct.
fn key_secret(file: &CampaignFile, base: &Path) -> Result<Option<KeySecret>, Error> {
    let found = file.keys.secret.as_ref().map(|source| match source {
        SecretSource::Command(_) if file.runs_no_programs => Ok("stands in for the key secret".to_owned().into()),
        source => secret::read(source, "the key secret", base),
    });
    Ok(found.transpose()?.map(KeySecret::new))
}
