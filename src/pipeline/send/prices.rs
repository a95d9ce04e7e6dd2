//! Notices that a check costs more than its price, in production. Three rules:
//!
//! 1. The first request of each check in a run is sent alone, after a reading of the balance.
//! 2. A stated charge above the price stops the run: see [`Settled::above_price`](crate::ledger::Settled::above_price).
//! 3. The balance is read at least every 100 answers that show no charge. If it is lower than booked and held credits
//!    explain, the next request of each check is sent alone again.
//!
//! After a lone request the balance is read, unless its reply states the charge or a balance that fits the price. Once the
//! balance has fallen unexplained, a stated charge is not enough. The check costs more than its price if booked and held
//! credits do not explain the fall, and if the balance stays there while nothing is sent.
//!
//! Requests in doubt and late charges may explain a fall once. Then the next request is sent alone, too, and the same fall
//! again is the price. If the balance does not show a lone request at all, the next unexplained fall stops the run.

mod lone;
mod shows;

pub use lone::{Finding, is_stated_in_full};

use super::{attempt_end::Attempt, context::Candidate, moment::Moment};
use crate::{
    client::Classified,
    model::{
        Credits, Mode, Stop,
        budget::BalanceReading,
        state::{Outcome, State},
    },
};
use lone::{Lone, Replied};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// After this many answers that show no charge, the balance is read.
const UNSTATED_MAX: u64 = 100;
/// After this many answers and this much time, the balance is read whatever replies state. Not more often: if another
/// client spends, requests are sent alone after each reading, which takes time.
const READ_ANSWERS: u64 = 100;
const READ_AFTER: Duration = Duration::from_secs(300);
/// How often falls of the balance make requests go alone again, within this time or this many answers. There is a limit
/// because another client may spend all the time.
const ALONE_AGAIN_MAX: u32 = 3;
const ALONE_AGAIN_IN: Duration = Duration::from_secs(60);
const ALONE_AGAIN_ANSWERS: u64 = 100;
/// After a lost ledger, the balance is read after this many answers that show no charge, to notice when new rows begin.
const REPEATED_MAX: u64 = 20;

/// What a run knows about prices.
#[derive(Debug)]
pub struct Prices {
    /// Whether anything is charged, which is only so in production.
    watched: bool,
    /// Other ledgers use the account, so the balance does not show what one request costs.
    is_shared: bool,
    /// Checks that cost no more than their price, as far as is known.
    proven: BTreeSet<String>,
    /// What checks cost whose replies state less than the price, where the balance agrees.
    lower: BTreeMap<String, Credits>,
    lone: Option<Lone>,
    /// The service may still know the keys of a lost ledger, and repeats their answers at no charge.
    may_repeat: bool,
    /// No request was sent since the balance was read.
    reading_is_fresh: bool,
    /// A repeated answer states a balance that is too low, and the account was not read since.
    balance_is_doubtful: bool,
    /// The last balance that was read, and when.
    read: Option<(Credits, Moment)>,
    /// The lowest balance that was read or stated since then.
    lowest: Option<Credits>,
    /// The balance that the last reply stated, if its request was sent alone and nothing was sent since.
    lone_left: Option<Credits>,
    /// Checks whose last lone request was free, as the answers of a lost ledger are.
    repeated: BTreeSet<String>,
    /// The number of answers since the balance was read, and the number of those that show no charge.
    answers_since_reading: u64,
    unstated: u64,
    /// If the account is shared, no request is sent alone. Instead, the balance is read after the first answer that shows
    /// no charge, then after twice as many, and so on.
    unstated_first: u64,
    /// Checks whose last lone request the balance did not show.
    not_shown: BTreeSet<String>,
    /// An unexplained fall since then, which a reading of the account showed.
    denied: Option<Credits>,
    /// By check, the amounts beyond what is explained, of lone requests in a row.
    beyond: BTreeMap<String, Vec<Credits>>,
    /// Since when and how often a fall made requests go alone again. `answers` counts the answers since then.
    alone_again: Option<(Moment, u32)>,
    answers: u64,
    /// How much more the balance fell than our own requests explain.
    unexplained: Credits,
}

impl Prices {
    /// The start of a run. `doubted` if the balance fell without an explanation in an earlier run: then a charge that a
    /// reply states is not enough.
    pub fn new(mode: Mode, doubted: bool, now: Moment) -> Prices {
        Prices {
            watched: mode == Mode::Production,
            is_shared: false,
            proven: BTreeSet::new(),
            lower: BTreeMap::new(),
            lone: None,
            may_repeat: false,
            reading_is_fresh: false,
            balance_is_doubtful: false,
            read: None,
            lowest: None,
            lone_left: None,
            repeated: BTreeSet::new(),
            answers_since_reading: 0,
            unstated: 0,
            unstated_first: 1,
            not_shown: BTreeSet::new(),
            denied: None,
            beyond: BTreeMap::new(),
            alone_again: doubted.then_some((now, 0)),
            answers: 0,
            unexplained: Credits::ZERO,
        }
    }

    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// Whether the next request is sent alone: it is the first of its check, or one is under way alone.
    pub fn must_run_alone(&self, next: &Candidate) -> bool {
        self.lone.is_some() || self.is_unproven(next)
    }

    fn is_unproven(&self, next: &Candidate) -> bool {
        self.watched && !self.is_shared && !next.in_doubt && !self.proven.contains(&next.check)
    }

    /// Whether the balance must be read before this request is sent.
    pub fn needs_reading_before(&self, next: &Candidate) -> bool {
        self.is_unproven(next) && !self.reading_is_fresh
    }

    /// Whether the balance must be read before anything else is sent.
    pub fn needs_reading(&self) -> bool {
        self.watched && (self.balance_is_doubtful || self.next_reading().is_some())
    }

    /// Whether the balance should be read now, beside the requests in flight.
    pub fn is_due(&self, now: Moment) -> bool {
        let is_long_ago = self.read.is_none_or(|(_, at)| now.since(at) >= READ_AFTER);
        let is_hidden = self.unstated >= self.unstated_max();
        self.watched && (is_hidden || is_long_ago && self.answers_since_reading >= READ_ANSWERS)
    }

    /// Whether reading the balance at the end of the run can show anything new.
    pub fn has_unread(&self) -> bool {
        self.watched && self.answers_since_reading > 0
    }

    /// Whether one more answer without a full charge may wait to be recorded, beside `waiting` others. More would delay the
    /// next reading.
    pub fn has_room_for_unstated(&self, waiting: usize) -> bool {
        !self.watched || self.unstated + (waiting as u64) < self.unstated_max()
    }

    fn unstated_max(&self) -> u64 {
        let most = if self.repeated.is_empty() { UNSTATED_MAX } else { REPEATED_MAX };
        if self.is_shared { most.min(self.unstated_first) } else { most }
    }

    pub fn unexplained(&self) -> Credits {
        self.unexplained
    }

    /// What the check costs, if that is less than its price.
    pub fn lower(&self, check: &str) -> Option<Credits> {
        self.lower.get(check).copied()
    }

    /// Records that a request is sent, after this reading of the balance.
    pub fn started(&mut self, candidate: &Candidate, reading: Option<BalanceReading>, now: Moment) {
        if let Some(before) = reading.filter(|_| self.is_unproven(candidate) && self.reading_is_fresh) {
            self.lone = Some(Lone { since: now, before, replied: None });
        } else {
            self.lone_left = None;
        }
        self.reading_is_fresh = false;
    }

    /// The lone request was not sent, or the balance cannot be read after it.
    pub fn not_sent(&mut self) {
        self.lone = None;
    }

    /// Records an attempt. Returns what its reply shows about its price, if that is worth saying.
    pub fn observe(&mut self, candidate: &Candidate, attempted: &Attempt, now: Moment) -> Option<Finding> {
        let lone = self.lone.take();
        let (settled, &Classified { outcome, remaining, .. }) = (&attempted.settled, &attempted.reply);
        self.balance_is_doubtful |= settled.doubtful_balance;
        let is_job = matches!(outcome, Outcome::Accepted { .. });
        let is_answer = settled.charged > Credits::ZERO || attempted.judgement.is_some();
        let is_refused = matches!(outcome, Outcome::Refused | Outcome::CachedFailure) && settled.state == State::Failed;
        if !(is_job || is_answer || is_refused) {
            return None;
        }
        let mut replied = Replied {
            request: candidate.request,
            check: candidate.check.clone(),
            price: settled.price,
            booked: settled.charged,
            // Whatever the reply of a job states, its charge comes later.
            stated: attempted.stated().filter(|_| !is_job),
            refused: (!is_job && !is_answer).then(|| attempted.reply.message.clone()),
            is_job,
            took: Duration::ZERO,
            stated_fall: None,
            is_late: false,
            was_read: false,
            beyond: None,
        };
        if is_job || is_answer {
            self.answers += 1;
            self.answers_since_reading += 1;
            // A balance shows the charge if it is lower than each one before.
            let has_fallen = matches!((remaining, self.lowest), (Some(left), Some(lowest)) if left < lowest);
            self.lowest = if has_fallen { remaining } else { self.lowest };
            self.unstated += u64::from(is_job || !(replied.is_stated_in_full() || has_fallen));
        }
        // A repeated answer states what it cost the first time.
        let is_replay = candidate.in_doubt || self.may_repeat;
        if replied.is_stated_in_full() && self.alone_again.is_none() && !is_replay {
            self.proves(&candidate.check);
            return None;
        }
        let lone = lone?;
        replied.took = now.since(lone.since);
        // A repeated answer states the balance of its first time.
        let left = remaining.filter(|_| is_answer && !is_job && !self.may_repeat);
        let before = std::mem::replace(&mut self.lone_left, left).unwrap_or(lone.before.balance);
        let falls = left.map(|left| [before, lone.before.balance].map(|before| before.saturating_sub(left)));
        let fits = |fell: &Credits| *fell <= settled.price && (*fell > Credits::ZERO || settled.price == Credits::ZERO);
        if let Some(fell) = falls.into_iter().flatten().find(fits) {
            return self.within(&replied, fell, true);
        }
        replied.stated_fall = falls.map(|[fell, _]| fell).filter(|fell| *fell > replied.booked);
        self.lone = Some(Lone { replied: Some(replied), ..lone });
        None
    }

    /// Records the answer of a job, and whether the reply states its charge.
    pub fn job_answered(&mut self, is_stated: bool) {
        self.answers_since_reading += 1;
        self.unstated += u64::from(!is_stated);
    }

    /// Records a fall of the balance that nothing explains: a price may have risen.
    pub fn fell(&mut self, by: Credits, now: Moment) {
        if by == Credits::ZERO || !self.watched {
            return;
        }
        self.unexplained = self.unexplained + by;
        if self.is_shared {
            self.denied = Some(by);
            return;
        }
        self.lower.clear();
        let lately = |(at, _): &(Moment, u32)| now.since(*at) < ALONE_AGAIN_IN && self.answers < ALONE_AGAIN_ANSWERS;
        let (since, times) = self.alone_again.filter(lately).unwrap_or((now, 0));
        if times == 0 {
            self.answers = 0;
        }
        // Where no request has gone alone yet, the fall only means that a stated charge is not enough.
        let is_again = !self.proven.is_empty();
        if times < ALONE_AGAIN_MAX {
            self.proven.clear();
            self.alone_again = Some((since, times + u32::from(is_again)));
        }
    }

    /// Records that part of the unexplained fall was found and booked as a charge. The last reading was before it was
    /// booked.
    pub fn explained(&mut self, by: Credits) {
        self.reading_is_fresh = false;
        self.unexplained = self.unexplained.saturating_sub(by);
        self.denied = self.denied.filter(|fell| *fell > by);
    }

    /// Records that the balance was read, or could not be, and how far it is below what is explained. `alone` if no
    /// request was in flight.
    pub fn read(&mut self, balance: Option<Credits>, unexplained_fall: Credits, alone: bool, now: Moment) {
        self.reading_is_fresh = alone;
        self.balance_is_doubtful = false;
        if self.read.is_some_and(|(before, _)| balance.is_some_and(|balance| balance < before)) {
            // New rows begin, or another client spends.
            self.proven.retain(|check| !self.repeated.contains(check));
            self.repeated.clear();
        }
        self.read = balance.or(self.read.map(|(before, _)| before)).map(|balance| (balance, now));
        self.lowest = self.read.map(|(balance, _)| balance);
        if self.unstated > 0 {
            self.unstated_first = (2 * self.unstated_first).min(UNSTATED_MAX);
        }
        (self.answers_since_reading, self.unstated) = (0, 0);
        if unexplained_fall > Credits::ZERO && !self.not_shown.is_empty() {
            self.denied = Some(unexplained_fall);
        }
        self.fell(unexplained_fall, now);
    }

    /// The stop if the balance fell although it did not show the charge of a lone request: another one would not show
    /// it either.
    pub fn denied(&mut self) -> Option<Stop> {
        let is_settled = self.next_reading().is_none();
        let is_shared = self.is_shared;
        self.denied.take_if(|_| is_settled).map(|credits| Stop::BalanceFell { credits, is_shared })
    }

    /// Expects answers that are repeated at no charge, because the ledger of an earlier run was lost.
    pub fn expecting_repeats(mut self, expected: bool) -> Prices {
        self.may_repeat = expected;
        self
    }

    /// Other ledgers use the account. A price is then known only by the charges that replies state, and a fall that all
    /// ledgers together do not explain ends the run.
    pub fn beside_others(mut self, is_shared: bool) -> Prices {
        self.is_shared = is_shared;
        self
    }

    fn proves(&mut self, check: &str) {
        self.beyond.remove(check);
        self.proven.insert(check.to_owned());
    }
}

#[cfg(test)]
#[path = "prices_tests.rs"]
pub mod tests;
