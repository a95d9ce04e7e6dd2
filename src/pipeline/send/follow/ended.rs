//! What the replies about jobs mean for the run: the part of the send loop that acts on them.

use super::ask::{AskEnd, Asked};
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
pub struct Heard {
    /// The service said something about a job.
    pub anything: bool,
    /// How often it answered a question about one.
    pub asked: u64,
    /// Why it last said nothing about one.
    pub fault: Option<String>,
    /// Jobs in a row whose route was refused with the same status.
    refused: (u16, BTreeSet<RequestId>),
    account_read_at: Option<Instant>,
}

impl Heard {
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
    pub async fn heard(&mut self, job: DueJob, end: AskEnd) -> Result<(), Error> {
        self.following.ended(&job);
        match end {
            AskEnd::GateClosed => self.following.take_back(job),
            AskEnd::OtherSide(simulated) => self.stops.push(Stop::OtherSide { simulated }),
            AskEnd::Asked(asked) => {
                self.following.heard.asked += 1;
                self.job_charge(&job, &asked);
                match asked.sign {
                    // A result may be kept although the reply is unclear.
                    _ if asked.judgement.is_some() => self.told(&job, &asked),
                    JobSign::Unheard => self.not_told(&job, &asked).await?,
                    JobSign::Refused => self.route_refused(&job, &asked).await?,
                    // The route is right, so the job itself is gone, which is counted in the ledger.
                    JobSign::NotFound if self.context.ledger.sums().jobs_known.contains(&job.check) => {
                        self.following.heard.anything = true;
                    }
                    JobSign::NotFound => self.route_refused(&job, &asked).await?,
                    JobSign::Unclear => self.unclear(&job, &asked),
                    JobSign::Open | JobSign::Ended(_) => self.told(&job, &asked),
                }
            }
        }
        Ok(())
    }

    /// Acts on the charge that a reply about a job states, whatever else it says.
    fn job_charge(&mut self, job: &DueJob, asked: &Asked) {
        self.proofs.job_charged(asked.followed.charged);
        if let Some(stated) = asked.followed.above_price() {
            let (table, request) = (asked.followed.price, Some(job.request));
            self.stops.push(Stop::Price { check: job.check.clone(), stated, table, request });
        }
        if let Some(found) = asked.unreadable_amount.clone().filter(|_| self.proofs.is_watched()) {
            self.stops.push(Stop::AmountUnreadable { check: job.check.clone(), found });
        }
        if asked.judgement.is_some() || asked.is_charge_stated {
            self.proofs.job_answered(asked.is_charge_stated);
        }
    }

    /// The service told the state of a job.
    fn told(&mut self, job: &DueJob, asked: &Asked) {
        self.following.heard.told();
        self.watch.accepted(&job.check);
        let Some(judgement) = &asked.judgement else { return };
        self.answered += 1;
        if let Some(echoed) = asked.other_mode.clone() {
            let sent = self.context.campaign.mode.as_str().to_owned();
            self.stops.push(Stop::OtherMode { sent, echoed });
        }
        self.stops.extend(self.watch.answered(&job.check, judgement.verdict, &self.context.campaign.guards));
    }

    /// A complete 2xx that says nothing reliable.
    fn unclear(&mut self, job: &DueJob, asked: &Asked) {
        self.following.heard.anything = true;
        if asked.is_not_read {
            let (request, status, said) = (job.request, asked.http_status, asked.words.as_str());
            // A question about a job is free.
            if self.watch.not_read(&Unread { request, check: &job.check, status, said, is_paid: false }) {
                self.health.not_read();
            }
            self.stops.extend(self.watch.is_not_the_service());
        }
    }

    /// There was no reply, or it is about the service.
    async fn not_told(&mut self, job: &DueJob, asked: &Asked) -> Result<(), Error> {
        if let Some(wait) = asked.pushed_back {
            let until_us = self.context.clock.now_us().saturating_add(micros(wait));
            self.stops.push(Stop::PushedBack { until_us });
            return Ok(());
        }
        match asked.kind {
            // The gate is closed, and the job is asked for again.
            ReplyKind::TooMany => self.following.heard.anything = true,
            _ => {
                self.following.heard.fault = Some(asked.message.clone());
                self.stops
                    .extend(self.watch.unanswered(job.request, self.context.campaign.service.settings.in_flight()));
            }
        }
        Ok(())
    }

    /// The route of a job was refused. One job may be the cause, so it takes several to stop the run, unless the account
    /// cannot be read either.
    async fn route_refused(&mut self, job: &DueJob, asked: &Asked) -> Result<(), Error> {
        let status = asked.http_status.unwrap_or_default();
        self.following.heard.anything = true;
        if asked.kind.is_unauthorised() {
            let read_at = self.following.heard.account_read_at;
            if read_at.is_none_or(|at| at.elapsed() >= ACCOUNT_READ_LATELY) {
                self.following.heard.account_read_at = Some(Instant::now());
                self.read_account().await?;
            }
        }
        // Where the state of a job of the check was told, its route is right, and these jobs are the cause.
        let is_known = self.context.ledger.sums().jobs_known.contains(&job.check);
        let is_refused = self.following.heard.refused(job.request, status) && !is_known;
        if is_refused && self.stops.is_empty() {
            let check = job.check.clone();
            self.stops.push(if asked.kind.is_unauthorised() {
                Stop::CheckRefused { check, status }
            } else {
                Stop::JobRoute { check, status, count: ALIKE_MAX }
            });
        }
        Ok(())
    }
}
