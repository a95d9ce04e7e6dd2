//! What an earlier campaign left in an output folder. It owns one decision: a folder with results but without a usable
//! ledger is never begun anew in silence, because what is in it was paid for.

use super::{Campaign, out_folder::same_folder};
use crate::{
    error::Error,
    ledger::{self, Identity, Ledger, Reading},
    sink::{self, DatasetKind, Manifest},
};
use std::path::{Path, PathBuf};

/// Refuses an output folder that lost its ledger.
///
/// # Errors
/// There are results, a manifest or a used lock file, and no ledger.
pub fn refuse_lost_ledger(campaign: &Campaign) -> Result<(), Error> {
    let Some(what) = remains(campaign) else { return Ok(()) };
    let owner = sink::claimed_by(&campaign.out)?;
    let of = owner.map(|owner| format!(" of a ledger that is lost or elsewhere (campaign `{}`)", owner.campaign));
    Err(Error::Config(format!(
        "{} has {what}{} and no ledger ({}): nothing there shows what was paid for. Restore ledger.sqlite and \
         ledger.sqlite-wal from a backup (one that is older than the last run needs --accept-older-ledger with it), choose another folder with --out DIR, or pass --new-ledger to set the old results \
         aside and begin anew, which may pay again",
        campaign.out.display(),
        of.unwrap_or_default(),
        campaign.ledger.display(),
    )))
}

/// What shows that a ledger was here.
fn remains(campaign: &Campaign) -> Option<String> {
    let manifest = Manifest::read(&campaign.out).ok().flatten();
    let results = manifest.iter().flat_map(|manifest| &manifest.datasets);
    let parts = results.filter(|dataset| dataset.kind == DatasetKind::Results).flat_map(|dataset| &dataset.parts);
    match parts.map(|part| part.rows).fold(0, u64::saturating_add) {
        0 if sink::is_published(&campaign.out) => Some("published results".to_owned()),
        0 if ledger::log_is_alone(&campaign.ledger) => {
            Some("the newest receipts of a ledger (its write-ahead log)".to_owned())
        }
        0 => ledger::commits_noted(&campaign.ledger)
            .filter(|commits| *commits > 0)
            .map(|_| "the lock file of a ledger".to_owned())
            .or_else(|| sink::used(&campaign.out).map(|name| format!("files in {name}"))),
        rows => Some(crate::pipeline::wording::counted(rows, "published result", "published results")),
    }
}

/// `--new-ledger`: moves what an earlier campaign left into a dated subfolder; gives it, where there was anything. A ledger
/// that can be used is kept: a command that is repeated must not pay again each time.
///
/// # Errors
/// The ledger is in use or can be used, or something cannot be moved.
pub fn set_aside(campaign: &Campaign, identity: &Identity) -> Result<Option<PathBuf>, Error> {
    let has_ledger = std::fs::metadata(&campaign.ledger).is_ok_and(|metadata| metadata.len() > 0);
    if has_ledger && Reading::find(&campaign.ledger).is_ok_and(|found| found.is_none()) && remains(campaign).is_none() {
        return Ok(None);
    }
    if has_ledger {
        refuse_usable(campaign, identity)?;
    } else if remains(campaign).is_none() {
        return Ok(None);
    }
    let home = campaign.ledger.parent().unwrap_or(Path::new("."));
    let beside_ledger = new_folder(home, &folder_name(campaign))?;
    ledger::set_aside(&campaign.ledger, &beside_ledger)?;
    let folder = if same_folder(home, &campaign.out) {
        beside_ledger
    } else {
        new_folder(&campaign.out, &folder_name(campaign))?
    };
    sink::set_aside(&campaign.out, &folder, true)?;
    Ok(Some(folder))
}

/// `--accept-older-ledger`: results that the older copy does not know are set aside with all others, which are written
/// again from it; gives where to, if there were any.
///
/// # Errors
/// The ledger cannot be read, or something cannot be moved.
pub fn set_aside_unknown(campaign: &Campaign, ledger: &Ledger) -> Result<Option<PathBuf>, Error> {
    if !campaign.accept_older_ledger {
        return Ok(None);
    }
    let known = Reading::open(ledger.path())?.parts()?.into_iter().map(|part| part.path).collect();
    if !sink::has_other_results(&campaign.out, &known) {
        return Ok(None);
    }
    let folder = new_folder(&campaign.out, &folder_name(campaign))?;
    sink::set_aside(&campaign.out, &folder, false)?;
    Ok(Some(folder))
}

fn folder_name(campaign: &Campaign) -> String {
    format!("before-{}", campaign.clock.now().strftime("%Y%m%dT%H%M%SZ"))
}

fn refuse_usable(campaign: &Campaign, identity: &Identity) -> Result<(), Error> {
    match Ledger::open(&campaign.ledger, identity, campaign.commit_mode, campaign.clock.now_us()) {
        Err(error) if error.is_loss() => Ok(()),
        // Without its first commit nothing was ever sent by it.
        Ok(opened) if opened.was_created() => Ok(()),
        Ok(_) => Err(Error::Config(format!(
            "--new-ledger is for a folder whose ledger is lost, and {} can be used: run without --new-ledger to resume, or \
             choose another folder with --out DIR to pay for everything again",
            campaign.ledger.display()
        ))),
        Err(error) => Err(error.into()),
    }
}

/// A new folder of that name, or of the next free one like it.
fn new_folder(home: &Path, name: &str) -> Result<PathBuf, Error> {
    let free = std::iter::once(home.join(name))
        .chain((2..).map(|number| home.join(format!("{name}-{number}"))))
        .find(|folder| !folder.exists())
        .expect("one of endless names is free");
    sink::create_folder(&free)?;
    Ok(free)
}
