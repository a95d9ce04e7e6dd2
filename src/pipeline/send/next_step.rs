//! Decides what comes next for a request after an attempt: the pure part of the send loop.

use super::{attempt_end::Attempt, check_pauses::Waits, context::Candidate, gate::PUSH_BACK_MAX};
use crate::{
    client::{Author, PushBack, ReplyKind},
    ledger::Settled,
    model::{
        Mode,
        state::{Outcome, State},
        transitions::CACHED_REFUSALS_MAX,
    },
    pipeline::judge::REPEATS_MAX,
};
use std::time::Duration;

/// The maximum number of attempts of one request in one run.
pub const ATTEMPTS_MAX: u32 = 6;
/// After this many consecutive 429s of one request, in this run or under its key, the account is read. That shows
/// whether the rate is fine.
const PUSH_BACKS_ASK: u32 = 15;
/// After this many 429s under one key, each after an answer to another request, the refusal is cached under the key.
const CACHED_AFTER: u32 = 3;
/// The repeat cooldown of a sandbox payload: documented as 2 s, observed up to 10 s.
const COOLDOWN: Duration = Duration::from_millis(2_500);
const COOLDOWN_MAX: Duration = Duration::from_secs(11);
/// How long to wait before repeating a request whose reply was complete but not an answer.
const UNCLEAR: Duration = Duration::from_secs(8);
/// The first and the longest interval for asking for a pending answer.
const REPEAT: Duration = Duration::from_secs(5);
const REPEAT_MAX: Duration = Duration::from_secs(60);

/// The next step for a request.
pub enum Next {
    Answered(Candidate),
    /// The service accepted it as a job. It is not sent again.
    Submitted(Candidate),
    /// The service refused its content, or a person has to decide.
    Failed(Candidate),
    Again(Candidate, Duration),
    /// Its attempts in this run are used up. In production its state is kept, and the next run sends it again.
    LeftForLater(Candidate),
    /// Its attempts are used up in sandbox, where it fails.
    AttemptsOver(Candidate),
    /// The cause of the refusal may be the account, the configuration or this request alone. The account balance
    /// decides.
    AskAccount(Candidate),
    /// The service asked for a pause that is longer than a run waits.
    PushedBack(Candidate, Duration),
}

impl Attempt {
    /// Whether no working service was reached.
    pub fn is_outage(&self) -> bool {
        match self.reply.outcome {
            Outcome::NotWritten | Outcome::Uncharged => true,
            Outcome::Unknown => self.reply.kind.is_outage(),
            _ => false,
        }
    }

    /// Whether there is a reply that is not the service's, or of which nothing can be read: a body that is cut or encoded,
    /// or a status that says nothing about the request.
    pub fn is_not_read(&self) -> bool {
        let is_unclear = matches!(self.reply.outcome, Outcome::Unreadable | Outcome::Unknown) && !self.is_conflict();
        (is_unclear || self.is_of_another()) && !self.is_outage()
    }

    /// Whether something between here and the service replied.
    pub fn is_of_another(&self) -> bool {
        self.reply.author == Author::Another
    }

    /// The same, if it cannot be excluded: firewalls refuse in JSON, too.
    pub fn may_be_of_another(&self) -> bool {
        let is_unclear = self.reply.kind.is_unauthorised() && self.reply.author == Author::Unclear;
        // The service may keep its own refusal under the key.
        self.is_of_another() || is_unclear && !self.is_tried_in_several_runs()
    }

    /// Whether the service is still processing the request.
    pub fn is_pending(&self) -> bool {
        matches!(self.reply.outcome, Outcome::Pending { .. })
    }

    /// Whether the reply is a 409: another request has this key, or this one is still being processed.
    pub fn is_conflict(&self) -> bool {
        self.reply.kind == ReplyKind::Conflict && !self.is_of_another() && !self.reply.outcome.is_refusal()
    }

    /// Whether the row may be failed, given that the account is in order: the refusal is proven uncharged, or its
    /// charge can be recorded.
    pub fn may_be_the_rows_fault(&self) -> bool {
        let settled = (self.settled.state, self.reply.outcome);
        !self.may_be_of_another()
            && matches!(
                settled,
                (State::Planned, _) | (State::InDoubt, Outcome::Blocked | Outcome::Misrouted | Outcome::Unreadable)
            )
    }

    /// Whether a refusal repeated under the last of this many new keys, so the key is not the cause.
    pub fn has_useless_new_keys(&self, keys: u32) -> bool {
        let Settled { state, refusals_in_row, cached_refusals, .. } = self.settled;
        state == State::Planned && refusals_in_row > 1 && cached_refusals >= keys
    }

    /// Whether the refusal is one after which a new key or another request would be tried.
    pub fn is_refusal_that_may_change_key(&self) -> bool {
        let outcome = matches!(self.reply.outcome, Outcome::NoCredits | Outcome::RateLimited | Outcome::Unauthorised);
        outcome && self.settled.state == State::Planned
    }

    /// Whether the request was refused for the rate often enough that the refusal is cached under its key.
    pub fn is_refused_for_good(&self) -> bool {
        self.may_change_key() && self.settled.refusals_in_row >= CACHED_AFTER
    }

    /// Whether the service said in every attempt of several runs that it failed without a charge.
    pub fn fails_for_good(&self) -> bool {
        self.reply.outcome == Outcome::Uncharged
            && self.settled.state == State::Planned
            && self.is_tried_in_several_runs()
    }

    fn is_tried_in_several_runs(&self) -> bool {
        self.settled.attempts >= 3 * ATTEMPTS_MAX
    }

    /// Whether a new key is allowed: the refusal repeated under one key, and every attempt under it is proven
    /// uncharged.
    pub fn may_change_key(&self) -> bool {
        let state = self.settled.state;
        state == State::Planned
            && self.settled.refusals_in_row >= 2
            && self.settled.cached_refusals < CACHED_REFUSALS_MAX
    }
}

/// Decides what comes next. `answered` is the number of answers of this run to requests of the same check.
pub fn next_step(mut candidate: Candidate, attempted: &Attempt, answered: u64, mode: Mode) -> Next {
    candidate.in_doubt = matches!(attempted.settled.state, State::InDoubt | State::Repeating);
    if attempted.reply.outcome != Outcome::RateLimited {
        candidate.push_backs = 0;
    }
    match (attempted.settled.state, attempted.reply.outcome) {
        (State::Answered, _) => Next::Answered(candidate),
        (State::Submitted, _) => Next::Submitted(candidate),
        (State::Failed | State::Quarantined, _) => Next::Failed(candidate),
        (_, Outcome::Unauthorised | Outcome::Blocked | Outcome::Misrouted) => Next::AskAccount(candidate),
        // The same reply came again when the request was repeated.
        (_, Outcome::Unreadable) if attempted.settled.unclear >= 2 && !attempted.is_of_another() => {
            Next::AskAccount(candidate)
        }
        (State::Planned, Outcome::NoCredits) => Next::AskAccount(candidate),
        // A request in doubt keeps its key even if a refusal is cached under it. It is tried up to the maximum in each
        // run.
        (_, Outcome::NoCredits) => match tried(candidate, attempted, mode) {
            Next::Again(candidate, _) => Next::AskAccount(candidate),
            over => over,
        },
        (_, Outcome::RateLimited) => pushed_back(candidate, attempted, answered, mode),
        (_, Outcome::Pending { .. }) => pending(candidate, attempted),
        _ => tried(candidate, attempted, mode),
    }
}

/// Repeats a pending request at growing intervals, not earlier than the service said.
fn pending(mut candidate: Candidate, attempted: &Attempt) -> Next {
    let delay = growing(REPEAT, candidate.repeats, REPEAT_MAX);
    candidate.repeats += 1;
    match attempted.reply.repeat_after {
        Some(wait) if wait > PUSH_BACK_MAX => Next::LeftForLater(candidate),
        _ if candidate.repeats > REPEATS_MAX => Next::LeftForLater(candidate),
        wait => Next::Again(candidate, delay.max(wait.unwrap_or_default())),
    }
}

/// Counts an attempt of this run and decides what comes next.
pub fn tried(mut candidate: Candidate, attempted: &Attempt, mode: Mode) -> Next {
    candidate.attempts += 1;
    let least = match attempted.reply.repeat_after {
        Some(wait) => wait,
        None if attempted.reply.outcome.is_unclear() => UNCLEAR,
        None => Duration::ZERO,
    };
    match (attempted.reply.push_back, mode) {
        // A 503 may also state a time.
        (Some(PushBack::Stated(wait)), _) if wait > PUSH_BACK_MAX => Next::PushedBack(candidate, wait),
        (_, Mode::Production) if least > PUSH_BACK_MAX => Next::LeftForLater(candidate),
        _ if candidate.attempts < ATTEMPTS_MAX => {
            let delay = candidate.delays.next_delay().max(least);
            Next::Again(candidate, delay)
        }
        (_, Mode::Sandbox) if !attempted.is_of_another() => Next::AttemptsOver(candidate),
        _ => Next::LeftForLater(candidate),
    }
}

fn pushed_back(mut candidate: Candidate, attempted: &Attempt, answered: u64, mode: Mode) -> Next {
    // If another request was answered since this one was last refused, the rate is fine.
    let others_answered = candidate.push_backs > 0 && answered > candidate.answers_at_refusal;
    candidate.cached += u32::from(others_answered);
    candidate.answered_beside |= others_answered;
    candidate.answers_at_refusal = answered;
    let is_of_check = matches!(attempted.waits, Some(Waits::Check(_)));
    candidate.push_backs += 1;
    match attempted.reply.push_back {
        Some(PushBack::Stated(wait)) if wait > PUSH_BACK_MAX => Next::PushedBack(candidate, wait),
        // The limit is that of the check. It says nothing about the key or the row.
        _ if is_of_check && candidate.push_backs >= PUSH_BACKS_ASK => Next::PushedBack(candidate, Duration::ZERO),
        Some(PushBack::Stated(wait)) if is_of_check => Next::Again(candidate, wait),
        _ if is_of_check => Next::Again(candidate, Duration::ZERO),
        // The balance shows whether a new key is safe, or the last new key was refused as well.
        _ if candidate.cached >= CACHED_AFTER && attempted.settled.state == State::Planned => {
            Next::AskAccount(candidate)
        }
        _ if candidate.cached >= CACHED_AFTER && candidate.in_doubt => tried(candidate, attempted, mode),
        _ if candidate.push_backs.max(attempted.settled.refusals_in_row) >= PUSH_BACKS_ASK => {
            Next::AskAccount(candidate)
        }
        Some(PushBack::Stated(wait)) => Next::Again(candidate, wait),
        Some(PushBack::Unstated) if mode == Mode::Sandbox => {
            let delay = growing(COOLDOWN, candidate.push_backs - 1, COOLDOWN_MAX);
            Next::Again(candidate, delay)
        }
        // The gate is closed for all requests; this one waits with the others.
        _ => Next::Again(candidate, Duration::ZERO),
    }
}

/// `first`, doubled `times` times, but at most `most`.
fn growing(first: Duration, times: u32, most: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(times.min(16))).min(most)
}

#[cfg(test)]
#[path = "next_step_tests.rs"]
pub mod tests;
