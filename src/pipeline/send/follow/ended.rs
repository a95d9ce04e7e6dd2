//! What the replies about jobs mean for the run: the part of the send loop that acts on them.

use super::poll::{PollEnd, Polled};
use crate::{
    client::ReplyKind,
    error::Error,
    ledger::DueJob,
    model::{RequestId, Stop, job_life::JobSign},
    pipeline::send::{SendLoop, gate::micros, guards::Unread},
};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::Instant;

/// The run stops after this many different consecutive jobs with the same refusal of their route.
const ALIKE_MAX: usize = 5;
/// While the account was read this lately, a refusal of the API key on one route is not about the account.
const ACCOUNT_READ_LATELY: Duration = Duration::from_secs(60);

/// What a run has heard about its jobs.
#[derive(Debug, Default)]
pub struct PollHistory {
    /// The service said something about a job.
    pub anything: bool,
    /// How often it answered a poll.
    pub polled: u64,
    /// Why it last said nothing about one.
    pub fault: Option<String>,
    /// Jobs in a row whose route was refused with the same status.
    refused: (u16, BTreeSet<RequestId>),
    account_read_at: Option<Instant>,
}

impl PollHistory {
    /// Counts a refusal of the route. Returns whether so many different jobs were refused alike that the route or the
    /// account is the cause.
    fn refused(&mut self, request: RequestId, status: u16) -> bool {
        if self.refused.0 != status {
            self.refused = (status, BTreeSet::new());
        }
        self.refused.1.insert(request);
        self.refused.1.len() >= ALIKE_MAX
    }

    /// The stop if no reply said anything about a job.
    pub fn nothing(&self) -> Option<Stop> {
        let message = self.fault.clone().filter(|_| !self.anything)?;
        Some(Stop::Unavailable { message })
    }

    fn told(&mut self) {
        self.anything = true;
        self.refused.1.clear();
    }
}

impl SendLoop {
    /// Acts on the reply about a job.
    pub async fn on_poll(&mut self, job: DueJob, end: PollEnd) -> Result<(), Error> {
        self.following.ended(&job);
        match end {
            PollEnd::GateClosed => self.following.take_back(job),
            PollEnd::OtherSide(simulated) => self.stops.push(Stop::OtherSide { simulated }),
            PollEnd::Polled(polled) => {
                self.following.history.polled += 1;
                self.job_charge(&job, &polled);
                match polled.sign {
                    // A result may be kept although the reply is unclear.
                    _ if polled.judgement.is_some() => self.on_state(&job, &polled),
                    JobSign::Unheard => self.on_no_state(&job, &polled).await?,
                    JobSign::Refused => self.route_refused(&job, &polled).await?,
                    // The route is right, so the job itself is gone, which is counted in the ledger.
                    JobSign::NotFound if self.context.ledger.sums().jobs_known.contains(&job.check) => {
                        self.following.history.anything = true;
                    }
                    JobSign::NotFound => self.route_refused(&job, &polled).await?,
                    JobSign::Unclear => self.unclear(&job, &polled),
                    JobSign::Open | JobSign::Ended(_) => self.on_state(&job, &polled),
                }
            }
        }
        Ok(())
    }

    /// Acts on the charge that a reply about a job states, whatever else it says.
    fn job_charge(&mut self, job: &DueJob, polled: &Polled) {
        if let Some(stated) = polled.followed.above_price() {
            let (table, request) = (polled.followed.price, Some(job.request));
            self.stops.push(Stop::Price { check: job.check.clone(), stated, table, request });
        }
        if let Some(found) = polled.unreadable_amount.clone().filter(|_| self.prices.is_watched()) {
            self.stops.push(Stop::AmountUnreadable { check: job.check.clone(), found });
        }
        if polled.judgement.is_some() || polled.is_charge_stated {
            self.prices.job_answered(polled.is_charge_stated);
        }
    }

    /// The service told the state of a job.
    fn on_state(&mut self, job: &DueJob, polled: &Polled) {
        self.following.history.told();
        self.watch.accepted(&job.check);
        let Some(judgement) = &polled.judgement else { return };
        self.answered += 1;
        if let Some(echoed) = polled.other_mode.clone() {
            let sent = self.context.campaign.mode.as_str().to_owned();
            self.stops.push(Stop::OtherMode { sent, echoed });
        }
        self.stops.extend(self.watch.answered(&job.check, judgement.verdict, &self.context.campaign.guards));
    }

    /// A complete 2xx that says nothing reliable.
    fn unclear(&mut self, job: &DueJob, polled: &Polled) {
        self.following.history.anything = true;
        if polled.is_not_read {
            let (request, status, said) = (job.request, polled.http_status, polled.words.as_str());
            // A poll is free.
            if self.watch.not_read(&Unread { request, check: &job.check, status, said, is_paid: false }) {
                self.health.not_read();
            }
            self.stops.extend(self.watch.is_not_the_service());
        }
    }

    /// There was no reply, or it is about the service.
    async fn on_no_state(&mut self, job: &DueJob, polled: &Polled) -> Result<(), Error> {
        if let Some(wait) = polled.pushed_back {
            let until_us = self.context.clock.now_us().saturating_add(micros(wait));
            self.stops.push(Stop::PushedBack { until_us });
            return Ok(());
        }
        match polled.kind {
            // The gate is closed, and the job is polled again.
            ReplyKind::TooMany => self.following.history.anything = true,
            _ => {
                self.following.history.fault = Some(polled.message.clone());
                self.stops
                    .extend(self.watch.unanswered(job.request, self.context.campaign.service.settings.in_flight()));
            }
        }
        Ok(())
    }

    /// The route of a job was refused. One job may be the cause, so it takes several to stop the run, unless the account
    /// cannot be read either.
    async fn route_refused(&mut self, job: &DueJob, polled: &Polled) -> Result<(), Error> {
        let status = polled.http_status.unwrap_or_default();
        self.following.history.anything = true;
        if polled.kind.is_unauthorised() {
            let read_at = self.following.history.account_read_at;
            if read_at.is_none_or(|at| at.elapsed() >= ACCOUNT_READ_LATELY) {
                self.following.history.account_read_at = Some(Instant::now());
                self.read_account().await?;
            }
        }
        // Where the state of a job of the check was told, its route is right, and these jobs are the cause.
        let is_known = self.context.ledger.sums().jobs_known.contains(&job.check);
        let is_refused = self.following.history.refused(job.request, status) && !is_known;
        if is_refused && self.stops.is_empty() {
            let check = job.check.clone();
            self.stops.push(if polled.kind.is_unauthorised() {
                Stop::CheckRefused { check, status }
            } else {
                Stop::JobRoute { check, status, count: ALIKE_MAX }
            });
        }
        Ok(())
    }
}
