//! The send loop: ledger → next request → throttle → flight → what comes next, until nothing is left or something says
//! stop. In doubt goes first: it is nearest to the end of its key's life.

mod landing;
mod purse;

use super::{
    feeder::Feeder,
    flight::{Crew, Landed, Try, fly},
    guards::{self, Watch},
    health::Health,
    intake::IntakeProgress,
};
use crate::{
    error::Error,
    ledger::Sums,
    model::{Permit, RequestId, Stop},
};
use purse::Purse;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, Interval},
};

/// Requests put off at once, at most: in an outage nothing new is begun beyond this.
const WAITING_MAX: usize = 1_000;

/// Requests taken out of the ledger at once, at least: a reader beside a writer begins with an empty cache each time.
const READY_MIN: usize = 512;

/// What the terminal, or a scheduler, tells a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Once: drain. Twice: now.
    Interrupt,
    /// Drain.
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
pub struct Surroundings {
    pub signals: mpsc::Receiver<Signal>,
    pub progress: watch::Sender<Progress>,
    pub intake: watch::Receiver<IntakeProgress>,
    /// Drain at this moment.
    pub deadline: Option<Instant>,
}

/// What the send loop came to.
pub struct Dispatched {
    pub stops: Vec<Stop>,
    pub answered: u64,
    /// Requests in doubt that were sent under another API key and stay as they are.
    pub withheld: u64,
    /// A second interrupt: what was under way is in doubt.
    pub cut_short: bool,
    /// What is still to be heeded while the run ends.
    pub signals: mpsc::Receiver<Signal>,
}

impl Dispatched {
    /// A run that stopped before its first request.
    pub fn nothing(stop: Stop, around: Surroundings) -> Dispatched {
        Dispatched { stops: vec![stop], answered: 0, withheld: 0, cut_short: false, signals: around.signals }
    }

    /// Takes in a signal that comes after the last request.
    pub fn heed(&mut self, signal: Signal) {
        self.cut_short |= heed(&mut self.stops, signal);
    }
}

/// Notes what a signal wants; whether it wants it now.
fn heed(stops: &mut Vec<Stop>, signal: Signal) -> bool {
    let again = stops.contains(&Stop::Interrupted);
    stops.push(signal.stop());
    again && signal == Signal::Interrupt
}

pub struct Dispatch {
    crew: Arc<Crew>,
    feeder: Feeder,
    around: Surroundings,
    watch: Watch,
    flights: JoinSet<Result<(Try, Landed), Error>>,
    ready: VecDeque<Try>,
    waiting: BTreeMap<(Instant, RequestId), Try>,
    stops: Vec<Stop>,
    purse: Purse,
    health: Health,
    answered: u64,
    withheld: u64,
    cut_short: bool,
    tick: Interval,
}

impl Dispatch {
    pub fn new(crew: Arc<Crew>, feeder: Feeder, around: Surroundings) -> Dispatch {
        Dispatch {
            purse: Purse::new(crew.campaign.mode),
            crew,
            feeder,
            around,
            watch: Watch::default(),
            flights: JoinSet::new(),
            ready: VecDeque::new(),
            waiting: BTreeMap::new(),
            stops: Vec::new(),
            health: Health::default(),
            answered: 0,
            withheld: 0,
            cut_short: false,
            tick: tokio::time::interval(Duration::from_millis(500)),
        }
    }

    /// Sends until nothing is left or something says stop; `publish` is called about twice a second with the answers so far.
    /// Where it fails, what is under way is drained before the error is given.
    pub async fn run(mut self, mut publish: impl FnMut(u64) -> Result<(), Error>) -> Result<Dispatched, Error> {
        let mut unpublished = None;
        loop {
            if self.flights.is_empty()
                && let Some(error) = unpublished
            {
                return Err(error);
            }
            self.wake();
            self.refill()?;
            if self.flights.is_empty() && !self.stops.is_empty() {
                break;
            }
            if self.flights.is_empty() && self.settle_account().await? {
                continue;
            }
            if self.is_done() {
                break;
            }
            tokio::select! {
                biased;
                Some(landed) = self.flights.join_next(), if !self.flights.is_empty() => {
                    let (one, landed) = landed.map_err(|error| Error::Internal(error.to_string()))??;
                    self.landed(one, landed).await?;
                }
                Some(signal) = self.around.signals.recv() => self.signalled(signal),
                permit = self.crew.throttle.admit(), if unpublished.is_none() && self.may_send() => self.launch(permit),
                () = until(self.waiting.keys().next().map(|(due, _)| *due)) => {}
                () = until(self.around.deadline), if self.stops.is_empty() => self.stops.push(Stop::TimeIsUp),
                Ok(()) = self.around.intake.changed() => {}
                _ = self.tick.tick() => {
                    self.report();
                    if unpublished.is_none() {
                        unpublished = publish(self.answered).err();
                    }
                }
            }
        }
        self.stops.extend(self.purse.spent());
        self.report();
        Ok(Dispatched {
            stops: self.stops,
            answered: self.answered,
            withheld: self.withheld,
            cut_short: self.cut_short,
            signals: self.around.signals,
        })
    }

    fn may_send(&self) -> bool {
        let Some(next) = self.ready.front() else { return false };
        let all = self.crew.campaign.service.in_flight;
        self.stops.is_empty() && !self.health.wants_a_look() && self.flights.len() < self.purse.room(next, all)
    }

    fn is_done(&self) -> bool {
        let dry = self.feeder.is_dry() || self.purse.is_spent();
        self.flights.is_empty() && self.ready.is_empty() && self.waiting.is_empty() && dry
    }

    /// Takes the next requests out of the ledger, and looks at what intake has found.
    fn refill(&mut self) -> Result<(), Error> {
        if !self.stops.is_empty() || self.purse.is_spent() {
            return Ok(());
        }
        let guards = &self.crew.campaign.guards;
        let sums = self.crew.ledger.sums();
        // A thread that is gone takes nothing more, whatever ended it.
        let gone = self.around.intake.has_changed().is_err();
        let mut intake = *self.around.intake.borrow_and_update();
        intake.done |= gone;
        self.stops.extend(guards::unmapped(&sums, guards));
        if intake.failed {
            self.stops.push(Stop::InputFailed);
        }
        if intake.done {
            self.stops.extend(guards::expected_rows(sums.rows, self.crew.campaign.expect_rows));
        }
        let wanted = self.crew.campaign.service.in_flight;
        if self.stops.is_empty() && self.ready.len() < wanted && self.waiting.len() < WAITING_MAX {
            self.feeder.fill(&mut self.ready, wanted.max(READY_MIN), intake, &self.crew.sold)?;
        }
        Ok(())
    }

    /// Puts what is due again in front, the longest due first.
    fn wake(&mut self) {
        let later = self.waiting.split_off(&(Instant::now() + Duration::from_nanos(1), RequestId(0)));
        let due = std::mem::replace(&mut self.waiting, later);
        for one in due.into_values().rev() {
            self.ready.push_front(one);
        }
    }

    fn launch(&mut self, permit: Permit) {
        if let Some(one) = self.ready.pop_front() {
            self.purse.launched(&one);
            let crew = Arc::clone(&self.crew);
            self.flights.spawn(async move {
                let landed = fly(crew, permit, one.request, one.sold.clone()).await?;
                Ok((one, landed))
            });
        }
    }

    fn signalled(&mut self, signal: Signal) {
        if heed(&mut self.stops, signal) {
            self.flights.abort_all();
            self.flights = JoinSet::new();
            self.cut_short = true;
        }
    }

    fn report(&self) {
        self.around.progress.send_replace(Progress {
            sums: self.crew.ledger.sums(),
            in_flight: self.flights.len(),
            answered: self.answered,
            intake: *self.around.intake.borrow(),
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
