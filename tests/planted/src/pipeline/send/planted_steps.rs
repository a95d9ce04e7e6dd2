//! The next step, modified by a planted bug if there is one.

use super::{
    attempt_end::Attempted,
    context::Candidate,
    next_step::{self, ATTEMPTS_MAX, Next, tried},
};
use crate::model::{
    Mode,
    planted::{Bug, planted},
    state::{Outcome, State},
};

/// Decides what comes next. `answered` is the number of answers to all requests of this run.
pub fn next_step(one: Candidate, attempted: &Attempted, answered: u64, mode: Mode) -> Next {
    let outcome = attempted.outcome;
    match next_step::next_step(one, attempted, answered, mode) {
        Next::AskAccount(one) if outcome == Outcome::Unauthorised && planted(Bug::UnauthorisedRetried) => {
            tried(one, attempted, mode)
        }
        Next::AskAccount(one) if outcome == Outcome::Unreadable && planted(Bug::UnreadableWithoutEnd) => {
            tried(one, attempted, mode)
        }
        Next::Again(one, _) | Next::LeftForLater(one)
            if outcome == Outcome::Unknown
                && attempted.http_status.is_none()
                && attempted.settled.state == State::InDoubt
                && planted(Bug::NewKeyAfterTimeout) =>
        {
            Next::NewKey(one)
        }
        Next::LeftForLater(one)
            if mode == Mode::Production && one.attempts >= ATTEMPTS_MAX && planted(Bug::SixAttemptsFail) =>
        {
            Next::AttemptsOver(one)
        }
        next => next,
    }
}
