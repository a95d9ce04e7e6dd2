//! The flags that `run` and `plan` share. They are merged into the structure of the campaign file, and a flag overrides
//! the file.

use clap::{Args, ValueEnum};
use merge::Merge;
use rescreen::{
    Error,
    files::{self, Links, access, other_writers_in},
    mapping::FieldSource,
    model::nearest::hint,
    pipeline::{
        Campaign, Corrections,
        campaign::{
            file::{CampaignFile, CheckTable, InputTable},
            flags, place,
            tables::TableSource,
        },
        read_file, read_open_file,
    },
};
use std::path::{Path, PathBuf};

/// The campaign file that is read by default.
pub const CAMPAIGN_FILE: &str = "rescreen.toml";

#[derive(Args, Debug, Clone, Default)]
pub struct CampaignArgs {
    /// Campaign file [default: rescreen.toml in the working folder, if there is one]
    #[arg(short, long, value_name = "FILE", help_heading = flags::MAPPING)]
    pub config: Option<PathBuf>,
    /// Check to run (see `rescreen checks`); repeatable
    #[arg(long = "check", value_name = "NAME", help_heading = flags::MAPPING)]
    pub checks: Vec<String>,
    /// Fill a field from a column or a template; with several checks, NAME.FIELD=…
    #[arg(long = "map", value_name = "FIELD=COLUMN|TEMPLATE", help_heading = flags::MAPPING)]
    pub maps: Vec<String>,
    /// Fill a field with a constant; with several checks, NAME.FIELD=…
    #[arg(long = "set", value_name = "FIELD=CONSTANT", help_heading = flags::MAPPING)]
    pub sets: Vec<String>,
    /// Compare the answer with a column; with several checks, NAME.FIELD=…
    #[arg(long = "expect", value_name = "FIELD=COLUMN", help_heading = flags::MAPPING)]
    pub expects: Vec<String>,
    /// CSV file with a lookup table for the filter `table("NAME")`: the key first, then the value; repeatable
    #[arg(long, value_name = "NAME=FILE", help_heading = flags::MAPPING)]
    pub tables: Vec<String>,
    #[command(flatten)]
    pub settings: CampaignFile,
    /// Price of a check in credits; repeatable
    #[arg(long = "price", value_name = "CHECK=N", help_heading = flags::BUDGET)]
    pub prices: Vec<String>,
    /// The service moved from this URL to its present one; requests in doubt are repeated at the new one
    #[arg(long, value_name = "OLD_URL", help_heading = flags::SERVICE)]
    pub service_moved_from: Option<String>,
    /// Rehearse with the built-in simulator in place of the service, as fast as it can; `realtime` keeps your rate
    /// limit
    #[arg(long, value_name = "PACE", num_args = 0..=1, require_equals = true, default_missing_value = "fast", help_heading = flags::SERVICE)]
    pub simulate: Option<Rehearsal>,
}

/// The flags for a file of corrections.
#[derive(Args, Debug, Clone, Default)]
pub struct CorrectionArgs {
    /// Replace the rows that failed with the rows of FILE, an edited copy of failures.csv; `plan` shows what changes
    #[arg(long, value_name = "FILE", help_heading = flags::RESUME)]
    corrections: Option<PathBuf>,
    /// Let corrections change the id of a row
    #[arg(long, requires = "corrections", help_heading = flags::RESUME)]
    change_ids: bool,
}

impl CorrectionArgs {
    pub fn corrections(&self) -> Option<Corrections> {
        self.corrections.clone().map(|path| Corrections { path, change_ids: self.change_ids })
    }

    /// The flags as they were given.
    pub fn words(&self) -> Vec<String> {
        let file = self.corrections.iter().flat_map(|file| ["--corrections".to_owned(), file.display().to_string()]);
        file.chain(self.change_ids.then(|| "--change-ids".to_owned())).collect()
    }
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
        file.runs_no_programs = true;
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
        Ok((self.merged(file.unwrap_or_default(), &base)?, base))
    }

    /// The campaign file that a command with these flags reads.
    pub fn file_in_use(&self) -> Option<&Path> {
        let here = Path::new(CAMPAIGN_FILE);
        self.config.as_deref().or_else(|| here.is_file().then_some(here))
    }

    /// Whether the command names inputs, and rescreen.toml is read too. Its settings may be meant for other inputs.
    pub fn is_beside_file(&self) -> bool {
        self.config.is_none() && self.file_in_use().is_some() && !self.settings.input.paths.is_empty()
    }

    /// A campaign file with the flags merged in. The paths of the result are relative to `base`.
    pub fn merged(&self, mut file: CampaignFile, base: &Path) -> Result<CampaignFile, Error> {
        // Paths on the command line are relative to the working folder, those in the file to the file.
        let here = |path: &PathBuf| {
            if base.as_os_str().is_empty() || path.as_os_str() == "-" {
                return Ok(path.clone());
            }
            std::path::absolute(path).map_err(|error| Error::Config(format!("{}: {error}", path.display())))
        };
        let mut given = self.settings.clone();
        let InputTable { paths, files_root, .. } = &mut given.input;
        // It may also be the name of a campaign, which stays as it is.
        let round = given.reuse.from.iter_mut().filter(|from| from.exists());
        for path in paths.iter_mut().chain(files_root).chain(&mut given.output.dir).chain(round) {
            *path = here(path)?;
        }
        // `--per-minute` alone also sets the burst limit, to twice that rate.
        let service = &mut given.service;
        service.per_minute_max = service.per_minute_max.or(service.per_minute.map(|rate| rate.saturating_mul(2)));
        if given.input.header_row.is_some() || given.input.skip_rows.is_some() {
            // Each says where the table begins, so one on the command line replaces both of the file.
            (file.input.header_row, file.input.skip_rows) = (None, None);
        }
        file.merge(given);
        self.rehearse(&mut file);
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
        Ok(file)
    }

    fn rehearse(&self, file: &mut CampaignFile) {
        (file.simulate, file.runs_no_programs) = (self.simulate.is_some(), self.simulate.is_some());
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
