//! The send loop: ledger → next request → throttle → flight → what comes next, until nothing is left or something says
//! stop. In doubt goes first: it is nearest to the end of its key's life.

use super::{
    account::{clocks_agree, read_balance},
    feeder::Feeder,
    flight::{Attempted, Crew, Landed, PUSH_BACK_MAX, Try, fly},
    guards::{self, Watch},
    health::Health,
    intake::IntakeProgress,
    next_step::{Next, next_step},
};
use crate::{
    error::Error,
    ledger::Sums,
    mapping::key_of_generation,
    model::{
        Credits, Failure, FailureCode, Mode, Permit, RequestId, Stage, Stop,
        budget::Refusal,
        state::{Event, IllegalMove, State},
    },
};
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

/// What the terminal, or a scheduler, tells a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Once: drain. Twice: now.
    Interrupt,
    /// Drain.
    Terminate,
}

/// Where a run stands, for whoever watches.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub sums: Sums,
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
    /// A second interrupt: what was under way is in doubt.
    pub cut_short: bool,
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
    /// The budget refused a request: nothing is sent until the air is empty.
    blocked: Option<Refusal>,
    /// The refused request is tried once more, alone, before the run stops.
    alone: bool,
    health: Health,
    answered: u64,
    cut_short: bool,
    tick: Interval,
}

impl Dispatch {
    pub fn new(crew: Arc<Crew>, feeder: Feeder, around: Surroundings) -> Dispatch {
        Dispatch {
            crew,
            feeder,
            around,
            watch: Watch::default(),
            flights: JoinSet::new(),
            ready: VecDeque::new(),
            waiting: BTreeMap::new(),
            stops: Vec::new(),
            blocked: None,
            alone: false,
            health: Health::default(),
            answered: 0,
            cut_short: false,
            tick: tokio::time::interval(Duration::from_millis(500)),
        }
    }

    /// Sends until nothing is left or something says stop; `publish` is called about twice a second with the answers so far.
    pub async fn run(mut self, mut publish: impl FnMut(u64) -> Result<(), Error>) -> Result<Dispatched, Error> {
        loop {
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
                permit = self.crew.throttle.admit(), if self.may_send() => self.launch(permit),
                () = until(self.waiting.keys().next().map(|(due, _)| *due)) => {}
                () = until(self.around.deadline), if self.stops.is_empty() => self.stops.push(Stop::TimeIsUp),
                Ok(()) = self.around.intake.changed() => {}
                _ = self.tick.tick() => {
                    self.report();
                    publish(self.answered)?;
                }
            }
        }
        self.report();
        Ok(Dispatched { stops: self.stops, answered: self.answered, cut_short: self.cut_short })
    }

    fn may_send(&self) -> bool {
        let room = if self.alone { 1 } else { self.crew.campaign.service.in_flight };
        self.stops.is_empty()
            && self.blocked.is_none()
            && !self.health.wants_a_look()
            && !self.ready.is_empty()
            && self.flights.len() < room
    }

    fn is_done(&self) -> bool {
        self.flights.is_empty() && self.ready.is_empty() && self.waiting.is_empty() && self.feeder.is_dry()
    }

    /// Takes the next requests out of the ledger, and looks at what intake has found.
    fn refill(&mut self) -> Result<(), Error> {
        if !self.stops.is_empty() {
            return Ok(());
        }
        let guards = &self.crew.campaign.guards;
        let sums = self.crew.ledger.sums();
        self.stops.extend(guards::unmapped(&sums, guards));
        if self.around.intake.borrow().done {
            self.stops.extend(guards::expected_rows(sums.rows, self.crew.campaign.expect_rows));
        }
        let wanted = self.crew.campaign.service.in_flight;
        if self.stops.is_empty() && self.ready.len() < wanted && self.waiting.len() < WAITING_MAX {
            let intake = *self.around.intake.borrow_and_update();
            self.feeder.fill(&mut self.ready, wanted.max(64), intake, &self.crew.sold)?;
        }
        Ok(())
    }

    /// Puts what is due again in front.
    fn wake(&mut self) {
        let now = Instant::now();
        while let Some(entry) = self.waiting.first_entry()
            && entry.key().0 <= now
        {
            self.ready.push_front(entry.remove());
        }
    }

    fn launch(&mut self, permit: Permit) {
        if let Some(one) = self.ready.pop_front() {
            let crew = Arc::clone(&self.crew);
            self.flights.spawn(async move {
                let landed = fly(crew, permit, one.request, one.sold.clone()).await?;
                Ok((one, landed))
            });
        }
    }

    /// With nothing under way: reads the balance where it is wanted. Whether anything was done.
    async fn settle_account(&mut self) -> Result<bool, Error> {
        let production = self.crew.campaign.mode == Mode::Production;
        let first = production && !self.ready.is_empty() && !self.health.was_looked_at();
        let refused = self.blocked.take();
        if let Some(refusal) = refused
            && self.alone
        {
            self.stops.push(Stop::Budget(refusal));
            return Ok(true);
        }
        self.alone |= refused.is_some();
        let short = matches!(refused, Some(Refusal::Balance { .. } | Refusal::Unread));
        if !(first || short || self.health.wants_a_look()) {
            return Ok(refused.is_some());
        }
        self.health.looked();
        match self.balance().await? {
            Ok(_) => {}
            // In sandbox only the service's being there is asked for.
            Err(Stop::BalanceUnreadable) if !production => {}
            Err(stop) => self.stops.push(stop),
        }
        let sums = self.crew.ledger.sums();
        if first && sums.in_state(State::InDoubt) + sums.in_state(State::Repeating) > 0 {
            self.stops.extend(clocks_agree(&sums).err());
        }
        Ok(true)
    }

    async fn landed(&mut self, one: Try, landed: Landed) -> Result<(), Error> {
        match landed {
            Landed::Refused(refusal) => {
                self.ready.push_front(one);
                self.blocked.get_or_insert(refusal);
            }
            Landed::GateClosed => self.put_off(one, Duration::ZERO),
            Landed::Quarantined | Landed::Withheld(IllegalMove::OtherApiKey) => {}
            Landed::Withheld(defect) => return Err(Error::Ledger(defect.into())),
            Landed::Attempted(attempted) => {
                self.alone = false;
                let least = self.crew.ledger.sums().account.least_balance();
                let production = self.crew.campaign.mode == Mode::Production;
                self.health.saw(&attempted, least.filter(|_| production));
                if attempted.is_stranger() {
                    self.stops.extend(self.watch.stranger());
                }
                self.attempted(one, *attempted).await?;
            }
        }
        Ok(())
    }

    async fn attempted(&mut self, one: Try, attempted: Attempted) -> Result<(), Error> {
        if let Some(simulated) = attempted.other_side {
            self.stops.push(Stop::OtherSide { simulated });
            return Ok(());
        }
        match next_step(one, &attempted, self.answered, self.crew.campaign.mode) {
            Next::Answered(one) => self.answered(&one, &attempted),
            Next::Failed => {
                self.stops.extend(self.watch.refused(&attempted.alike, &self.crew.campaign.guards));
            }
            Next::Again(one, delay) => self.put_off(one, delay),
            Next::LeftForLater => {}
            Next::AttemptsOver(one) => self.attempts_over(&one, &attempted).await?,
            Next::NewKey(one) => self.new_key(one).await?,
            Next::AskAccount(one) => self.no_credits(one, &attempted).await?,
            Next::Misrouted(one) => {
                let path = self.crew.sold.get(&one.sold).map(|sold| sold.path.clone()).unwrap_or_default();
                let status = attempted.http_status.unwrap_or_default();
                self.stops.push(Stop::Misrouted { status, path });
            }
            Next::Unauthorised => {
                let status = attempted.http_status.unwrap_or_default();
                self.stops.push(Stop::Unauthorised { status, message: attempted.message });
            }
            Next::PushedBack(wait) => {
                let until_us = self.crew.clock.now_us().saturating_add(super::flight::micros(wait));
                self.stops.push(Stop::PushedBack { until_us });
            }
        }
        Ok(())
    }

    fn answered(&mut self, one: &Try, attempted: &Attempted) {
        self.answered += 1;
        if let Some(judgement) = &attempted.judgement {
            self.stops.extend(self.watch.answered(&one.sold, judgement.verdict, &self.crew.campaign.guards));
        }
        if attempted.settled.above_price {
            let table = self.crew.sold.get(&one.sold).map(|sold| sold.price).unwrap_or_default();
            let stated = attempted.settled.charged;
            self.stops.push(Stop::Price { check: one.sold.clone(), stated, table });
        }
    }

    fn put_off(&mut self, one: Try, delay: Duration) {
        let now = Instant::now();
        let due = self.crew.throttle.paused_until().unwrap_or(now).max(now + delay.min(PUSH_BACK_MAX));
        self.waiting.insert((due, one.request), one);
    }

    async fn attempts_over(&mut self, one: &Try, attempted: &Attempted) -> Result<(), Error> {
        let failure = Failure {
            stage: Stage::Send,
            code: FailureCode::AttemptsOver,
            message: format!("no answer after {} attempts in sandbox: {}", one.attempts, attempted.message),
        };
        let event = Event::AttemptsOver { mode: self.crew.campaign.mode };
        self.crew.ledger.event(one.request, event, None, Some(failure)).await?;
        self.stops.extend(self.watch.refused(&attempted.alike, &self.crew.campaign.guards));
        Ok(())
    }

    /// The refusal is cached under the key and proven uncharged: the next generation asks again.
    async fn new_key(&mut self, mut one: Try) -> Result<(), Error> {
        let (fields, generation) = self.feeder.fields(one.request)?;
        let campaign = &self.crew.campaign;
        let secret = campaign.key_secret.as_ref();
        let key = key_of_generation(&campaign.name, campaign.mode, &one.sold, &fields, generation + 1, secret);
        match self.crew.ledger.event(one.request, Event::RefusalCached, Some(key), None).await {
            Ok(_) => {
                one.cached = 0;
                self.put_off(one, Duration::ZERO);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// 402: either the account is empty, or a refusal is cached under the key while the balance is fine.
    async fn no_credits(&mut self, one: Try, attempted: &Attempted) -> Result<(), Error> {
        if !self.stops.is_empty() {
            return Ok(());
        }
        let price = self.crew.sold.get(&one.sold).map(|sold| sold.price).unwrap_or_default();
        match self.balance().await? {
            Err(stop) => self.stops.push(stop),
            Ok(balance) if balance < price => self.stops.push(Stop::NoCredits { balance, price }),
            Ok(_) if attempted.may_change_key() => self.new_key(one).await?,
            Ok(balance) if attempted.settled.refusals_in_row > 6 => {
                self.stops.push(Stop::NoCredits { balance, price });
            }
            Ok(_) => self.put_off(one, Duration::from_secs(1)),
        }
        Ok(())
    }

    /// Reads the balance, unless the run is told to end meanwhile: a closed gate may hold the reading for minutes.
    async fn balance(&mut self) -> Result<Result<Credits, Stop>, Error> {
        let Surroundings { signals, deadline, .. } = &mut self.around;
        tokio::select! {
            biased;
            Some(signal) = signals.recv() => Ok(Err(match signal {
                Signal::Interrupt => Stop::Interrupted,
                Signal::Terminate => Stop::Terminated,
            })),
            () = until(*deadline) => Ok(Err(Stop::TimeIsUp)),
            balance = read_balance(&self.crew) => balance,
        }
    }

    fn signalled(&mut self, signal: Signal) {
        match signal {
            Signal::Interrupt if self.stops.contains(&Stop::Interrupted) => {
                self.flights.abort_all();
                self.flights = JoinSet::new();
                self.cut_short = true;
            }
            Signal::Interrupt => self.stops.push(Stop::Interrupted),
            Signal::Terminate => self.stops.push(Stop::Terminated),
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
