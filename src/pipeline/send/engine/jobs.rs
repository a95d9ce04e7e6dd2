//! What the replies about jobs mean for the run.

use super::{Engine, Why, poll_history::ACCOUNT_READ_LATELY};
use crate::{
    client::ReplyKind,
    ledger::DueJob,
    model::{Stop, credits::Amount, job_life::JobSign, state::Outcome},
    pipeline::send::{
        follow::poll::Polled,
        gate::micros,
        guards::{SAME_REFUSALS_MAX, Unread},
    },
};
use std::time::Duration;

impl Engine {
    /// Acts on the reply about a job.
    pub(super) fn polled(&mut self, job: &DueJob, polled: &Polled) {
        self.polls.sent += 1;
        self.job_charge(job, polled);
        match polled.sign {
            // A result may be kept although the reply is unclear.
            _ if polled.judgement.is_some() => self.on_state(job, polled),
            JobSign::Unheard => self.on_no_state(job, polled),
            JobSign::Refused => self.route_refused(job, polled),
            // The route is right, so the job itself is gone, which is counted in the ledger.
            JobSign::NotFound if self.now.sums.jobs_known.contains(&job.check) => self.polls.heard_service = true,
            JobSign::NotFound => self.route_refused(job, polled),
            JobSign::Unclear => self.unclear(job, polled),
            JobSign::Open | JobSign::Ended(_) => self.on_state(job, polled),
        }
    }

    /// Acts on the charge that a reply about a job states, whatever else it says.
    fn job_charge(&mut self, job: &DueJob, polled: &Polled) {
        let unreadable = if let Amount::Unreadable(found) = &polled.reply.charge { Some(found) } else { None };
        let followed = &polled.followed;
        self.stop_for_charge((&job.check, job.request), followed.above_price(), followed.price, unreadable);
        if polled.judgement.is_some() || polled.is_charge_stated() {
            self.prices.job_answered(polled.is_charge_stated());
        }
    }

    /// The service told the state of a job.
    fn on_state(&mut self, job: &DueJob, polled: &Polled) {
        self.polls.on_state();
        self.guards.accepted(&job.check);
        let Some(judgement) = &polled.judgement else { return };
        self.stop_for_other_mode(polled.other_mode.as_ref());
        self.count_answer(&job.check, judgement);
    }

    /// A complete 2xx that says nothing reliable.
    fn unclear(&mut self, job: &DueJob, polled: &Polled) {
        self.polls.heard_service = true;
        if polled.reply.outcome == Outcome::Unreadable {
            let (request, status, said) = (job.request, polled.reply.http_status, polled.reply.words.as_str());
            // A poll is free.
            if self.guards.not_read(&Unread { request, check: &job.check, status, said, is_paid: false }) {
                self.health.not_read();
            }
            self.stops.extend(self.guards.is_not_the_service());
        }
    }

    /// Acts on a poll without a reply, or with a reply that says nothing about the job.
    fn on_no_state(&mut self, job: &DueJob, polled: &Polled) {
        if let Some(wait) = polled.pushed_back {
            let until_us = self.now.us.saturating_add(micros(wait));
            self.stops.push(Stop::PushedBack { until_us });
            return;
        }
        match polled.reply.kind {
            // The job is polled again when the reply says.
            ReplyKind::TooMany => self.polls.heard_service = true,
            _ => {
                self.polls.fault = Some(polled.reply.message.clone());
                self.stops.extend(self.guards.unanswered(job.request, self.terms.in_flight));
            }
        }
    }

    /// The route of a job was refused. One job may be the cause, so it takes several to stop the run, unless the account
    /// cannot be read either.
    fn route_refused(&mut self, job: &DueJob, polled: &Polled) {
        let status = polled.reply.http_status.unwrap_or_default();
        self.polls.heard_service = true;
        let mut must_read_account = false;
        if polled.reply.kind.is_unauthorised() {
            let read_at = self.polls.account_read_at;
            if read_at.is_none_or(|at| self.now.at.since(at) >= ACCOUNT_READ_LATELY) {
                self.polls.account_read_at = Some(self.now.at);
                must_read_account = true;
            }
        }
        // Where the state of a job of the check was told, its route is right, and these jobs are the cause.
        let is_known = self.now.sums.jobs_known.contains(&job.check);
        let is_refused = self.polls.route_refused(job.request, status) && !is_known;
        let check = job.check.clone();
        let stop = is_refused.then_some(match polled.reply.kind.is_unauthorised() {
            true => Stop::CheckRefused { check, status },
            false => Stop::JobRoute { check, status, count: SAME_REFUSALS_MAX },
        });
        if must_read_account {
            // If the account cannot be read either, that is the reason.
            self.read_balance(Duration::ZERO, Why::JobRefused(stop.map(Box::new)));
        } else if self.stops.is_empty() {
            self.stops.extend(stop);
        }
    }
}
