//! Everything that the page shows, read from the ledger and the manifest. All of it is from one state of the ledger, even
//! while a run is writing, so that the figures add up.

use super::{
    answer_times::AnswerTimes,
    changes::Changes,
    findings::{Findings, findings},
    reasons::{self, Reasons},
    timeline::{Throughput, Timeline},
};
use crate::{
    error::Error,
    files::{self, Links},
    ledger::{AttemptSpan, Consent, CorrectionsMade, Counts, DecisionsMade, LedgerError, Reading, RunRow, Shared},
    model::{Credits, key::hex, state::State},
    pipeline::{
        campaign::recorded::{RecordedLimits, limits_in},
        publish::manifest::input,
        status::{Status, status_of},
    },
    sink::{InputTotals, MANIFEST_NAME, Manifest, OutputMode, SinkError},
};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, path::Path};

/// The newest runs that are listed.
pub const RUNS_MAX: u64 = 200;
/// The decisions that are listed.
pub const DECISIONS_MAX: u64 = 200;
/// The largest manifest that is read, as `Manifest::read` limits it.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// What the page shows.
pub struct Figures {
    pub status: Status,
    pub mode: OutputMode,
    pub limits: Option<RecordedLimits>,
    pub checks: Vec<CheckFigures>,
    /// When the first and the last attempt began; `None` if nothing was sent.
    pub span: Option<AttemptSpan>,
    /// Attempts over time; `None` if nothing was sent.
    pub throughput: Option<Throughput>,
    /// Credits by bucket of the throughput. Charges without a time are in `undated`.
    pub charged: Vec<u64>,
    pub undated: u64,
    pub reasons: Reasons,
    /// The newest runs, in the order in which they began.
    pub runs: Vec<RunFigures>,
    pub run_count: u64,
    pub decisions: Vec<DecisionsMade>,
    pub decision_count: u64,
    pub corrections: Vec<CorrectionsMade>,
    pub consents: Vec<Consent>,
    pub input: InputTotals,
    pub published: Option<PublishedFiles>,
    /// What changed since an earlier round, if one is named.
    pub changes: Option<Changes>,
}

/// A check of the campaign.
#[derive(Default)]
pub struct CheckFigures {
    /// Its number in the ledger.
    pub id: i64,
    /// Its name in the campaign.
    pub name: String,
    pub counts: Counts,
    pub findings: Findings,
    pub shared: Shared,
    /// Asks that wait, by the state of their request.
    pub waiting: BTreeMap<State, u64>,
    pub times: AnswerTimes,
}

impl CheckFigures {
    /// All asks of the check.
    pub fn asks(&self) -> u64 {
        self.counts.asks()
    }
}

/// A run, and what was sent while it lasted.
pub struct RunFigures {
    pub run: RunRow,
    pub attempts: u64,
    pub answers: u64,
}

/// The published files.
pub struct PublishedFiles {
    pub manifest: Manifest,
    /// SHA-256 of the manifest, in hexadecimal.
    pub sha256: String,
}

impl Figures {
    /// Reads a ledger and the manifest in `out`.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn read(reading: &Reading, out: &Path) -> Result<Figures, Error> {
        reading.hold_still()?;
        let figures = Figures::read_still(reading, out);
        reading.move_on()?;
        figures
    }

    /// The same from a reading that holds still.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn read_still(reading: &Reading, out: &Path) -> Result<Figures, Error> {
        let status = status_of(reading)?;
        if status.purges.iter().any(|purge| purge.finished_at_us.is_none()) {
            return Err(LedgerError::PurgeUnfinished { path: reading.path().to_owned() }.into());
        }
        let mut checks = checks(reading, out)?;
        reading.answer_latencies(|check_use, latency_ms, answers| {
            if let Some(check) = checks.iter_mut().find(|check| Some(check.id) == check_use) {
                check.times.add(latency_ms, answers);
            }
        })?;
        let mut reasons = Reasons::new();
        reading.failed_heads(|ask| -> Result<(), Error> {
            reasons::count(&mut reasons, &ask);
            Ok(())
        })?;
        let (throughput, charged, undated) = over_time(reading)?;
        let (decisions, decision_count) = reading.decisions(DECISIONS_MAX)?;
        Ok(Figures {
            mode: OutputMode::of(status.identity.mode, status.sums.simulated == Some(true) || is_rehearsal(&status)),
            limits: limits_in(reading)?,
            runs: runs(reading)?,
            run_count: reading.run_count()?,
            consents: reading.consents()?,
            input: input(reading)?,
            published: published(out)?,
            changes: None,
            status,
            checks,
            span: reading.attempt_span()?,
            throughput,
            charged,
            undated,
            reasons,
            decisions,
            decision_count,
            corrections: reading.corrections()?,
        })
    }

    /// The sum of a count over all checks.
    pub fn sum(&self, of: fn(&CheckFigures) -> u64) -> u64 {
        self.checks.iter().map(of).sum()
    }

    /// The asks that need no request of their own, as the summary of a run counts them.
    pub fn duplicates(&self) -> u64 {
        self.status.sums.duplicates()
    }

    /// Whether the manifest counts what the ledger counts.
    pub fn is_published(&self) -> bool {
        let Some(published) = &self.published else { return false };
        published.manifest.input == self.input
            && published.manifest.totals.len() == self.checks.len()
            && published.manifest.totals.iter().zip(&self.checks).all(|(totals, check)| {
                let Counts { results, failures, pending, skipped, purged, credits, by_verdict } = &check.counts;
                (&totals.check, totals.results, totals.failures) == (&check.name, *results, *failures)
                    && (totals.pending, totals.skipped, totals.credits) == (*pending, *skipped, credits.0)
                    && (totals.purged, &totals.by_verdict) == (*purged, by_verdict)
            })
    }

    /// The built-in simulator answers, without a rate limit.
    pub fn is_rehearsal(&self) -> bool {
        is_rehearsal(&self.status)
    }
}

fn is_rehearsal(status: &Status) -> bool {
    status.identity.origin == crate::pipeline::campaign::SIMULATED_ORIGIN
}

fn checks(reading: &Reading, out: &Path) -> Result<Vec<CheckFigures>, Error> {
    let (mut counts, mut findings) = (reading.counts()?, findings(reading, out)?);
    let (mut shared, waiting) = (reading.shared()?, reading.waiting()?);
    let checks = reading.check_uses()?.into_iter().map(|(id, row)| CheckFigures {
        id,
        name: row.name,
        counts: counts.remove(&Some(id)).unwrap_or_default(),
        findings: findings.remove(&id).unwrap_or_default(),
        shared: shared.remove(&id).unwrap_or_default(),
        waiting: waiting.iter().filter(|((of, _), _)| *of == id).map(|((_, state), asks)| (*state, *asks)).collect(),
        times: AnswerTimes::default(),
    });
    Ok(checks.collect())
}

type OverTime = (Option<Throughput>, Vec<u64>, u64);

/// Attempts and credits over time.
fn over_time(reading: &Reading) -> Result<OverTime, Error> {
    let timeline = reading.attempt_span()?.map(Timeline::of);
    let mut charged = vec![0_u64; timeline.map_or(0, |timeline| timeline.count)];
    let mut undated = 0_u64;
    reading.every_charge(|charge| {
        let Credits(credits) = charge.credits;
        match (timeline, charge.at_us) {
            (Some(timeline), Some(at_us)) => {
                let sum = &mut charged[timeline.bucket(at_us)];
                *sum = sum.saturating_add(credits);
            }
            _ => undated = undated.saturating_add(credits),
        }
    })?;
    let Some(timeline) = timeline else { return Ok((None, charged, undated)) };
    let mut throughput = Throughput::new(timeline);
    reading.attempts_in(timeline.interval_us(), |interval, attempts| throughput.add(interval, attempts))?;
    Ok((Some(throughput), charged, undated))
}

fn runs(reading: &Reading) -> Result<Vec<RunFigures>, Error> {
    let mut runs: Vec<RunFigures> =
        reading.last_runs(RUNS_MAX)?.into_iter().rev().map(|run| RunFigures { run, attempts: 0, answers: 0 }).collect();
    // An attempt belongs to the last run that began before it: runs of one ledger never overlap.
    reading.every_attempt(|armed_at_us, is_answered| {
        let began = runs.partition_point(|one| one.run.started_at_us <= armed_at_us);
        if let Some(one) = began.checked_sub(1).and_then(|at| runs.get_mut(at)) {
            one.attempts += 1;
            one.answers += u64::from(is_answered);
        }
    })?;
    Ok(runs)
}

/// The manifest with the digest of its file. A run may replace it meanwhile.
fn published(out: &Path) -> Result<Option<PublishedFiles>, Error> {
    let mut sha256 = manifest_digest(out)?;
    loop {
        let manifest = Manifest::read(out)?;
        let again = manifest_digest(out)?;
        if again == sha256 {
            return Ok(manifest.zip(sha256).map(|(manifest, sha256)| PublishedFiles { manifest, sha256 }));
        }
        sha256 = again;
    }
}

fn manifest_digest(out: &Path) -> Result<Option<String>, Error> {
    let path = out.join(MANIFEST_NAME);
    let found = files::found(&path, Links::Refused, MANIFEST_BYTES_MAX);
    let found = found.map_err(|fault| SinkError::Storage { path, step: "reading", fault })?;
    Ok(found.map(|bytes| hex(&Sha256::digest(&bytes))))
}
