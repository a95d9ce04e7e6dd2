//! Evidence: a folder or an archive for an auditor. It says who ran a campaign, when and with which settings, and what became of
//! each row and each request; its digests show any later change. Without the published files, it has no value of a row and no answer.
//!
//! | file | noun |
//! |---|---|
//! | `bundle`, `checksums` | the folder while it is written; the digests of its files, and the seal |
//! | `facts`, `checks` | `evidence.json` and `checks.json` |
//! | `explained` | the page that explains it |
//! | `archive` | the folder as one file |
//! | `verify` | whether evidence, or the published files, are unchanged |

mod archive;
mod bundle;
mod checks;
mod checksums;
mod explained;
mod facts;
mod verify;

pub use verify::{Fault, Subject, Verified, VerifyOrder, verify};

use super::{
    campaign::{consent::person, place::decisions_file, recorded::decisions_in},
    export::NewPlace,
    publish::acceptance::decisions_of,
    report_page::{figures::Figures, page, words::exact_time},
    status::open_ledger,
};
use crate::{
    error::Error,
    files::{self, Links},
    ledger::{Reading, is_in_use},
    model::{Clock, Stop, key::hex},
    sink::{MANIFEST_NAME, Manifest, OutputMode, PublishedFolder, SinkError},
};
use bundle::{Bundle, ChainEnd};
use facts::{ASKS, DECISIONS, FACTS, Facts, Making, OUTPUTS, PAGE, REQUESTS, campaign_file};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// What to make evidence of, and where.
#[derive(Clone)]
pub struct EvidenceOrder<'a> {
    /// An output folder, or a ledger file.
    pub place: &'a Path,
    /// The output folder, if the ledger is in another one.
    pub out: Option<&'a Path>,
    /// The folder or archive to create; without it, a folder beside the output folder.
    pub to: Option<&'a Path>,
    /// Include the published files.
    pub with_outputs: bool,
    pub made_by: &'a str,
    pub clock: Clock,
}

/// Evidence that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceMade {
    pub path: PathBuf,
    pub campaign: String,
    pub mode: OutputMode,
    pub complete: bool,
    pub rows: u64,
    pub asks: u64,
    pub requests: u64,
    pub credits: u64,
    /// The number and size of its files.
    pub files: u64,
    pub bytes: u64,
    /// The digest that covers all of them.
    pub seal: String,
}

/// Makes the evidence of a campaign.
///
/// # Errors
/// A run is under way, the published files are not those of the ledger, something has the name of the evidence, or it cannot be
/// written.
pub fn evidence(order: &EvidenceOrder<'_>, interrupted: &dyn Fn() -> Option<Stop>) -> Result<EvidenceMade, Error> {
    let made_by = person(order.made_by, "who makes the evidence")?;
    let order = &EvidenceOrder { made_by, ..*order };
    let reading = open_ledger(order.place)?;
    let ledger = reading.path().to_owned();
    let out = order.out.unwrap_or(files::folder_of(&ledger));
    if is_in_use(&ledger) {
        return Err(Error::Config(format!(
            "{}: a run is under way; make the evidence after it has ended",
            out.display()
        )));
    }
    reading.hold_still()?;
    let figures = Figures::read_still(&reading, out).map_err(|error| error.at_ledger(&ledger))?;
    let (manifest, text) = manifest_of(&figures, out)?;
    let to = order.to.map_or_else(|| beside(out), Path::to_owned);
    let is_archive = archive::is_named(&to);
    let place = NewPlace::begin(&to, is_archive)?;
    // The files are apart from those of an unfinished export.
    let folder = place.folder().join(if is_archive { "evidence" } else { "" });
    let mut bundle = Bundle::new(&folder);
    let facts = fill(&mut bundle, order, &reading, &figures, (&manifest, &text, out), interrupted)?;
    let (files, bytes, seal) = bundle.seal()?;
    if is_archive {
        const WHOLE: &str = "evidence.zip";
        archive::write(&folder, &place.folder().join(WHOLE), order.clock.now_us())?;
        place.end_with(WHOLE)?;
    } else {
        place.end()?;
    }
    let sums = &figures.status.sums;
    Ok(EvidenceMade {
        path: to,
        campaign: facts.campaign,
        mode: facts.mode,
        complete: facts.complete,
        rows: sums.rows,
        asks: facts.asks_end.lines,
        requests: facts.requests_end.lines,
        credits: sums.account.charged.0,
        files,
        bytes,
        seal,
    })
}

/// Adds every file but the list of digests.
fn fill(
    bundle: &mut Bundle,
    order: &EvidenceOrder<'_>,
    reading: &Reading,
    figures: &Figures,
    (manifest, text, out): (&Manifest, &[u8], &Path),
    interrupted: &dyn Fn() -> Option<Stop>,
) -> Result<Facts, Error> {
    let each = || interrupted().map_or(Ok(()), |stop| Err(Error::Stopped(stop)));
    let asks_end = trail(bundle, ASKS, |lines| reading.ask_trail(|ask| each().and_then(|()| lines.add(&ask))))?;
    let requests_end =
        trail(bundle, REQUESTS, |lines| reading.request_trail(|request| each().and_then(|()| lines.add(&request))))?;
    let decisions_end = decisions(bundle, reading)?;
    bundle.add(&format!("{OUTPUTS}/{MANIFEST_NAME}"), text)?;
    published(bundle, manifest, out, order.with_outputs, &each)?;
    for (number, text) in reading.campaign_texts()? {
        bundle.add(&campaign_file(number), text.as_bytes())?;
    }
    bundle.add(checks::CHECKS, &pretty(&checks::checks(reading)?)?)?;
    let made_at_us = order.clock.now_us();
    let making = Making {
        made_at_us,
        made_by: order.made_by.to_owned(),
        asks_end,
        requests_end,
        decisions_end,
        has_outputs: order.with_outputs,
    };
    let facts = Facts::of(reading, figures, manifest, making)?;
    verify::adds_up(&facts, manifest).map_err(Error::Internal)?;
    bundle.add(FACTS, &pretty(&facts)?)?;
    let sections = explained::sections(figures, &facts);
    let page = page::page(figures, page::PageKind::Evidence, &sections, &exact_time(made_at_us))?;
    bundle.add(PAGE, page.as_bytes())?;
    Ok(facts)
}

/// The folder of the evidence, if the user names none.
fn beside(out: &Path) -> PathBuf {
    // The path `.` does not end with the name of the folder.
    let real = if out.file_name().is_none() { out.canonicalize().ok() } else { None };
    let out = real.as_deref().unwrap_or(out);
    let mut name = out.file_name().unwrap_or("campaign".as_ref()).to_owned();
    name.push(".evidence");
    files::folder_of(out).join(name)
}

/// The manifest, which must count what the ledger counts, and its text.
fn manifest_of(figures: &Figures, out: &Path) -> Result<(Manifest, Vec<u8>), Error> {
    let shown = out.display();
    let published = figures.published.as_ref().ok_or_else(|| {
        Error::Config(format!(
            "{shown}: expected the outputs of the campaign, found no {MANIFEST_NAME}; name their folder, or the campaign file with -c, \
             if they are elsewhere; otherwise `rescreen collect` publishes"
        ))
    })?;
    if published.manifest.under_way || !figures.is_published() {
        return Err(Error::Config(format!(
            "{shown}: expected the outputs of all that the ledger has, found older ones; `rescreen collect` publishes"
        )));
    }
    let path = out.join(MANIFEST_NAME);
    let text = files::read(&path, Links::Refused, u64::MAX);
    let text = text.map_err(|fault| SinkError::Storage { path: path.clone(), step: "reading", fault })?;
    if hex(&Sha256::digest(&text)) != published.sha256 {
        return Err(SinkError::Changed { path }.into());
    }
    Ok((published.manifest.clone(), text))
}

fn trail(
    bundle: &mut Bundle,
    path: &str,
    fill: impl FnOnce(&mut bundle::NewLines) -> Result<(), Error>,
) -> Result<ChainEnd, Error> {
    let mut lines = bundle.lines(path)?;
    fill(&mut lines)?;
    bundle.end_lines(path, lines)
}

/// Adds the decisions about matches, also those that were made after the campaign was published.
fn decisions(bundle: &mut Bundle, reading: &Reading) -> Result<Option<ChainEnd>, Error> {
    let file = decisions_file(decisions_in(reading)?.as_deref(), reading.path());
    let Some(decisions) = decisions_of(reading, &file)? else { return Ok(None) };
    let head = decisions.head();
    bundle.copy_lines(&file, DECISIONS, head.count)?;
    Ok(Some(ChainEnd { lines: head.count, chain: head.chain.clone() }))
}

/// Compares the published files with the manifest, and adds them if they are to be included.
fn published(
    bundle: &mut Bundle,
    manifest: &Manifest,
    out: &Path,
    included: bool,
    each: &dyn Fn() -> Result<(), Error>,
) -> Result<(), Error> {
    let folder = PublishedFolder::open(out)?;
    for part in manifest.all_files() {
        each()?;
        let (file, path) = (folder.part(&part)?, out.join(&part.path));
        if included {
            bundle.copy(file, &path, &format!("{OUTPUTS}/{}", part.path), &part.sha256)?;
        } else {
            let digest = files::sha256_of(file);
            let digest = digest.map_err(|fault| SinkError::Storage { path: path.clone(), step: "reading", fault })?;
            if digest != part.sha256 {
                return Err(SinkError::Changed { path }.into());
            }
        }
    }
    Ok(())
}

fn pretty(value: &impl serde::Serialize) -> Result<Vec<u8>, Error> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|fault| Error::Internal(fault.to_string()))?;
    text.push(b'\n');
    Ok(text)
}
