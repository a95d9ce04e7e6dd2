//! Status: reads the ledger while a run may be writing it.

use super::{
    campaign::{
        mappings,
        place::ledger_in,
        recorded::{declared_in, limits_in},
        remains::refuse_older_in,
    },
    send::earlier_stop::paused_until,
    shown_command,
    state_folder::state_folder,
};
use crate::{
    catalogue::DeclaredCheck,
    error::Error,
    files,
    ledger::{
        Consent, FailuresByCode, Identity, LedgerError, OpenJobs, Published, PurgeRow, Reading, RunRow, Sums, is_in_use,
    },
    model::{Clock, clock::local_time, printable::printable, state::State},
    sink::MappingTotals,
};
use std::path::{Path, PathBuf};

/// The rate is that of this time, in microseconds.
const RATE_WINDOW_US: i64 = 5 * 60 * 1_000_000;

/// The states of requests that may have been charged and have no answer.
const IN_DOUBT: [State; 3] = [State::Armed, State::InDoubt, State::Repeating];

/// The status of a campaign.
#[derive(Debug, Clone)]
pub struct Status {
    pub ledger: PathBuf,
    pub identity: Identity,
    pub sums: Sums,
    /// A run or another command has the ledger open for writing.
    pub is_in_use: bool,
    /// The last run, if the ledger records any. Its next command is only there if a run on this machine printed it.
    pub last_run: Option<RunRow>,
    /// The rows in result files, by check.
    pub published: Vec<Published>,
    pub failures: FailuresByCode,
    /// Answers a minute in the last minutes of a run that is under way, once it is known.
    pub per_minute: Option<f64>,
    /// The rate limit of the last run, in requests a minute.
    pub per_minute_max: Option<u32>,
    /// When the oldest request in flight was sent, in microseconds since 1970, if a run is under way.
    pub oldest_in_flight_us: Option<i64>,
    /// When the oldest request in doubt was first sent, in microseconds since 1970.
    pub oldest_doubt_us: Option<i64>,
    /// Every source was read to its end.
    pub input_complete: bool,
    /// The recorded evidence of consent.
    pub consents: Vec<Consent>,
    /// Removals of personal data.
    pub purges: Vec<PurgeRow>,
    /// Rows whose answer is paid for and that no rule recognises.
    pub unrecognised: u64,
    /// Published rows that the current declarations judge differently.
    pub judged_differently: u64,
    /// Result files that the next run or `rescreen collect` compares with the current declarations.
    pub parts_to_compare: u64,
    /// The checks whose declaration is the user's.
    pub declared: Vec<DeclaredCheck>,
    /// The rows of each mapping, for the checks whose mapping changed.
    pub mappings: Vec<MappingTotals>,
    /// Jobs at the service without a result.
    pub jobs: OpenJobs,
}

/// The state of a campaign in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CampaignState {
    /// A command has the ledger open for writing.
    Running,
    /// Every row is accounted for.
    Complete,
    /// The last run recorded why it ended.
    Stopped,
    /// The last run recorded no end.
    Killed,
    /// The ledger does not say how its last run ended, because it was killed before it began.
    NotComplete,
}

impl CampaignState {
    pub fn as_str(self) -> &'static str {
        match self {
            CampaignState::Running => "running",
            CampaignState::Complete => "complete",
            CampaignState::Stopped => "stopped",
            CampaignState::Killed => "killed",
            CampaignState::NotComplete => "not_complete",
        }
    }
}

/// Reads the status of an output folder, or of a ledger file.
///
/// # Errors
/// There is no ledger, or it cannot be read.
pub fn status(place: &Path) -> Result<Status, Error> {
    let reading = open_ledger(place)?;
    status_of(&reading).map_err(|error| error.at_ledger(reading.path()))
}

/// Opens the ledger of an output folder, or a ledger file, for reading.
///
/// # Errors
/// The ledger is missing, it is older than the outputs beside it, or it cannot be read.
pub(super) fn open_ledger(place: &Path) -> Result<Reading, Error> {
    let ledger = ledger_in(place);
    let current = || {
        let reading = Reading::open(&ledger)?;
        refuse_older_in(files::folder_of(&ledger), &reading).map(|()| reading)
    };
    current().map_err(|error| error.at_ledger(&ledger))
}

/// The status of the ledger that is read.
///
/// # Errors
/// The ledger cannot be read.
pub(super) fn status_of(reading: &Reading) -> Result<Status, Error> {
    let (ledger, now_us) = (reading.path(), Clock::System.now_us());
    let is_in_use = is_in_use(ledger);
    let sources = reading.sources()?;
    let last_run = last_run(reading)?;
    let began_us = last_run.as_ref().map_or(i64::MIN, |run| run.started_at_us);
    let since_us = now_us.saturating_sub(RATE_WINDOW_US).max(began_us);
    Ok(Status {
        identity: reading.identity()?,
        sums: reading.sums()?,
        is_in_use,
        last_run,
        published: reading.published()?,
        failures: reading.failures_by_code()?,
        per_minute: if is_in_use { reading.rate_since(since_us, now_us)? } else { None },
        per_minute_max: limits_in(reading)?.map(|limits| limits.per_minute),
        oldest_in_flight_us: if is_in_use { reading.oldest_in(&[State::Armed])? } else { None },
        // A request without a reply is in flight while a run is under way, and in doubt otherwise.
        oldest_doubt_us: reading.oldest_in(if is_in_use { &IN_DOUBT[1..] } else { &IN_DOUBT })?,
        input_complete: !sources.is_empty() && sources.iter().all(|source| source.complete),
        consents: reading.consents()?,
        purges: reading.purges()?,
        unrecognised: reading.unrecognised()?,
        judged_differently: reading.judged_differently()?,
        parts_to_compare: reading.parts_to_compare()?.len() as u64,
        declared: declared_in(reading)?,
        mappings: mappings::totals(reading)?,
        jobs: reading.open_jobs(None)?,
        ledger: ledger.to_owned(),
    })
}

/// The last run, without a command that no run on this machine has printed.
fn last_run(reading: &Reading) -> Result<Option<RunRow>, LedgerError> {
    let folder = state_folder(|name| std::env::var_os(name));
    let ledger_id = reading.ledger_id()?;
    let mut last = reading.last_run()?;
    if let Some(run) = &mut last {
        let is_known = |command: &String| shown_command::is_known(folder.as_deref(), &ledger_id, command);
        run.next_command = run.next_command.take().filter(is_known);
    }
    Ok(last)
}

/// The number of failed asks by check and code.
///
/// # Errors
/// The ledger cannot be read.
pub fn failures_by_code(ledger: &Path) -> Result<FailuresByCode, Error> {
    let failures = Reading::open(ledger).and_then(|reading| reading.failures_by_code());
    failures.map_err(|error| Error::from(error).at_ledger(ledger))
}

impl Status {
    /// When the pause that the service asked for ends, in microseconds since 1970. Runs send nothing before that.
    pub fn paused_until_us(&self, now_us: i64) -> Option<i64> {
        paused_until(&self.sums, now_us)
    }

    /// The requests that need no further reply, in percent; `None` while there is none, or the input is not read.
    pub fn percent(&self) -> Option<f64> {
        let (all, open) = (self.sums.requests(), self.sums.open());
        (all > 0 && self.input_complete).then(|| (all - open) as f64 * 100.0 / all as f64)
    }

    /// The requests that are only waiting to be sent or repeated.
    pub fn to_send(&self) -> u64 {
        self.sums.open() - self.sums.in_state(State::Submitted) - self.sums.in_state(State::Quarantined)
    }

    /// How long sending takes at the rate of the last minutes, in microseconds; `None` if no run is under way, or its
    /// rate or the input is not known yet.
    pub fn time_left_us(&self) -> Option<i64> {
        let per_minute = self.per_minute.filter(|rate| *rate > 0.0 && self.is_in_use && self.input_complete)?;
        Some((self.to_send() as f64 * 60e6 / per_minute) as i64)
    }

    /// The requests that may have been charged and have no answer. While a run is under way, a request without a reply
    /// is in flight.
    pub fn in_doubt(&self) -> u64 {
        let states = if self.is_in_use { &IN_DOUBT[1..] } else { &IN_DOUBT };
        states.iter().map(|state| self.sums.in_state(*state)).sum()
    }

    pub fn state(&self) -> CampaignState {
        match &self.last_run {
            _ if self.is_in_use => CampaignState::Running,
            Some(run) if run.end.is_none() => CampaignState::Killed,
            _ if self.sums.completed_at_us.is_some() => CampaignState::Complete,
            Some(_) => CampaignState::Stopped,
            None => CampaignState::NotComplete,
        }
    }
}

/// The recorded evidence of consent, one line each.
pub fn consent_lines(consents: &[Consent]) -> Vec<String> {
    let line = |one: &Consent| {
        let (evidence, by) = (printable(&one.evidence), printable(&one.recorded_by));
        format!("consent of {}: {evidence}; recorded by {by} on {}", one.check, local_time(one.recorded_at_us))
    };
    consents.iter().map(line).collect()
}
