//! Status: reads the ledger while a run may be writing it.

use super::send::earlier_stop::paused_until;
use crate::{
    error::Error,
    ledger::{Identity, Reading, Sums},
    model::state::State,
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
            "credits_charged": self.sums.account.charged,
            "credits_held": self.sums.account.held,
            "balance": self.sums.account.reading.map(|reading| reading.balance),
            "input_complete": self.input_complete,
            "oldest_doubt_us": self.oldest_doubt_us,
            "paused_until_us": self.sums.paused_until_us,
            "completed_at_us": self.sums.completed_at_us,
        })
    }
}
