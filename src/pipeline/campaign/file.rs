//! The campaign file: TOML as the user writes it, before validation. The flags of `run` and `plan` are declared beside the
//! keys that they replace, and are merged into the same structure, so that both are validated the same way. It never
//! contains a secret, only where to find one.

use super::{carried, carried::Carried, flags, tables::TableSource, webhook::WebhookTable};
pub use super::{
    input_table::InputTable, reuse::ReuseTable, secret::SecretSource, service_table::ServiceTable, share::Share,
};
use crate::{
    catalogue::Declaration,
    mapping::FieldSource,
    model::{Credits, Mode},
    sink::{AnswerOutput, ImageOutput, OutputFormat},
};
use clap::Args;
use merge::Merge;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// `rescreen.toml`.
#[derive(Args, Merge, Debug, Clone, Default, Serialize, Deserialize)]
#[merge(strategy = flags::over)]
#[serde(deny_unknown_fields, default)]
pub struct CampaignFile {
    /// Name of this round of checks, such as 2026-11; you can run it many times and pay only once
    #[arg(long, value_name = "NAME", help_heading = flags::BUDGET)]
    pub campaign: Option<String>,
    /// `sandbox` (free, returns fixture data) or `production` [default: sandbox]
    #[arg(long, help_heading = flags::BUDGET)]
    pub mode: Option<Mode>,
    #[command(flatten)]
    #[merge(strategy = Merge::merge)]
    pub budget: BudgetTable,
    /// What shows that the persons consented.
    #[command(flatten)]
    #[merge(strategy = Merge::merge)]
    pub consent: ConsentTable,
    #[command(flatten)]
    #[merge(strategy = Merge::merge)]
    pub service: ServiceTable,
    #[command(flatten)]
    #[merge(strategy = Merge::merge)]
    pub webhook: WebhookTable,
    #[command(flatten)]
    #[merge(strategy = Merge::merge)]
    pub input: InputTable,
    #[command(flatten)]
    #[merge(strategy = Merge::merge)]
    pub output: OutputTable,
    #[command(flatten)]
    #[merge(strategy = Merge::merge)]
    pub guards: GuardsTable,
    #[arg(skip)]
    #[merge(skip)]
    #[serde(rename = "check")]
    pub checks: Vec<CheckTable>,
    #[arg(skip)]
    #[merge(skip)]
    #[serde(skip_serializing)]
    pub keys: KeysTable,
    #[arg(skip)]
    #[merge(skip)]
    pub ledger: LedgerTable,
    #[command(flatten)]
    #[merge(strategy = Merge::merge)]
    pub reuse: ReuseTable,
    #[arg(skip)]
    #[merge(skip)]
    pub decisions: DecisionsTable,
    /// The tables for the filter `table("name")`: entries, or the path of a file that holds them.
    #[arg(skip)]
    #[merge(skip)]
    pub tables: BTreeMap<String, TableSource>,
    /// Declarations of checks. A declaration adds a check, or replaces the built-in one of the same name.
    #[arg(skip)]
    #[merge(skip)]
    #[serde(rename = "declaration")]
    pub declarations: Vec<Declaration>,
    /// The service is the built-in simulator. Set by `--simulate`, never by the file.
    #[arg(skip)]
    #[merge(skip)]
    #[serde(skip)]
    pub simulate: bool,
    /// The rehearsal is as fast as it can: the limits of the account do not apply. Set by `--simulate`, unless it says
    /// `realtime`, never by the file.
    #[arg(skip)]
    #[merge(skip)]
    #[serde(skip)]
    pub unlimited: bool,
    /// The file that this was read from.
    #[arg(skip)]
    #[serde(skip)]
    pub path: Option<PathBuf>,
    /// Do not start any program that the file names. Set by `plan` and `--simulate`, never by the file.
    #[arg(skip)]
    #[merge(skip)]
    #[serde(skip)]
    pub runs_no_programs: bool,
}

impl CampaignFile {
    /// The mode; sandbox if nothing is said.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or_default()
    }
}

/// `[budget]`.
#[derive(Args, Merge, Debug, Clone, Default, Serialize, Deserialize)]
#[merge(strategy = flags::over)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetTable {
    /// Maximum credits the campaign may cost, over all its runs
    #[arg(long, value_name = "N", help_heading = flags::BUDGET)]
    pub max_credits: Option<Credits>,
    /// Send no new request that could take the account's balance below this
    #[arg(long, value_name = "N", help_heading = flags::BUDGET)]
    pub keep_balance: Option<Credits>,
    #[arg(skip)]
    #[merge(skip)]
    pub prices: BTreeMap<String, Credits>,
}

/// `[[check]]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckTable {
    #[serde(rename = "use")]
    pub check: String,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub when: Option<String>,
    #[serde(default)]
    pub fields: BTreeMap<String, FieldSource>,
    /// Values that the answer is expected to contain. They are compared locally, cost nothing and are not part of the
    /// key.
    #[serde(default)]
    pub expect: BTreeMap<String, FieldSource>,
}

impl CheckTable {
    /// A check under its catalogue name, used on every row, with its fields matched to columns by name.
    pub fn of(check: &str) -> CheckTable {
        let (fields, expect) = Default::default();
        CheckTable { check: check.to_owned(), name: None, when: None, fields, expect }
    }
}

/// `[output]`.
#[derive(Args, Merge, Debug, Clone, Default, Serialize, Deserialize)]
#[merge(strategy = flags::over)]
#[serde(deny_unknown_fields, default)]
pub struct OutputTable {
    /// Input columns to copy into the results, comma-separated; NAME=COLUMN gives one another name; `*` is all
    #[arg(long, value_name = "COLUMNS|NAME=COLUMN", value_delimiter = ',', help_heading = flags::OUTPUT)]
    #[merge(strategy = flags::list_over)]
    #[serde(deserialize_with = "carried::list")]
    pub carry: Vec<Carried>,
    /// Output folder [default: out/CAMPAIGN]
    #[arg(long = "out", value_name = "DIR", help_heading = flags::OUTPUT)]
    pub dir: Option<PathBuf>,
    /// Output format: `parquet` or `jsonl` [default: parquet]
    #[arg(long, help_heading = flags::OUTPUT)]
    pub format: Option<OutputFormat>,
    /// Whether the images in answers are written as files.
    #[arg(skip)]
    pub images: Option<ImageOutput>,
    /// Where the answers are.
    #[arg(skip)]
    #[merge(skip)]
    pub answer: AnswerOutput,
    /// Whether the results have a column for what was sent; they have one by default.
    #[arg(skip)]
    pub sent: Option<bool>,
}

/// `[keys]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeysTable {
    pub secret: Option<SecretSource>,
}

/// `[consent]`.
#[derive(Args, Merge, Debug, Clone, Default, Serialize, Deserialize)]
#[merge(strategy = flags::over)]
#[serde(deny_unknown_fields, default)]
pub struct ConsentTable {
    /// Evidence that every person consented, such as the number of a form; needed if one value confirms the consent of
    /// every row
    #[arg(long = "consent-evidence", value_name = "REF", help_heading = flags::BUDGET)]
    pub evidence: Option<String>,
}

/// `[ledger]`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LedgerTable {
    pub path: Option<PathBuf>,
    /// Where to find the URL of the charge book, which workers on several machines share. It has a password.
    #[serde(skip_serializing)]
    pub book: Option<SecretSource>,
    /// The name of the account in the charge book [default: default]
    pub account: Option<String>,
}

/// `[decisions]`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DecisionsTable {
    /// The file of decisions about matches [default: decisions.jsonl beside the output folder]
    pub file: Option<PathBuf>,
}

/// `[guards]`.
#[derive(Args, Merge, Debug, Clone, Default, Serialize, Deserialize)]
#[merge(strategy = flags::over)]
#[serde(deny_unknown_fields, default)]
pub struct GuardsTable {
    /// Stop when more than this many rows cannot be mapped or requests are refused [default: 25%, after the first 50]
    #[arg(long, value_name = "N|N%", help_heading = flags::STOPS)]
    pub max_errors: Option<Share>,
    /// Stop when more than this many answers are not recognised [default: 1%]
    #[arg(long, value_name = "N|N%", help_heading = flags::STOPS)]
    pub max_unrecognised: Option<Share>,
    /// Exit 0 if no more than this many asks failed
    #[arg(long, value_name = "N|N%", help_heading = flags::STOPS)]
    pub accept_failures: Option<Share>,
}
