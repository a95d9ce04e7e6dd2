//! Which answers of an earlier round a campaign uses again: `[reuse]` of the campaign file, and the flags of a changed-only round.

use super::{
    file::CampaignFile,
    flags,
    place::{folder_name, ledger_in},
};
use crate::{
    catalogue::Catalogue,
    error::Error,
    files::folder_of,
    model::{duration::parse_duration, reuse::ReuseRule},
};
use clap::Args;
use merge::Merge;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// `[reuse]`.
#[derive(Args, Merge, Debug, Clone, Default, Serialize, Deserialize)]
#[merge(strategy = flags::over)]
#[serde(deny_unknown_fields, default)]
pub struct ReuseTable {
    /// Ask only what has changed since this earlier round, and use its answers for the rest: its output folder, or the name of
    /// its campaign
    #[arg(long = "changed-since", value_name = "OLD", help_heading = flags::BUDGET)]
    pub from: Option<PathBuf>,
    /// Use no answer that is older than this, such as 30d [default: any age]
    #[arg(long, value_name = "AGE", help_heading = flags::BUDGET)]
    pub max_age: Option<String>,
    /// Use answers although the list that they were made with has changed since
    #[arg(long, help_heading = flags::BUDGET)]
    #[merge(strategy = merge::bool::overwrite_false)]
    pub even_if_list_changed: bool,
    /// The oldest answers of single checks, by catalogue name; `0d` uses none.
    #[arg(skip)]
    #[merge(skip)]
    pub checks: BTreeMap<String, String>,
}

/// The answers that a campaign uses again.
#[derive(Debug, Clone)]
pub struct Reuse {
    /// The output folder of the earlier round, or its ledger.
    pub from: PathBuf,
    rule: ReuseRule,
    checks: BTreeMap<String, ReuseRule>,
}

impl Reuse {
    /// The settings of a campaign; `None` if it uses no earlier answers.
    ///
    /// # Errors
    /// An age cannot be read, a check does not exist, or there is an age and no earlier round.
    pub fn of(file: &CampaignFile, base: &Path, out: &Path, catalogue: &Catalogue) -> Result<Option<Reuse>, Error> {
        let ReuseTable { from, max_age, even_if_list_changed, checks } = &file.reuse;
        let rule = |of: &str, age: Option<&String>| {
            let read = age.map(|age| parse_duration(age)).transpose();
            let max_age = read.map_err(|fault| Error::Config(format!("{of}: {fault}")))?;
            Ok::<_, Error>(ReuseRule { max_age, even_if_list_changed: *even_if_list_changed })
        };
        let Some(from) = from else {
            if max_age.is_some() || *even_if_list_changed || !checks.is_empty() {
                let fault = "[reuse]: expected the earlier round whose answers are used, found none; name it: --changed-since \
                             OLD (or [reuse] from)";
                return Err(Error::Config(fault.to_owned()));
            }
            return Ok(None);
        };
        let of_check = |(name, age): (&String, &String)| {
            catalogue.get(name)?;
            Ok((name.clone(), rule(&format!("[reuse.checks] {name}"), Some(age))?))
        };
        let checks: BTreeMap<String, ReuseRule> = checks.iter().map(of_check).collect::<Result<_, Error>>()?;
        Ok(Some(Reuse { from: place(file, from, base, out), rule: rule("max_age", max_age.as_ref())?, checks }))
    }

    /// The rule for a check.
    pub fn rule(&self, check: &str) -> ReuseRule {
        self.checks.get(check).copied().unwrap_or(self.rule)
    }
}

/// The folder that the user names: a path, or the name of a campaign of the same mode, whose folder is beside this one. A rehearsal
/// may also name a campaign.
fn place(file: &CampaignFile, from: &Path, base: &Path, out: &Path) -> PathBuf {
    let path = base.join(from);
    if from.components().count() != 1 || from.is_absolute() {
        return path;
    }
    let name = folder_name(&from.to_string_lossy(), file.mode());
    let beside = folder_of(out).join(if file.simulate { from } else { Path::new(&name) });
    [beside, base.join("out").join(&name)].into_iter().find(|folder| ledger_in(folder).is_file()).unwrap_or(path)
}
