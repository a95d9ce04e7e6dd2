//! The send loop: ledger → next request → throttle → flight → what comes next, until nothing is left or something says
//! stop. New requests and repeats take turns, so that no request holds up the others.

pub mod account;
pub mod account_check;
pub mod apply;
pub mod attempt;
pub mod balance;
pub mod bucket;
pub mod context;
pub mod earlier_stop;
pub mod echo;
pub mod guards;
pub mod health;
pub mod judge;
pub mod next_step;
pub mod planted_steps;
pub mod proof;
pub mod proving;
pub mod queue;
pub mod retry;
pub mod schedule;
pub mod spending;
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

/// Requests put off at once, at most: in an outage nothing new is begun beyond this.
const PUT_OFF_MAX: usize = 1_000;

/// Requests taken out of the ledger at once, at least: a reader beside a writer begins with an empty cache each time.
const READY_MIN: usize = 512;

/// What the terminal, or a scheduler, tells a run: once to drain, a second time, by either, to end now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// From the terminal.
    Interrupt,
    /// From a scheduler.
    Terminate,
}

impl Signal {
    /// The reason a run ends by it.
    fn stop(self) -> Stop {
        match self {
            Signal::Interrupt => Stop::Interrupted,
            Signal::Terminate => Stop::Terminated,
        }
    }
}

/// Where a run stands, for whoever watches.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub sums: Arc<Sums>,
    pub in_flight: usize,
    /// Answers of this run.
    pub answered: u64,
    pub intake: IntakeProgress,
}

/// What a run listens to beside the service.
pub struct RunChannels {
    pub signals: mpsc::Receiver<Signal>,
    pub progress: watch::Sender<Progress>,
    pub intake: watch::Receiver<IntakeProgress>,
    /// Drain at this moment.
    pub deadline: Option<Instant>,
}

/// What the send loop came to.
pub struct SendEnd {
    pub stops: Vec<Stop>,
    pub answered: u64,
    /// Requests in doubt that were sent under another API key and stay as they are.
    pub withheld: u64,
    /// The balance fell by this much more than the run's own requests explain.
    pub unexplained: Credits,
    /// A second interrupt: what was under way is in doubt.
    pub cut_short: bool,
    /// What is still to be heeded while the run ends.
    pub signals: mpsc::Receiver<Signal>,
}

impl SendEnd {
    /// A run that stopped before its first request.
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

    /// Takes in a signal that comes after the last request.
    pub fn heed(&mut self, signal: Signal) {
        self.cut_short |= heed(&mut self.stops, signal);
    }
}

/// Notes what a signal wants; whether it wants it now.
fn heed(stops: &mut Vec<Stop>, signal: Signal) -> bool {
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
    /// Refused twice, of a check that was not answered yet: they wait until nothing else is left.
    aside: Vec<(Candidate, Stop)>,
    /// Why nothing more is sent of a check, for each that the service refuses.
    left_out: Vec<Stop>,
    stops: Vec<Stop>,
    /// Failures to be sent again, once the account was read: it tells which of them may have been charged.
    retry: Option<RetryOrder>,
    spending: Spending,
    proofs: Proofs,
    health: Health,
    answered: u64,
    withheld: u64,
    /// Requests that were refused without a charge until this run gave up on them.
    left_unsent: u64,
    /// Why requests in doubt stay as they are, while the others are sent.
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
        SendLoop {
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

    /// Sends until nothing is left or something says stop; `publish` is called about twice a second with the answers so far.
    /// Where it fails, what is under way is drained before the error is given.
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
            self.go_on_with_trials();
            self.refill()?;
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
                self.bring_back();
                continue;
            }
            tokio::select! {
                biased;
                Some(landed) = self.attempts_under_way.join_next(), if !self.attempts_under_way.is_empty() => {
                    let (one, landed) = landed.map_err(Error::from)??;
                    self.schedule.ended(&one);
                    self.apply(one, landed).await?;
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
            let message = format!("{requests} refused again and again, without a charge");
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

    /// Plans failures again that are proven uncharged: by the balance as it is now.
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

    /// Takes the next requests out of the ledger, and looks at what intake has found.
    fn refill(&mut self) -> Result<(), Error> {
        if !self.stops.is_empty() || self.spending.is_spent() {
            return Ok(());
        }
        let guards = &self.context.campaign.guards;
        let sums = self.context.ledger.sums();
        // A thread that is gone takes nothing more, whatever ended it.
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
        if self.stops.is_empty() && self.schedule.new.len() < wanted && self.schedule.put_off_count() < PUT_OFF_MAX {
            let Schedule { new, sent_before, .. } = &mut self.schedule;
            self.queue.fill(new, sent_before, wanted.max(READY_MIN), intake, &self.context.checks)?;
        }
        Ok(())
    }

    /// Takes back a request that did not leave.
    fn take_back(&mut self, one: Candidate) {
        if !self.queue.leaves_out(&one.check) {
            self.schedule.take_back(one);
        }
    }

    /// Puts a request at the head of those of its kind.
    fn put_first(&mut self, one: Candidate) {
        if !self.queue.leaves_out(&one.check) {
            self.schedule.put_first(one);
        }
    }

    fn start(&mut self, permit: Permit) {
        if let Some(one) = self.schedule.take() {
            let reading = self.context.ledger.sums().account.reading;
            self.proofs.launched(&one, reading.map(|reading| reading.balance));
            let (context, shown) = (Arc::clone(&self.context), self.proofs.shown(&one.check));
            self.attempts_under_way.spawn(async move {
                let landed = attempt(context, permit, one.request, one.check.clone(), shown).await?;
                Ok((one, landed))
            });
        }
    }

    fn signalled(&mut self, signal: Signal) {
        if heed(&mut self.stops, signal) {
            self.attempts_under_way.abort_all();
            self.attempts_under_way = JoinSet::new();
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

/// Sleeps until a moment, or for ever where there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
