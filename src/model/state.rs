//! The states of a request and the one function that moves it. Every move is a durable commit of the ledger; no other
//! place decides what a reply means for a request or for its money.
//!
//! Proof of no charge is per attempt: a refusal proves that *this* attempt cost nothing, and frees the hold only when every
//! attempt of the generation is proven. A request that may have been charged is in doubt: a state, not a failure.

use super::{
    credits::Credits,
    mode::Mode,
    planted::{Bug, planted},
};
use serde::{Deserialize, Serialize};

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not sent, or every attempt is proven uncharged.
    Planned,
    /// An attempt is under way: price held, attempt noted.
    Armed,
    /// May have been charged, no answer yet.
    InDoubt,
    /// The service said "pending": the same key is repeated.
    Repeating,
    /// Final: the service's answer is kept.
    Answered,
    /// Final unless retried: see the failure.
    Failed,
    /// In doubt beyond the life of its key: a person decides.
    Quarantined,
}

impl State {
    pub const ALL: [State; 7] = [
        State::Planned,
        State::Armed,
        State::InDoubt,
        State::Repeating,
        State::Answered,
        State::Failed,
        State::Quarantined,
    ];

    /// The number the ledger stores. Never reused.
    pub fn code(self) -> i64 {
        match self {
            State::Planned => 0,
            State::Armed => 1,
            State::InDoubt => 2,
            State::Repeating => 3,
            State::Answered => 10,
            State::Failed => 11,
            State::Quarantined => 12,
        }
    }

    /// The state of a stored number.
    pub fn from_code(code: i64) -> Option<State> {
        State::ALL.into_iter().find(|state| state.code() == code)
    }

    /// The word in messages and in `status --json`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Planned => "planned",
            State::Armed => "armed",
            State::InDoubt => "in_doubt",
            State::Repeating => "repeating",
            State::Answered => "answered",
            State::Failed => "failed",
            State::Quarantined => "quarantined",
        }
    }

    /// Answered or failed: its asks belong to results or failures.
    pub fn is_settled(self) -> bool {
        matches!(self, State::Answered | State::Failed)
    }
}

/// What one attempt came to, read from the reply alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// No byte of the request left: connect or TLS failure, or the gate closed just before the write.
    NotWritten,
    /// 2xx with a complete JSON object in a known envelope; the credits it states, if any.
    Answered { stated: Option<Credits> },
    /// 202 (or a 2xx) that says pending and names no service job; the credits it states, if any.
    Pending { stated: Option<Credits> },
    /// 400, 413, 415, 422.
    Refused,
    /// A reply that is not an answer and states a charge above zero, or one that cannot be read (`None`).
    ChargedRefusal { stated: Option<Credits> },
    /// 401, 403.
    Unauthorised,
    /// 402.
    NoCredits,
    /// 429.
    RateLimited,
    /// 3xx, 404, 405 on a submit route. It proves nothing about a charge: it may be the service's word for "no record".
    Misrouted,
    /// A 5xx that states `creditsUsed` 0: proof for this attempt, not for one before it that may still be worked on.
    Uncharged,
    /// A complete 2xx that is not JSON, or JSON without anything that an answer of the service has.
    Unreadable,
    /// A complete 2xx with a JSON document that has no content a rule recognises: it calls itself a failure, or does not look
    /// like an answer at all. It states no charge above the price that is held.
    Unconvincing,
    /// Anything else: 409, 5xx, time-out, reset, a body that was cut. Proves nothing.
    Unknown,
}

impl Outcome {
    /// The word in the ledger's attempts.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::NotWritten => "not_written",
            Outcome::Answered { .. } => "answered",
            Outcome::Pending { .. } => "pending",
            Outcome::Refused => "refused",
            Outcome::ChargedRefusal { .. } => "charged_refusal",
            Outcome::Unauthorised => "unauthorised",
            Outcome::NoCredits => "no_credits",
            Outcome::RateLimited => "rate_limited",
            Outcome::Misrouted => "misrouted",
            Outcome::Uncharged => "uncharged",
            Outcome::Unreadable => "unreadable",
            Outcome::Unconvincing => "unconvincing",
            Outcome::Unknown => "unknown",
        }
    }

    /// A complete 2xx that is not an answer: repeated under its key, and final when the repeat says the same.
    pub fn is_unclear(self) -> bool {
        matches!(self, Outcome::Unreadable | Outcome::Unconvincing)
    }
}

/// How old the key of a request in doubt is, by this machine's clock and the service's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyAge {
    Alive,
    /// Within two hours of the end of its life, or beyond.
    Over,
    /// The two clocks disagree about it.
    Disputed,
}

/// Something that happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// About to be sent; `age` and `same_api_key` are judged from the ledger before.
    Arm { age: KeyAge, same_api_key: bool },
    /// The attempt under way ended.
    Attempted(Outcome),
    /// The attempt under way was found at start: the process died.
    FoundArmed,
    /// The key's life is over.
    LifeOver,
    /// 402 or 429 again and again under this key while balance and rate are proven fine.
    RefusalCached,
    /// The account is in order and the service answers other requests: what it says of this one is about this one.
    RowAtFault,
    /// It was refused alone between two balances, and the second one is lower: it was charged.
    FoundCharged,
    /// The attempts of a sandbox run are over.
    AttemptsOver { mode: Mode },
    /// `run --retry`.
    Retry,
    /// `resolve --write-off`.
    WriteOff,
    /// `resolve --send-again`.
    SendAgain,
    /// `resolve --include-in-doubt`: a person decides before the key's life is over.
    PutBeforePerson,
}

/// What the ledger knows of a request, as far as it decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub state: State,
    /// Attempts of this generation, before the one under way, that may have been charged.
    pub unproven: u32,
    /// How often the key was changed.
    pub generation: u32,
    /// How many of these changes were made because a refusal was cached under the key.
    pub cached_refusals: u32,
    /// Complete 2xx replies under the present key that were not answers.
    pub unclear: u32,
    /// Credits set aside for it.
    pub held: Credits,
    /// The price to hold or, where no charge is stated, to charge.
    pub price: Credits,
    /// No stated charge below this is believed: the table's price, or what a lone request between two balances was shown to cost.
    pub least: Credits,
    /// A failed request that may have been charged is never retried by itself.
    pub possibly_charged: bool,
}

/// What a move does to the hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Keep,
    /// The price is held; what is held already is part of it.
    Take,
    /// So much was charged so far, which is more than the price: from now on it is the price, and it is held.
    Raise(Credits),
    Release,
    /// The hold goes, this much was charged.
    Charge(Credits),
}

/// The move: what to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    pub state: State,
    pub hold: Hold,
    pub unproven: u32,
    /// A new generation means a new key.
    pub next_generation: bool,
    pub cached_refusal: bool,
    pub possibly_charged: bool,
}

/// A move the state machine does not have: a defect of ours, or a ledger changed by another hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalMove {
    #[error("a request that is {} cannot take the event {event:?}", .state.as_str())]
    NoSuchMove { state: State, event: Event },
    #[error("a request in doubt is not sent again beyond the life of its key")]
    KeyLifeOver,
    #[error("a request in doubt is not sent again under another API key")]
    OtherApiKey,
    #[error("this machine's clock and the service's disagree about the age of a key")]
    ClocksApart,
    #[error("a request in doubt is not sent again to a route that its check does not have")]
    OtherRoute,
    #[error("a request that may have been charged is not retried under a new key")]
    NotProven,
    #[error("three keys of this request met a cached refusal")]
    TooManyCachedRefusals,
}

/// Next generations made for a cached refusal, at most.
pub const CACHED_REFUSALS_MAX: u32 = 3;

/// The state machine: total on states and events, pure.
pub fn next(standing: &Standing, event: Event) -> Result<Move, IllegalMove> {
    let to = |state, hold| Move {
        state,
        hold,
        unproven: standing.unproven,
        next_generation: false,
        cached_refusal: false,
        possibly_charged: false,
    };
    let one_more = u32::from(!planted(Bug::DoubtNotCounted));
    let kept = if planted(Bug::HoldFreedByDoubt) { Hold::Release } else { Hold::Keep };
    let in_doubt = Move { unproven: standing.unproven.saturating_add(one_more), ..to(State::InDoubt, kept) };
    let anew = |hold| Move { unproven: 0, next_generation: true, ..to(State::Planned, hold) };
    match (standing.state, event) {
        (State::Planned, Event::Arm { .. }) => Ok(to(State::Armed, Hold::Take)),
        (State::InDoubt | State::Repeating, Event::Arm { age: KeyAge::Over, .. }) if !planted(Bug::SentPastKeyLife) => {
            Err(IllegalMove::KeyLifeOver)
        }
        (State::InDoubt | State::Repeating, Event::Arm { age: KeyAge::Disputed, .. }) => Err(IllegalMove::ClocksApart),
        (State::InDoubt | State::Repeating, Event::Arm { same_api_key: false, .. })
            if !planted(Bug::SentUnderOtherApiKey) =>
        {
            Err(IllegalMove::OtherApiKey)
        }
        (State::InDoubt | State::Repeating, Event::Arm { .. }) => Ok(to(State::Armed, Hold::Take)),

        (State::Armed, Event::FoundArmed) if planted(Bug::CrashForgotten) => Ok(to(State::Planned, Hold::Release)),
        (State::Armed, Event::FoundArmed) if planted(Bug::NewKeyAfterCrash) => Ok(anew(Hold::Keep)),
        (State::Armed, Event::FoundArmed) => Ok(in_doubt),
        (State::Armed, Event::Attempted(outcome)) => Ok(match outcome {
            Outcome::Answered { stated } => to(State::Answered, Hold::Charge(charge(standing, stated))),
            Outcome::Pending { .. } if planted(Bug::HoldFreedByPending) => to(State::Planned, Hold::Release),
            // Its final charge is not known yet, and is no less than this.
            Outcome::Pending { stated: Some(so_far) } if so_far > standing.price => {
                Move { state: State::Repeating, hold: Hold::Raise(so_far), ..in_doubt }
            }
            Outcome::Pending { .. } => Move { state: State::Repeating, ..in_doubt },
            Outcome::ChargedRefusal { stated } => {
                Move { possibly_charged: true, ..to(State::Failed, Hold::Charge(charge(standing, stated))) }
            }
            Outcome::Unconvincing if standing.unclear > 0 || planted(Bug::FailedAnswerFinal) => {
                to(State::Answered, Hold::Charge(charge(standing, None)))
            }
            Outcome::Misrouted if planted(Bug::HoldFreedByMissingRoute) => to(State::Planned, Hold::Release),
            Outcome::Refused if doubted(standing, outcome) => to(State::Quarantined, Hold::Keep),
            Outcome::Refused => to(State::Failed, Hold::Release),
            Outcome::NotWritten
            | Outcome::Unauthorised
            | Outcome::NoCredits
            | Outcome::RateLimited
            | Outcome::Uncharged => {
                if doubted(standing, outcome) {
                    to(State::InDoubt, Hold::Keep)
                } else {
                    to(State::Planned, Hold::Release)
                }
            }
            Outcome::Misrouted | Outcome::Unreadable | Outcome::Unconvincing | Outcome::Unknown => in_doubt,
        }),

        (State::InDoubt | State::Repeating, Event::LifeOver) if planted(Bug::LifeOverPlanned) => {
            Ok(Move { unproven: 0, ..to(State::Planned, Hold::Release) })
        }
        (State::InDoubt | State::Repeating, Event::LifeOver) => Ok(to(State::Quarantined, Hold::Keep)),

        (State::InDoubt | State::Repeating, Event::PutBeforePerson) => Ok(to(State::Quarantined, Hold::Keep)),

        (State::InDoubt, Event::RefusalCached) if planted(Bug::NewKeyAfterTimeout) || planted(Bug::NewKeyInDoubt) => {
            Ok(anew(Hold::Keep))
        }
        (State::Planned, Event::RefusalCached) if standing.unproven > 0 => Err(IllegalMove::NotProven),
        (State::Planned, Event::RefusalCached) if standing.cached_refusals >= CACHED_REFUSALS_MAX => {
            Err(IllegalMove::TooManyCachedRefusals)
        }
        (State::Planned, Event::RefusalCached) => Ok(Move { cached_refusal: true, ..anew(Hold::Keep) }),

        (State::Planned, Event::RowAtFault) => Ok(to(State::Failed, Hold::Release)),
        (State::InDoubt, Event::RowAtFault) => {
            Ok(Move { possibly_charged: true, ..to(State::Failed, Hold::Charge(standing.held)) })
        }

        (State::Planned | State::InDoubt | State::Repeating, Event::AttemptsOver { mode })
            if mode == Mode::Sandbox || planted(Bug::SixAttemptsFail) =>
        {
            Ok(to(State::Failed, Hold::Release))
        }

        // The balance fell by a refusal that stated nothing.
        (State::Failed, Event::FoundCharged) if !standing.possibly_charged => {
            Ok(Move { possibly_charged: true, ..to(State::Failed, Hold::Charge(standing.price)) })
        }

        (State::Failed, Event::Retry) if standing.possibly_charged => Err(IllegalMove::NotProven),
        (State::Failed, Event::Retry) => Ok(anew(Hold::Keep)),

        (State::Quarantined, Event::WriteOff) if planted(Bug::WriteOffUncharged) => {
            Ok(Move { possibly_charged: true, ..to(State::Failed, Hold::Release) })
        }
        (State::Quarantined, Event::WriteOff) => {
            Ok(Move { possibly_charged: true, ..to(State::Failed, Hold::Charge(standing.held)) })
        }
        (State::Quarantined, Event::SendAgain) => Ok(anew(Hold::Charge(standing.held))),

        (state, event) => Err(IllegalMove::NoSuchMove { state, event }),
    }
}

/// Whether an attempt before this one may have been charged: no refusal of a later one says anything about it.
fn doubted(standing: &Standing, outcome: Outcome) -> bool {
    let believed = match outcome {
        Outcome::RateLimited => planted(Bug::DoubtSettledBy429),
        Outcome::Uncharged => planted(Bug::DoubtSettledBy503),
        Outcome::NotWritten => planted(Bug::DoubtSettledUnsent),
        _ => false,
    };
    standing.unproven > 0 && !believed
}

/// Stated credits, else the price; after an attempt that may have been charged, the larger of the two. A statement of less
/// than the check was shown to cost is not believed.
fn charge(standing: &Standing, stated: Option<Credits>) -> Credits {
    match stated {
        None => standing.price,
        Some(_) if planted(Bug::TablePriceCharged) => standing.price,
        Some(stated) if standing.unproven > 0 => stated.max(standing.price),
        Some(stated) => stated.max(standing.least),
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
