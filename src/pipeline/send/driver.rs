//! The only loop of a run: executes what the [engine](super::engine) decides, and tells it what happened. Of what has
//! happened at the same time, it decides what is told first.

use super::{
    attempt::attempt,
    attempt_end::{AttemptEnd, Heard},
    channels::{RunChannels, SendEnd, Sent, Signal},
    context::{BOOK_TIME, Candidate, RunContext},
    earlier_stop::resume_pauses,
    engine::{Command, Engine, Input, Now},
    follow::{Following, poll::PollEnd},
    for_list::ForList,
    latencies::RateMeter,
    limits::Limits,
    queue::RequestQueue,
    retry::{RetryOrder, retry},
    terms::Terms,
};
use crate::{
    error::Error,
    ledger::DueJob,
    model::{Permit, RequestId, state::State},
    pipeline::intake::IntakeProgress,
};
use futures::FutureExt;
use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::{JoinError, JoinSet},
    time::{Instant, Interval},
};

/// An attempt that has ended.
type Joined = Result<Result<(Candidate, AttemptEnd), Error>, JoinError>;

/// What follows a round.
enum Round {
    /// Another one at once.
    Again,
    /// The run waits until something happens.
    Waits,
    /// Nothing is left, or the run stops and nothing is under way.
    Over,
}

pub struct Driver {
    pub(super) context: Arc<RunContext>,
    pub(super) engine: Engine,
    pub(super) queue: RequestQueue,
    /// Requests that the charge book knew and that are sent again.
    pub(super) served: BTreeSet<RequestId>,
    /// Requests that wait for the list of their check.
    pub(super) for_list: ForList,
    pub(super) channels: RunChannels,
    pub(super) attempts_under_way: JoinSet<Result<(Candidate, AttemptEnd), Error>>,
    /// What the attempts heard.
    heard: (UnboundedSender<Heard>, UnboundedReceiver<Heard>),
    pub(super) following: Following,
    /// The failures to retry. They are planned after the account was read, which shows whether any may have been
    /// charged.
    retry: Option<RetryOrder>,
    /// Until when the run waits before it reads the balance again.
    pub(super) rests_until: Option<Instant>,
    pub(super) tick: Interval,
    pub(super) meter: RateMeter,
    /// When the last attempt was started.
    pub(super) last_start: Option<Instant>,
    pub(super) publications: u64,
}

impl Driver {
    /// A run that sends what the queue holds and follows jobs.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn new(
        context: Arc<RunContext>,
        queue: RequestQueue,
        following: Following,
        channels: RunChannels,
        retry: Option<RetryOrder>,
    ) -> Result<Driver, Error> {
        let now = now(&context);
        let mut supply = queue.supply(now.sums.new_wait && now.sums.in_state(State::InDoubt) > 0);
        let left_out = resume_pauses(&context, &now.sums, &mut supply);
        let limits = context.checks.iter().map(|(name, check)| (name, check.limit));
        let limits = Limits::new(limits, |check| queue.sent_in_last_hour(check, now.us), now.at)?;
        let check_pauses = Arc::clone(&context.check_pauses);
        Ok(Driver {
            engine: Engine::new(Terms::of(&context), now, (supply, left_out), (limits, check_pauses)),
            context,
            queue,
            served: BTreeSet::new(),
            for_list: ForList::default(),
            channels,
            attempts_under_way: JoinSet::new(),
            heard: unbounded_channel(),
            following,
            retry,
            rests_until: None,
            tick: tokio::time::interval(Duration::from_millis(500)),
            meter: RateMeter::default(),
            last_start: None,
            publications: 0,
        })
    }

    /// Sends until nothing is left or there is a reason to stop. `publish` is called about twice a second with the
    /// number of answers so far, and returns the number of publications and when the next one is due. If it fails,
    /// attempts in flight are drained before the error is returned.
    ///
    /// # Errors
    /// See [`Error`].
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
            match self.round().await? {
                Round::Again => continue,
                Round::Over => break,
                Round::Waits => {}
            }
            let (next_look, next_due) = (self.following.next_look(), self.next_due());
            // While nothing but jobs is left, hours may pass until something happens.
            let quiet_until = next_look.filter(|_| self.engine.is_sent() && self.is_idle());
            let quiet_until = quiet_until.map(|look| publish_at.map_or(look, |at| look.min(at)));
            tokio::select! {
                biased;
                // Before the ends: an attempt tells what it heard before it ends.
                Some(heard) = self.heard.1.recv() => self.all_heard(Some(heard)).await?,
                Some(ended) = self.attempts_under_way.join_next(), if !self.attempts_under_way.is_empty() => {
                    self.all_ended(ended).await?;
                }
                Some(signal) = self.channels.signals.recv() => self.signalled(signal).await?,
                Some(ended) = self.following.under_way.join_next(), if !self.following.under_way.is_empty() => {
                    let (job, end) = ended.map_err(Error::from)??;
                    self.polled(job, end).await?;
                }
                admitted = self.context.throttle.admit(), if unpublished.is_none() && self.has_work() => match admitted {
                    Ok(permit) => self.start_all(permit),
                    Err(stop) => drop(self.tell(Input::Closed(stop)).await?),
                },
                () = until(next_due) => {}
                () = until(next_look) => {}
                () = until(self.channels.deadline), if self.engine.is_open() => {
                    self.following.abort().await;
                    self.tell(Input::TimeIsUp).await?;
                }
                Ok(()) = self.channels.intake.changed() => {}
                () = beat(&mut self.tick, quiet_until) => {
                    self.report();
                    if unpublished.is_none() {
                        match publish(self.engine.answers()) {
                            Ok(published) => (self.publications, publish_at) = published,
                            Err(error) => unpublished = Some(error),
                        }
                    }
                }
                // After what has happened meanwhile.
                () = std::future::ready(()), if self.queue.is_cut() && self.engine.wants().is_some() => {}
            }
        }
        self.end().await
    }

    /// Gathers what sending did.
    async fn end(mut self) -> Result<SendEnd, Error> {
        self.tell(Input::End).await?;
        self.report();
        self.channels.progress.send_modify(|progress| progress.is_publishing = true);
        let cut_short = self.engine.is_cut_short();
        let withheld_jobs = self.following.withheld(&self.context)?;
        let sent = Sent { withheld_jobs, ..self.engine.sent() };
        Ok(SendEnd { sent, cut_short, signals: self.channels.signals })
    }

    /// Reads what is wanted from the ledger, and lets the engine decide before the run waits.
    async fn round(&mut self) -> Result<Round, Error> {
        let intake = self.intake();
        self.tell(Input::Round(intake)).await?;
        let page = self.read_requests(intake).await?;
        if self.tell(Input::Candidates(page)).await? {
            return Ok(Round::Again);
        }
        let is_sent = self.engine.is_sent();
        if self.engine.stops().is_empty() {
            self.following.fill(&self.context, is_sent).await?;
        } else if self.is_idle() {
            return Ok(Round::Over);
        }
        let is_over = is_sent && self.is_idle() && (self.engine.is_time_over() || self.following.is_over());
        Ok(if is_over { Round::Over } else { Round::Waits })
    }

    /// Plans the failures to retry. Reads the balance first, which shows whether they are proven uncharged.
    async fn plan_retries(&mut self) -> Result<(), Error> {
        let Some(order) = self.retry.take() else { return Ok(()) };
        self.tell(Input::BeforeRetries).await?;
        if self.engine.stops().is_empty() {
            retry(&self.context, order).await?;
        }
        Ok(())
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.attempts_under_way.is_empty() && self.following.under_way.is_empty()
    }

    /// When the next postponed request is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.engine.schedule().next_due().map(|due| self.context.began + due.since_start())
    }

    /// Whether a request may be sent or a job may be polled.
    fn has_work(&self) -> bool {
        self.engine.may_send() || self.engine.is_open() && self.following.may_poll()
    }

    /// The progress of intake. If its thread is gone, it ingests nothing more.
    fn intake(&mut self) -> IntakeProgress {
        let gone = self.channels.intake.has_changed().is_err();
        let mut intake = *self.channels.intake.borrow_and_update();
        intake.done |= gone;
        intake
    }

    /// Tells the engine what happened, and executes what it decides. Returns whether it decided anything.
    pub(super) async fn tell(&mut self, input: Input) -> Result<bool, Error> {
        let commands = self.engine.on(now(&self.context), input)?;
        let is_any = !commands.is_empty();
        self.execute(commands).await?;
        Ok(is_any)
    }

    async fn execute(&mut self, commands: Vec<Command>) -> Result<(), Error> {
        let ledger = Arc::clone(&self.context.ledger);
        let mut commands = VecDeque::from(commands);
        while let Some(command) = commands.pop_front() {
            match command {
                Command::Record { request, event, failure } => drop(ledger.event(request, event, failure).await?),
                Command::NewKey { request, event } => {
                    let keys = self.context.campaign.keys();
                    ledger.next_generation(request, event, keys).await?;
                }
                Command::NewWait => ledger.new_wait(true).await?,
                Command::KeepStop(stop) => ledger.keep_stop(Some(stop)).await?,
                Command::ReadBalance { after, why } => {
                    let read = self.balance(after, &why).await?;
                    let alone = self.attempts_under_way.is_empty();
                    let now = now(&self.context);
                    commands.extend(self.engine.on(now, Input::Balance { why, read, alone })?);
                }
                Command::HaltAll(stop) => {
                    let (context, at_us) = (Arc::clone(&self.context), self.context.clock.now_us());
                    let halting = tokio::spawn(async move { context.throttle.halt_all(&stop, at_us).await });
                    // If the book is away, the run does not wait: it has to settle its own requests. The task tells the others once
                    // the book answers.
                    drop(tokio::time::timeout(BOOK_TIME, halting).await);
                }
                Command::AbortAttempts => {
                    self.attempts_under_way.abort_all();
                    self.attempts_under_way = JoinSet::new();
                }
            }
        }
        Ok(())
    }

    /// Tells the engine what attempts have heard.
    async fn all_heard(&mut self, first: Option<Heard>) -> Result<(), Error> {
        let mut next = first;
        while let Some(heard) = next.take().or_else(|| self.heard.1.try_recv().ok()) {
            self.tell(Input::Heard(heard)).await?;
        }
        Ok(())
    }

    /// Tells the engine how attempts ended: this one, and what else has ended now.
    async fn all_ended(&mut self, first: Joined) -> Result<(), Error> {
        let mut next = Some(first);
        while let Some(ended) = next {
            let (candidate, end) = ended.map_err(Error::from)??;
            self.tell(Input::Ended(candidate, end)).await?;
            self.all_heard(None).await?;
            next = self.attempts_under_way.try_join_next();
        }
        Ok(())
    }

    /// Starts with this permit, and with those that need no waiting.
    fn start_all(&mut self, first: Permit) {
        self.start(first);
        let throttle = Arc::clone(&self.context.throttle);
        while self.has_work()
            && let Some(Ok(permit)) = throttle.admit().now_or_never()
        {
            self.start(permit);
        }
    }

    /// Sends a request, or polls a job.
    fn start(&mut self, permit: Permit) {
        if self.following.has_turn(self.engine.may_send()) {
            self.following.start(&self.context, permit);
            return;
        }
        if let Some((candidate, lower)) = self.engine.take_next(now(&self.context)) {
            let (context, heard) = (Arc::clone(&self.context), self.heard.0.clone());
            self.last_start = Some(Instant::now());
            self.attempts_under_way.spawn(async move {
                let end = attempt(context, permit, candidate.request, candidate.check.clone(), lower, heard).await?;
                Ok((candidate, end))
            });
        }
    }

    async fn polled(&mut self, job: DueJob, end: PollEnd) -> Result<(), Error> {
        self.following.ended(&job);
        let input = match end {
            PollEnd::GateClosed => {
                self.following.take_back(job);
                return Ok(());
            }
            PollEnd::OtherSide(simulated) => Input::OtherSide { simulated },
            PollEnd::Polled(polled) => Input::Polled(job, polled),
        };
        self.tell(input).await?;
        Ok(())
    }

    async fn signalled(&mut self, signal: Signal) -> Result<(), Error> {
        // A poll is free, so nothing is lost if its reply is not waited for.
        self.following.abort().await;
        self.context.throttle.hurry();
        self.tell(Input::Signal(signal)).await?;
        // Shown at once: replies may take minutes, and a second signal would leave these requests in doubt.
        self.report();
        Ok(())
    }
}

fn now(context: &RunContext) -> Now {
    Now {
        at: context.moment(),
        us: context.clock.now_us(),
        sums: context.ledger.sums(),
        paused_until: context.throttle.paused_until().map(|until| context.moment_of(until)),
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
pub(super) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
