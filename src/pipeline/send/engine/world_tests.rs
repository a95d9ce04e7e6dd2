//! A ledger and a service in memory, for tests of the engine. The ledger uses the state machine and the budget of the real
//! one, so a decision that they refuse fails the test.

use super::{Command, Engine, Input, Now, Why};
use crate::{
    client::{Author, PushBack},
    ledger::{Settled, Sums},
    model::{
        Credits, Judgement, Mode, RequestId, Stop, Verdict,
        budget::Allowance,
        state::{Event, Hold, IllegalMove, KeyAge, Move, Outcome, Standing, State},
        transitions::next,
    },
    pipeline::{
        campaign::{Guards, file::Share},
        intake::IntakeProgress,
        send::{
            account::BalanceRead,
            attempt_end::{Attempt, AttemptEnd},
            context::Candidate,
            limit::Limit,
            limits::Limits,
            moment::Moment,
            next_step::tests::attempted,
            queue::{Page, Supply},
            terms::Terms,
        },
    },
};
use std::{
    collections::{BTreeMap, VecDeque},
    ops::ControlFlow::{Break, Continue},
    sync::Arc,
    time::Duration,
};

pub const CHECKS: [&str; 2] = ["aml-screening", "vehicle-check"];
pub const PRICE: Credits = Credits(5);
pub const IN_FLIGHT: usize = 8;

/// A reply, as it was read.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: Option<u16>,
    pub outcome: Outcome,
    pub author: Author,
    pub push_back: Option<PushBack>,
    /// Why no job can be followed.
    pub job_fault: Option<String>,
    /// The balance that it states.
    pub remaining: Option<Credits>,
}

impl Reply {
    pub fn new(status: Option<u16>, outcome: Outcome) -> Reply {
        Reply { status, outcome, author: Author::Service, push_back: None, job_fault: None, remaining: None }
    }

    /// A reply of something between here and the service.
    pub fn of_another(status: u16, outcome: Outcome) -> Reply {
        Reply { author: Author::Another, ..Reply::new(Some(status), outcome) }
    }

    pub fn pushes_back(self, push_back: PushBack) -> Reply {
        Reply { push_back: Some(push_back), ..self }
    }
}

/// A request in the ledger.
pub struct Request {
    pub check: &'static str,
    pub standing: Standing,
    pub attempts: u32,
    refusals_in_row: u32,
}

/// A run in memory.
pub struct World {
    pub engine: Engine,
    pub sums: Sums,
    pub requests: BTreeMap<RequestId, Request>,
    /// New requests that were not read yet.
    unread: VecDeque<RequestId>,
    pub allowance: Allowance,
    pub at: Moment,
    /// The balance of the account at the service.
    pub balance: Credits,
    /// The account cannot be read, for this reason.
    pub no_account: Option<Stop>,
    /// What the engine decided, in the order of execution.
    pub decided: Vec<String>,
}

impl World {
    /// A run of this many new requests of the two checks in turn, with this limit.
    pub fn new(count: i64, limit: u64) -> World {
        let requests = (1..=count).map(|id| {
            let (check, standing) = (CHECKS[(id % 2) as usize], Standing::planned(PRICE));
            (RequestId(id), Request { check, standing, attempts: 0, refusals_in_row: 0 })
        });
        let requests: BTreeMap<RequestId, Request> = requests.collect();
        let sums = Sums {
            requests: [(State::Planned, requests.len() as u64)].into(),
            rows: requests.len() as u64,
            asks: requests.len() as u64,
            ..Sums::default()
        };
        let now = now(Moment::START, &sums);
        let terms = Terms {
            mode: Mode::Production,
            in_flight: IN_FLIGHT,
            delay_max: Duration::from_secs(900),
            guards: Guards {
                max_errors: Share::Percent(100.0),
                max_errors_explicit: true,
                max_unrecognised: Share::Percent(100.0),
                accept_failures: None,
            },
            expect_rows: None,
            has_webhook: false,
            paths: BTreeMap::new(),
            settings: String::new(),
            lost_a_ledger: false,
            is_shared: false,
        };
        let no_limits: [(&String, Limit); 0] = [];
        let limits = Limits::new(no_limits, |_| Ok::<_, ()>(Vec::new()), Moment::START).unwrap();
        World {
            engine: Engine::new(terms, now, (Supply::new(false, false), Vec::new()), (limits, Arc::default())),
            unread: requests.keys().copied().collect(),
            sums,
            requests,
            allowance: Allowance { limit: Some(Credits(limit)), keep_balance: Credits::ZERO },
            at: Moment::START,
            balance: Credits(1_000_000),
            no_account: None,
            decided: Vec::new(),
        }
    }

    pub fn now(&self) -> Now {
        now(self.at, &self.sums)
    }

    /// Tells the engine what happened, and executes what it decides.
    pub fn tell(&mut self, input: Input) {
        let commands = self.engine.on(self.now(), input).expect("no move is illegal");
        self.execute(commands);
    }

    fn execute(&mut self, commands: Vec<Command>) {
        let mut commands = VecDeque::from(commands);
        while let Some(command) = commands.pop_front() {
            self.decided.push(match &command {
                Command::Record { event, .. } => format!("record {event:?}"),
                Command::NewKey { event, .. } => format!("new key {event:?}"),
                Command::ReadBalance { why: Why::Refused(_), .. } => "read the balance, then decide".to_owned(),
                Command::ReadBalance { after, why: Why::Lone } => format!("read the balance after {after:?}"),
                Command::ReadBalance { .. } => "read the balance".to_owned(),
                Command::NewWait => "let new requests wait".to_owned(),
                Command::KeepStop(_) => "keep the stop".to_owned(),
                Command::HaltAll(_) => "stop all workers".to_owned(),
                Command::AbortAttempts => "abort".to_owned(),
            });
            match command {
                Command::Record { request, event, .. } | Command::NewKey { request, event } => {
                    let step = self.step(request, event).expect("the engine asks only for moves that are allowed");
                    self.moves(request, &step);
                }
                Command::ReadBalance { after, why } => {
                    self.at = self.at + after;
                    let read = match self.no_account.clone() {
                        Some(stop) => Break(stop),
                        None => {
                            let account = &mut self.sums.account;
                            let unexplained_fall = account.unexplained_fall(self.balance);
                            account.reading = Some(account.reading(self.balance, 0));
                            Continue(BalanceRead { balance: self.balance, unexplained_fall })
                        }
                    };
                    let alone = self.sums.in_state(State::Armed) == 0;
                    let input = Input::Balance { why, read, alone };
                    commands.extend(self.engine.on(self.now(), input).expect("no move is illegal"));
                }
                Command::NewWait => self.sums.new_wait = true,
                Command::KeepStop(_) | Command::HaltAll(_) | Command::AbortAttempts => {}
            }
        }
    }

    /// One round of the driver, without anything that is sent.
    pub fn round(&mut self) {
        let intake = IntakeProgress { done: true, ..IntakeProgress::default() };
        self.tell(Input::Round(intake));
        let page = self.engine.wants().map(|wanted| {
            let new: Vec<RequestId> = self.unread.drain(..self.unread.len().min(wanted)).collect();
            let new = new.into_iter().map(|id| Candidate::new(id, self.requests[&id].check.to_owned())).collect();
            let is_dry = self.unread.is_empty();
            Page { new, again: Vec::new(), is_dry, has_sent_before: false }
        });
        self.tell(Input::Candidates(page));
    }

    /// Takes the next request, and arms it. Returns why it is not armed, if it is not.
    pub fn start(&mut self) -> Option<(Candidate, Option<AttemptEnd>)> {
        let (candidate, _) = self.engine.take_next(self.now())?;
        let end = self.arm(candidate.request).err();
        Some((candidate, end))
    }

    pub fn arm(&mut self, id: RequestId) -> Result<(), AttemptEnd> {
        let arm = Event::Arm { age: KeyAge::Alive, same_api_key: true };
        let step = self.step(id, arm).map_err(AttemptEnd::Withheld)?;
        let standing = &self.requests[&id].standing;
        let more = Hold::Take.apply(standing.held, standing.price).added;
        self.sums.account.admit(more, &self.allowance).map_err(AttemptEnd::OverBudget)?;
        self.moves(id, &step);
        self.requests.get_mut(&id).expect("a request").attempts += 1;
        Ok(())
    }

    /// Settles an attempt by its reply.
    pub fn settle(&mut self, id: RequestId, reply: &Reply) -> AttemptEnd {
        let step = self.step(id, Event::Attempted(reply.outcome)).expect("an armed request takes any reply");
        let account = &self.sums.account;
        let price = self.requests[&id].standing.price;
        let unexplained_fall = reply.remaining.map_or(Credits::ZERO, |left| account.unexplained_fall(left));
        self.moves(id, &step);
        let request = self.requests.get_mut(&id).expect("a request");
        request.refusals_in_row = match reply.outcome {
            Outcome::NoCredits | Outcome::RateLimited => request.refusals_in_row + 1,
            Outcome::NotWritten => request.refusals_in_row,
            _ => 0,
        };
        request.standing.unclear += u32::from(reply.outcome.is_unclear());
        let Standing { cached_refusals, unclear, .. } = request.standing;
        let (attempts, refusals_in_row) = (request.attempts, request.refusals_in_row);
        let charged = if let Hold::Charge(charged) = step.hold { charged } else { Credits::ZERO };
        let so_far = if let Hold::Raise(so_far) = step.hold { so_far } else { Credits::ZERO };
        if step.state == State::Answered {
            *self.sums.answers.entry(request.check.to_owned()).or_default() += 1;
        }
        let settled = Settled {
            state: step.state,
            attempts,
            refusals_in_row,
            cached_refusals,
            unclear,
            price,
            charged,
            so_far,
            unexplained_fall,
            doubtful_balance: false,
        };
        let judgement = Judgement { verdict: Verdict::Clear, ..Judgement::unrecognised() };
        let mut attempt = attempted(step.state, reply.outcome, reply.status);
        attempt.reply.author = reply.author;
        attempt.reply.remaining = reply.remaining;
        attempt.reply.push_back = reply.push_back;
        attempt.reply.job_fault = reply.job_fault.clone();
        attempt.judgement = (step.state == State::Answered).then_some(judgement);
        AttemptEnd::Attempted(Box::new(Attempt { settled, ..attempt }))
    }

    fn step(&self, id: RequestId, event: Event) -> Result<Move, IllegalMove> {
        next(&self.requests[&id].standing, event)
    }

    /// Applies a move to the request and to the sums, as the ledger does.
    fn moves(&mut self, id: RequestId, step: &Move) {
        let request = self.requests.get_mut(&id).expect("a request");
        let standing = &mut request.standing;
        let change = step.hold.apply(standing.held, standing.price);
        let account = &mut self.sums.account;
        account.held = (account.held + change.added).saturating_sub(change.freed);
        account.armed = account.armed + change.added;
        account.charged = account.charged + change.charged;
        *self.sums.requests.get_mut(&standing.state).expect("it is counted") -= 1;
        *self.sums.requests.entry(step.state).or_default() += 1;
        (standing.state, standing.held, standing.unproven) = (step.state, change.held, step.unproven);
        standing.possibly_charged = step.possibly_charged;
        if let Hold::Raise(so_far) = step.hold {
            standing.price = so_far;
        }
        if step.next_generation {
            standing.generation += 1;
            standing.cached_refusals += u32::from(step.cached_refusal);
            standing.unclear = 0;
            request.refusals_in_row = 0;
        }
    }
}

fn now(at: Moment, sums: &Sums) -> Now {
    Now { at, us: at.since_start().as_micros() as i64, sums: Arc::new(sums.clone()), paused_until: None }
}
