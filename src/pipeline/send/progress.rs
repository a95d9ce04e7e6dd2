//! What a run shows of itself: how far it is, and what it waits for.

use super::{Draining, Progress, Signal, Wait, driver::Driver};
use crate::{
    client::EXCHANGE_MAX,
    model::{Stop, state::State},
    pipeline::wording::counted,
};
use std::sync::Arc;
use tokio::time::Instant;

impl Driver {
    /// Tells the observers how far the run is.
    pub fn report(&mut self) {
        let sums = self.context.ledger.sums();
        let ended = sums.requests().saturating_sub(sums.open());
        let progress = Progress {
            checks: Arc::clone(&self.context.check_names),
            in_flight: self.attempts_under_way.len(),
            answered: self.engine.answers(),
            intake: *self.channels.intake.borrow(),
            rate: self.meter.note(Instant::now(), ended),
            per_minute: self.context.campaign.service.pace().per_minute,
            limit: self.context.campaign.allowance.limit,
            wait: self.wait(),
            draining: self.draining(),
            latencies: self.context.latencies.read(),
            publications: self.publications,
            is_publishing: false,
            sums,
        };
        self.channels.progress.send_replace(progress);
    }

    /// What the run waits for before it sends again, if it waits.
    fn wait(&self) -> Option<Wait> {
        if !self.engine.stops().is_empty() {
            return None;
        }
        if let Some(until) = self.rests_until {
            let reason = "the balance is read again, to see what the last request cost".to_owned();
            return Some(Wait { until_us: self.time_us(until), reason });
        }
        if let Some(pause) = self.context.throttle.pause() {
            return Some(Wait { until_us: self.time_us(pause.until), reason: pause.reason });
        }
        if !self.is_idle() || self.engine.schedule().next().is_some() {
            return None;
        }
        if let Some(due) = self.next_due() {
            let requests = counted(self.engine.schedule().postponed_count() as u64, "request is", "requests are");
            return Some(Wait { until_us: self.time_us(due), reason: format!("{requests} sent again") });
        }
        let jobs = self.context.ledger.sums().in_state(State::Submitted);
        let look = self.following.next_look().filter(|_| jobs > 0 && self.engine.is_sent())?;
        let reason = format!("{} at the service", counted(jobs, "job is", "jobs are"));
        Some(Wait { until_us: self.time_us(look), reason })
    }

    fn draining(&self) -> Option<Draining> {
        if self.engine.stops().is_empty() || self.attempts_under_way.is_empty() {
            return None;
        }
        let signal = self.engine.stops().iter().find_map(|stop| match stop {
            Stop::Interrupted => Some(Signal::Interrupt),
            Stop::Terminated => Some(Signal::Terminate),
            _ => None,
        });
        let last = self.last_start.unwrap_or_else(Instant::now) + EXCHANGE_MAX;
        Some(Draining { signal, until_us: self.time_us(last) })
    }

    /// A moment by the clock, in microseconds since 1970.
    fn time_us(&self, moment: Instant) -> i64 {
        let left = moment.saturating_duration_since(Instant::now());
        self.context.clock.now_us().saturating_add(super::gate::micros(left))
    }
}
