//! Proves that each check costs no more than what is held for it. A reply that states the full charge is a proof, until
//! the balance falls by more than our requests explain. Otherwise only a fall of the balance is a proof, and only while
//! no other request is in flight. So the first request of each check is sent alone, between two readings of the
//! balance, and this is repeated after each unexplained fall.

mod jobs;
mod replays;
mod shows;

use super::{
    attempt::Attempted,
    context::Candidate,
    jobs_beside::JobsBeside,
    weigh::{Around, Weighed},
};
use crate::model::{
    Credits, Mode, RequestId,
    planted::{Bug, planted},
    state::{Outcome, State},
};
use replays::{REPEATED_MAX, Replays};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

/// After this many answers that state neither a charge nor a balance, the balance is read.
const UNSTATED_MAX: u64 = 100;
/// After this many answers and this much time, the balance is read regardless of what replies state. Not more often: if
/// another client spends, prices must be proven again after each reading, which takes time.
const READ_ANSWERS: u64 = 100;
const READ_AFTER: Duration = Duration::from_secs(300);
/// How often prices are proven again after unexplained falls, within this time or this many answers. There is a limit
/// because another client may spend all the time.
const FORGOTTEN_MAX: u32 = 3;
const FORGOTTEN_IN: Duration = Duration::from_secs(60);
const FORGOTTEN_ANSWERS: u64 = 100;
/// The number of consecutive unclear proofs of one check after which a decision is made. A proof is unclear if the
/// balance fell too far but also fell for other reasons.
const UNCLEAR_MAX: usize = 3;
/// The same limit if each reply states its full charge: consecutive falls by the same amount without other reasons.
const DENIED_MAX: usize = 5;
/// How long to wait, step by step, for a balance to show a charge.
const SHOWS_AFTER: [Duration; 3] = [Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(60)];
/// The longest wait for the third reading of the balance.
const LATER_MAX: Duration = Duration::from_secs(15);

/// The state of the current proof.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Proof {
    Idle,
    UnderWay {
        since: Instant,
        before: Credits,
    },
    /// The request was answered or refused, and the balances must show its charge.
    Answered(LoneReply),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LoneReply {
    check: String,
    around: Around,
    took: Duration,
    /// The request and the message, if it was refused without a stated charge.
    refused: Option<(RequestId, String)>,
    /// It was accepted as a job, which is charged later.
    is_job: bool,
    /// How many times the proof has waited for the balance to show the charge.
    waits: usize,
}

/// The next step of a proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProofStep {
    /// Read the account after this time.
    Read(Duration),
    ShownPrice(ShownPrice),
}

/// The result of a proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownPrice {
    /// The check costs no more than its price.
    Proven { check: String },
    /// The check costs more than its price, and nothing else explains the fall.
    Costs { check: String, fell: Credits, price: Credits },
    /// A refusal that states no charge was charged.
    ChargedRefusal { request: RequestId, check: String, message: String, fell: Credits, price: Credits },
    /// The balance fell by more than the price, but it also falls for other reasons, or a request in doubt may have
    /// been charged meanwhile. The proof is repeated with the next request. Also used if there is nothing to record.
    Unclear,
    /// No charge is visible.
    Free { check: String },
    /// No charge is visible, and none is expected: the service repeated an answer of a ledger that was lost.
    Repeated { check: String },
}

/// The proofs of a run.
#[derive(Debug)]
pub struct Proofs {
    /// Whether prices are proven, which is only so in production.
    watched: bool,
    /// Checks that are proven for now.
    proven: BTreeSet<String>,
    /// The cost of checks whose replies state less than the price and are proven to cost no more than stated.
    shown: BTreeMap<String, Credits>,
    proof: Proof,
    /// The balance that the last reply stated, if its request was sent alone and nothing was sent since.
    lone_balance: Option<Credits>,
    /// No request was sent since the balance was read.
    reading_is_fresh: bool,
    /// A repeated answer states a balance that is too low, and the account was not read since.
    balance_is_doubtful: bool,
    /// When the balance was last read.
    read_at: Option<Instant>,
    /// The number of answers since the balance was read, and the number of those that do not show their cost.
    answers_since_reading: u64,
    unstated: u64,
    /// Checks whose charge no balance showed in time, so balances stated by their replies do not count.
    hidden: BTreeSet<String>,
    replays: Replays,
    /// The amounts of consecutive unclear proofs, by check.
    unclear: BTreeMap<String, Vec<Credits>>,
    /// The jobs that the service may charge during a proof.
    jobs: JobsBeside,
    /// Since when and how often proofs were discarded. `answers` counts the answers since then.
    forgotten: Option<(Instant, u32)>,
    answers: u64,
    /// How much more the balance fell than our own requests explain.
    unexplained: Credits,
}

impl Proofs {
    /// The proofs at the start of a run. `doubted` if the balance fell without an explanation in an earlier run: then a
    /// charge stated by a reply is not enough as a proof.
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
            replays: Replays::default(),
            unclear: BTreeMap::new(),
            jobs: JobsBeside::default(),
            forgotten: doubted.then(|| (Instant::now(), 0)),
            answers: 0,
            unexplained: Credits::ZERO,
        }
    }

    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// Whether the next request must be sent alone, because it is the proof of its check, or because a proof is in
    /// progress.
    pub fn wants_alone(&self, next: &Candidate) -> bool {
        self.proof != Proof::Idle || self.is_unproven(next)
    }

    fn is_unproven(&self, next: &Candidate) -> bool {
        let exempt = next.in_doubt || planted(Bug::FirstChargeUnproven);
        self.watched && !exempt && !self.proven.contains(&next.check)
    }

    /// Whether the balance must be read before this request is sent.
    pub fn needs_reading_before(&self, next: &Candidate) -> bool {
        self.is_unproven(next) && !self.reading_is_fresh
    }

    /// Whether the balance must be read before anything else is sent.
    pub fn needs_reading(&self) -> bool {
        let most = if self.replays.checks.is_empty() { UNSTATED_MAX } else { REPEATED_MAX };
        let hidden = self.unstated >= most && !planted(Bug::UnstatedNeverRead);
        self.watched && (hidden || self.balance_is_doubtful || self.is_answered())
    }

    /// Whether the balance should be read now, while requests are in flight.
    pub fn is_due(&self) -> bool {
        let long_ago = self.read_at.is_none_or(|at| at.elapsed() >= READ_AFTER);
        self.watched && long_ago && self.answers_since_reading >= READ_ANSWERS
    }

    /// Whether reading the balance at the end of the run can show anything new.
    pub fn has_unread(&self) -> bool {
        self.watched && self.answers_since_reading > 0 && !planted(Bug::UnstatedNeverRead)
    }

    pub fn unexplained(&self) -> Credits {
        self.unexplained
    }

    /// The proven cost of a check, if it is less than its price.
    pub fn shown(&self, check: &str) -> Option<Credits> {
        self.shown.get(check).copied()
    }

    /// Records that a request is sent; `balance` is the last one that was read.
    pub fn started(&mut self, one: &Candidate, balance: Option<Credits>) {
        match balance {
            Some(before) if self.is_unproven(one) && self.reading_is_fresh => {
                self.proof = Proof::UnderWay { since: Instant::now(), before };
                self.jobs.proof_begins();
            }
            _ => self.lone_balance = None,
        }
        self.reading_is_fresh &= planted(Bug::ProvenWithOldBalance);
    }

    /// Ends the current proof without a result: the request was not sent, or the balance cannot be read.
    pub fn not_sent(&mut self) {
        self.proof = Proof::Idle;
    }

    /// Records an attempt.
    pub fn observe(&mut self, one: &Candidate, attempted: &Attempted) {
        let proof = std::mem::replace(&mut self.proof, Proof::Idle);
        if self.observe_job(one, attempted, &proof) {
            return;
        }
        let Attempted { settled, stated, .. } = attempted;
        self.balance_is_doubtful |= settled.doubtful_balance;
        let refused =
            matches!(attempted.outcome, Outcome::Refused | Outcome::CachedFailure) && settled.state == State::Failed;
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
            // A repeated answer states the balance of its first time.
            reply_before: self.lone_balance.filter(|_| !self.replays.are_expected),
            reply: attempted.remaining.filter(|_| !self.replays.are_expected),
            in_doubt: Credits::ZERO,
            booked: Credits::ZERO,
        };
        let is_own_proof = around.is_stated_in_full() && self.forgotten.is_none();
        if is_own_proof {
            self.proves(&one.check);
        }
        if !costs_nothing {
            self.answers += 1;
            self.answers_since_reading += 1;
            let is_hidden = self.hidden.contains(&one.check) || self.replays.checks.contains(&one.check);
            let states_balance = attempted.remaining.is_some() && !is_hidden;
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
        let (check, took, is_job) = (one.check.clone(), since.elapsed(), false);
        self.proof = Proof::Answered(LoneReply { check, around, took, refused, is_job, waits: 0 });
    }

    /// Records an unexplained fall of the balance. Proven prices may have changed.
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
        // If nothing is proven yet, nothing is discarded. Then the fall only means that stated charges are no longer a
        // proof.
        let forgets = !self.proven.is_empty();
        if times < FORGOTTEN_MAX {
            self.proven.clear();
            self.forgotten = Some((since, times + u32::from(forgets)));
        }
    }

    /// Records that part of the unexplained fall was found and recorded as a charge.
    pub fn explained(&mut self, by: Credits) {
        self.unexplained = self.unexplained.saturating_sub(by);
    }

    /// Records that the balance was read. `alone` if no request was in flight.
    pub fn read(&mut self, alone: bool) {
        self.reading_is_fresh = alone;
        self.balance_is_doubtful = false;
        self.read_at = Some(Instant::now());
        self.jobs.balance_is_read();
        (self.answers_since_reading, self.unstated) = (0, 0);
    }

    /// Records a reading of the account after the request of the proof has ended.
    pub fn record_reading(&mut self, balance: Credits) {
        let Proof::Answered(LoneReply { around, .. }) = &mut self.proof else { return };
        // A balance that has not fallen yet is replaced. Only a reading after a fall counts as the third one.
        match around.after {
            Some(after) if after != around.before => around.later = Some(balance),
            _ => around.after = Some(balance),
        }
    }

    /// Whether the request of the proof has ended and its charge must be determined.
    pub fn is_answered(&self) -> bool {
        matches!(self.proof, Proof::Answered(_))
    }

    /// The next step of the proof; `None` if no request has ended. `in_doubt` is the amount held for other requests,
    /// because the service may charge one of them only now; `open_jobs` is how many of them are jobs.
    pub fn step(&mut self, in_doubt: Credits, open_jobs: u64) -> Option<ProofStep> {
        let Proof::Answered(reply) = &mut self.proof else { return None };
        self.jobs.open = open_jobs.saturating_sub(u64::from(reply.is_job));
        (reply.around.in_doubt, reply.around.booked) = (in_doubt, self.jobs.booked());
        let LoneReply { check, around, took, refused, is_job, waits } = reply.clone();
        let weighed = if refused.is_some() { around.weigh_refusal() } else { around.weigh() };
        let waits_on = weighed == Weighed::NoFall && refused.is_none() && !is_job && !around.is_stated_in_full();
        if waits_on
            && !self.replays.are_expected
            && !self.hidden.contains(&check)
            && let Some(wait) = SHOWS_AFTER.get(waits)
        {
            reply.waits += 1;
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
            (None, Weighed::NoFall) if is_job => self.shows_job(check),
            (None, weighed) => self.shows(check, &around, weighed),
        }))
    }

    /// Expects repeated answers, because the ledger of an earlier run was lost.
    pub fn expecting_replays(mut self, expected: bool) -> Proofs {
        self.replays.are_expected = expected;
        self
    }

    /// Records a balance that was read.
    pub fn saw_balance(&mut self, balance: Credits) {
        let to_prove = self.replays.saw(balance);
        self.proven.retain(|check| !to_prove.contains(check));
    }

    /// The lone request of a check was free, as repeated answers are.
    fn was_free(&mut self, check: String) -> ShownPrice {
        self.proves(&check);
        self.replays.checks.insert(check.clone());
        ShownPrice::Repeated { check }
    }

    fn proves(&mut self, check: &str) {
        self.unclear.remove(check);
        self.jobs.unclear.remove(check);
        self.proven.insert(check.to_owned());
    }
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
