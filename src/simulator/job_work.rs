//! The work on jobs: a job holds its price, and is charged once, when it has a usable result; a failed job costs nothing.
//! Jobs that are due are finished before anything else is done, so their charge does not wait for a request. The end of a
//! job that has a receiver is an event, which is delivered.

use super::{
    check::Mode,
    digest::{Digest, hex},
    job_time::RESULT_WAIT,
    jobs::{Job, JobState},
    keys::Receipt,
    order::Order,
    rng::Rng,
    state::State,
};
use std::time::Duration;

impl State {
    /// Creates the job of an order whose price is held, and returns its id.
    pub(super) fn submit(&mut self, order: &Order, account: Digest, at_us: i64, price: u64, takes: Duration) -> String {
        let number = self.jobs.count();
        let id = format!("job_{}{number:06}", &hex(&order.content)[..16]);
        let mut rng = Rng::of(self.seed.rotate_left(17), order.subject);
        let is_late = takes > RESULT_WAIT;
        let fails = match rng.below(100) {
            _ if is_late => Some("verification_timed_out"),
            chance if chance < self.failed_jobs_of_hundred && order.mode == Mode::Production => {
                Some("verification_failed")
            }
            _ => None,
        };
        let takes_us = i64::try_from((takes.min(RESULT_WAIT) / self.time_scale).as_micros()).unwrap_or(i64::MAX);
        let ready_at_us = at_us.saturating_add(takes_us);
        let job = Job {
            order: order.clone(),
            state: JobState::Pending,
            account,
            ready_at_us,
            price,
            fails,
            was_shown: false,
        };
        self.jobs.by_id.insert(id.clone(), job);
        self.jobs.waiting.insert((ready_at_us, id.clone()), ());
        id
    }

    /// Finishes the jobs that are due: each is charged if it has a result, and its hold ends.
    pub(super) fn finish_jobs(&mut self, now_us: i64) {
        while let Some(id) = self.jobs.next_ready(now_us) {
            let Some(job) = self.jobs.by_id.get_mut(&id) else { continue };
            let faults = self.job_faults.of_event(self.seed, job.order.subject);
            if job.order.receiver.is_some() && !faults.lost {
                let late_us = i64::try_from((faults.late / self.time_scale).as_micros()).unwrap_or(i64::MAX);
                self.outbox.add(&id, job.ready_at_us.saturating_add(late_us), faults.twice);
            }
            let price = job.price;
            if let Some(code) = job.fails {
                job.state = JobState::Failed(code);
                self.account.release(price);
                continue;
            }
            self.account.take(price);
            let receipt =
                Receipt { at_us: job.ready_at_us, credits: price, remaining: self.account.balance, refused: None };
            job.state = JobState::Completed(receipt);
            if job.order.mode == Mode::Production {
                self.book.charge(job.order.subject, job.order.idempotency_key.as_deref(), price);
            }
        }
    }
}
