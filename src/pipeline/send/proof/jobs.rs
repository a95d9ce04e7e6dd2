//! The proof of a check whose requests are accepted as jobs. A job is charged when it has a result, so the balance must
//! not fall by more than the price when it is accepted, and usually does not fall at all. The service may charge other
//! jobs during any proof. Their charges are not its price.

use super::{Attempted, Candidate, LoneReply, Proof, Proofs, ShownPrice};
use crate::model::{Credits, state::Outcome};
use crate::pipeline::send::weigh::Around;

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
