//! Random walks over the engine: a service that behaves in many ways, a ledger in memory, and what must hold after each
//! step. `RESCREEN_WALKS=N` walks N times.

use super::{
    Input,
    world_tests::{IN_FLIGHT, PRICE, Reply, World},
};
use crate::{
    client::{Author, PushBack},
    model::{
        Credits, RequestId, Stop,
        budget::BudgetRefusal,
        rng::Rng,
        state::{Outcome, State},
    },
    pipeline::send::{
        attempt_end::{AttemptEnd, Heard},
        context::Candidate,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The number of walks where nothing else is said.
const WALKS: u64 = 300;
/// A walk ends after this many steps, whatever happens.
const STEPS_MAX: u64 = 20_000;

/// How a service behaves in one walk.
struct Service {
    /// What it really charges for an answer.
    price: Credits,
    states_charge: bool,
    states_balance: bool,
    /// The balance never moves.
    is_frozen: bool,
    /// Percent of the replies that are a fault.
    faults: u64,
    /// The faults of this walk.
    kinds: Vec<Reply>,
    /// Rows that it refuses for ever, each with the same reply.
    odd: BTreeMap<RequestId, Reply>,
    /// Keys that it has charged.
    charged: BTreeSet<(RequestId, u32)>,
    spent: Credits,
    /// After this many charges, each costs three times as much.
    rises_after: usize,
    /// The number of answers that cost more than the price.
    risen: usize,
}

fn kinds() -> Vec<Reply> {
    let new = |status, outcome| Reply::new(Some(status), outcome);
    let wait = |seconds| PushBack::Stated(Duration::from_secs(seconds));
    vec![
        new(400, Outcome::Refused),
        new(422, Outcome::ChargedRefusal { stated: Some(PRICE) }),
        new(409, Outcome::Unknown),
        new(409, Outcome::CachedFailure),
        new(401, Outcome::Unauthorised),
        new(402, Outcome::NoCredits),
        new(404, Outcome::Misrouted),
        Reply { author: Author::Unclear, ..new(403, Outcome::Blocked) },
        new(429, Outcome::RateLimited).pushes_back(wait(3)),
        new(429, Outcome::RateLimited).pushes_back(PushBack::Unstated),
        new(500, Outcome::Unknown),
        new(503, Outcome::Uncharged),
        new(202, Outcome::Pending { stated: None }),
        new(200, Outcome::Unconvincing),
        Reply::of_another(200, Outcome::Unreadable),
        Reply::of_another(403, Outcome::Unknown),
        Reply::new(None, Outcome::Unknown),
        Reply::new(None, Outcome::NotWritten),
    ]
}

impl Service {
    fn new(rng: &mut Rng, rows: i64) -> Service {
        let kinds: Vec<Reply> = (0..1 + rng.below(3)).map(|_| rng.pick(&kinds()).clone()).collect();
        let odd = (0..rng.below(4)).map(|_| {
            let id = RequestId(1 + rng.below(rows as u64) as i64);
            (id, rng.pick(&kinds).clone())
        });
        Service {
            odd: odd.collect(),
            price: if rng.below(5) == 0 { Credits(PRICE.0 * 3) } else { PRICE },
            states_charge: rng.below(2) == 0,
            states_balance: rng.below(2) == 0,
            is_frozen: rng.below(6) == 0,
            faults: *rng.pick(&[0, 5, 30, 90]),
            kinds,
            charged: BTreeSet::new(),
            spent: Credits::ZERO,
            rises_after: if rng.below(4) == 0 { rng.below(rows as u64) as usize } else { usize::MAX },
            risen: 0,
        }
    }

    /// The reply to an attempt under the current key of a request.
    fn replies(&mut self, world: &mut World, id: RequestId, rng: &mut Rng) -> Reply {
        let key = (id, world.requests[&id].standing.generation);
        if self.charged.len() >= self.rises_after {
            self.price = Credits(PRICE.0 * 3);
        }
        let fault = match self.odd.get(&id) {
            Some(odd) => Some(odd.clone()),
            None => (rng.below(100) < self.faults).then(|| rng.pick(&self.kinds).clone()),
        };
        let is_known = self.charged.contains(&key);
        let mut reply = match fault {
            // What states or proves that nothing was charged, after a charge under the key, would be a lie.
            Some(fault) if !(is_known && matches!(fault.outcome, Outcome::Uncharged | Outcome::CachedFailure)) => fault,
            _ => {
                let stated = self.states_charge.then_some(if is_known { Credits::ZERO } else { self.price });
                Reply::new(Some(200), Outcome::Answered { stated })
            }
        };
        let charges = match reply.outcome {
            Outcome::Answered { .. } | Outcome::ChargedRefusal { .. } => true,
            Outcome::Unknown | Outcome::Unreadable | Outcome::Unconvincing => rng.below(2) == 0,
            _ => false,
        };
        let price = if let Outcome::ChargedRefusal { .. } = reply.outcome { PRICE } else { self.price };
        if charges && self.charged.insert(key) {
            self.spent = self.spent + price;
            self.risen += usize::from(price > PRICE && matches!(reply.outcome, Outcome::Answered { .. }));
            world.balance = if self.is_frozen { world.balance } else { world.balance.saturating_sub(price) };
        }
        reply.remaining = (self.states_balance && reply.status == Some(200)).then_some(world.balance);
        reply
    }
}

/// A walk, and how it went.
struct Walk {
    world: World,
    service: Service,
    flights: Vec<Candidate>,
    /// Requests whose reply was heard, and that are not settled.
    heard: Vec<(Candidate, Reply)>,
    /// The most requests that may be in flight.
    in_flight: usize,
    /// The request that was sent alone, until it has ended.
    lone: Option<RequestId>,
    /// Checks with a request that has ended.
    ended: BTreeSet<String>,
    sent_after_stop: bool,
}

impl Walk {
    fn new(rng: &mut Rng) -> Walk {
        let rows = 1 + rng.below(120) as i64;
        let limit = if rng.below(3) == 0 { rng.below(PRICE.0 * rows as u64) } else { 1_000_000 };
        let mut world = World::new(rows, limit);
        let in_flight = *rng.pick(&[1, 2, IN_FLIGHT]);
        world.engine.terms.in_flight = in_flight;
        if rng.below(8) == 0 {
            world.no_account = Some(Stop::BalanceUnreadable);
        }
        let service = Service::new(rng, rows);
        Walk {
            world,
            service,
            flights: Vec::new(),
            heard: Vec::new(),
            in_flight,
            lone: None,
            ended: BTreeSet::new(),
            sent_after_stop: false,
        }
    }

    /// Walks to the end. Returns the number of steps.
    fn goes(&mut self, rng: &mut Rng) -> u64 {
        for step in 0..STEPS_MAX {
            self.world.round();
            self.holds();
            let stops = !self.world.engine.stops().is_empty();
            let is_idle = self.flights.is_empty() && self.heard.is_empty();
            if is_idle && (stops || self.world.engine.is_sent()) {
                self.world.tell(Input::End);
                return step;
            }
            if self.world.engine.may_send() && (is_idle || rng.below(3) > 0) {
                self.sends();
            } else if !self.flights.is_empty() && (self.heard.is_empty() || rng.below(2) == 0) {
                self.hears(rng);
            } else if !self.heard.is_empty() {
                let at = rng.below(self.heard.len() as u64) as usize;
                let (candidate, reply) = self.heard.swap_remove(at);
                let end = self.world.settle(candidate.request, &reply);
                self.ended.insert(candidate.check.clone());
                self.lone = self.lone.filter(|lone| *lone != candidate.request);
                self.world.tell(Input::Ended(candidate, end));
            } else if let Some(due) = self.world.engine.schedule().next_due() {
                self.world.at = self.world.at.max(due);
            }
        }
        panic!("it does not end: {:?}", self.world.engine.stops());
    }

    /// Hears the reply to one of the requests in flight.
    fn hears(&mut self, rng: &mut Rng) {
        let at = rng.below(self.flights.len() as u64) as usize;
        let candidate = self.flights.swap_remove(at);
        let reply = self.service.replies(&mut self.world, candidate.request, rng);
        let Reply { outcome, remaining, .. } = reply;
        let is_recognised = rng.below(10) > 0;
        self.world.tell(Input::Heard(Heard {
            request: candidate.request,
            outcome,
            price: PRICE,
            remaining,
            is_recognised,
        }));
        self.heard.push((candidate, reply));
    }

    fn sends(&mut self) {
        self.sent_after_stop |= !self.world.engine.stops().is_empty();
        let Some((candidate, end)) = self.world.start() else { return };
        let mut others = self.flights.iter().chain(self.heard.iter().map(|(other, _)| other));
        let is_twice = others.any(|other| other.request == candidate.request);
        assert!(!is_twice, "{:?} is in flight twice", candidate.request);
        match end {
            Some(AttemptEnd::Withheld(defect)) => panic!("{:?} must not be sent: {defect:?}", candidate.request),
            Some(end) => self.world.tell(Input::Ended(candidate, end)),
            None => {
                let is_first = !candidate.in_doubt && !self.ended.contains(&candidate.check);
                assert!(
                    !is_first || self.flights.is_empty() && self.heard.is_empty(),
                    "the first request of a check goes alone"
                );
                assert!(self.lone.is_none(), "another request is sent beside a lone one");
                self.lone = is_first.then_some(candidate.request);
                self.flights.push(candidate);
            }
        }
    }

    /// What holds after each step.
    fn holds(&self) {
        let World { sums, requests, allowance, engine, .. } = &self.world;
        assert!(!self.sent_after_stop, "sent after a stop: {:?}", engine.stops());
        assert!(self.flights.len() <= self.in_flight);
        assert_eq!(engine.flights.len(), self.flights.len() + self.heard.len());
        assert!(self.heard.len() <= 2 * self.in_flight);
        let is_stated = self.service.states_charge && self.service.faults == 0 && self.service.odd.is_empty();
        assert!(
            !is_stated || self.service.risen <= self.in_flight + 1,
            "{} charges above the price",
            self.service.risen
        );
        let held: u64 = requests.values().map(|request| request.standing.held.0).sum();
        assert_eq!(sums.account.held.0, held);
        let is_price_right = self.service.price == PRICE;
        let limit = allowance.limit.unwrap_or_default();
        let spent = self.service.spent;
        assert!(!is_price_right || spent <= limit, "{spent} spent of {limit}");
        assert!(!is_price_right || spent <= sums.account.used(), "{spent} spent, {} known", sums.account.used());
    }

    /// What holds at the end.
    fn ends(&self) {
        let World { requests, engine, .. } = &self.world;
        let stops = engine.stops();
        if self.service.risen > 0 && self.service.states_charge && self.service.faults == 0 {
            let stop = |stop: &Stop| matches!(stop, Stop::Price { .. } | Stop::BalanceUnreadable | Stop::Budget(_));
            let is_answered = requests.values().any(|request| request.standing.state == State::Answered);
            assert!(!is_answered || stops.iter().any(stop), "{stops:?}");
        }
        // Without a stop, each request has an end, or was tried.
        let is_left = |state: State| matches!(state, State::Planned | State::InDoubt | State::Repeating);
        for (id, request) in requests.iter().filter(|(_, request)| is_left(request.standing.state)) {
            assert!(!stops.is_empty() || request.attempts > 0, "{id:?} was never sent, and nothing says why");
        }
        let is_budget = |stop: &Stop| matches!(stop, Stop::Budget(BudgetRefusal::Unread));
        assert!(!stops.iter().any(is_budget), "a balance that was never read is read");
        // One odd row never stops the others.
        let is_alone = self.service.odd.len() <= 1 && self.service.faults == 0 && self.service.price == PRICE;
        let has_money = self.world.allowance.limit > Some(Credits(100_000)) && self.world.no_account.is_none();
        if is_alone && has_money {
            let others = requests.iter().filter(|(id, _)| !self.service.odd.contains_key(id));
            let others = others.filter(|(_, request)| request.standing.state != State::Answered);
            let checks = requests.values().filter(|request| request.standing.state == State::Answered).count();
            assert!(others.count() == 0 || checks == 0, "{:?} stops others: {stops:?}", self.service.odd);
        }
    }
}

#[test]
fn whatever_a_service_does_each_step_is_allowed_and_the_run_ends() {
    let walks = std::env::var("RESCREEN_WALKS").ok().and_then(|walks| walks.parse().ok()).unwrap_or(WALKS);
    let mut steps = 0;
    for seed in 0..walks {
        let went = std::panic::catch_unwind(|| {
            let mut rng = Rng::new(seed);
            let mut walk = Walk::new(&mut rng);
            let steps = walk.goes(&mut rng);
            walk.holds();
            walk.ends();
            steps
        });
        match went {
            Ok(count) => steps += count,
            Err(_) => panic!("walk {seed}"),
        }
    }
    assert!(steps > walks, "they walk: {steps} steps");
}
