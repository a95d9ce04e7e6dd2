//! Resolve: a person's decision about requests that may have been charged and have no answer, or about a charge that was
//! booked wrongly. Nothing here sends; what is to be sent again goes with the next run.

use super::status::ledger_in;
use crate::{
    error::Error,
    ledger::{CommitMode, Correction, Decided, Decision, Identity, Ledger, Quarantined, Reading},
    model::{Clock, Credits, KeyMaker, KeySecret, RequestId, state::State},
};
use std::path::Path;

/// The quarantined requests of an output folder.
///
/// # Errors
/// There is no ledger, or it cannot be read.
pub fn quarantined(place: &Path) -> Result<Vec<Quarantined>, Error> {
    Ok(Reading::open(&ledger_in(place))?.quarantined()?)
}

/// The same, with the requests in doubt whose keys are still alive.
pub fn quarantined_or_in_doubt(place: &Path) -> Result<Vec<Quarantined>, Error> {
    Ok(Reading::open(&ledger_in(place))?.quarantined_or_in_doubt()?)
}

/// A decision with what is recorded of it.
#[derive(Debug, Clone, Copy)]
pub struct Resolution<'a> {
    pub decision: Decision,
    pub reason: &'a str,
    pub decided_by: &'a str,
    /// Also requests in doubt that another run could still settle at no cost.
    pub include_in_doubt: bool,
    /// The campaign's, where it has one; only a new key needs it.
    pub secret: Option<&'a KeySecret>,
    pub clock: Clock,
    pub commit_mode: CommitMode,
}

impl Resolution<'_> {
    fn decided(&self) -> Result<Decided, Error> {
        decided(self.reason, self.decided_by, &self.clock)
    }

    /// What makes the key of a request that is to be sent again.
    fn keys(&self, recorded: &Identity) -> KeyMaker {
        KeyMaker { campaign: recorded.campaign.clone(), mode: recorded.mode, secret: self.secret.cloned() }
    }
}

/// Decides about requests: all that wait for it, or those named. Gives how many moved.
///
/// # Errors
/// No reason, a request that does not wait for a decision, or a key secret that is not the campaign's.
pub async fn decide(place: &Path, only: &[RequestId], resolution: &Resolution<'_>) -> Result<u64, Error> {
    let decided = resolution.decided()?;
    let path = ledger_in(place);
    let reading = Reading::open(&path)?;
    let recorded = reading.identity()?;
    if resolution.decision == Decision::SendAgain && recorded.key_secret.is_some() && resolution.secret.is_none() {
        return Err(Error::Config(
            "the keys of this campaign are made with a key secret, and --send-again makes new keys: name the campaign file that \
             says where the secret is, with -c FILE"
                .to_owned(),
        ));
    }
    let key_secret = match resolution.decision {
        Decision::SendAgain => resolution.secret.map(KeySecret::fingerprint),
        Decision::WriteOff => recorded.key_secret.clone(),
    };
    let identity = Identity { key_secret, ..recorded.clone() };
    let ledger = Ledger::open(&path, &identity, resolution.commit_mode, resolution.clock.now_us())?;
    ledger.recover().await?;
    let open = reading.quarantined_or_in_doubt()?;
    drop(reading);
    let waits = |one: &&Quarantined| resolution.include_in_doubt || one.state == State::Quarantined;
    let waiting: Vec<Quarantined> = open.iter().filter(waits).cloned().collect();
    if let Some(other) = only.iter().find(|id| !waiting.iter().any(|one| one.request == **id)) {
        let in_doubt = open.iter().any(|one| one.request == *other);
        return Err(not_waiting(*other, in_doubt));
    }
    let mut moved = 0;
    for one in waiting.into_iter().filter(|one| only.is_empty() || only.contains(&one.request)) {
        ledger.decide(one.request, resolution.decision, resolution.keys(&recorded), decided.clone()).await?;
        moved += 1;
    }
    Ok(moved)
}

fn not_waiting(request: RequestId, in_doubt: bool) -> Error {
    let RequestId(number) = request;
    Error::Config(if in_doubt {
        format!(
            "request {number} is not quarantined but in doubt: running the campaign again may settle it at no cost; if that \
             is impossible, decide about it with --include-in-doubt"
        )
    } else {
        format!("request {number} is not quarantined; `rescreen resolve --list` shows the requests that are")
    })
}

/// A charge that is booked in place of another.
#[derive(Debug, Clone, Copy)]
pub struct ChargeCorrection<'a> {
    pub request: RequestId,
    pub charge: Credits,
    pub reason: &'a str,
    pub decided_by: &'a str,
    pub clock: Clock,
    pub commit_mode: CommitMode,
}

/// Books another charge for a settled request; gives the one that was booked before.
///
/// # Errors
/// No reason, no such request, or one that has no final charge yet.
pub async fn correct_charge(place: &Path, correction: &ChargeCorrection<'_>) -> Result<Credits, Error> {
    let ChargeCorrection { request, charge, reason, decided_by, clock, commit_mode } = *correction;
    let decided = decided(reason, decided_by, &clock)?;
    if charge.0 > CHARGE_MAX {
        return Err(Error::Config(format!("--charge: expected at most {CHARGE_MAX} credits, found {charge}")));
    }
    let path = ledger_in(place);
    let identity = Reading::open(&path)?.identity()?;
    let ledger = Ledger::open(&path, &identity, commit_mode, clock.now_us())?;
    match ledger.correct_charge(request, charge, decided).await? {
        Correction::Corrected { before } => Ok(before),
        Correction::Unknown => Err(Error::Config(format!("there is no request {} in {}", request.0, path.display()))),
        Correction::NotSettled(state) => Err(Error::Config(format!(
            "request {} is {}: only a request that is answered or failed has a charge to correct; decide about one in doubt \
             with --write-off or --send-again",
            request.0,
            state.as_str()
        ))),
    }
}

/// More than any single request costs.
const CHARGE_MAX: u64 = 1_000_000_000;

fn decided(reason: &str, decided_by: &str, clock: &Clock) -> Result<Decided, Error> {
    match reason.trim() {
        "" => Err(Error::Config("a decision needs its reason: --reason TEXT".to_owned())),
        reason => Ok(Decided { reason: reason.to_owned(), decided_by: decided_by.to_owned(), now_us: clock.now_us() }),
    }
}
