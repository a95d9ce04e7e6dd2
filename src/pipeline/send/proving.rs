//! Acts on price proofs: reads the account as often as needed around a lone request, and records the result or stops
//! the run.

use super::{
    SendLoop,
    proof::{ProofStep, ShownPrice},
    until,
};
use crate::{
    error::Error,
    ledger::SeenBy,
    model::{
        Credits, Failure, FailureCode, RequestId, Stage, Stop,
        state::{Event, State},
    },
};
use std::time::Duration;
use tokio::time::Instant;

impl SendLoop {
    /// Does the next step of the proof, while no request is in flight. Returns whether there was a step.
    pub async fn prove(&mut self) -> Result<bool, Error> {
        let sums = self.context.ledger.sums();
        match self.proofs.step(sums.account.held, sums.in_state(State::Submitted)) {
            None => return Ok(false),
            Some(ProofStep::Read(wait)) => {
                if wait >= Duration::from_secs(1) {
                    tracing::info!(
                        "the balance does not show the charge yet; reading it again in {} s",
                        wait.as_secs()
                    );
                }
                let balance = if self.rest(wait).await { self.read_account().await? } else { None };
                match balance {
                    Some(balance) => self.proofs.record_reading(balance),
                    None => self.proofs.not_sent(),
                }
            }
            Some(ProofStep::ShownPrice(shown)) => self.shown(shown).await?,
        }
        Ok(true)
    }

    async fn shown(&mut self, shown: ShownPrice) -> Result<(), Error> {
        match shown {
            ShownPrice::Costs { check, fell, price } => self.costs(check, fell, price).await?,
            ShownPrice::ChargedRefusal { request, check, message, fell, price } => {
                self.charged_refusal(request, &message).await?;
                self.proofs.explained(fell.min(price));
                if fell > price {
                    self.costs(check, fell, price).await?;
                }
            }
            ShownPrice::Proven { check } => {
                let sums = self.context.ledger.sums();
                let doubtful =
                    sums.highest_prices.get(&check).is_some_and(|seen| matches!(seen.by, SeenBy::Balance(_)));
                if doubtful {
                    self.context.ledger.forget_falls(Some(check)).await?;
                }
            }
            ShownPrice::Free { check } => {
                tracing::warn!(
                    "no balance shows the cost of an answer of `{check}`; its price is recorded as the charge"
                );
            }
            ShownPrice::Repeated { check } => {
                tracing::info!("the service repeated an answer of `{check}` at no charge, which the lost ledger had");
            }
            ShownPrice::Unclear => {}
        }
        Ok(())
    }

    /// Records a cost above the price and stops the run. Only the balance shows the cost, and it may be another
    /// client's spending, so it is not held at once.
    async fn costs(&mut self, check: String, fell: Credits, price: Credits) -> Result<(), Error> {
        let table = self.context.checks.get(&check).map_or(price, |check| check.price);
        self.context.ledger.note_fall(check.clone(), fell, table).await?;
        self.stops.push(Stop::Price { check, stated: fell, table: price, request: None });
        Ok(())
    }

    /// Records a refusal that was charged although its reply did not say so.
    async fn charged_refusal(&mut self, request: RequestId, message: &str) -> Result<(), Error> {
        let message =
            format!("the service refused the request, and the balance shows that it charged for it: {message}");
        let failure = Failure { stage: Stage::Send, code: FailureCode::Refused, message };
        self.context.ledger.event(request, Event::FoundCharged, Some(failure)).await?;
        Ok(())
    }

    /// Waits, unless the run must end first. Returns whether the full time has passed.
    async fn rest(&mut self, time: Duration) -> bool {
        if time.is_zero() {
            return true;
        }
        let end = Instant::now() + time;
        self.rests_until = Some(end);
        self.report();
        let is_whole = tokio::select! {
            biased;
            Some(signal) = self.channels.signals.recv() => {
                self.stops.push(signal.stop());
                false
            }
            () = until(self.channels.deadline) => {
                self.stops.push(Stop::TimeIsUp);
                false
            }
            () = until(Some(end)) => true,
        };
        self.rests_until = None;
        is_whole
    }
}
