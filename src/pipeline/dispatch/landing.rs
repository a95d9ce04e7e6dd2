//! What a landed request means for the run: the half of the send loop that acts on what [`next_step`] decides.

use super::Dispatch;
use crate::{
    error::Error,
    model::{
        Failure, FailureCode, Stage, Stop,
        state::{Event, IllegalMove},
    },
    pipeline::{
        flight::{Attempted, Landed, PUSH_BACK_MAX, Try, micros},
        next_step::{Next, next_step},
    },
};
use std::time::Duration;
use tokio::time::Instant;

impl Dispatch {
    pub(super) async fn landed(&mut self, one: Try, landed: Landed) -> Result<(), Error> {
        match landed {
            Landed::Refused(refusal) => {
                self.purse.refused(refusal, one.request);
                self.ready.push_front(one);
            }
            Landed::GateClosed => self.put_off(one, Duration::ZERO),
            Landed::ClockMoved => {
                self.ready.push_front(one);
                self.health.clock_moved();
            }
            Landed::Quarantined => {}
            Landed::Withheld(IllegalMove::OtherApiKey) => self.withheld += 1,
            Landed::Withheld(IllegalMove::ClocksApart) => {
                let offset = self.crew.ledger.sums().server_offset_us.unwrap_or_default();
                self.stops.push(Stop::ClockApart { seconds: offset.saturating_abs() / 1_000_000 });
            }
            Landed::Withheld(defect) => return Err(Error::Ledger(defect.into())),
            Landed::Attempted(attempted) => {
                self.look_at_money(&one, &attempted);
                if attempted.is_stranger() {
                    self.stops.extend(self.watch.stranger());
                }
                if attempted.is_outage() {
                    self.stops.extend(self.watch.unanswered(self.crew.campaign.service.in_flight));
                }
                self.attempted(one, *attempted).await?;
            }
        }
        Ok(())
    }

    async fn attempted(&mut self, one: Try, attempted: Attempted) -> Result<(), Error> {
        if let Some(simulated) = attempted.other_side {
            self.stops.push(Stop::OtherSide { simulated });
            return Ok(());
        }
        let request = one.request;
        let next = next_step(one, &attempted, self.answered, self.crew.campaign.mode);
        if matches!(next, Next::Failed | Next::LeftForLater | Next::AttemptsOver(_)) {
            self.purse.leaves(request);
        }
        match next {
            Next::Answered(one) => self.answered(&one, &attempted),
            Next::Failed => {
                self.stops.extend(self.watch.refused(&attempted.alike, &self.crew.campaign.guards));
            }
            Next::Again(one, delay) => self.put_off(one, delay),
            Next::LeftForLater => {}
            Next::RateRefused => {
                let message = "it refuses for the rate again and again".to_owned();
                self.stops.push(Stop::Unavailable { message });
            }
            Next::AttemptsOver(one) => self.attempts_over(&one, &attempted).await?,
            Next::NewKey(one) => self.new_key(one).await?,
            Next::AskAccount(one) => self.no_credits(one, &attempted).await?,
            Next::Misrouted(one) => {
                let path = self.crew.sold.get(&one.sold).map(|sold| sold.path.clone()).unwrap_or_default();
                let status = attempted.http_status.unwrap_or_default();
                self.stops.push(Stop::Misrouted { status, path });
            }
            Next::Unauthorised => {
                let status = attempted.http_status.unwrap_or_default();
                self.stops.push(Stop::Unauthorised { status });
            }
            Next::PushedBack(wait) => {
                let until_us = self.crew.clock.now_us().saturating_add(micros(wait));
                self.stops.push(Stop::PushedBack { until_us });
            }
        }
        Ok(())
    }

    fn answered(&mut self, one: &Try, attempted: &Attempted) {
        self.answered += 1;
        if let Some(judgement) = &attempted.judgement {
            self.stops.extend(self.watch.answered(&one.sold, judgement.verdict, &self.crew.campaign.guards));
        }
    }

    pub(super) fn put_off(&mut self, one: Try, delay: Duration) {
        let now = Instant::now();
        let due = self.crew.throttle.paused_until().unwrap_or(now).max(now + delay.min(PUSH_BACK_MAX));
        self.waiting.insert((due, one.request), one);
    }

    async fn attempts_over(&mut self, one: &Try, attempted: &Attempted) -> Result<(), Error> {
        let failure = Failure {
            stage: Stage::Send,
            code: FailureCode::AttemptsOver,
            message: format!("no answer after {} attempts in sandbox: {}", one.attempts, attempted.message),
        };
        let event = Event::AttemptsOver { mode: self.crew.campaign.mode };
        self.crew.ledger.event(one.request, event, None, Some(failure)).await?;
        self.stops.extend(self.watch.refused(&attempted.alike, &self.crew.campaign.guards));
        Ok(())
    }

    /// The refusal is cached under the key and proven uncharged: the next generation asks again.
    pub(super) async fn new_key(&mut self, mut one: Try) -> Result<(), Error> {
        let (fields, generation) = self.feeder.fields(one.request)?;
        let key = self.crew.campaign.key_of(&one.sold, &fields, generation + 1);
        self.crew.ledger.event(one.request, Event::RefusalCached, Some(key), None).await?;
        one.cached = 0;
        self.put_off(one, Duration::ZERO);
        Ok(())
    }
}
