//! Decides what a run does: which request is sent next, what a reply means for it and for the run, when the balance is
//! read, and when the run stops. It does no I/O, waits for nothing and asks no clock: each decision follows from its state,
//! from what happened, and from the time and the sums that come with it. Pauses of checks are the exception: attempts
//! begin them at once, so that nothing is sent before the engine hears of it. The [driver](super::driver) executes the
//! commands and tells what happened.

mod account_check;
mod apply;
mod files;
mod flights;
mod jobs;
mod leaving_out;
mod money;
mod poll_history;
mod stopping;

use super::{
    account::BalanceRead,
    attempt_end::{Attempt, AttemptEnd, Heard},
    channels::{Sent, Signal},
    check_pauses::CheckPauses,
    context::Candidate,
    follow::poll::Polled,
    guards::{self, GuardState},
    health::Health,
    limits::Limits,
    moment::Moment,
    prices::Prices,
    queue::{Page, Supply},
    schedule::Schedule,
    spending::Spending,
    terms::Terms,
};
use crate::{
    error::Error,
    ledger::{DueJob, KeptStop, Sums},
    model::{Credits, Failure, RequestId, Stop, conflicts::LastingConflicts, state::Event, state::State},
    pipeline::intake::IntakeProgress,
};
use flights::Flights;
use poll_history::PollHistory;
use std::{ops::ControlFlow, sync::Arc, time::Duration};

/// The maximum number of postponed requests. In an outage, no new request is sent beyond this.
const POSTPONED_MAX: usize = 1_000;

/// When something happens, and what the ledger says then.
#[derive(Clone)]
pub struct Now {
    pub at: Moment,
    /// The time by this machine's clock, in microseconds since 1970.
    pub us: i64,
    pub sums: Arc<Sums>,
    /// Until when the gate is closed for all requests.
    pub paused_until: Option<Moment>,
}

/// What happened.
pub enum Input {
    /// A new round of the driver begins. Comes with the progress of intake.
    Round(IntakeProgress),
    /// Requests were read from the ledger, if any were wanted.
    Candidates(Option<Page>),
    /// The reply to a request was read and judged, and is not recorded yet.
    Heard(Heard),
    /// An attempt has ended, and is settled.
    Ended(Candidate, AttemptEnd),
    /// A job was polled, and what the service said is recorded.
    Polled(DueJob, Box<Polled>),
    /// The simulator answered a campaign of the real service, or the reverse.
    OtherSide {
        simulated: bool,
    },
    /// The balance was read and recorded, or the run must stop. `alone` if no request was in flight.
    Balance {
        why: Why,
        read: ControlFlow<Stop, BalanceRead>,
        alone: bool,
    },
    /// Nothing may be sent, whatever the service says.
    Closed(Stop),
    Signal(Signal),
    TimeIsUp,
    /// Failures are retried next, which is the first thing that a run does.
    BeforeRetries,
    /// Nothing is left to do, or the run stops.
    End,
}

/// What the driver does next.
pub enum Command {
    /// Records what happened to a request.
    Record { request: RequestId, event: Event, failure: Option<Failure> },
    /// Gives a request the key of its next generation.
    NewKey { request: RequestId, event: Event },
    /// Reads the balance after this time, and does nothing else meanwhile.
    ReadBalance { after: Duration, why: Why },
    /// Records that new requests wait until one in doubt is answered.
    NewWait,
    /// Records a stop for the next run.
    KeepStop(KeptStop),
    /// Stops all workers that share the account.
    HaltAll(Stop),
    /// Waits for no reply that is still under way.
    AbortAttempts,
}

/// Why the balance is read.
pub enum Why {
    /// It shows charges that replies do not state, and that the service works.
    Account,
    /// It shows what a request that was sent alone costs.
    Lone,
    /// It shows whether the account is why jobs are refused. If it is not, this is the reason to stop.
    JobRefused(Option<Box<Stop>>),
    /// It shows why a request was refused.
    Refused(Box<(Candidate, Attempt)>),
}

/// The decisions of a run.
pub struct Engine {
    terms: Terms,
    now: Now,
    commands: Vec<Command>,
    schedule: Schedule,
    supply: Supply,
    guards: GuardState,
    limits: Limits,
    check_pauses: Arc<CheckPauses>,
    spending: Spending,
    prices: Prices,
    health: Health,
    polls: PollHistory,
    flights: Flights,
    /// Requests that were refused twice, of checks that were not answered yet. They wait until nothing else is left to
    /// send.
    aside: Vec<(Candidate, Stop)>,
    /// For each check of which no more requests are sent, why.
    left_out: Vec<Stop>,
    stops: Vec<Stop>,
    answered: u64,
    withheld: u64,
    /// The number of requests without an answer that this run gave up on, and that are proven uncharged.
    left_unsent: u64,
    /// Requests that another partition of the campaign has sent and has no answer to.
    left_elsewhere: u64,
    /// Why some requests in doubt are not sent again, while others are.
    withholds: Vec<Stop>,
    lasting_conflicts: LastingConflicts,
    /// All workers that share the account were stopped.
    has_halted_all: bool,
    cut_short: bool,
    /// The time is up, and nothing but jobs was left.
    time_is_over: bool,
    /// Nothing is sent any more.
    is_ending: bool,
}

impl Engine {
    /// The start of a run. `left_out` says why some checks are not sent at all.
    pub fn new(
        terms: Terms,
        now: Now,
        (supply, left_out): (Supply, Vec<Stop>),
        (limits, check_pauses): (Limits, Arc<CheckPauses>),
    ) -> Engine {
        Engine {
            prices: Prices::new(terms.mode, now.sums.unexplained_since_us.is_some(), now.at)
                .expecting_repeats(terms.lost_a_ledger)
                .beside_others(terms.is_shared),
            schedule: Schedule::new(terms.in_flight),
            terms,
            now,
            commands: Vec::new(),
            supply,
            guards: GuardState::default(),
            limits,
            check_pauses,
            spending: Spending::default(),
            health: Health::default(),
            polls: PollHistory::default(),
            flights: Flights::default(),
            aside: Vec::new(),
            left_out,
            stops: Vec::new(),
            answered: 0,
            withheld: 0,
            left_unsent: 0,
            left_elsewhere: 0,
            withholds: Vec::new(),
            lasting_conflicts: LastingConflicts::default(),
            has_halted_all: false,
            cut_short: false,
            time_is_over: false,
            is_ending: false,
        }
    }

    /// Decides what follows from what happened. The commands are executed in their order.
    ///
    /// # Errors
    /// The ledger refuses a move that its rows should allow.
    pub fn on(&mut self, now: Now, input: Input) -> Result<Vec<Command>, Error> {
        self.now = now;
        match input {
            Input::Round(intake) => self.round(intake),
            Input::Candidates(page) => self.candidates(page),
            Input::Heard(heard) => self.flights.heard(&heard, &self.prices, &self.now.sums.account),
            Input::Ended(candidate, end) => self.ended(candidate, end)?,
            Input::Polled(job, polled) => self.polled(&job, &polled),
            Input::OtherSide { simulated } => self.stops.push(Stop::OtherSide { simulated }),
            Input::Closed(stop) => self.close(stop),
            Input::Balance { why, read, alone } => self.balance(why, read, alone),
            Input::Signal(signal) => self.signalled(signal),
            Input::TimeIsUp => self.time_is_up(),
            Input::BeforeRetries if self.prices.is_watched() => self.read_balance(Duration::ZERO, Why::Account),
            Input::BeforeRetries => {}
            Input::End => {
                self.is_ending = true;
                self.gather_stops();
                self.keep_stop();
                self.read_at_the_end();
            }
        }
        // First: a run that is killed between them would not tell the others.
        self.halt_all();
        self.keep_stop();
        Ok(std::mem::take(&mut self.commands))
    }

    /// Wakes what is due, and checks the guards that need no reply.
    fn round(&mut self, intake: IntakeProgress) {
        self.schedule.wake(self.now.at);
        self.resume_trials();
        if self.stops.is_empty() && !self.is_sent() {
            self.stops.extend(self.prices.denied());
        }
        if !self.stops.is_empty() || self.spending.is_spent() {
            return;
        }
        let sums = Arc::clone(&self.now.sums);
        self.stops.extend(guards::unmapped(&sums, &self.terms.guards));
        if intake.failed {
            self.stops.push(Stop::InputFailed);
        }
        if intake.done {
            self.stops.extend(guards::expected_rows(sums.rows, self.terms.expect_rows));
        }
        self.hold_limited();
        self.leave_out_limited();
        if [State::InDoubt, State::Repeating, State::Armed].iter().all(|doubt| sums.in_state(*doubt) == 0) {
            self.supply.doubts_first = false;
        }
    }

    /// Takes requests that were read, and decides what must happen before the next one is sent.
    fn candidates(&mut self, page: Option<Page>) {
        if let Some(page) = page {
            self.supply.took(&page);
            self.schedule.new.extend(page.new);
            self.schedule.sent_before.extend(page.again);
        }
        self.hold_back();
        if !self.stops.is_empty() {
            return;
        }
        if self.flights.is_empty() {
            self.look_after_account();
        }
        if self.commands.is_empty() && self.prices.is_due(self.now.at) {
            self.read_balance(Duration::ZERO, Why::Account);
        }
        if self.commands.is_empty() && self.is_sent() && !self.aside.is_empty() {
            self.retry_set_aside();
        }
    }

    /// What is known about the requests in the ledger.
    pub fn supply(&self) -> &Supply {
        &self.supply
    }

    /// Whether a request is in flight, or waits for its turn.
    pub fn holds(&self, request: RequestId) -> bool {
        self.flights.has(request) || self.schedule.due_of(request).is_some()
    }

    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The reasons to stop. Empty while the run continues.
    pub fn stops(&self) -> &[Stop] {
        &self.stops
    }

    /// Whether more may be sent or asked.
    pub fn is_open(&self) -> bool {
        self.stops.is_empty() && !self.time_is_over
    }

    /// The number of answers in this run.
    pub fn answers(&self) -> u64 {
        self.answered
    }

    /// The time is up, and nothing but jobs was left.
    pub fn is_time_over(&self) -> bool {
        self.time_is_over
    }

    /// Whether nothing is left to send.
    pub fn is_sent(&self) -> bool {
        let is_dry = self.supply.is_dry() || self.spending.is_spent();
        self.flights.is_empty() && self.schedule.is_empty() && is_dry
    }

    /// Whether a request may be sent.
    pub fn may_send(&self) -> bool {
        let Some(next) = self.schedule.next() else { return false };
        let is_alone = self.spending.alone || self.prices.must_run_alone(next);
        let room = self.spending.room(if is_alone { 1 } else { self.terms.in_flight });
        self.stops.is_empty() && !self.needs_reading() && self.flights.has_place(room, is_alone)
    }

    /// Takes the next request, which is then sent, and what its check costs, if that is less than its price.
    pub fn take_next(&mut self, now: Now) -> Option<(Candidate, Option<Credits>)> {
        self.now = now;
        let next = self.schedule.take()?;
        self.prices.started(&next, self.now.sums.account.reading, self.now.at);
        self.limits.started(&next.check, self.now.at);
        self.check_pauses.started(&next.check, next.request);
        self.flights.started(next.request);
        let lower = self.prices.lower(&next.check);
        self.hold_back();
        Some((next, lower))
    }

    fn ended(&mut self, candidate: Candidate, end: AttemptEnd) -> Result<(), Error> {
        self.flights.ended(candidate.request);
        self.schedule.ended(&candidate);
        self.limits.ended(&candidate.check);
        self.check_pauses.ended(&candidate.check, candidate.request);
        self.apply(candidate, end)
    }

    /// Returns a request that was not sent to the schedule.
    fn take_back(&mut self, candidate: Candidate) {
        if !self.supply.leaves_out(&candidate.check) {
            self.schedule.take_back(candidate);
        }
    }

    /// Puts a request before the others of its kind.
    fn put_first(&mut self, candidate: Candidate) {
        if !self.supply.leaves_out(&candidate.check) {
            self.schedule.put_first(candidate);
        }
    }

    fn record(&mut self, request: RequestId, event: Event, failure: Option<Failure>) {
        self.commands.push(Command::Record { request, event, failure });
    }

    fn read_balance(&mut self, after: Duration, why: Why) {
        self.commands.push(Command::ReadBalance { after, why });
    }

    /// Nothing is sent any more.
    pub fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// A second interrupt came: requests that were in flight are in doubt.
    pub fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// What sending did, except for the jobs that another API key has.
    pub fn sent(self) -> Sent {
        Sent {
            stops: self.stops,
            answered: self.answered,
            withheld: self.withheld,
            withheld_jobs: 0,
            polls: self.polls.sent,
            lasting_conflicts: self.lasting_conflicts,
            unexplained: self.prices.unexplained(),
        }
    }
}

#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod walk_tests;
#[cfg(test)]
mod world_tests;
