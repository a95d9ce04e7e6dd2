//! Follows jobs: polls them while requests are sent, and afterwards for as long as the command wants. While requests wait to
//! be sent, at most a quarter of the rate goes to polls ([`turns`]). When a job is due: [`crate::model::job_life`].

pub mod deliveries;
mod job_reading;
pub mod poll;
pub mod turns;

use super::context::RunContext;
use crate::{
    error::Error,
    ledger::{Due, DueJob, Reading},
    model::{Permit, RequestId, state::State},
};
use deliveries::Deliveries;
use poll::{PollEnd, poll};
use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::{task::JoinSet, time::Instant};
use turns::Turns;

/// The maximum number of jobs that are read from the ledger at once.
const PAGE: usize = 64;
/// The shortest and the longest time until due jobs are looked for again.
const LOOK_MIN: Duration = Duration::from_secs(1);
const LOOK_MAX: Duration = Duration::from_secs(60);
/// A command that polls every job does not poll those again that were polled so lately.
const LATELY_US: i64 = 60 * 1_000_000;
/// How long jobs of the built-in simulator are polled after the last request.
const SIMULATOR_WAIT_US: i64 = 60 * 1_000_000;

const SECOND_US: i64 = 1_000_000;

/// How long a command follows jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FollowUntil {
    /// While requests are sent; then each job that is due is polled once.
    #[default]
    Sent,
    /// Each job is polled once, due or not.
    AllAsked,
    /// Until every job has ended.
    AllEnded,
    /// Until every job has ended, each polled every second, but at most for a minute after the last request: the
    /// simulator that has them ends with this process.
    SimulatorEnds,
}

/// The jobs of a run.
pub struct Following {
    until: FollowUntil,
    reading: Reading,
    /// Jobs to poll next.
    due: VecDeque<DueJob>,
    /// Jobs that wait in `due` or are being polled.
    in_hand: HashSet<RequestId>,
    pub under_way: JoinSet<Result<(DueJob, PollEnd), Error>>,
    turns: Turns,
    /// Word of the service that a job has ended, if the ledger has a receiver.
    deliveries: Option<Deliveries>,
    in_flight: usize,
    begun_us: i64,
    /// When nothing was left to send. Only jobs that were due then are still polled by [`FollowUntil::Sent`].
    sent_us: Option<i64>,
    /// Every job was polled once, or nothing is due.
    is_exhausted: bool,
    /// When to look for due jobs again.
    look_at: Instant,
}

impl Following {
    /// # Errors
    /// The ledger cannot be read.
    pub fn new(until: FollowUntil, reading: Reading, context: &RunContext) -> Result<Following, Error> {
        Ok(Following {
            until,
            deliveries: Deliveries::of(&context.campaign, &reading)?,
            reading,
            due: VecDeque::new(),
            in_hand: HashSet::new(),
            under_way: JoinSet::new(),
            turns: Turns::default(),
            in_flight: context.campaign.service.settings.in_flight(),
            begun_us: context.clock.now_us(),
            sent_us: None,
            is_exhausted: false,
            look_at: Instant::now(),
        })
    }

    /// Reads the next due jobs from the ledger. `is_sent` if nothing is left to send.
    pub async fn fill(&mut self, context: &RunContext, is_sent: bool) -> Result<(), Error> {
        if context.ledger.sums().in_state(State::Submitted) == 0 {
            self.is_exhausted = true;
            return Ok(());
        }
        let now_us = context.clock.now_us();
        if is_sent && self.sent_us.is_none() {
            (self.sent_us, self.look_at) = (Some(now_us), Instant::now());
        }
        // A job that the simulator has lost never ends.
        if self.until == FollowUntil::SimulatorEnds
            && self.sent_us.is_some_and(|at_us| now_us - at_us > SIMULATOR_WAIT_US)
        {
            self.due.clear();
            self.is_exhausted = true;
            return Ok(());
        }
        if !self.due.is_empty() || Instant::now() < self.look_at {
            return Ok(());
        }
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.read(context).await?;
        }
        let asked_before = Due::AskedBefore(self.begun_us.saturating_sub(LATELY_US));
        let mut page = match self.until {
            FollowUntil::Sent => self.page(context, Due::At(self.sent_us.unwrap_or(now_us)))?,
            FollowUntil::AllAsked | FollowUntil::AllEnded => self.page(context, asked_before)?,
            FollowUntil::SimulatorEnds => self.page(context, Due::AskedBefore(now_us.saturating_sub(SECOND_US)))?,
        };
        if page.is_empty() && self.until == FollowUntil::AllEnded {
            page = self.page(context, Due::At(now_us))?;
        }
        if page.is_empty() {
            self.look_at = Instant::now() + self.time_to_next(context, now_us)?;
        }
        let nothing_more = page.is_empty() && self.under_way.is_empty();
        self.is_exhausted = nothing_more
            && match self.until {
                FollowUntil::Sent => self.sent_us.is_some(),
                FollowUntil::AllAsked => true,
                FollowUntil::AllEnded | FollowUntil::SimulatorEnds => {
                    self.reading.open_jobs(Some(&context.scope))?.count == 0
                }
            };
        self.in_hand.extend(page.iter().map(|job| job.request));
        self.due.extend(page);
        Ok(())
    }

    /// How long until the next job is due, within limits: requests that are sent meanwhile may become jobs.
    fn time_to_next(&self, context: &RunContext, now_us: i64) -> Result<Duration, Error> {
        let next_us = self.reading.open_jobs(Some(&context.scope))?.next_us.unwrap_or(i64::MAX);
        let left = Duration::from_micros(u64::try_from(next_us.saturating_sub(now_us)).unwrap_or_default());
        let is_soon =
            self.deliveries.as_ref().is_some_and(Deliveries::are_readable) || self.until == FollowUntil::SimulatorEnds;
        let most = if is_soon { LOOK_MIN } else { LOOK_MAX };
        Ok(left.clamp(LOOK_MIN, most))
    }

    /// Due jobs that are not in hand. Jobs of a check that is no longer in the campaign file wait.
    fn page(&self, context: &RunContext, due: Due) -> Result<Vec<DueJob>, Error> {
        let mut page = self.reading.due_jobs(&context.scope, due, PAGE + self.in_hand.len())?;
        page.retain(|job| !self.in_hand.contains(&job.request) && context.checks.contains_key(&job.check));
        page.truncate(PAGE);
        Ok(page)
    }

    /// Whether nothing is left to poll.
    pub fn is_over(&self) -> bool {
        self.is_exhausted && self.due.is_empty() && self.under_way.is_empty()
    }

    /// Whether a job may be polled now.
    pub fn may_poll(&self) -> bool {
        !self.due.is_empty() && self.under_way.len() < self.in_flight
    }

    /// The number of jobs that were accepted under another API key.
    pub fn withheld(&self, context: &RunContext) -> Result<u64, Error> {
        if context.ledger.sums().in_state(State::Submitted) == 0 {
            return Ok(0);
        }
        let [all, own] = [None, Some(context.scope.as_str())].map(|scope| self.reading.open_jobs(scope));
        Ok(all?.count - own?.count)
    }

    /// When to look for due jobs again.
    pub fn next_look(&self) -> Option<Instant> {
        (!self.is_exhausted && self.due.is_empty()).then_some(self.look_at)
    }

    /// Whether it is the turn of a job. `others_wait` if a request could be sent instead.
    pub fn has_turn(&mut self, others_wait: bool) -> bool {
        let may_poll = self.may_poll();
        self.turns.next_is_job(may_poll, others_wait)
    }

    /// Asks for the next job.
    pub fn start(&mut self, context: &Arc<RunContext>, permit: Permit) {
        if let Some(job) = self.due.pop_front() {
            self.under_way.spawn(poll(Arc::clone(context), permit, job));
        }
    }

    /// Records that the poll of a job has ended.
    pub fn ended(&mut self, job: &DueJob) {
        self.in_hand.remove(&job.request);
        // Nothing more may be due, which is only seen while no poll is under way.
        if self.under_way.is_empty() {
            self.look_at = Instant::now();
        }
    }

    /// Puts a job back that was not polled.
    pub fn take_back(&mut self, job: DueJob) {
        self.in_hand.insert(job.request);
        self.due.push_front(job);
    }

    /// No job is polled any more.
    pub async fn abort(&mut self) {
        self.under_way.shutdown().await;
        self.due.clear();
    }
}
