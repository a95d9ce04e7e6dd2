//! The next step, modified by a planted bug if there is one.

use super::{
    attempt_end::Attempt,
    context::Candidate,
    next_step::{self, ATTEMPTS_MAX, Next, tried},
};
use crate::model::{
    Mode,
    planted::{Bug, planted},
    state::{Outcome, State},
};

/// Decides what comes next. `answered` is the number of answers to all requests of this run.
pub fn next_step(candidate: Candidate, attempted: &Attempt, answered: u64, mode: Mode) -> Next {
    let outcome = attempted.reply.outcome;
    match next_step::next_step(candidate, attempted, answered, mode) {
        Next::AskAccount(candidate) if outcome == Outcome::Unauthorised && planted(Bug::UnauthorisedRetried) => {
            tried(candidate, attempted, mode)
        }
        Next::AskAccount(candidate) if outcome == Outcome::Unreadable && planted(Bug::UnreadableWithoutEnd) => {
            tried(candidate, attempted, mode)
        }
        Next::Again(candidate, _) | Next::LeftForLater(candidate)
            if outcome == Outcome::Unknown
                && attempted.reply.http_status.is_none()
                && attempted.settled.state == State::InDoubt
                && planted(Bug::NewKeyAfterTimeout) =>
        {
            Next::NewKey(candidate)
        }
        Next::LeftForLater(candidate)
            if mode == Mode::Production && candidate.attempts >= ATTEMPTS_MAX && planted(Bug::SixAttemptsFail) =>
        {
            Next::AttemptsOver(candidate)
        }
        next => next,
    }
}
