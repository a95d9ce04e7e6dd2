//! Whether each check costs what is held for it. A reply that states its whole charge shows it, until the balance falls by more
//! than is explained. Else only the fall of the balance shows it, and only while nothing else is under way. So the first request
//! of each check goes alone, between two balances, and again after each fall that our own requests do not explain.

use super::{
    attempt::Attempted,
    context::Candidate,
    weigh::{Around, Weighed},
};
use crate::model::{
    Credits, Mode, RequestId,
    planted::{Bug, planted},
    state::{Outcome, State},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

/// Answers that state neither a charge nor a balance, after which the balance is read.
const UNSTATED_MAX: u64 = 100;
/// After so many answers and so much time the balance is read, whatever the replies state. Where another client spends, each
/// reading makes prices be proven again, which costs time.
const READ_ANSWERS: u64 = 100;
const READ_AFTER: Duration = Duration::from_secs(300);
/// After unexplained falls prices are proven again so often in this time, or in so many answers: another client may spend all
/// the time.
const FORGOTTEN_MAX: u32 = 3;
const FORGOTTEN_IN: Duration = Duration::from_secs(60);
const FORGOTTEN_ANSWERS: u64 = 100;
/// Proofs of one check in a row in which the balance fell too far while it also fell by itself.
const UNCLEAR_MAX: usize = 3;
/// The same, where each reply states its whole charge: falls by the same amount, while nothing falls by itself.
const DENIED_MAX: usize = 5;
/// How long to wait, one after another, for a balance to show a charge.
const SHOWS_AFTER: [Duration; 3] = [Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(60)];
/// The longest wait for a third balance.
const LATER_MAX: Duration = Duration::from_secs(15);

/// A request whose charge is to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Proof {
    Idle,
    UnderWay {
        since: Instant,
        before: Credits,
    },
    /// It is answered, or was refused, and the balances have to tell.
    Answered(LoneReply),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LoneReply {
    check: String,
    around: Around,
    took: Duration,
    /// The request, where it was refused without a stated charge.
    refused: Option<(RequestId, String)>,
    /// Waits for the balance to show the charge so far.
    waits: usize,
}

/// What is to be done about a proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProofStep {
    /// The account is to be read after this long.
    Read(Duration),
    ShownPrice(ShownPrice),
}

/// What the balances around a request show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownPrice {
    /// No more than its price.
    Proven { check: String },
    /// More than its price, and nothing else explains it.
    Costs { check: String, fell: Credits, price: Credits },
    /// A refusal that states nothing was charged, by so much.
    ChargedRefusal { request: RequestId, check: String, message: String, fell: Credits, price: Credits },
    /// More than its price, and the balance also falls by itself, or a request in doubt may have been charged meanwhile: the
    /// next request is tried. Or nothing that matters.
    Unclear,
    /// Nothing was taken, as far as anybody can see.
    Free { check: String },
}

/// The proofs of a run.
#[derive(Debug)]
pub struct Proofs {
    /// Prices matter: production.
    watched: bool,
    /// Checks that need no proof now.
    proven: BTreeSet<String>,
    /// What checks cost that state less than their price, and were shown to cost no more than they state.
    shown: BTreeMap<String, Credits>,
    proof: Proof,
    /// What the last reply stated of the balance, where it was a lone one and nothing was sent since.
    lone_balance: Option<Credits>,
    /// No request left since the balance was read.
    reading_is_fresh: bool,
    /// A repeated answer states a balance that is too low, and the account was not read since.
    balance_is_doubtful: bool,
    /// When the balance was read.
    read_at: Option<Instant>,
    /// Answers since the balance was read, and those of them that show nothing of what they cost.
    answers_since_reading: u64,
    unstated: u64,
    /// Checks whose charge no balance showed in time: what replies and balances say of it is not enough.
    hidden: BTreeSet<String>,
    /// What proofs of a check in a row showed that were not clear.
    unclear: BTreeMap<String, Vec<Credits>>,
    /// Since when the proofs were forgotten so often, and the answers since.
    forgotten: Option<(Instant, u32)>,
    answers: u64,
    /// What the balance fell by beyond what our own requests explain.
    unexplained: Credits,
}

impl Proofs {
    /// `doubted` where the balance fell in an earlier run without an explanation: a statement alone is no proof.
    pub fn new(mode: Mode, doubted: bool) -> Proofs {
        Proofs {
            watched: mode == Mode::Production,
            proven: BTreeSet::new(),
            shown: BTreeMap::new(),
            proof: Proof::Idle,
            lone_balance: None,
            reading_is_fresh: false,
            balance_is_doubtful: false,
            read_at: None,
            answers_since_reading: 0,
            unstated: 0,
            hidden: BTreeSet::new(),
            unclear: BTreeMap::new(),
            forgotten: doubted.then(|| (Instant::now(), 0)),
            answers: 0,
            unexplained: Credits::ZERO,
        }
    }

    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// A request goes alone where it is the proof of its check, or another one is under way.
    pub fn wants_alone(&self, next: &Candidate) -> bool {
        self.proof != Proof::Idle || self.is_unproven(next)
    }

    fn is_unproven(&self, next: &Candidate) -> bool {
        let exempt = next.in_doubt || planted(Bug::FirstChargeUnproven);
        self.watched && !exempt && !self.proven.contains(&next.check)
    }

    /// Whether the balance is to be read before this request leaves.
    pub fn needs_reading_before(&self, next: &Candidate) -> bool {
        self.is_unproven(next) && !self.reading_is_fresh
    }

    /// Whether the balance is to be read before anything leaves.
    pub fn needs_reading(&self) -> bool {
        let hidden = self.unstated >= UNSTATED_MAX && !planted(Bug::UnstatedNeverRead);
        self.watched && (hidden || self.balance_is_doubtful || self.is_answered())
    }

    /// Whether the balance is to be read now, beside what is under way.
    pub fn is_due(&self) -> bool {
        let long_ago = self.read_at.is_none_or(|at| at.elapsed() >= READ_AFTER);
        self.watched && long_ago && self.answers_since_reading >= READ_ANSWERS
    }

    /// Whether the balance at the end can show anything that no reply did.
    pub fn has_unread(&self) -> bool {
        self.watched && self.answers_since_reading > 0 && !planted(Bug::UnstatedNeverRead)
    }

    pub fn unexplained(&self) -> Credits {
        self.unexplained
    }

    /// What a check was shown to cost, where that is less than its price.
    pub fn shown(&self, check: &str) -> Option<Credits> {
        self.shown.get(check).copied()
    }

    /// A request leaves; `balance` is the last one that was read.
    pub fn launched(&mut self, one: &Candidate, balance: Option<Credits>) {
        match balance {
            Some(before) if self.is_unproven(one) && self.reading_is_fresh => {
                self.proof = Proof::UnderWay { since: Instant::now(), before };
            }
            _ => self.lone_balance = None,
        }
        self.reading_is_fresh &= planted(Bug::ProvenWithOldBalance);
    }

    /// The request did not leave after all, or its proof cannot be had.
    pub fn not_sent(&mut self) {
        self.proof = Proof::Idle;
    }

    /// Takes in an attempt.
    pub fn observe(&mut self, one: &Candidate, attempted: &Attempted) {
        let proof = std::mem::replace(&mut self.proof, Proof::Idle);
        let Attempted { settled, stated, .. } = attempted;
        self.balance_is_doubtful |= settled.doubtful_balance;
        let refused = attempted.outcome == Outcome::Refused && settled.state == State::Failed;
        let costs_nothing = settled.charged == Credits::ZERO && attempted.judgement.is_none();
        if costs_nothing && !refused {
            return;
        }
        let mut around = Around {
            price: settled.price,
            stated: *stated,
            before: Credits::ZERO,
            after: None,
            later: None,
            reply_before: self.lone_balance,
            reply: attempted.remaining,
            in_doubt: Credits::ZERO,
        };
        let is_own_proof = around.is_stated_in_full() && self.forgotten.is_none();
        if is_own_proof {
            self.proves(&one.check);
        }
        if !costs_nothing {
            self.answers += 1;
            self.answers_since_reading += 1;
            let states_balance = attempted.remaining.is_some() && !self.hidden.contains(&one.check);
            let shows = around.is_stated_in_full() || states_balance;
            self.unstated += u64::from(!shows);
        }
        let Proof::UnderWay { since, before } = proof else { return };
        self.lone_balance = attempted.remaining;
        if is_own_proof {
            return;
        }
        around.before = before;
        let refused = costs_nothing.then(|| (one.request, attempted.message.clone()));
        let check = one.check.clone();
        self.proof = Proof::Answered(LoneReply { check, around, took: since.elapsed(), refused, waits: 0 });
    }

    /// The balance fell below what our own requests explain: what was proven may have changed.
    pub fn fell(&mut self, by: Credits) {
        if by == Credits::ZERO || !self.watched {
            return;
        }
        self.unexplained = self.unexplained + by;
        self.shown.clear();
        if planted(Bug::PriceProvenForGood) {
            return;
        }
        let lately = |(at, _): &(Instant, u32)| at.elapsed() < FORGOTTEN_IN && self.answers < FORGOTTEN_ANSWERS;
        let (since, times) = self.forgotten.filter(lately).unwrap_or((Instant::now(), 0));
        if times == 0 {
            self.answers = 0;
        }
        // Where nothing is proven yet, nothing is forgotten: the fall only takes away what a statement shows by itself.
        let forgets = !self.proven.is_empty();
        if times < FORGOTTEN_MAX {
            self.proven.clear();
            self.forgotten = Some((since, times + u32::from(forgets)));
        }
    }

    /// So much of what fell was found and booked.
    pub fn explained(&mut self, by: Credits) {
        self.unexplained = self.unexplained.saturating_sub(by);
    }

    /// The balance was read, alone or beside requests under way.
    pub fn read(&mut self, alone: bool) {
        self.reading_is_fresh = alone;
        self.balance_is_doubtful = false;
        self.read_at = Some(Instant::now());
        (self.answers_since_reading, self.unstated) = (0, 0);
    }

    /// Takes in a reading of the account after a request that landed.
    pub fn look(&mut self, balance: Credits) {
        let Proof::Answered(LoneReply { around, .. }) = &mut self.proof else { return };
        // What has not fallen yet is looked at again: it is no third balance.
        match around.after {
            Some(after) if after != around.before => around.later = Some(balance),
            _ => around.after = Some(balance),
        }
    }

    /// Whether a request landed whose charge is to be seen.
    pub fn is_answered(&self) -> bool {
        matches!(self.proof, Proof::Answered(_))
    }

    /// What is to be done about the request that landed; `None` where there is none. `in_doubt` is what other requests hold:
    /// the service may have charged one of them only now.
    pub fn step(&mut self, in_doubt: Credits) -> Option<ProofStep> {
        let Proof::Answered(landed) = &mut self.proof else { return None };
        landed.around.in_doubt = in_doubt;
        let LoneReply { check, around, took, refused, waits } = landed.clone();
        let weighed = if refused.is_some() { around.weigh_refusal() } else { around.weigh() };
        let waits_on = weighed == Weighed::NoFall && refused.is_none() && !around.is_stated_in_full();
        if waits_on
            && !self.hidden.contains(&check)
            && let Some(wait) = SHOWS_AFTER.get(waits)
        {
            landed.waits += 1;
            return Some(ProofStep::Read(*wait));
        }
        match weighed {
            Weighed::WantsAfter => return Some(ProofStep::Read(Duration::ZERO)),
            Weighed::WantsLater => return Some(ProofStep::Read(took.min(LATER_MAX))),
            _ => self.proof = Proof::Idle,
        }
        Some(ProofStep::ShownPrice(match (refused, weighed) {
            (Some((request, message)), Weighed::Within(fell) | Weighed::Above(fell)) => {
                ShownPrice::ChargedRefusal { request, check, message, fell, price: around.price }
            }
            (Some(_), _) => ShownPrice::Unclear,
            (None, weighed) => self.shows(check, &around, weighed),
        }))
    }

    fn shows(&mut self, check: String, around: &Around, weighed: Weighed) -> ShownPrice {
        let price = around.price;
        let own = match weighed {
            Weighed::Within(fell) => {
                let cheaper = around.stated.filter(|stated| *stated < price && *stated >= fell);
                if let Some(stated) = cheaper.filter(|_| fell > Credits::ZERO) {
                    self.shown.insert(check.clone(), stated);
                }
                self.proves(&check);
                return ShownPrice::Proven { check };
            }
            Weighed::Above(fell) if !around.is_stated_in_full() => return ShownPrice::Costs { check, fell, price },
            Weighed::Above(fell) => return self.denied(check, fell, price),
            // Others spend, and the reply says what it cost.
            Weighed::Unclear(_) if around.is_stated_in_full() => {
                self.proves(&check);
                return ShownPrice::Unclear;
            }
            Weighed::Unclear(fell) => fell,
            _ => {
                self.proves(&check);
                if around.is_stated_in_full() {
                    return ShownPrice::Unclear;
                }
                self.hidden.insert(check.clone());
                return ShownPrice::Free { check };
            }
        };
        // Others spend as well: the same again is the price.
        let before = self.unclear.entry(check.clone()).or_default();
        let same = before.last() == Some(&own) && own > price;
        before.push(own);
        if before.len() < UNCLEAR_MAX && !same {
            return ShownPrice::Unclear;
        }
        if same || before.iter().all(|own| *own > price) {
            return ShownPrice::Costs { check, fell: own, price };
        }
        // It falls for others, and nothing shows that it falls for us. It is looked at again before long.
        self.proves(&check);
        ShownPrice::Unclear
    }

    /// The balance fell by more than the reply states. It may be somebody else's spending, unless it comes again and again.
    fn denied(&mut self, check: String, fell: Credits, price: Credits) -> ShownPrice {
        let before = self.unclear.entry(check.clone()).or_default();
        if before.last().is_some_and(|last| *last != fell) {
            before.clear();
        }
        before.push(fell);
        if before.len() >= DENIED_MAX { ShownPrice::Costs { check, fell, price } } else { ShownPrice::Unclear }
    }

    fn proves(&mut self, check: &str) {
        self.unclear.remove(check);
        self.proven.insert(check.to_owned());
    }
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
