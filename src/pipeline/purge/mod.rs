//! Purge: the personal data of a whole campaign, or of single subjects, leaves its ledger and its outputs. What was asked,
//! when, by whom and at what cost stays.
//!
//! | file | noun |
//! |---|---|
//! | `mod` | the order: what leaves, whether it may, and each step |
//! | `copies` | the copies that are out of reach |

mod copies;

use super::{
    campaign::{consent::person, out_folder::claim, place::ledger_in, recorded::campaign_of},
    publish::{PublishOptions, Publisher, Stage},
    status::open_ledger,
    wording::counted,
};
use crate::{
    error::Error,
    files,
    ledger::{self, Leaving, Ledger, PurgeCounts, PurgeStamp, Reading, is_in_use},
    model::{Clock, duration::Age, state::State},
    sink,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// What to purge.
#[derive(Debug, Clone, Copy)]
pub enum PurgeWhat<'a> {
    /// The whole campaign, once its newest data has this age.
    OlderThan(Age),
    /// The rows of these subjects: values of the id column.
    Subjects(&'a [String]),
}

/// What to purge, where, and who does it.
#[derive(Debug, Clone, Copy)]
pub struct PurgeOrder<'a> {
    /// An output folder, or a ledger file.
    pub place: &'a Path,
    /// The output folder, if the ledger is in another one.
    pub out: Option<&'a Path>,
    pub what: PurgeWhat<'a>,
    pub by: &'a str,
    pub reason: Option<&'a str>,
    /// Only say what would be removed.
    pub dry_run: bool,
    /// The ledger may have lost commits, as an older copy has.
    pub accept_older_ledger: bool,
    pub clock: Clock,
}

/// What was purged, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgeReport {
    pub campaign: String,
    pub out: PathBuf,
    pub counts: PurgeCounts,
    /// When the newest row or answer came, in microseconds since 1970.
    pub newest_us: Option<i64>,
    /// When the campaign reaches the age, if it has not yet.
    pub due_us: Option<i64>,
    /// Rows without a subject, including rows that could not be read. A purge of subjects keeps them.
    pub unattributed: u64,
    /// An earlier purge was interrupted. It is finished now, but not by a dry run.
    pub is_unfinished: bool,
    /// Where copies of the data may be that the purge does not reach.
    pub copies: Vec<String>,
}

/// Purges a complete campaign.
///
/// # Errors
/// A run is under way, the campaign is not complete, no row has the subject, or a file cannot be written.
pub fn purge(order: &PurgeOrder<'_>) -> Result<PurgeReport, Error> {
    let by = person(order.by, "who purges")?;
    let reading = if order.accept_older_ledger {
        Reading::open_older(&ledger_in(order.place))?
    } else {
        open_ledger(order.place)?
    };
    let ledger = reading.path().to_owned();
    purge_of(order, by, reading).map_err(|error| error.at_ledger(&ledger))
}

fn purge_of(order: &PurgeOrder<'_>, by: &str, reading: Reading) -> Result<PurgeReport, Error> {
    let ledger = reading.path().to_owned();
    let out = order.out.unwrap_or(files::folder_of(&ledger)).to_owned();
    let now_us = order.clock.now_us();
    let purges = reading.purges()?;
    let is_unfinished = purges.iter().any(|purge| purge.finished_at_us.is_none());
    if is_in_use(&ledger) && !order.dry_run {
        return Err(Error::Config(format!("{}: a run is under way; purge after it has ended", out.display())));
    }
    if purges.is_empty() {
        refuse_incomplete(&reading, &out)?;
    }
    let newest_us = reading.newest_data_us()?;
    let (subjects, due_us) = match order.what {
        PurgeWhat::Subjects(subjects) => (Some(subjects), None),
        PurgeWhat::OlderThan(age) => {
            let due_us = newest_us.map_or(Some(now_us), |newest_us| age.reached_us(newest_us)).unwrap_or(i64::MAX);
            (None, Some(due_us).filter(|due_us| *due_us > now_us))
        }
    };
    let mut report = PurgeReport {
        campaign: reading.identity()?.campaign,
        copies: copies::copies(&reading, &out)?,
        counts: PurgeCounts::default(),
        newest_us,
        due_us,
        unattributed: 0,
        is_unfinished,
        out: out.clone(),
    };
    let leaving = if due_us.is_some() { None } else { Some(reading.leaving(subjects)?) };
    if let Some(Leaving::Subjects { missing, without_subject, .. }) = &leaving {
        // Running the command of an interrupted purge again finds what it has removed already.
        if !missing.is_empty() && !is_unfinished {
            return Err(not_found(&out, subjects.map_or(0, <[String]>::len), missing, *without_subject));
        }
        report.unattributed = *without_subject;
    }
    if let Some(leaving) = &leaving {
        report.counts = reading.purge_counts(leaving)?;
    }
    let is_nothing = report.counts.asks == 0;
    if order.dry_run || (is_nothing && !is_unfinished) {
        return Ok(report);
    }
    let reason = order.reason.map(str::trim).filter(|reason| !reason.is_empty()).map(str::to_owned);
    let stamp = PurgeStamp { by: by.to_owned(), reason, at_us: now_us };
    let identity = reading.identity()?;
    let campaign = campaign_of(&reading, &ledger, &out, None)?;
    drop(reading);
    let opened = Arc::new(Ledger::open_to_purge(&ledger, &identity, order.accept_older_ledger, now_us)?);
    claim(&out, &campaign.name, &opened.reading()?)?;
    if let Some(leaving) = leaving {
        report.counts = opened.purge(leaving, stamp)?;
    }
    remove_files(&opened.reading()?, &out)?;
    let options = PublishOptions { only_again: true, ..PublishOptions::default() };
    let publisher = Publisher::new(&campaign, Arc::clone(&opened), options)?;
    publisher.publish(Stage::Stopped)?;
    drop(publisher);
    drop(opened);
    ledger::finish_purge(&ledger, &identity, now_us)?;
    Ok(report)
}

/// Nothing is removed while a subject is not found: it may be spelled differently than in the input. The message does not repeat it.
fn not_found(out: &Path, subjects: usize, missing: &[usize], without_subject: u64) -> Error {
    let found = match (subjects, missing) {
        (1, _) => "expected a row of this subject, found none".to_owned(),
        (_, missing) => {
            let places: Vec<String> = missing.iter().map(|at| (at + 1).to_string()).collect();
            let of =
                if missing.len() == 1 { "the --subject with this place" } else { "the --subject with these places" };
            format!("expected a row of every subject, found none of {of} in the command: {}", places.join(", "))
        }
    };
    let rows = match without_subject {
        0 => String::new(),
        rows => format!("; {} no subject: look for the person there", counted(rows, "row has", "rows have")),
    };
    Error::Config(format!(
        "{}: {found}; nothing was purged. A subject is a value of the column that [input] id names{rows}",
        out.display()
    ))
}

/// Refuses a campaign that may still change: what it needs for that would be gone.
fn refuse_incomplete(reading: &Reading, out: &Path) -> Result<(), Error> {
    let sums = reading.sums()?;
    let pending: u64 = reading.counts()?.values().map(|counts| counts.pending).sum();
    let is_read = reading.source_ends()?.iter().all(|(source, _)| source.complete);
    let out = out.display();
    let collect = format!("`rescreen collect {out}` may complete it, and says what is left");
    let (fault, advice) = if !is_read || sums.in_state(State::Planned) > 0 {
        ("not all of this one was sent".to_owned(), "complete it with `rescreen run`".to_owned())
    } else if pending > 0 {
        (format!("{} without an answer", counted(pending, "ask is", "asks are")), collect)
    } else if !reading.untold(1, &[])?.is_empty() {
        ("the charge book was not told of all answers yet".to_owned(), collect)
    } else if sums.completed_at_us.is_none() {
        ("its last run did not complete it".to_owned(), collect)
    } else {
        return Ok(());
    };
    Err(Error::Config(format!("{out}: only a complete campaign can be purged, and {fault}; {advice}")))
}

/// Removes the published files that have rows which leave. Publishing writes what is left of them again. If there are images,
/// nothing says which rows they belong to, so all are removed and written again with all rows.
fn remove_files(reading: &Reading, out: &Path) -> Result<(), Error> {
    let mut paths = reading.files_of_unfinished_purges()?;
    let images = sink::image_files(out);
    if !images.is_empty() {
        paths.extend(reading.parts()?.into_iter().flat_map(|part| [part.answers_path(), part.path]));
        paths.extend(images.into_keys());
    }
    Ok(sink::remove_published(out, &paths)?)
}
