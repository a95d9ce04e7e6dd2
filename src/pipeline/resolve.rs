//! Resolve: a person's decision about requests that may have been charged and have no answer, or about a charge that
//! was recorded wrongly. Nothing is sent here; the next run sends what was decided to be sent again.

use super::status::open_ledger;
use crate::{
    error::Error,
    ledger::{CommitMode, Correction, Decided, Decision, Identity, Ledger, Quarantined},
    model::{Clock, Credits, KeyMaker, KeySecret, RequestId, state::State},
};
use std::path::Path;

/// The quarantined requests of an output folder.
///
/// # Errors
/// There is no ledger, or it cannot be read.
pub fn quarantined(place: &Path) -> Result<Vec<Quarantined>, Error> {
    let reading = open_ledger(place)?;
    Ok(reading.quarantined().map_err(|error| error.at(reading.path()))?)
}

/// The quarantined requests, and the requests in doubt whose keys have not expired.
pub fn quarantined_or_in_doubt(place: &Path) -> Result<Vec<Quarantined>, Error> {
    let reading = open_ledger(place)?;
    Ok(reading.quarantined_or_in_doubt().map_err(|error| error.at(reading.path()))?)
}

/// A decision, and what the ledger records about it.
#[derive(Debug, Clone, Copy)]
pub struct Resolution<'a> {
    pub decision: Decision,
    pub reason: &'a str,
    pub decided_by: &'a str,
    /// Also requests in doubt that another run could still settle at no cost.
    pub include_in_doubt: bool,
    /// The key secret of the campaign, if it has one. Only a new key needs it.
    pub secret: Option<&'a KeySecret>,
    pub clock: Clock,
    pub commit_mode: CommitMode,
}

impl Resolution<'_> {
    fn decided(&self) -> Result<Decided, Error> {
        decided(self.reason, self.decided_by, &self.clock)
    }

    /// The key maker for requests that are to be sent again.
    fn keys(&self, recorded: &Identity) -> KeyMaker {
        KeyMaker { campaign: recorded.campaign.clone(), mode: recorded.mode, secret: self.secret.cloned() }
    }
}

/// Applies a decision to all requests that wait for one, or only to the requests in `only`. Returns those it moved, as
/// they were before.
///
/// # Errors
/// The reason is empty, a request does not wait for a decision, or the key secret is not the campaign's.
pub async fn decide(place: &Path, only: &[RequestId], resolution: &Resolution<'_>) -> Result<Vec<Quarantined>, Error> {
    let decided = resolution.decided()?;
    let reading = open_ledger(place)?;
    let recorded = reading.identity()?;
    if resolution.decision == Decision::SendAgain && recorded.key_secret.is_some() && resolution.secret.is_none() {
        return Err(Error::Config(
            "the keys of this campaign are made with a key secret, and --send-again makes new keys: pass the campaign \
             file that says where the secret is, with -c FILE"
                .to_owned(),
        ));
    }
    let key_secret = match resolution.decision {
        Decision::SendAgain => resolution.secret.map(KeySecret::fingerprint),
        Decision::WriteOff => recorded.key_secret.clone(),
    };
    let identity = Identity { key_secret, ..recorded.clone() };
    let now_us = resolution.clock.now_us();
    let ledger = Ledger::open(reading.path(), &identity, resolution.commit_mode, now_us)?;
    ledger.recover(now_us).await?;
    let open = reading.quarantined_or_in_doubt()?;
    drop(reading);
    // A job may still get a result, so each one must be named.
    let waits = |one: &&Quarantined| match one.state {
        State::Quarantined => true,
        State::Submitted => resolution.include_in_doubt && only.contains(&one.request),
        _ => resolution.include_in_doubt,
    };
    let waiting: Vec<Quarantined> = open.iter().filter(waits).cloned().collect();
    if let Some(other) = only.iter().find(|id| !waiting.iter().any(|one| one.request == **id)) {
        let in_doubt = open.iter().any(|one| one.request == *other);
        return Err(not_waiting(*other, in_doubt));
    }
    let mut moved = Vec::new();
    for one in waiting.into_iter().filter(|one| only.is_empty() || only.contains(&one.request)) {
        ledger.decide(one.request, resolution.decision, resolution.keys(&recorded), decided.clone()).await?;
        moved.push(one);
    }
    Ok(moved)
}

fn not_waiting(request: RequestId, in_doubt: bool) -> Error {
    let RequestId(number) = request;
    Error::Config(if in_doubt {
        format!(
            "request {number} is in doubt or at the service as a job, not quarantined: running the campaign again may \
             settle it at no cost; if that is not possible, add --include-in-doubt to decide now"
        )
    } else {
        format!("request {number} is not quarantined; `rescreen resolve --list` shows the requests that are")
    })
}

/// A correction of a recorded charge.
#[derive(Debug, Clone, Copy)]
pub struct ChargeCorrection<'a> {
    pub request: RequestId,
    pub charge: Credits,
    pub reason: &'a str,
    pub decided_by: &'a str,
    pub clock: Clock,
    pub commit_mode: CommitMode,
}

/// Corrects the charge of a settled request and returns the charge that was recorded before.
///
/// # Errors
/// The reason is empty, the request does not exist, or it has no final charge yet.
pub async fn correct_charge(place: &Path, correction: &ChargeCorrection<'_>) -> Result<Credits, Error> {
    let ChargeCorrection { request, charge, reason, decided_by, clock, commit_mode } = *correction;
    let decided = decided(reason, decided_by, &clock)?;
    if charge.0 > CHARGE_MAX {
        return Err(Error::Config(format!("--charge: expected at most {CHARGE_MAX} credits, found {charge}")));
    }
    let reading = open_ledger(place)?;
    let (path, identity) = (reading.path().to_owned(), reading.identity()?);
    drop(reading);
    let ledger = Ledger::open(&path, &identity, commit_mode, clock.now_us())?;
    match ledger.correct_charge(request, charge, decided).await? {
        Correction::Corrected { before } => Ok(before),
        Correction::Unknown => Err(Error::Config(format!(
            "there is no request {} in {}; check the request number",
            request.0,
            path.display()
        ))),
        Correction::NotSettled(state) => Err(Error::Config(format!(
            "request {} is {}: expected an answered or failed request, because no other has a final charge; decide \
             about a request in doubt with --write-off or --send-again",
            request.0,
            state.as_str()
        ))),
    }
}

/// The largest accepted charge. No single request costs more.
const CHARGE_MAX: u64 = 1_000_000_000;

fn decided(reason: &str, decided_by: &str, clock: &Clock) -> Result<Decided, Error> {
    match reason.trim() {
        "" => Err(Error::Config("a decision needs a reason: --reason TEXT".to_owned())),
        reason => Ok(Decided { reason: reason.to_owned(), decided_by: decided_by.to_owned(), now_us: clock.now_us() }),
    }
}
