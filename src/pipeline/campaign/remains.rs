//! What an earlier campaign left in an output folder. This module makes one decision: a folder that has results and no
//! usable ledger is never silently reused, because its results were paid for.

use super::{Campaign, out_folder::same_folder};
use crate::{
    error::Error,
    ledger::{self, Identity, Ledger, LedgerError, Reading},
    model::clock::hours_us,
    sink::{self, DatasetKind, Manifest},
};
use std::path::{Path, PathBuf};

/// Refuses an output folder that lost its ledger.
///
/// # Errors
/// There are results, a manifest or a used lock file, but no ledger.
pub fn refuse_lost_ledger(campaign: &Campaign) -> Result<(), Error> {
    let Some(what) = remains(campaign) else { return Ok(()) };
    let owner = sink::claimed_by(&campaign.out)?;
    let of =
        owner.map(|owner| format!(" from a ledger that is lost or in another place (campaign `{}`)", owner.campaign));
    Err(Error::Config(format!(
        "{} has {what}{}, but no ledger ({}), so nothing shows what was paid for. Restore ledger.sqlite and \
         ledger.sqlite-wal from a backup (if the backup is older than the last run, also pass --accept-older-ledger), \
         choose another folder with --out DIR, or pass --new-ledger to set the old results aside and start over, which \
         may pay again",
        campaign.out.display(),
        of.unwrap_or_default(),
        campaign.ledger.display(),
    )))
}

/// The evidence that a ledger was here, if any.
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

/// `--new-ledger`: moves what an earlier campaign left into a dated subfolder, and returns that folder if there was
/// anything to move. A usable ledger is refused: repeating the command must not pay again each time.
///
/// # Errors
/// The ledger is in use or usable, or something cannot be moved.
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
    let beside_ledger = new_folder(home(campaign), &folder_name(campaign))?;
    ledger::set_aside(&campaign.ledger, &beside_ledger)?;
    outputs_follow(campaign, beside_ledger).map(Some)
}

/// Moves a ledger of which nothing was sent, and what was published from it, into a dated subfolder. Returns that folder;
/// `None` if something was sent meanwhile.
///
/// # Errors
/// The ledger is in use, or something cannot be moved.
pub fn set_aside_unsent(campaign: &Campaign) -> Result<Option<PathBuf>, Error> {
    let beside_ledger = new_folder(home(campaign), &folder_name(campaign))?;
    if !ledger::set_aside_unsent(&campaign.ledger, &beside_ledger)? {
        _ = std::fs::remove_dir(&beside_ledger);
        return Ok(None);
    }
    outputs_follow(campaign, beside_ledger).map(Some)
}

/// The folder of the ledger.
fn home(campaign: &Campaign) -> &Path {
    campaign.ledger.parent().unwrap_or(Path::new("."))
}

/// Moves the outputs of a ledger that was set aside in `beside_ledger`: there, or into a subfolder of their own if they are
/// in another folder than the ledger. Returns where they are.
fn outputs_follow(campaign: &Campaign, beside_ledger: PathBuf) -> Result<PathBuf, Error> {
    let folder = if same_folder(home(campaign), &campaign.out) {
        beside_ledger
    } else {
        new_folder(&campaign.out, &folder_name(campaign))?
    };
    sink::set_aside(&campaign.out, &folder, true)?;
    Ok(folder)
}

/// Refuses a ledger that is older than the outputs beside it: they show receipts that it does not have.
///
/// # Errors
/// It has fewer commits than the manifest says, or cannot be read.
pub fn refuse_older(campaign: &Campaign, ledger: &Reading) -> Result<(), Error> {
    if campaign.accept_older_ledger { Ok(()) } else { refuse_older_in(&campaign.out, ledger) }
}

/// The same for the outputs in a folder.
///
/// # Errors
/// Those of [`refuse_older`].
pub fn refuse_older_in(out: &Path, ledger: &Reading) -> Result<(), Error> {
    let (made, left) = (commits_published(out, ledger)?, ledger.commits()?);
    if made <= left {
        return Ok(());
    }
    let manifest = out.join(sink::MANIFEST_NAME);
    let lost = format!("{made} were made when {} was written, {left} are left", manifest.display());
    Err(LedgerError::LogLost { path: ledger.path().to_owned(), lost }.into())
}

/// The commits that a ledger had when its outputs were published; 0 if that is not known.
fn commits_published(out: &Path, ledger: &Reading) -> Result<u64, Error> {
    let mark = Manifest::read(out).ok().flatten().and_then(|manifest| manifest.ledger);
    let id = ledger.ledger_id()?;
    Ok(mark.filter(|mark| mark.id == id).map_or(0, |mark| mark.commits))
}

/// `--accept-older-ledger`: if the outputs are newer than the ledger, sets them all aside and returns the folder they
/// were moved to. The results that the ledger knows are written again from it.
///
/// # Errors
/// The ledger cannot be read, or something cannot be moved.
pub fn set_aside_unknown(campaign: &Campaign, ledger: &Ledger) -> Result<Option<PathBuf>, Error> {
    if !campaign.accept_older_ledger {
        return Ok(None);
    }
    let reading = ledger.reading()?;
    let known = reading.parts()?.into_iter().map(|part| part.path).collect();
    let is_newer = commits_published(&campaign.out, &reading)? > reading.commits()?;
    if !is_newer && !sink::has_other_results(&campaign.out, &known) {
        return Ok(None);
    }
    let folder = new_folder(&campaign.out, &folder_name(campaign))?;
    sink::set_aside(&campaign.out, &folder, false)?;
    Ok(Some(folder))
}

/// How the name of a folder begins to which earlier contents were moved.
const BEFORE: &str = "before-";
const BEFORE_AT: &str = "%Y%m%dT%H%M%SZ";
const BEFORE_AT_LENGTH: usize = "20261125T120000Z".len();

fn folder_name(campaign: &Campaign) -> String {
    format!("{BEFORE}{}", campaign.clock.now().strftime(BEFORE_AT))
}

/// Whether a ledger of this campaign was set aside while the service may still know the keys of its requests.
pub fn lost_a_ledger(campaign: &Campaign) -> bool {
    let since_us = campaign.clock.now_us().saturating_sub(hours_us(campaign.key_life_hours()));
    let set_aside_us = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        // A number follows if two were made in one second.
        let at = name.strip_prefix(BEFORE)?.get(..BEFORE_AT_LENGTH)?;
        let at = jiff::civil::DateTime::strptime(BEFORE_AT, at).ok()?;
        Some(at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_microsecond())
    };
    let folders = std::fs::read_dir(home(campaign)).into_iter().flatten().flatten();
    folders.filter_map(set_aside_us).any(|at_us| at_us > since_us)
}

fn refuse_usable(campaign: &Campaign, identity: &Identity) -> Result<(), Error> {
    let is_older = Reading::find(&campaign.ledger)
        .is_ok_and(|found| found.is_some_and(|ledger| refuse_older(campaign, &ledger).is_err()));
    if is_older {
        return Ok(());
    }
    match Ledger::open(&campaign.ledger, identity, campaign.commit_mode, campaign.clock.now_us()) {
        Err(error) if error.is_loss() => Ok(()),
        // The ledger has no first commit yet, so it never sent anything.
        Ok(opened) if opened.was_created() => Ok(()),
        // It opens, and a run stops at its damaged pages.
        Ok(opened) if opened.reading()?.examine().is_err_and(|error| error.is_loss()) => Ok(()),
        Ok(_) => Err(Error::Config(format!(
            "--new-ledger is for a folder whose ledger is lost, but {} is usable: run without --new-ledger to resume, \
             or choose another folder with --out DIR to pay for everything again",
            campaign.ledger.display()
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Creates a folder with this name, or with the next free number appended.
fn new_folder(home: &Path, name: &str) -> Result<PathBuf, Error> {
    let free = std::iter::once(home.join(name))
        .chain((2..).map(|number| home.join(format!("{name}-{number}"))))
        .find(|folder| !folder.exists())
        .expect("there is always another number");
    sink::create_folder(&free)?;
    Ok(free)
}
