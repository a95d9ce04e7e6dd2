//! The send loop: ledger → next request → throttle → attempt → next step, until nothing is left to send or a reason to
//! stop is found. New requests and repeats take turns, so that no request blocks the others.

pub mod account;
pub mod account_check;
pub mod apply;
pub mod attempt;
pub mod balance;
pub mod bucket;
pub mod channels;
pub mod check_pauses;
pub mod context;
pub mod earlier_stop;
pub mod file_body;
pub mod file_changes;
pub mod follow;
pub mod gate;
pub mod guards;
pub mod health;
pub mod latencies;
pub mod limit;
pub mod limits;
pub mod make_ready;
pub mod next_step;
pub mod peer;
pub mod planted_steps;
pub mod prices;
mod progress;
pub mod queue;
pub mod refusal;
pub mod retry;
pub mod schedule;
pub mod spending;
pub mod upload;

use crate::{
    error::Error,
    model::{Permit, Stop, conflicts::LastingConflicts, state::State},
    pipeline::campaign::remains::lost_a_ledger,
};
use attempt::{AttemptEnd, attempt};
use channels::record_signal;
pub use channels::{Draining, Progress, RunChannels, SendEnd, Sent, Signal, Wait};
use context::{Candidate, RunContext};
use earlier_stop::resume_pauses;
use follow::Following;
use guards::GuardState;
use health::Health;
use latencies::RateMeter;
use limits::Limits;
use prices::Prices;
use queue::RequestQueue;
use retry::{RetryOrder, retry};
use schedule::Schedule;
use spending::Spending;
use std::{sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{Instant, Interval},
};

/// The maximum number of postponed requests. In an outage, no new request is sent beyond this.
pub const POSTPONED_MAX: usize = 1_000;

/// The minimum number of requests read from the ledger at once. While another connection writes, each read starts with
/// an empty page cache.
const READY_MIN: usize = 512;

pub struct SendLoop {
    context: Arc<RunContext>,
    queue: RequestQueue,
    channels: RunChannels,
    watch: GuardState,
    attempts_under_way: JoinSet<Result<(Candidate, AttemptEnd), Error>>,
    schedule: Schedule,
    following: Following,
    limits: Limits,
    /// Requests that were refused twice, of checks that were not answered yet. They wait until nothing else is left to
    /// send.
    aside: Vec<(Candidate, Stop)>,
    /// For each check that the service refuses, why no more of its requests are sent.
    left_out: Vec<Stop>,
    stops: Vec<Stop>,
    /// The failures to retry. They are planned after the account was read, which shows whether any may have been
    /// charged.
    retry: Option<RetryOrder>,
    spending: Spending,
    prices: Prices,
    health: Health,
    answered: u64,
    withheld: u64,
    /// The number of requests that this run gave up on after refusals without a charge.
    left_unsent: u64,
    /// Why some requests in doubt are not sent again, while others are.
    withholds: Vec<Stop>,
    lasting_conflicts: LastingConflicts,
    cut_short: bool,
    /// Until when the run waits before it reads the balance again.
    rests_until: Option<Instant>,
    /// The time is up, and nothing but jobs was left.
    time_is_over: bool,
    tick: Interval,
    meter: RateMeter,
    /// When the last attempt was started.
    last_start: Option<Instant>,
    publications: u64,
}

impl SendLoop {
    pub fn new(
        context: Arc<RunContext>,
        mut queue: RequestQueue,
        following: Following,
        channels: RunChannels,
        retry: Option<RetryOrder>,
    ) -> Result<SendLoop, Error> {
        let sums = context.ledger.sums();
        if sums.new_wait && sums.in_state(State::InDoubt) > 0 {
            queue.put_doubts_first();
        }
        let left_out = resume_pauses(&context, &sums, &mut queue);
        let limits = context.checks.iter().map(|(name, check)| (name, check.limit));
        let limits = Limits::new(limits, |check| queue.sent_in_last_hour(check, context.clock.now_us()))?;
        Ok(SendLoop {
            limits,
            spending: Spending::default(),
            prices: Prices::new(context.campaign.mode, sums.unexplained_since_us.is_some())
                .expecting_repeats(lost_a_ledger(&context.campaign)),
            schedule: Schedule::new(context.campaign.service.settings.in_flight()),
            following,
            context,
            queue,
            channels,
            watch: GuardState::default(),
            attempts_under_way: JoinSet::new(),
            aside: Vec::new(),
            left_out,
            stops: Vec::new(),
            retry,
            health: Health::default(),
            answered: 0,
            withheld: 0,
            left_unsent: 0,
            withholds: Vec::new(),
            lasting_conflicts: LastingConflicts::default(),
            cut_short: false,
            rests_until: None,
            time_is_over: false,
            tick: tokio::time::interval(Duration::from_millis(500)),
            meter: RateMeter::default(),
            last_start: None,
            publications: 0,
        })
    }

    /// Sends until nothing is left or there is a reason to stop. `publish` is called about twice a second with the
    /// number of answers so far, and returns the number of publications and when the next one is due. If it fails,
    /// attempts in flight are drained before the error is returned.
    pub async fn run(
        mut self,
        mut publish: impl FnMut(u64) -> Result<(u64, Option<Instant>), Error>,
    ) -> Result<SendEnd, Error> {
        let mut unpublished = None;
        let mut publish_at = None;
        self.plan_retries().await?;
        self.report();
        loop {
            if self.is_idle()
                && let Some(error) = unpublished
            {
                return Err(error);
            }
            self.schedule.wake(Instant::now());
            self.resume_trials();
            self.refill()?;
            self.hold_back();
            if self.is_idle() && !self.stops.is_empty() {
                break;
            }
            if self.attempts_under_way.is_empty() && self.settle_account().await? {
                continue;
            }
            if self.prices.is_due() && self.stops.is_empty() {
                self.read_account().await?;
                continue;
            }
            let is_sent = self.is_sent();
            if is_sent && !self.aside.is_empty() {
                self.retry_set_aside().await?;
                continue;
            }
            if self.stops.is_empty() {
                self.following.fill(&self.context, is_sent).await?;
            }
            if is_sent && self.is_idle() && (self.time_is_over || self.following.is_over()) {
                break;
            }
            let next_look = self.following.next_look();
            // While nothing but jobs is left, hours may pass until something happens.
            let quiet_until = next_look.filter(|_| is_sent && self.is_idle());
            let quiet_until = quiet_until.map(|look| publish_at.map_or(look, |at| look.min(at)));
            tokio::select! {
                biased;
                Some(ended) = self.attempts_under_way.join_next(), if !self.attempts_under_way.is_empty() => {
                    let (one, ended) = ended.map_err(Error::from)??;
                    self.schedule.ended(&one);
                    self.limits.ended(&one.check);
                    self.context.check_pauses.ended(&one.check, one.request);
                    self.apply(one, ended).await?;
                    self.keep_stop().await?;
                }
                Some(signal) = self.channels.signals.recv() => self.signalled(signal).await,
                Some(ended) = self.following.under_way.join_next(), if !self.following.under_way.is_empty() => {
                    let (job, ended) = ended.map_err(Error::from)??;
                    self.on_poll(job, ended).await?;
                    self.keep_stop().await?;
                }
                permit = self.context.throttle.admit(), if unpublished.is_none() && self.has_work() => self.start(permit),
                () = until(self.schedule.next_due()) => {}
                () = until(next_look) => {}
                () = until(self.channels.deadline), if self.stops.is_empty() && !self.time_is_over => self.time_is_up().await,
                Ok(()) = self.channels.intake.changed() => {}
                () = beat(&mut self.tick, quiet_until) => {
                    self.report();
                    if unpublished.is_none() {
                        match publish(self.answered) {
                            Ok(published) => (self.publications, publish_at) = published,
                            Err(error) => unpublished = Some(error),
                        }
                    }
                }
            }
        }
        self.gather_stops();
        self.read_at_the_end().await?;
        self.keep_stop().await?;
        self.report();
        self.channels.progress.send_modify(|progress| progress.is_publishing = true);
        let sent = Sent {
            stops: self.stops,
            answered: self.answered,
            withheld: self.withheld,
            withheld_jobs: self.following.withheld(&self.context)?,
            jobs_asked: self.following.history.polled,
            lasting_conflicts: self.lasting_conflicts,
            unexplained: self.prices.unexplained(),
        };
        Ok(SendEnd { sent, cut_short: self.cut_short, signals: self.channels.signals })
    }

    /// Plans the failures to retry. Reads the balance first, which shows whether they are proven uncharged.
    async fn plan_retries(&mut self) -> Result<(), Error> {
        let Some(order) = self.retry.take() else { return Ok(()) };
        if self.prices.is_watched() {
            self.read_account().await?;
        }
        if self.stops.is_empty() {
            retry(&self.context, order).await?;
        }
        Ok(())
    }

    fn may_send(&self) -> bool {
        let Some(next) = self.schedule.next() else { return false };
        let all = self.context.campaign.service.settings.in_flight();
        let room = if self.prices.wants_alone(next) { self.spending.room(1) } else { self.spending.room(all) };
        self.stops.is_empty() && !self.needs_reading() && self.attempts_under_way.len() < room
    }

    /// Whether nothing is under way.
    fn is_idle(&self) -> bool {
        self.attempts_under_way.is_empty() && self.following.under_way.is_empty()
    }

    /// Whether nothing is left to send.
    fn is_sent(&self) -> bool {
        let dry = self.queue.is_dry() || self.spending.is_spent();
        self.attempts_under_way.is_empty() && self.schedule.is_empty() && dry
    }

    /// Whether a request may be sent or a job may be asked for.
    fn has_work(&self) -> bool {
        self.may_send() || self.stops.is_empty() && !self.time_is_over && self.following.may_poll()
    }

    /// The time of the run is up. If nothing but jobs is left, it ends without a reason to stop.
    async fn time_is_up(&mut self) {
        self.following.abort().await;
        self.time_is_over = self.is_sent();
        if !self.time_is_over {
            self.stops.push(Stop::TimeIsUp);
        }
    }

    /// Reads the next requests from the ledger and checks the progress of intake.
    fn refill(&mut self) -> Result<(), Error> {
        if !self.stops.is_empty() || self.spending.is_spent() {
            return Ok(());
        }
        let guards = &self.context.campaign.guards;
        let sums = self.context.ledger.sums();
        // If the intake thread is gone, it ingests nothing more.
        let gone = self.channels.intake.has_changed().is_err();
        let mut intake = *self.channels.intake.borrow_and_update();
        intake.done |= gone;
        self.stops.extend(guards::unmapped(&sums, guards));
        if intake.failed {
            self.stops.push(Stop::InputFailed);
        }
        if intake.done {
            self.stops.extend(guards::expected_rows(sums.rows, self.context.campaign.expect_rows));
        }
        if !self.is_sent() {
            self.stops.extend(self.prices.denied());
        }
        self.leave_out_limited();
        if [State::InDoubt, State::Repeating, State::Armed].iter().all(|doubt| sums.in_state(*doubt) == 0) {
            self.queue.answered();
        }
        let wanted = self.context.campaign.service.settings.in_flight();
        if self.stops.is_empty() && self.schedule.new.len() < wanted && self.schedule.postponed_count() < POSTPONED_MAX
        {
            let Schedule { new, sent_before, .. } = &mut self.schedule;
            self.queue.fill(new, sent_before, wanted.max(READY_MIN), intake, &self.context.checks)?;
        }
        Ok(())
    }

    /// Returns a request that was not sent to the schedule.
    fn take_back(&mut self, one: Candidate) {
        if !self.queue.leaves_out(&one.check) {
            self.schedule.take_back(one);
        }
    }

    /// Puts a request before the others of its kind.
    fn put_first(&mut self, one: Candidate) {
        if !self.queue.leaves_out(&one.check) {
            self.schedule.put_first(one);
        }
    }

    fn start(&mut self, permit: Permit) {
        let may_send = self.may_send();
        if self.following.has_turn(may_send) {
            self.following.start(&self.context, permit);
            return;
        }
        if let Some(one) = self.schedule.take() {
            self.prices.started(&one, self.context.ledger.sums().account.reading);
            self.limits.started(&one.check);
            self.context.check_pauses.started(&one.check, one.request);
            let (context, lower) = (Arc::clone(&self.context), self.prices.lower(&one.check));
            self.last_start = Some(Instant::now());
            self.attempts_under_way.spawn(async move {
                let ended = attempt(context, permit, one.request, one.check.clone(), lower).await?;
                Ok((one, ended))
            });
        }
    }

    async fn signalled(&mut self, signal: Signal) {
        // A question about a job is free, so nothing is lost if its reply is not waited for.
        self.following.abort().await;
        if record_signal(&mut self.stops, signal) {
            self.attempts_under_way.abort_all();
            self.attempts_under_way = JoinSet::new();
            self.limits.all_ended();
            self.schedule.all_ended();
            self.cut_short = true;
        }
        // Shown at once: replies may take minutes, and a second signal would leave these requests in doubt.
        self.report();
    }
}

/// Sleeps until it is time to show and publish the progress.
async fn beat(tick: &mut Interval, quiet_until: Option<Instant>) {
    match quiet_until {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => drop(tick.tick().await),
    }
}

/// Sleeps until a moment, or forever if there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
