//! The send loop: ledger → next request → throttle → attempt → next step, until nothing is left to send or a reason to
//! stop is found. New requests and repeats take turns, so that no request blocks the others.

pub mod account;
pub mod account_check;
pub mod apply;
pub mod attempt;
pub mod balance;
pub mod bucket;
pub mod context;
pub mod earlier_stop;
pub mod echo;
pub mod file_body;
pub mod file_changes;
pub mod guards;
pub mod health;
pub mod judge;
pub mod limit;
pub mod limits;
pub mod make_ready;
pub mod next_step;
pub mod other_bank;
pub mod peer;
pub mod planted_steps;
pub mod proof;
pub mod proving;
pub mod queue;
pub mod refusal;
pub mod retry;
pub mod schedule;
pub mod spending;
pub mod upload;
pub mod weigh;

use super::{intake::IntakeProgress, wording::counted};
use crate::{
    error::Error,
    ledger::Sums,
    model::{Credits, Permit, Stop},
};
use attempt::{AttemptEnd, attempt};
use context::{Candidate, RunContext};
use guards::GuardState;
use health::Health;
use limits::Limits;
use proof::Proofs;
use queue::RequestQueue;
use retry::{RetryOrder, retry};
use schedule::Schedule;
use spending::Spending;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, Interval},
};

/// The maximum number of postponed requests. In an outage, no new request is sent beyond this.
const POSTPONED_MAX: usize = 1_000;

/// The minimum number of requests read from the ledger at once. While another connection writes, each read starts with
/// an empty page cache.
const READY_MIN: usize = 512;

/// A signal from the terminal or a scheduler. The first one makes the run drain; a second one of either kind ends it at
/// once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// From the terminal.
    Interrupt,
    /// From a scheduler.
    Terminate,
}

impl Signal {
    /// The stop that the signal causes.
    pub fn stop(self) -> Stop {
        match self {
            Signal::Interrupt => Stop::Interrupted,
            Signal::Terminate => Stop::Terminated,
        }
    }
}

/// The progress of a run, for display.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub sums: Arc<Sums>,
    pub in_flight: usize,
    /// The number of answers in this run.
    pub answered: u64,
    pub intake: IntakeProgress,
}

/// The channels of a run.
pub struct RunChannels {
    pub signals: mpsc::Receiver<Signal>,
    pub progress: watch::Sender<Progress>,
    pub intake: watch::Receiver<IntakeProgress>,
    /// When to start draining.
    pub deadline: Option<Instant>,
}

/// The result of the send loop.
pub struct SendEnd {
    pub stops: Vec<Stop>,
    pub answered: u64,
    /// Requests in doubt that were sent under another API key. They remain in doubt.
    pub withheld: u64,
    /// How much more the balance fell than the run's own requests explain.
    pub unexplained: Credits,
    /// A second interrupt came: requests that were in flight are in doubt.
    pub cut_short: bool,
    /// Signals that may still arrive while the run ends.
    pub signals: mpsc::Receiver<Signal>,
}

impl SendEnd {
    /// The result of a run that stopped before its first request.
    pub fn nothing(stop: Stop, channels: RunChannels) -> SendEnd {
        let unexplained = Credits::ZERO;
        SendEnd {
            stops: vec![stop],
            answered: 0,
            withheld: 0,
            unexplained,
            cut_short: false,
            signals: channels.signals,
        }
    }

    /// Handles a signal that comes after the last request.
    pub fn record_signal(&mut self, signal: Signal) {
        self.cut_short |= record_signal(&mut self.stops, signal);
    }
}

/// Records the stop of a signal. Returns whether the run must end at once.
fn record_signal(stops: &mut Vec<Stop>, signal: Signal) -> bool {
    let again = stops.contains(&Stop::Interrupted) || stops.contains(&Stop::Terminated);
    stops.push(signal.stop());
    again
}

pub struct SendLoop {
    context: Arc<RunContext>,
    queue: RequestQueue,
    channels: RunChannels,
    watch: GuardState,
    attempts_under_way: JoinSet<Result<(Candidate, AttemptEnd), Error>>,
    schedule: Schedule,
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
    proofs: Proofs,
    health: Health,
    answered: u64,
    withheld: u64,
    /// The number of requests that this run gave up on after refusals without a charge.
    left_unsent: u64,
    /// Why some requests in doubt are not sent again, while others are.
    withholds: Vec<Stop>,
    cut_short: bool,
    tick: Interval,
}

impl SendLoop {
    pub fn new(
        context: Arc<RunContext>,
        queue: RequestQueue,
        channels: RunChannels,
        retry: Option<RetryOrder>,
    ) -> SendLoop {
        let limits = Limits::new(&context.checks, |check| queue.sent_in_last_hour(check, context.clock.now_us()));
        SendLoop {
            limits,
            spending: Spending::default(),
            proofs: Proofs::new(context.campaign.mode, context.ledger.sums().unexplained_since_us.is_some()),
            schedule: Schedule::new(context.campaign.service.in_flight),
            context,
            queue,
            channels,
            watch: GuardState::default(),
            attempts_under_way: JoinSet::new(),
            aside: Vec::new(),
            left_out: Vec::new(),
            stops: Vec::new(),
            retry,
            health: Health::default(),
            answered: 0,
            withheld: 0,
            left_unsent: 0,
            withholds: Vec::new(),
            cut_short: false,
            tick: tokio::time::interval(Duration::from_millis(500)),
        }
    }

    /// Sends until nothing is left or there is a reason to stop. `publish` is called about twice a second with the
    /// number of answers so far. If it fails, attempts in flight are drained before the error is returned.
    pub async fn run(mut self, mut publish: impl FnMut(u64) -> Result<(), Error>) -> Result<SendEnd, Error> {
        let mut unpublished = None;
        self.plan_retries().await?;
        loop {
            if self.attempts_under_way.is_empty()
                && let Some(error) = unpublished
            {
                return Err(error);
            }
            self.schedule.wake(Instant::now());
            self.resume_trials();
            self.refill()?;
            self.hold_back();
            if self.attempts_under_way.is_empty() && !self.stops.is_empty() {
                break;
            }
            if self.attempts_under_way.is_empty() && self.settle_account().await? {
                continue;
            }
            if self.proofs.is_due() && self.stops.is_empty() {
                self.read_account().await?;
                continue;
            }
            if self.is_done() {
                if self.aside.is_empty() {
                    break;
                }
                self.retry_set_aside().await?;
                continue;
            }
            tokio::select! {
                biased;
                Some(ended) = self.attempts_under_way.join_next(), if !self.attempts_under_way.is_empty() => {
                    let (one, ended) = ended.map_err(Error::from)??;
                    self.schedule.ended(&one);
                    self.limits.ended(&one.check);
                    self.apply(one, ended).await?;
                    self.keep_stop().await?;
                }
                Some(signal) = self.channels.signals.recv() => self.signalled(signal),
                permit = self.context.throttle.admit(), if unpublished.is_none() && self.may_send() => self.start(permit),
                () = until(self.schedule.next_due()) => {}
                () = until(self.channels.deadline), if self.stops.is_empty() => self.stops.push(Stop::TimeIsUp),
                Ok(()) = self.channels.intake.changed() => {}
                _ = self.tick.tick() => {
                    self.report();
                    if unpublished.is_none() {
                        unpublished = publish(self.answered).err();
                    }
                }
            }
        }
        self.stops.extend(self.spending.spent());
        self.stops.append(&mut self.left_out);
        self.stops.append(&mut self.withholds);
        if self.stops.is_empty() && self.left_unsent > 0 {
            let requests = counted(self.left_unsent, "request was", "requests were");
            let message = format!("{requests} refused repeatedly, without a charge");
            self.stops.push(Stop::Unavailable { message });
        }
        self.read_at_the_end().await?;
        self.keep_stop().await?;
        self.report();
        Ok(SendEnd {
            stops: self.stops,
            answered: self.answered,
            withheld: self.withheld,
            unexplained: self.proofs.unexplained(),
            cut_short: self.cut_short,
            signals: self.channels.signals,
        })
    }

    /// Plans the failures to retry. Reads the balance first, which shows whether they are proven uncharged.
    async fn plan_retries(&mut self) -> Result<(), Error> {
        let Some(order) = self.retry.take() else { return Ok(()) };
        if self.proofs.is_watched() {
            self.read_account().await?;
        }
        if self.stops.is_empty() {
            retry(&self.context, order).await?;
        }
        Ok(())
    }

    fn may_send(&self) -> bool {
        let Some(next) = self.schedule.next() else { return false };
        let all = self.context.campaign.service.in_flight;
        let room = if self.proofs.wants_alone(next) { self.spending.room(1) } else { self.spending.room(all) };
        self.stops.is_empty() && !self.needs_reading() && self.attempts_under_way.len() < room
    }

    fn is_done(&self) -> bool {
        let dry = self.queue.is_dry() || self.spending.is_spent();
        self.attempts_under_way.is_empty() && self.schedule.is_empty() && dry
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
        let wanted = self.context.campaign.service.in_flight;
        if self.stops.is_empty() && self.schedule.new.len() < wanted && self.schedule.postponed_count() < POSTPONED_MAX
        {
            let Schedule { new, sent_before, .. } = &mut self.schedule;
            self.queue.fill(new, sent_before, wanted.max(READY_MIN), intake, &self.context.checks)?;
        }
        Ok(())
    }

    /// Postpones the next requests while their check is at its own limit, so that they do not block other checks.
    fn hold_back(&mut self) {
        while let Some(wait) = self.schedule.next().and_then(|next| self.limits.wait(&next.check)) {
            let Some(one) = self.schedule.take() else { return };
            self.schedule.ended(&one);
            self.schedule.postpone(Instant::now() + wait, one);
        }
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
        if let Some(one) = self.schedule.take() {
            let reading = self.context.ledger.sums().account.reading;
            self.proofs.started(&one, reading.map(|reading| reading.balance));
            self.limits.started(&one.check);
            let (context, shown) = (Arc::clone(&self.context), self.proofs.shown(&one.check));
            self.attempts_under_way.spawn(async move {
                let ended = attempt(context, permit, one.request, one.check.clone(), shown).await?;
                Ok((one, ended))
            });
        }
    }

    fn signalled(&mut self, signal: Signal) {
        if record_signal(&mut self.stops, signal) {
            self.attempts_under_way.abort_all();
            self.attempts_under_way = JoinSet::new();
            self.limits.all_ended();
            self.schedule.all_ended();
            self.cut_short = true;
        }
    }

    fn report(&self) {
        self.channels.progress.send_replace(Progress {
            sums: self.context.ledger.sums(),
            in_flight: self.attempts_under_way.len(),
            answered: self.answered,
            intake: *self.channels.intake.borrow(),
        });
    }
}

/// Sleeps until a moment, or forever if there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
