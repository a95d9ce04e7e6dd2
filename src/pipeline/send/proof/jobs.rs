//! The proof of a check whose requests are accepted as jobs. A job is charged when it has a result, so the balance must
//! not fall by more than the price when it is accepted, and usually does not fall at all. The service may charge other
//! jobs during any proof. Their charges are not its price.

use super::{Attempted, Candidate, LoneReply, Proof, Proofs, ShownPrice, UNCLEAR_MAX};
use crate::model::{Credits, state::Outcome};
use crate::pipeline::send::weigh::Around;
use std::collections::BTreeMap;

/// The jobs beside a proof.
#[derive(Debug, Default)]
pub(super) struct JobsBeside {
    /// Those without a result now.
    pub(super) open: u64,
    /// Credits booked in this run for jobs that have ended: all of them, those until the balance was last read, and those
    /// until it was read before the current proof.
    charged: Credits,
    charged_at_reading: Credits,
    charged_before: Credits,
    /// The number of consecutive proofs of a check that were unclear because of jobs.
    pub(super) unclear: BTreeMap<String, usize>,
}

impl JobsBeside {
    pub(super) fn balance_is_read(&mut self) {
        self.charged_at_reading = self.charged;
    }

    pub(super) fn proof_begins(&mut self) {
        self.charged_before = self.charged_at_reading;
    }

    /// Credits booked for jobs since the balance was read before the current proof.
    pub(super) fn booked(&self) -> Credits {
        self.charged.saturating_sub(self.charged_before)
    }

    /// Whether jobs explain a fall during the current proof. Unlike a request in doubt, they may do so every time.
    pub(super) fn explain(&self) -> bool {
        self.open > 0 || self.booked() > Credits::ZERO
    }

    /// Records a proof that jobs made unclear. Returns whether there were so many that the check must do without a proof:
    /// what the balance falls by beyond all jobs is still noticed.
    pub(super) fn are_unclear_again(&mut self, check: &str) -> bool {
        let times = self.unclear.entry(check.to_owned()).or_default();
        *times += 1;
        *times >= UNCLEAR_MAX
    }
}

impl Proofs {
    /// Records an accepted job. Returns whether the attempt was one.
    pub(super) fn observe_job(&mut self, one: &Candidate, attempted: &Attempted, proof: &Proof) -> bool {
        if !matches!(attempted.outcome, Outcome::Accepted { .. }) {
            return false;
        }
        self.balance_is_doubtful |= attempted.settled.doubtful_balance;
        self.answers += 1;
        self.answers_since_reading += 1;
        // Whatever the reply states, the charge comes later. The balance shows it from time to time.
        self.unstated += 1;
        if let Proof::UnderWay { since, before } = *proof {
            self.lone_balance = None;
            let around = Around {
                price: attempted.settled.price,
                stated: None,
                before,
                after: None,
                later: None,
                reply_before: None,
                reply: None,
                in_doubt: Credits::ZERO,
                booked: Credits::ZERO,
            };
            let (check, took) = (one.check.clone(), since.elapsed());
            self.proof = Proof::Answered(LoneReply { check, around, took, refused: None, is_job: true, waits: 0 });
        }
        true
    }

    /// The proof of a job whose acceptance shows no charge.
    pub(super) fn shows_job(&mut self, check: String) -> ShownPrice {
        self.proves(&check);
        ShownPrice::Proven { check }
    }

    /// Records the credits booked for a job that has ended.
    pub fn job_charged(&mut self, credits: Credits) {
        self.jobs.charged = self.jobs.charged + credits;
    }

    /// Records the answer of a job, and whether the reply states its charge.
    pub fn job_answered(&mut self, is_stated: bool) {
        self.answers_since_reading += 1;
        self.unstated += u64::from(!is_stated);
    }
}
