//! The flags that `run` and `plan` share. They are merged into the structure of the campaign file, and a flag overrides
//! the file.

use super::heading;
use clap::{Args, ValueEnum};
use rescreen::{
    Error,
    files::{self, Links, access, other_writers_in},
    mapping::FieldSource,
    model::{Credits, Mode, nearest::hint},
    pipeline::{
        Campaign,
        campaign::{
            file::{CampaignFile, CheckTable, Share},
            place,
            tables::TableSource,
        },
        read_file, read_open_file,
    },
    sink::OutputFormat,
    source::Encoding,
};
use std::path::{Path, PathBuf};

/// The campaign file that is read by default.
pub const CAMPAIGN_FILE: &str = "rescreen.toml";

#[derive(Args, Debug, Clone, Default)]
pub struct CampaignArgs {
    /// Input files: CSV or JSON Lines (also .gz or .zst), .xlsx or .parquet; `-` is standard input
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Campaign file [default: rescreen.toml in the working folder, if there is one]
    #[arg(short, long, value_name = "FILE", help_heading = heading::MAPPING)]
    pub config: Option<PathBuf>,
    /// Check to run (see `rescreen checks`); repeatable
    #[arg(long = "check", value_name = "NAME", help_heading = heading::MAPPING)]
    pub checks: Vec<String>,
    /// Fill a field from a column or a template; with several checks, NAME.FIELD=…
    #[arg(long = "map", value_name = "FIELD=COLUMN|TEMPLATE", help_heading = heading::MAPPING)]
    pub maps: Vec<String>,
    /// Fill a field with a constant; with several checks, NAME.FIELD=…
    #[arg(long = "set", value_name = "FIELD=CONSTANT", help_heading = heading::MAPPING)]
    pub sets: Vec<String>,
    /// Compare the answer with a column; with several checks, NAME.FIELD=…
    #[arg(long = "expect", value_name = "FIELD=COLUMN", help_heading = heading::MAPPING)]
    pub expects: Vec<String>,
    /// CSV file with a lookup table for the filter `table("NAME")`: the key first, then the value; repeatable
    #[arg(long, value_name = "NAME=FILE", help_heading = heading::MAPPING)]
    pub tables: Vec<String>,
    /// Name of this round of checks, such as 2026-11; you can run it many times and pay only once
    #[arg(long, value_name = "NAME", help_heading = heading::BUDGET)]
    pub campaign: Option<String>,
    /// `sandbox` (free, returns fixture data) or `production` [default: sandbox]
    #[arg(long, help_heading = heading::BUDGET)]
    pub mode: Option<Mode>,
    /// Maximum credits the campaign may cost, over all its runs
    #[arg(long, value_name = "N", help_heading = heading::BUDGET)]
    pub max_credits: Option<Credits>,
    /// Send no new request that could take the account's balance below this
    #[arg(long, value_name = "N", help_heading = heading::BUDGET)]
    pub keep_balance: Option<Credits>,
    /// Price of a check in credits; repeatable
    #[arg(long = "price", value_name = "CHECK=N", help_heading = heading::BUDGET)]
    pub prices: Vec<String>,
    /// Rate limit: steady rate in requests per minute; without --per-minute-max, the maximum is twice this
    #[arg(long, value_name = "N", help_heading = heading::SERVICE)]
    pub per_minute: Option<u32>,
    /// Rate limit: maximum requests in any one minute
    #[arg(long, value_name = "N", help_heading = heading::SERVICE)]
    pub per_minute_max: Option<u32>,
    /// Maximum number of concurrent requests
    #[arg(long, value_name = "N", help_heading = heading::SERVICE)]
    pub in_flight: Option<usize>,
    /// Evidence that every person consented, such as the number of a form; needed if one value confirms the consent of
    /// every row
    #[arg(long, value_name = "REF", help_heading = heading::BUDGET)]
    pub consent_evidence: Option<String>,
    /// Column that identifies a row; copied to `subject` in the outputs
    #[arg(long, value_name = "COLUMN", help_heading = heading::INPUT)]
    pub id: Option<String>,
    /// Input columns to copy into the results, comma-separated; NAME=COLUMN gives one another name
    #[arg(long, value_name = "COLUMNS|NAME=COLUMN", value_delimiter = ',', help_heading = heading::OUTPUT)]
    pub carry: Vec<String>,
    /// Read only the first ROWS rows of each input; rows that were read before are still sent
    #[arg(long, value_name = "ROWS", help_heading = heading::INPUT)]
    pub limit: Option<u64>,
    /// Send nothing unless the input has this many rows
    #[arg(long, value_name = "N|MIN..MAX", value_parser = row_range, help_heading = heading::INPUT)]
    pub expect_rows: Option<(u64, u64)>,
    /// Stop when more than this many rows cannot be mapped or requests are refused [default: 25%, after the first 50]
    #[arg(long, value_name = "N|N%", help_heading = heading::STOPS)]
    pub max_errors: Option<Share>,
    /// Stop when more than this many answers are not recognised [default: 1%]
    #[arg(long, value_name = "N|N%", help_heading = heading::STOPS)]
    pub max_unrecognised: Option<Share>,
    /// Exit 0 if no more than this many asks failed
    #[arg(long, value_name = "N|N%", help_heading = heading::STOPS)]
    pub accept_failures: Option<Share>,
    /// Output folder [default: out/<campaign>]
    #[arg(long, value_name = "DIR", help_heading = heading::OUTPUT)]
    pub out: Option<PathBuf>,
    /// Output format: `parquet` or `jsonl` [default: parquet]
    #[arg(long, help_heading = heading::OUTPUT)]
    pub format: Option<OutputFormat>,
    /// CSV delimiter [default: detected]
    #[arg(long, value_name = "CHAR", help_heading = heading::INPUT)]
    pub delimiter: Option<char>,
    /// Input encoding, such as utf-16le, windows-1250, iso-8859-2, gbk, shift_jis or big5 [default: utf-8, or utf-16 where
    /// it is detected]
    #[arg(long, help_heading = heading::INPUT)]
    pub encoding: Option<Encoding>,
    /// Read the first line of the input as a row, not as a header
    #[arg(long, help_heading = heading::INPUT)]
    pub no_header: bool,
    /// Column names for an input without a header, comma-separated
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = heading::INPUT)]
    pub columns: Vec<String>,
    /// Line (or row of the sheet) that has the column names; the lines above it are not read [default: 1]
    #[arg(long, value_name = "N", help_heading = heading::INPUT)]
    pub header_row: Option<u32>,
    /// Do not read the first N lines (or rows of the sheet)
    #[arg(long, value_name = "N", help_heading = heading::INPUT)]
    pub skip_rows: Option<u32>,
    /// Do not read the last N rows
    #[arg(long, value_name = "N", help_heading = heading::INPUT)]
    pub skip_footer: Option<u32>,
    /// Sheet of the workbook to read [default: the only one with data]
    #[arg(long, value_name = "NAME", help_heading = heading::INPUT)]
    pub sheet: Option<String>,
    /// Do not read hidden rows of the workbook, such as those that a filter hides
    #[arg(long, help_heading = heading::INPUT)]
    pub visible_only: bool,
    /// Folder that contains the files that rows name; nothing outside it is read
    #[arg(long, value_name = "DIR", help_heading = heading::INPUT)]
    pub files_root: Option<PathBuf>,
    /// Base URL of the service
    #[arg(long, value_name = "URL", help_heading = heading::SERVICE)]
    pub service: Option<String>,
    /// The service moved from this URL to its present one; requests in doubt are repeated at the new one
    #[arg(long, value_name = "OLD_URL", help_heading = heading::SERVICE)]
    pub service_moved_from: Option<String>,
    /// URL of an HTTP proxy to the service; `none` for none [default: HTTPS_PROXY or ALL_PROXY, except for NO_PROXY]
    #[arg(long, value_name = "URL", help_heading = heading::SERVICE)]
    pub proxy: Option<String>,
    /// Public https URL of `rescreen listen`, where the service reports finished jobs; without it, rescreen only asks for
    /// them
    #[arg(long, value_name = "URL", help_heading = heading::SERVICE)]
    pub webhook_url: Option<String>,
    /// Rehearse with the built-in simulator in place of the service, as fast as it can; `realtime` keeps your rate
    /// limit
    #[arg(long, value_name = "PACE", num_args = 0..=1, require_equals = true, default_missing_value = "fast", help_heading = heading::SERVICE)]
    pub simulate: Option<Rehearsal>,
}

/// How fast a rehearsal is.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rehearsal {
    Fast,
    Realtime,
}

impl CampaignArgs {
    /// The campaign defined by the campaign file and the flags.
    pub fn campaign(&self) -> Result<Campaign, Error> {
        let (file, base) = self.fold()?;
        self.made_of(file, &base)
    }

    /// The same, for a command that sends nothing that is charged: no program named in the file is started.
    pub fn campaign_to_plan(&self) -> Result<Campaign, Error> {
        let (mut file, base) = self.fold()?;
        file.starts_nothing = true;
        self.made_of(file, &base)
    }

    fn made_of(&self, file: CampaignFile, base: &Path) -> Result<Campaign, Error> {
        let mut campaign = Campaign::new(file, base)?;
        self.service_moved_from.as_deref().map_or(Ok(()), |from| campaign.moves_from(from))?;
        Ok(campaign)
    }

    /// The campaign file with the flags merged in, and the folder its paths are relative to.
    pub fn fold(&self) -> Result<(CampaignFile, PathBuf), Error> {
        let (path, file) = match &self.config {
            Some(path) => (Some(path.clone()), Some(read_file(path)?)),
            None => campaign_file_here()?.map_or((None, None), |file| (Some(PathBuf::from(CAMPAIGN_FILE)), Some(file))),
        };
        let base = path.as_ref().and_then(|path| path.parent()).unwrap_or(Path::new("")).to_owned();
        let mut file = file.unwrap_or_default();
        // Paths on the command line are relative to the working folder, those in the file to the file.
        let here = |path: &PathBuf| {
            if base.as_os_str().is_empty() || path.as_os_str() == "-" {
                return Ok(path.clone());
            }
            std::path::absolute(path).map_err(|error| Error::Config(format!("{}: {error}", path.display())))
        };
        if !self.inputs.is_empty() {
            file.input.paths = self.inputs.iter().map(here).collect::<Result<_, _>>()?;
        }
        if let Some(out) = &self.out {
            file.output.dir = Some(here(out)?);
        }
        if let Some(root) = &self.files_root {
            file.input.files_root = Some(here(root)?);
        }
        self.fold_values(&mut file);
        self.fold_checks(&mut file)?;
        for table in &self.tables {
            let (name, path) = split(table, "--tables", "NAME=FILE")?;
            file.tables.insert(name.to_owned(), TableSource::File(here(&PathBuf::from(path))?));
        }
        for price in &self.prices {
            let (check, credits) = split(price, "--price", "CHECK=N")?;
            let credits = credits
                .parse()
                .map_err(|_| Error::Config(format!("--price {price}: expected a whole number of credits after `=`")))?;
            file.budget.prices.insert(check.to_owned(), credits);
        }
        Ok((file, base))
    }

    fn fold_values(&self, file: &mut CampaignFile) {
        fn over<T: Clone>(value: &mut T, flag: &Option<T>) {
            if let Some(flag) = flag {
                value.clone_from(flag);
            }
        }
        fn over_option<T: Clone>(value: &mut Option<T>, flag: &Option<T>) {
            if flag.is_some() {
                value.clone_from(flag);
            }
        }
        over_option(&mut file.campaign, &self.campaign);
        over(&mut file.mode, &self.mode);
        over_option(&mut file.budget.max_credits, &self.max_credits);
        over(&mut file.budget.keep_balance, &self.keep_balance);
        over(&mut file.service.per_minute, &self.per_minute);
        // `--per-minute` alone also sets the burst limit, to twice that rate.
        let doubled = self.per_minute.map(|per_minute| per_minute.saturating_mul(2));
        over(&mut file.service.per_minute_max, &self.per_minute_max.or(doubled));
        over(&mut file.service.in_flight, &self.in_flight);
        over_option(&mut file.service.url, &self.service);
        over_option(&mut file.service.proxy_flag, &self.proxy);
        over_option(&mut file.webhook.url, &self.webhook_url);
        over_option(&mut file.consent.evidence, &self.consent_evidence);
        over_option(&mut file.input.id, &self.id);
        over_option(&mut file.input.delimiter, &self.delimiter);
        over_option(&mut file.input.encoding, &self.encoding);
        over_option(&mut file.input.header, &self.no_header.then_some(false));
        over_option(&mut file.input.sheet, &self.sheet);
        over_option(&mut file.input.visible_only, &self.visible_only.then_some(true));
        if self.header_row.is_some() || self.skip_rows.is_some() {
            // Each says where the table begins, so one on the command line replaces both of the file.
            (file.input.header_row, file.input.skip_rows) = (self.header_row, self.skip_rows);
        }
        over_option(&mut file.input.skip_footer, &self.skip_footer);
        if !self.columns.is_empty() {
            file.input.columns = Some(self.columns.clone());
        }
        over_option(&mut file.guards.max_errors, &self.max_errors);
        over_option(&mut file.guards.max_unrecognised, &self.max_unrecognised);
        over_option(&mut file.guards.accept_failures, &self.accept_failures);
        over_option(&mut file.output.format, &self.format);
        over_option(&mut file.limit_rows, &self.limit);
        over_option(&mut file.expect_rows, &self.expect_rows);
        if !self.carry.is_empty() {
            file.output.carry = self.carry.iter().map(|one| one.as_str().into()).collect();
        }
        (file.simulate, file.starts_nothing) = (self.simulate.is_some(), self.simulate.is_some());
        file.unlimited = self.simulate == Some(Rehearsal::Fast);
        if file.simulate {
            // A rehearsal never meets the real campaign.
            file.output.dir = file.output.dir.as_deref().map(place::beside);
            file.ledger.path = None;
        }
    }

    /// `--check` selects checks of the file by name, or adds them; `--map`, `--set` and `--expect` fill their fields.
    fn fold_checks(&self, file: &mut CampaignFile) -> Result<(), Error> {
        if !self.checks.is_empty() {
            let known = std::mem::take(&mut file.checks);
            file.checks = self.checks.iter().map(|name| picked(&known, name)).collect();
        }
        for map in &self.maps {
            let (target, source) = split(map, "--map", "FIELD=COLUMN")?;
            let (table, field) = target_of(file, "--map", target)?;
            table.fields.insert(field.to_owned(), FieldSource::from(source));
        }
        for set in &self.sets {
            let (target, constant) = split(set, "--set", "FIELD=CONSTANT")?;
            let (table, field) = target_of(file, "--set", target)?;
            table.fields.insert(field.to_owned(), FieldSource::Constant(constant.into()));
        }
        for expect in &self.expects {
            let (target, source) = split(expect, "--expect", "FIELD=COLUMN")?;
            let (table, field) = target_of(file, "--expect", target)?;
            table.expect.insert(field.to_owned(), FieldSource::from(source));
        }
        Ok(())
    }
}

/// The campaign file in the working folder, if only this user can write the file and the folder: a campaign file can
/// name programs to start, and paths relative to its folder. It is checked and read through the same open file, so it
/// cannot be replaced in between.
pub fn campaign_file_here() -> Result<Option<CampaignFile>, Error> {
    let path = Path::new(CAMPAIGN_FILE);
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(None);
    }
    let refused = |whose: String| {
        Err(Error::Config(format!(
            "{CAMPAIGN_FILE} in this folder is not used, because {whose}, and a campaign file can start programs; if \
             you trust it, name it with -c {CAMPAIGN_FILE}, or give only yourself write access to the file and its \
             folder"
        )))
    };
    let opened = files::open(path, Links::Refused).and_then(|file| Ok((file.metadata()?, file)));
    let (metadata, file) = match opened {
        Ok(opened) => opened,
        Err(error) => return refused(error.to_string()),
    };
    let access = access(&metadata);
    match (access.other_owner, other_writers_in(Path::new("."))) {
        (Some(owner), _) => refused(format!("it belongs to the user with id {owner}")),
        (None, _) if access.world_writable => refused("other users can write to it".to_owned()),
        (None, Some(other_writers)) => refused(other_writers),
        (None, None) => read_open_file(path, file).map(Some),
    }
}

fn picked(known: &[CheckTable], name: &str) -> CheckTable {
    let is_called = |table: &&CheckTable| table.name.as_deref().unwrap_or(&table.check) == name;
    known.iter().find(is_called).cloned().unwrap_or_else(|| CheckTable::of(name))
}

/// Fills `FIELD` of the only check, or `NAME.FIELD` of a named check.
pub(super) fn feed(file: &mut CampaignFile, flag: &str, target: &str, source: FieldSource) -> Result<(), Error> {
    let (table, field) = target_of(file, flag, target)?;
    table.fields.insert(field.to_owned(), source);
    Ok(())
}

/// The check and the field that a flag names: `FIELD` of the only check, or `NAME.FIELD` of a named check.
fn target_of<'a, 'b>(
    file: &'a mut CampaignFile,
    flag: &str,
    target: &'b str,
) -> Result<(&'a mut CheckTable, &'b str), Error> {
    let names: Vec<String> =
        file.checks.iter().map(|table| table.name.clone().unwrap_or_else(|| table.check.clone())).collect();
    let named =
        target.split_once('.').and_then(|(name, field)| Some((names.iter().position(|one| one == name)?, field)));
    let (at, field) = match (named, file.checks.len()) {
        (Some(found), _) => found,
        (None, 1) => (0, target),
        (None, 0) => {
            return Err(Error::Config(format!(
                "{flag} {target}: expected a check, found none; name the check whose field you want to set with --check NAME"
            )));
        }
        (None, _) => {
            let name = target.split('.').next().unwrap_or(target);
            let hint = hint(name, names.iter().map(String::as_str));
            return Err(Error::Config(format!(
                "{flag} {target}: expected NAME.FIELD, because there are several checks{hint}; they are {}",
                names.join(", ")
            )));
        }
    };
    Ok((&mut file.checks[at], field))
}

pub(super) fn split<'a>(text: &'a str, flag: &str, form: &str) -> Result<(&'a str, &'a str), Error> {
    match text.split_once('=') {
        Some((left, right)) if !left.trim().is_empty() => Ok((left.trim(), right)),
        _ => Err(Error::Config(format!("{flag} {text}: expected {form}"))),
    }
}

/// `N`, or `MIN..MAX`.
fn row_range(text: &str) -> Result<(u64, u64), String> {
    let number = |part: &str| part.trim().parse::<u64>().map_err(|_| format!("expected N or MIN..MAX, found `{text}`"));
    match text.split_once("..") {
        Some((least, most)) => Ok((number(least)?, number(most)?)),
        None => number(text).map(|exactly| (exactly, exactly)),
    }
}
