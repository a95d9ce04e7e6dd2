//! Finds the cause of a refusal: the account, the configuration or one row. The account balance decides it, and whether
//! the check is answered. If one row is the cause, only that row fails.

use super::Engine;
use crate::{
    model::{
        Credits, Failure, FailureCode, Mode, Stage, Stop,
        state::{Event, Outcome, State},
        transitions::CACHED_REFUSALS_MAX,
    },
    pipeline::send::{
        attempt_end::Attempt,
        context::Candidate,
        next_step::{ATTEMPTS_MAX, tried},
    },
};
use std::{
    ops::ControlFlow::{self, Break, Continue},
    time::Duration,
};

/// How long to wait before trying a request again that was refused alone. The refusal may be temporary, and others may
/// be answered meanwhile.
const REFUSED_AGAIN: Duration = Duration::from_secs(5);

impl Engine {
    /// Decides about a refused request by the balance, which was read while it waited.
    pub(super) fn account_answered(
        &mut self,
        candidate: Candidate,
        attempted: Attempt,
        read: ControlFlow<Stop, Credits>,
    ) {
        let balance = match read {
            Continue(balance) => balance,
            // In sandbox the balance does not matter, and answers to other requests show that the service works.
            Break(Stop::BalanceUnreadable) if !self.prices.is_watched() && self.answered > 0 => Credits::ZERO,
            Break(stop) => {
                self.stops.push(stop);
                return;
            }
        };
        let can_pay = balance >= attempted.settled.price;
        if self.prices.unexplained() > Credits::ZERO && can_pay && attempted.is_refusal_that_may_change_key() {
            // The refusal may have been charged, and a new key could be charged again.
            return self.row_at_fault(candidate, attempted);
        }
        if attempted.reply.outcome == Outcome::NoCredits {
            return self.no_credits(candidate, attempted, balance);
        }
        let status = attempted.reply.http_status.unwrap_or_default();
        let stop = match attempted.reply.outcome {
            Outcome::Unauthorised | Outcome::Blocked => Stop::CheckRefused { check: candidate.check.clone(), status },
            Outcome::Misrouted => {
                let path = self.terms.paths.get(&candidate.check).cloned().unwrap_or_default();
                Stop::Misrouted {
                    status,
                    path,
                    check: Some(candidate.check.clone()),
                    location: attempted.reply.location.clone(),
                }
            }
            // Reading the balance also counts towards the rate and was not refused, so the refusal is cached under the
            // key.
            Outcome::RateLimited if attempted.may_change_key() => return self.new_key(candidate),
            Outcome::RateLimited if candidate.in_doubt => {
                // In sandbox nothing is charged, and keys never expire.
                if self.terms.mode == Mode::Sandbox {
                    return self.attempts_over(&candidate, &attempted);
                }
                self.left_for_later(&candidate);
                return;
            }
            Outcome::RateLimited => {
                let message = "it refuses one request because of the rate, under several keys".to_owned();
                Stop::Unavailable { message }
            }
            _ => return self.row_at_fault(candidate, attempted),
        };
        self.refused_alone(candidate, attempted, stop);
    }

    /// Handles a refusal while the account is in order. If other requests of the check are answered, this request is the
    /// cause. Otherwise the check may be the cause, and `stop` is used once other requests are refused as well, or once
    /// nothing else is left to send.
    fn refused_alone(&mut self, candidate: Candidate, attempted: Attempt, stop: Stop) {
        let is_working = match attempted.reply.outcome {
            // The key, its rights and the route may have changed since an earlier run.
            Outcome::Unauthorised | Outcome::Blocked | Outcome::Misrouted => self.guards.is_working(&candidate.check),
            _ => self.now.sums.was_answered(&candidate.check),
        };
        if attempted.reply.outcome == Outcome::RateLimited && !candidate.answered_beside {
            // The service may limit this check alone. The row is not the cause.
            self.leave_out(&candidate.check, stop);
            return;
        }
        let kind = Some(attempted.reply.kind);
        let is_same = candidate.refused_alone == kind;
        // Two servers behind one address may refuse in turn. That shows nothing about a charge.
        let is_over = candidate.attempts >= ATTEMPTS_MAX;
        if is_over && !is_same && attempted.settled.state == State::InDoubt {
            let next = tried(candidate, &attempted, self.terms.mode);
            return self.take_step(next, attempted);
        }
        let is_again = is_same || is_over;
        if is_again && (is_working || candidate.was_set_aside) {
            return self.row_at_fault(candidate, attempted);
        }
        if !is_working && self.guards.suspect(&candidate.check, candidate.request) {
            self.leave_out(&candidate.check, stop);
        } else if is_again {
            self.spending.leaves(candidate.request);
            self.aside.push((candidate, stop));
        } else {
            let attempts = candidate.attempts + 1;
            self.postpone(Candidate { refused_alone: kind, attempts, ..candidate }, REFUSED_AGAIN);
        }
    }

    /// Fails the request, unless an earlier attempt may still be answered under its key, or nothing shows yet that
    /// answers of the check can be read.
    pub(super) fn row_at_fault(&mut self, candidate: Candidate, attempted: Attempt) {
        let readable = attempted.reply.outcome != Outcome::Unreadable || self.now.sums.was_answered(&candidate.check);
        if !(readable && attempted.may_be_the_rows_fault()) {
            let next = tried(candidate, &attempted, self.terms.mode);
            return self.take_step(next, attempted);
        }
        let failure = failure(&attempted);
        self.record(candidate.request, Event::RowAtFault, Some(failure));
        self.count_failed(&candidate, &attempted);
    }

    /// 402: either the account is empty, or a refusal is cached under the key while the balance is fine.
    fn no_credits(&mut self, candidate: Candidate, attempted: Attempt, balance: Credits) {
        let price = attempted.settled.price;
        // If the check was never answered, one new key is enough to show that the key is not the cause.
        let keys_max = if self.now.sums.was_answered(&candidate.check) { CACHED_REFUSALS_MAX } else { 1 };
        match () {
            () if balance < price => self.stops.push(Stop::NoCredits { balance, price }),
            // The balance is fine, so the refusal is cached under the key. One request tries a new key, and the others
            // wait to see whether that helps.
            () if attempted.has_useless_new_keys(keys_max) => {
                self.spending.leaves(candidate.request);
                self.refused_alone(candidate, attempted, Stop::NoCredits { balance, price });
            }
            () if attempted.may_change_key()
                && self.spending.key_on_trial.is_none_or(|trial| trial == candidate.request) =>
            {
                self.spending.key_on_trial = Some(candidate.request);
                self.new_key(candidate);
            }
            () if self.spending.key_on_trial.is_some_and(|trial| trial != candidate.request) => {
                self.spending.wait_for_trial(candidate)
            }
            () => self.postpone(candidate, REFUSED_AGAIN),
        }
    }
}

/// The failure of a request that the service refuses, while the account is in order.
fn failure(attempted: &Attempt) -> Failure {
    let status = attempted.reply.http_status.unwrap_or_default();
    let (code, message) = match attempted.reply.outcome {
        Outcome::Unreadable => (
            FailureCode::UnreadableAnswer,
            format!(
                "expected an answer, found a reply that cannot be read as one (HTTP {status}), twice; it may have \
                 been charged. `rescreen export --unreadable --to NEW_FOLDER` writes its bytes"
            ),
        ),
        _ => (
            FailureCode::Refused,
            format!(
                "the service refuses this request (HTTP {status}: {}), but answers others, and the account is in \
                 order",
                attempted.reply.message
            ),
        ),
    };
    Failure { stage: Stage::Send, code, message }
}
