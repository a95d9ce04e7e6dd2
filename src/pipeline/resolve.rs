//! Resolve: a person's decision about requests that may have been charged and can no longer be asked for. Nothing here
//! sends; what is to be sent again goes with the next run.

use super::status::ledger_in;
use crate::{
    error::Error,
    ledger::{Decision, Ledger, LedgerError, Quarantined, Reading, Seat},
    mapping::key_of_generation,
    model::{Clock, KeySecret, RequestId},
};
use std::path::Path;

/// The quarantined requests of an output folder.
///
/// # Errors
/// There is no ledger, or it cannot be read.
pub fn quarantined(place: &Path) -> Result<Vec<Quarantined>, Error> {
    Ok(Reading::open(&ledger_in(place))?.quarantined()?)
}

/// A decision with what is recorded of it.
#[derive(Debug, Clone, Copy)]
pub struct Resolution<'a> {
    pub decision: Decision,
    pub reason: &'a str,
    pub decided_by: &'a str,
    /// The campaign's, where it has one.
    pub secret: Option<&'a KeySecret>,
    pub clock: Clock,
    pub seat: Seat,
}

/// Decides about quarantined requests: all of them, or those named. Gives how many moved.
///
/// # Errors
/// No reason, a request that is not quarantined, or a key secret that is not the campaign's.
pub async fn decide(place: &Path, only: &[RequestId], resolution: &Resolution<'_>) -> Result<u64, Error> {
    let Resolution { decision, reason, decided_by, secret, clock, seat } = *resolution;
    if reason.trim().is_empty() {
        return Err(Error::Config("a decision wants its reason: --reason TEXT".to_owned()));
    }
    let path = ledger_in(place);
    let reading = Reading::open(&path)?;
    let recorded = reading.identity()?;
    let quarantined = reading.quarantined()?;
    drop(reading);
    if let Some(other) = only.iter().find(|id| !quarantined.iter().any(|one| one.request == **id)) {
        return Err(Error::Config(format!(
            "request {} is not quarantined; `rescreen resolve --list` shows which are",
            other.0
        )));
    }
    let identity = crate::ledger::Identity { key_secret: secret.map(KeySecret::fingerprint), ..recorded.clone() };
    let ledger = Ledger::open(&path, &identity, seat, clock.now_us())?;
    let mut moved = 0;
    for one in quarantined.into_iter().filter(|one| only.is_empty() || only.contains(&one.request)) {
        let damaged = |error| LedgerError::Damaged(format!("the fields of a request: {error}"));
        let fields = serde_json::from_str(&one.fields).map_err(damaged)?;
        let generation = one.generation + 1;
        let key = key_of_generation(&recorded.campaign, recorded.mode, &one.sold, &fields, generation, secret);
        let (reason, decided_by) = (reason.trim().to_owned(), decided_by.to_owned());
        ledger.decide(one.request, decision, key, reason, decided_by, clock.now_us()).await?;
        moved += 1;
    }
    Ok(moved)
}
