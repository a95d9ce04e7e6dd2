//! Two rounds, check by check: both sides are read at the same time, and the asks of one check are in memory. Decides what
//! can be compared at all: rounds of one mode that have subjects.

use super::{
    answers::AnswersCompared,
    change::{Change, Outcome, change},
    round::{OfCheck, Round},
    side::{Record, compared, pairs},
};
use crate::{error::Error, model::key::hex, sink::OutputMode};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    thread,
};

/// What is compared.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// Compares rounds of different modes, such as sandbox and production.
    pub across_modes: bool,
    /// Only these checks; empty means all.
    pub checks: Vec<String>,
}

/// What is known of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedRound {
    pub campaign: String,
    pub mode: OutputMode,
    /// Nothing was pending when it was published.
    pub complete: bool,
    /// Rows that could not be read. They have no subject, so they are not compared.
    pub unreadable: u64,
    /// Asks of rows that were purged, so that their subjects seem to be missing from it.
    pub purged: u64,
}

/// What changed between two rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub old: ComparedRound,
    pub new: ComparedRound,
    /// By name.
    pub checks: Vec<CheckComparison>,
}

impl Comparison {
    /// The number of asks that changed.
    pub fn changed(&self) -> u64 {
        let counts = self.checks.iter().flat_map(|check| &check.counts);
        counts.filter(|(change, _)| change.is_change()).map(|(_, count)| count).sum()
    }

    /// The number of asks with this change.
    pub fn count(&self, change: Change) -> u64 {
        self.checks.iter().map(|check| check.count(change)).sum()
    }

    /// Whether the first answer of the old round came after the first one of the new round. The last one may come later,
    /// because failed rows may be corrected at any time.
    pub fn is_reversed(&self) -> bool {
        let first =
            |of: fn(&CheckComparison) -> &CheckInRound| self.checks.iter().filter_map(|one| of(one).first_us).min();
        let (old, new) = (first(|check| &check.old), first(|check| &check.new));
        new.is_some() && old > new
    }
}

/// What changed for one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckComparison {
    pub check: String,
    /// The number of asks of each kind that has any.
    pub counts: BTreeMap<Change, u64>,
    pub old: CheckInRound,
    pub new: CheckInRound,
    /// Subjects that occur several times in a round: their first asks are compared with each other, then the second
    /// ones.
    pub repeated_subjects: u64,
    pub answers: AnswersCompared,
}

impl CheckComparison {
    pub fn count(&self, change: Change) -> u64 {
        self.counts.get(&change).copied().unwrap_or_default()
    }
}

/// A check in one of the rounds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckInRound {
    /// Asks with a subject.
    pub asks: u64,
    /// Rows without a subject, which are not compared.
    pub without_subject: u64,
    /// The results by version of the service's list. Empty if answers name none.
    pub versions: BTreeMap<String, u64>,
    /// When the first and the last answer arrived, in microseconds since 1970.
    pub first_us: Option<i64>,
    pub last_us: Option<i64>,
}

impl CheckInRound {
    /// Whether the round has any row of the check.
    pub fn is_there(&self) -> bool {
        self.asks > 0 || self.without_subject > 0
    }
}

/// An ask in one round.
#[derive(Debug, Clone, Copy)]
pub struct AskInRound<'a> {
    pub outcome: Outcome,
    /// The finding of a result, the code of a failure, the reason of a pending or skipped row.
    pub word: &'a str,
    pub completed_at_us: Option<i64>,
    pub source: &'a str,
    pub row_number: u64,
    pub(super) result_id: [u8; 16],
}

impl AskInRound<'_> {
    /// The `result_id` of its row in the outputs.
    pub fn result_id(&self) -> String {
        hex(&self.result_id)
    }
}

/// An ask of both rounds, or of one.
#[derive(Debug, Clone, Copy)]
pub struct ComparedAsk<'a> {
    pub check: &'a str,
    pub subject: &'a str,
    pub change: Change,
    pub old: Option<AskInRound<'a>>,
    pub new: Option<AskInRound<'a>>,
}

/// Compares two published folders. Hands out every ask, unchanged ones too, in the order of check names and subjects.
///
/// # Errors
/// A folder cannot be read or was published while a run was under way, the modes differ, or a round has no subjects; or
/// the error of `each`.
pub fn compare(
    old: &Path,
    new: &Path,
    options: &CompareOptions,
    each: &mut dyn FnMut(&ComparedAsk<'_>) -> Result<(), Error>,
) -> Result<Comparison, Error> {
    let (mut old, mut new) = (Round::open(old)?, Round::open(new)?);
    check_modes(&old, &new, options)?;
    in_two_threads(|| old.read_others(), || new.read_others())?;
    let (of_old, of_new) = (old.checks(), new.checks());
    if of_old.is_disjoint(&of_new) && !of_old.is_empty() && !of_new.is_empty() {
        let listed = |checks: &BTreeSet<String>| checks.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(Error::Config(format!(
            "expected two rounds of the same checks, found {} in {} and {} in {}",
            listed(&of_old),
            old.folder.path().display(),
            listed(&of_new),
            new.folder.path().display()
        )));
    }
    let checks: BTreeSet<String> = of_old.into_iter().chain(of_new).collect();
    let wanted = chosen(checks, &options.checks)?;
    let mut compared_checks = Vec::new();
    for check in wanted {
        let (of_old, of_new) = in_two_threads(|| old.read(&check), || new.read(&check))?;
        let answers = AnswersCompared::of(&old, &new, &check);
        compared_checks.push(compare_check(check, (&old, &of_old), (&new, &of_new), answers, each)?);
    }
    for round in [&old, &new] {
        if round.has_no_subjects() {
            return Err(Error::Config(format!(
                "{}: expected subjects, found rows without any: rounds are compared by the column that `[input] id` (or \
                 --id) names. It cannot be added to a campaign that has begun; set it for the next rounds",
                round.folder.path().display()
            )));
        }
    }
    let known = |round: &Round| {
        let manifest = round.folder.manifest();
        let (campaign, mode, complete) = (manifest.campaign.clone(), manifest.mode, manifest.complete);
        let purged = manifest.totals.iter().map(|totals| totals.purged).sum();
        ComparedRound { campaign, mode, complete, unreadable: round.unreadable(), purged }
    };
    Ok(Comparison { old: known(&old), new: known(&new), checks: compared_checks })
}

/// The chosen checks among those of both rounds.
fn chosen(checks: BTreeSet<String>, wanted: &[String]) -> Result<BTreeSet<String>, Error> {
    if wanted.is_empty() {
        return Ok(checks);
    }
    match wanted.iter().find(|name| !checks.contains(*name)) {
        None => Ok(wanted.iter().cloned().collect()),
        Some(unknown) => {
            let known: Vec<&str> = checks.iter().map(String::as_str).collect();
            Err(Error::Config(format!("expected a check of the rounds ({}), found `{unknown}`", known.join(", "))))
        }
    }
}

/// Invented answers say nothing about real ones.
fn check_modes(old: &Round, new: &Round, options: &CompareOptions) -> Result<(), Error> {
    let (mode_of_old, mode_of_new) = (old.folder.manifest().mode, new.folder.manifest().mode);
    if mode_of_old == mode_of_new || options.across_modes {
        return Ok(());
    }
    Err(Error::Config(format!(
        "expected two rounds of one mode, found {} in {} and {} in {}; to compare them nevertheless: --across-modes",
        mode_of_old.as_str(),
        old.folder.path().display(),
        mode_of_new.as_str(),
        new.folder.path().display()
    )))
}

/// Reads both sides at the same time, because users' machines have at least two cores.
fn in_two_threads<T: Send>(
    old: impl FnOnce() -> Result<T, Error> + Send,
    new: impl FnOnce() -> Result<T, Error>,
) -> Result<(T, T), Error> {
    thread::scope(|scope| {
        let beside = scope.spawn(old);
        let new = new();
        let old = beside.join().map_err(|_| Error::Internal("a thread of the comparison panicked".to_owned()))??;
        Ok((old, new?))
    })
}

fn compare_check(
    check: String,
    (old, of_old): (&Round, &OfCheck),
    (new, of_new): (&Round, &OfCheck),
    answers: AnswersCompared,
    each: &mut dyn FnMut(&ComparedAsk<'_>) -> Result<(), Error>,
) -> Result<CheckComparison, Error> {
    let (mut counts, mut end) = (BTreeMap::new(), Ok(()));
    let digests = answers == AnswersCompared::Yes;
    let repeated_subjects = pairs(&of_old.side, &of_new.side, |before, now| {
        let change = change(
            before.map(|one| compared(one, &old.words, digests)),
            now.map(|one| compared(one, &new.words, digests)),
        );
        let Some(change) = change else { return };
        *counts.entry(change).or_default() += 1;
        let subject = match (before, now) {
            (_, Some(now)) => of_new.side.subject(now),
            (Some(before), None) => of_old.side.subject(before),
            (None, None) => return,
        };
        if end.is_ok() {
            let (old, new) = (before.map(|one| shown(one, old)), now.map(|one| shown(one, new)));
            end = each(&ComparedAsk { check: &check, subject, change, old, new });
        }
    });
    end?;
    let known = |round: &Round, of_check: &OfCheck| CheckInRound {
        asks: of_check.side.records.len() as u64,
        without_subject: round.without_subject(&check),
        versions: of_check.versions.clone(),
        first_us: of_check.first_us,
        last_us: of_check.last_us,
    };
    let (old, new) = (known(old, of_old), known(new, of_new));
    Ok(CheckComparison { check, counts, old, new, repeated_subjects, answers })
}

fn shown<'a>(record: &Record, round: &'a Round) -> AskInRound<'a> {
    AskInRound {
        outcome: record.outcome,
        word: round.words.text(record.word),
        completed_at_us: record.completed_at_us,
        source: round.sources.text(record.source),
        row_number: record.row_number,
        result_id: record.result_id,
    }
}
