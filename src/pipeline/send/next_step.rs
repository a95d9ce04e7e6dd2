//! What comes next for a request after an attempt: the pure half of the send loop.

use super::{
    attempt::{Attempted, PUSH_BACK_MAX},
    context::Candidate,
};
use crate::{
    client::PushBack,
    ledger::Settled,
    model::{
        Mode,
        planted::{Bug, planted},
        state::{Outcome, State},
        transitions::CACHED_REFUSALS_MAX,
    },
};
use std::time::Duration;

/// Attempts of one request in one run.
pub const ATTEMPTS_MAX: u32 = 6;
/// 429s of one request in a row, in this run or under its key, after which the account is read: that shows whether the rate
/// is fine.
const PUSH_BACKS_ASK: u32 = 15;
/// So many 429s under one key, each after an answer to somebody else, are a refusal cached under it.
const CACHED_AFTER: u32 = 3;
/// The repeat cooldown of a sandbox payload: 2 s by the description, up to 10 s in the wild.
const COOLDOWN: Duration = Duration::from_millis(2_500);
const COOLDOWN_MAX: Duration = Duration::from_secs(11);
/// How long to wait before a reply that is complete and not an answer is asked for again.
const UNCLEAR: Duration = Duration::from_secs(8);
/// Times in one run that a request is found pending, about 40 minutes: the next run asks again.
const REPEATS_MAX: u32 = 40;
/// How often a pending answer is asked for again.
const REPEAT: Duration = Duration::from_secs(5);
const REPEAT_MAX: Duration = Duration::from_secs(60);

/// What to do with a request.
pub enum Next {
    Answered(Candidate),
    /// The service refused its content, or a person has to decide.
    Failed(Candidate),
    Again(Candidate, Duration),
    /// Its attempts in this run are over; in production it stays in doubt, and the next run asks again.
    LeftForLater(Candidate),
    /// The same in sandbox, where it fails.
    AttemptsOver(Candidate),
    /// A 429 is cached under its key.
    NewKey(Candidate),
    /// The refusal may be about the account, the configuration or this request alone: the account's balance tells.
    AskAccount(Candidate),
    /// The service wants to be left alone for longer than a run waits.
    PushedBack(Candidate, Duration),
}

impl Attempted {
    /// No working service was reached.
    pub fn is_outage(&self) -> bool {
        let server_error = self.http_status.is_none_or(|status| status >= 500);
        match self.outcome {
            Outcome::NotWritten | Outcome::Uncharged => true,
            Outcome::Unknown => server_error,
            _ => false,
        }
    }

    /// A 2xx that is not JSON: a page of something between us and the service, or an answer that cannot be read.
    pub fn is_not_json(&self) -> bool {
        self.outcome == Outcome::Unreadable
    }

    /// The service is still working on it.
    pub fn is_pending(&self) -> bool {
        matches!(self.outcome, Outcome::Pending { .. })
    }

    /// 409: another request has this key, or this one is still worked on.
    pub fn is_conflict(&self) -> bool {
        self.http_status == Some(409)
    }

    /// The account is in order, so the refusal is about this request, and it is final: proven uncharged, or booked.
    pub fn may_be_the_rows_fault(&self) -> bool {
        let stands = (self.settled.state, self.outcome);
        matches!(stands, (State::Planned, _) | (State::InDoubt, Outcome::Misrouted | Outcome::Unreadable))
    }

    /// A 402 came again under the last of this many new keys: it is not the key.
    pub fn has_useless_new_keys(&self, keys: u32) -> bool {
        let Settled { state, refusals_in_row, cached_refusals, .. } = self.settled;
        state == State::Planned && refusals_in_row > 1 && cached_refusals >= keys
    }

    /// It was refused for a reason for which another request, or a new key, would be tried.
    pub fn is_refusal_that_may_change_key(&self) -> bool {
        let outcome = matches!(self.outcome, Outcome::NoCredits | Outcome::RateLimited | Outcome::Unauthorised);
        outcome && self.settled.state == State::Planned
    }

    /// The rate refused it in several runs, while the account could be read.
    pub fn is_refused_for_good(&self) -> bool {
        self.may_change_key() && self.settled.refusals_in_row >= CACHED_AFTER
    }

    /// The service said in every attempt of several runs that it failed and charged nothing.
    pub fn fails_for_good(&self) -> bool {
        self.outcome == Outcome::Uncharged
            && self.settled.state == State::Planned
            && self.settled.attempts >= 3 * ATTEMPTS_MAX
    }

    /// The refusal repeated under one key, and every attempt under it is proven uncharged.
    pub fn may_change_key(&self) -> bool {
        let state = self.settled.state;
        (state == State::Planned || planted(Bug::NewKeyInDoubt) && state == State::InDoubt)
            && self.settled.refusals_in_row >= 2
            && self.settled.cached_refusals < CACHED_REFUSALS_MAX
    }
}

/// Decides what comes next. `answered` counts the answers of this run to anybody.
pub fn next_step(mut one: Candidate, attempted: &Attempted, answered: u64, mode: Mode) -> Next {
    one.in_doubt = matches!(attempted.settled.state, State::InDoubt | State::Repeating);
    if attempted.outcome != Outcome::RateLimited {
        one.push_backs = 0;
    }
    match (attempted.settled.state, attempted.outcome) {
        (State::Answered, _) => Next::Answered(one),
        (State::Failed | State::Quarantined, _) => Next::Failed(one),
        (_, Outcome::Unauthorised) => Next::AskAccount(one),
        (_, Outcome::Misrouted) => Next::AskAccount(one),
        // It said the same when it was repeated.
        (_, Outcome::Unreadable) if attempted.settled.unclear >= 2 => Next::AskAccount(one),
        (State::Planned, Outcome::NoCredits) => Next::AskAccount(one),
        // In doubt it keeps its key, whatever refusal is kept under that: so many times a run, and again in the next.
        (_, Outcome::NoCredits) => match tried(one, attempted, mode) {
            Next::Again(one, _) => Next::AskAccount(one),
            over => over,
        },
        (_, Outcome::RateLimited) => pushed_back(one, attempted, answered, mode),
        (_, Outcome::Pending { .. }) => pending(one, attempted),
        _ => tried(one, attempted, mode),
    }
}

/// Asked again later and later, no earlier than the service said.
fn pending(mut one: Candidate, attempted: &Attempted) -> Next {
    let delay = growing(REPEAT, one.repeats, REPEAT_MAX);
    one.repeats += 1;
    match attempted.repeat_after {
        Some(wait) if wait > PUSH_BACK_MAX => Next::LeftForLater(one),
        _ if one.repeats > REPEATS_MAX => Next::LeftForLater(one),
        wait => Next::Again(one, delay.max(wait.unwrap_or_default())),
    }
}

/// Uses up one of the attempts of this run.
pub fn tried(mut one: Candidate, attempted: &Attempted, mode: Mode) -> Next {
    one.attempts += 1;
    let least = match attempted.repeat_after {
        Some(wait) => wait,
        None if attempted.outcome.is_unclear() => UNCLEAR,
        None => Duration::ZERO,
    };
    match (attempted.push_back, mode) {
        // A 503 may say when to come back, too.
        (Some(PushBack::Stated(wait)), _) if wait > PUSH_BACK_MAX => Next::PushedBack(one, wait),
        (_, Mode::Production) if least > PUSH_BACK_MAX => Next::LeftForLater(one),
        _ if one.attempts < ATTEMPTS_MAX => {
            let delay = one.delays.next_delay().max(least);
            Next::Again(one, delay)
        }
        (_, Mode::Sandbox) => Next::AttemptsOver(one),
        (_, Mode::Production) => Next::LeftForLater(one),
    }
}

fn pushed_back(mut one: Candidate, attempted: &Attempted, answered: u64, mode: Mode) -> Next {
    // The rate is proven fine where somebody else was answered since this one was last refused.
    let others_answered = one.push_backs > 0 && answered > one.answers_at_refusal;
    one.cached += u32::from(others_answered);
    one.answers_at_refusal = answered;
    one.push_backs += 1;
    match attempted.push_back {
        Some(PushBack::Stated(wait)) if wait > PUSH_BACK_MAX => Next::PushedBack(one, wait),
        // The balance tells whether a new key is safe; or the last of them was refused, too.
        _ if one.cached >= CACHED_AFTER && attempted.settled.state == State::Planned => Next::AskAccount(one),
        _ if one.cached >= CACHED_AFTER && one.in_doubt => tried(one, attempted, mode),
        _ if one.push_backs.max(attempted.settled.refusals_in_row) >= PUSH_BACKS_ASK => Next::AskAccount(one),
        Some(PushBack::Stated(wait)) => Next::Again(one, wait),
        Some(PushBack::Unstated) if mode == Mode::Sandbox => {
            let delay = growing(COOLDOWN, one.push_backs - 1, COOLDOWN_MAX);
            Next::Again(one, delay)
        }
        // The gate is closed for all; this one waits for it with the others.
        _ => Next::Again(one, Duration::ZERO),
    }
}

/// `first`, doubled `times` times, `most` at most.
fn growing(first: Duration, times: u32, most: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(times.min(16))).min(most)
}

#[cfg(test)]
#[path = "next_step_tests.rs"]
pub mod tests;
