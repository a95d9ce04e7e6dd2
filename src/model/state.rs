//! The states of a request, what happens to it, and what that changes. [`transitions`](super::transitions) decides.
//!
//! Proof of no charge is per attempt: a refusal proves that *this* attempt cost nothing, and frees the hold only when every
//! attempt of the generation is proven. A request that may have been charged is in doubt: a state, not a failure.

use super::{credits::Credits, mode::Mode};
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

/// What a move changes in the money of a request and of its campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldChange {
    /// What the request holds afterwards.
    pub held: Credits,
    /// Newly set aside.
    pub added: Credits,
    /// No longer set aside.
    pub freed: Credits,
    /// Taken by the service.
    pub charged: Credits,
}

impl Hold {
    /// The change for a request that holds `held` and costs `price`. What it holds already is part of the price.
    pub fn apply(self, held: Credits, price: Credits) -> HoldChange {
        let none = HoldChange { held, added: Credits::ZERO, freed: Credits::ZERO, charged: Credits::ZERO };
        let at_least =
            |wanted: Credits| HoldChange { held: wanted.max(held), added: wanted.saturating_sub(held), ..none };
        let without = HoldChange { held: Credits::ZERO, freed: held, ..none };
        match self {
            Hold::Keep => none,
            Hold::Take => at_least(price),
            Hold::Raise(so_far) => at_least(so_far),
            Hold::Release => without,
            Hold::Charge(charged) => HoldChange { charged, ..without },
        }
    }
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
