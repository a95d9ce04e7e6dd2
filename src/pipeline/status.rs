//! Status: reads the ledger while a run may be writing it.

use super::{campaign::recorded::declared_in, send::earlier_stop::paused_until};
use crate::{
    catalogue::DeclaredCheck,
    error::Error,
    ledger::{Consent, Identity, OpenJobs, Reading, Sums},
    model::{clock::local_time, printable::printable, state::State},
};
use std::path::{Path, PathBuf};

/// The status of a campaign.
#[derive(Debug, Clone)]
pub struct Status {
    pub ledger: PathBuf,
    pub identity: Identity,
    pub sums: Sums,
    pub oldest_doubt_us: Option<i64>,
    /// Every source was read to its end.
    pub input_complete: bool,
    /// The recorded evidence of consent.
    pub consents: Vec<Consent>,
    /// Rows whose answer is paid for and that no rule recognises.
    pub unrecognised: u64,
    /// Published rows that the current declarations judge differently.
    pub judged_differently: u64,
    /// Result files that the next run or `rescreen collect` compares with the current declarations.
    pub parts_to_compare: u64,
    /// The checks whose declaration is the user's.
    pub declared: Vec<DeclaredCheck>,
    /// Jobs at the service without a result.
    pub jobs: OpenJobs,
}

/// Reads the status of an output folder, or of a ledger file.
///
/// # Errors
/// There is no ledger, or it cannot be read.
pub fn status(place: &Path) -> Result<Status, Error> {
    let ledger = ledger_in(place);
    let reading = Reading::open(&ledger)?;
    let sources = reading.sources()?;
    Ok(Status {
        identity: reading.identity()?,
        sums: reading.sums()?,
        oldest_doubt_us: reading.oldest_doubt_us()?,
        input_complete: !sources.is_empty() && sources.iter().all(|source| source.complete),
        consents: reading.consents()?,
        unrecognised: reading.unrecognised()?,
        judged_differently: reading.judged_differently()?,
        parts_to_compare: reading.parts_to_compare()?.len() as u64,
        declared: declared_in(&reading)?,
        jobs: reading.open_jobs(None)?,
        ledger,
    })
}

/// The path of the ledger in an output folder. A path that is not a folder is returned unchanged.
pub fn ledger_in(place: &Path) -> PathBuf {
    if place.is_dir() { place.join("ledger.sqlite") } else { place.to_owned() }
}

impl Status {
    /// When the pause that the service asked for ends, in microseconds since 1970. Runs send nothing before that.
    pub fn paused_until_us(&self, now_us: i64) -> Option<i64> {
        paused_until(&self.sums, now_us)
    }

    /// The status as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let states = State::ALL.map(|state| (state.as_str().to_owned(), self.sums.in_state(state).into()));
        serde_json::json!({
            "campaign": self.identity.campaign,
            "mode": self.identity.mode,
            "service": self.identity.origin,
            "simulated": self.sums.simulated,
            "rows": self.sums.rows,
            "unreadable_rows": self.sums.unreadable,
            "asks": self.sums.asks,
            "unmapped": self.sums.unmapped,
            "skipped": self.sums.skipped,
            "requests": serde_json::Map::from_iter(states),
            "attempts": self.sums.attempts,
            "unrecognised": self.unrecognised,
            "judged_differently": self.judged_differently,
            "parts_to_compare": self.parts_to_compare,
            "declared": self.declared,
            "credits_charged": self.sums.account.charged,
            "credits_held": self.sums.account.held,
            "balance": self.sums.account.reading.map(|reading| reading.balance),
            "input_complete": self.input_complete,
            "consents": self.consents.iter().map(consent).collect::<Vec<_>>(),
            "datasets": self.sums.datasets,
            "oldest_job_us": self.jobs.oldest_us,
            "next_question_us": self.jobs.next_us,
            "oldest_doubt_us": self.oldest_doubt_us,
            "paused_until_us": self.sums.paused_until_us,
            "completed_at_us": self.sums.completed_at_us,
        })
    }
}

fn consent(one: &Consent) -> serde_json::Value {
    serde_json::json!({
        "check": one.check,
        "evidence": one.evidence,
        "recorded_by": one.recorded_by,
        "recorded_at_us": one.recorded_at_us,
    })
}

/// The recorded evidence of consent, one line each.
pub fn consent_lines(consents: &[Consent]) -> Vec<String> {
    let line = |one: &Consent| {
        let (evidence, by) = (printable(&one.evidence), printable(&one.recorded_by));
        format!("consent of {}: {evidence}; recorded by {by} on {}", one.check, local_time(one.recorded_at_us))
    };
    consents.iter().map(line).collect()
}
