//! The states of a request, the events that happen to it, and the moves they cause. [`transitions`](super::transitions)
//! decides.
//!
//! Proof of no charge applies to one attempt: a refusal proves that *this* attempt cost nothing, and frees the hold
//! only if every attempt of the generation is proven uncharged. A request that may have been charged is in doubt, which
//! is a state and not a failure.

use super::{credits::Credits, mode::Mode};
use serde::{Deserialize, Serialize};

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not sent, or every attempt is proven uncharged.
    Planned,
    /// An attempt is under way: its price is held and the attempt is recorded.
    Armed,
    /// It may have been charged, and there is no answer yet.
    InDoubt,
    /// The service said "pending": the same key is repeated.
    Repeating,
    /// The service accepted it as a job and answers later: its job id is recorded, its price stays held, and it is not
    /// sent again.
    Submitted,
    /// Final: the service's answer is stored.
    Answered,
    /// Final unless it is retried; see the failure.
    Failed,
    /// In doubt, and the life of its key is over: a person decides.
    Quarantined,
}

impl State {
    pub const ALL: [State; 8] = [
        State::Planned,
        State::Armed,
        State::InDoubt,
        State::Repeating,
        State::Submitted,
        State::Answered,
        State::Failed,
        State::Quarantined,
    ];

    /// The number that the ledger stores. Numbers are never reused.
    pub fn code(self) -> i64 {
        match self {
            State::Planned => 0,
            State::Armed => 1,
            State::InDoubt => 2,
            State::Repeating => 3,
            State::Submitted => 4,
            State::Answered => 10,
            State::Failed => 11,
            State::Quarantined => 12,
        }
    }

    /// The state for a stored number.
    pub fn from_code(code: i64) -> Option<State> {
        State::ALL.into_iter().find(|state| state.code() == code)
    }

    /// The name used in messages and in `status --json`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Planned => "planned",
            State::Armed => "armed",
            State::InDoubt => "in_doubt",
            State::Repeating => "repeating",
            State::Submitted => "submitted",
            State::Answered => "answered",
            State::Failed => "failed",
            State::Quarantined => "quarantined",
        }
    }

    /// Whether it is answered or failed, so that its asks are in results or failures.
    pub fn is_settled(self) -> bool {
        matches!(self, State::Answered | State::Failed)
    }
}

/// The result of one attempt, determined from the reply alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// No byte of the request was sent: the connection or TLS failed, or the gate closed just before the write.
    NotWritten,
    /// A 2xx with a complete JSON object in a known envelope; the credits it states, if any.
    Answered { stated: Option<Credits> },
    /// A 202 (or another 2xx) that says pending and names no service job; the credits it states, if any.
    Pending { stated: Option<Credits> },
    /// The service accepted the request as a job, whose id it names; the credits it states, if any. The charge comes
    /// when the job has a result.
    Accepted { stated: Option<Credits> },
    /// 400, 413, 415, 422.
    Refused,
    /// A reply that is not an answer, and states a charge above zero or one that cannot be read (`None`).
    ChargedRefusal { stated: Option<Credits> },
    /// 401, 403: the service refuses the API key or its rights.
    Unauthorised,
    /// A 403 that something between here and the service may have written, perhaps in place of an answer. It proves
    /// nothing.
    Blocked,
    /// 402.
    NoCredits,
    /// 429.
    RateLimited,
    /// 3xx, 404, 405 on a submit route. It proves nothing about a charge: it may be how the service says "no record".
    Misrouted,
    /// A 503 that states `creditsUsed` 0: proof for this attempt, but not for an earlier one that may still be in
    /// progress.
    Uncharged,
    /// The service would have to answer later, which needs a webhook, and states `creditsUsed` 0. It proves this attempt
    /// only, as [`Outcome::Uncharged`] does.
    NeedsWebhook,
    /// The service repeats that it failed to process the request under this key. A failed request is not completed, so
    /// no attempt under the key was charged.
    CachedFailure,
    /// A complete 2xx that is not JSON, or is JSON with nothing that an answer of the service has.
    Unreadable,
    /// A complete 2xx with JSON whose content no rule recognises: it says that it is a failure, or does not look like
    /// an answer. It states no charge above the held price.
    Unconvincing,
    /// Anything else: another 409, 5xx, timeout, reset, a truncated body. It proves nothing.
    Unknown,
}

impl Outcome {
    /// The name used in the ledger's attempts.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::NotWritten => "not_written",
            Outcome::Answered { .. } => "answered",
            Outcome::Pending { .. } => "pending",
            Outcome::Accepted { .. } => "accepted",
            Outcome::Refused => "refused",
            Outcome::ChargedRefusal { .. } => "charged_refusal",
            Outcome::Unauthorised => "unauthorised",
            Outcome::Blocked => "blocked",
            Outcome::NoCredits => "no_credits",
            Outcome::RateLimited => "rate_limited",
            Outcome::Misrouted => "misrouted",
            Outcome::Uncharged => "uncharged",
            Outcome::NeedsWebhook => "needs_webhook",
            Outcome::CachedFailure => "cached_failure",
            Outcome::Unreadable => "unreadable",
            Outcome::Unconvincing => "unconvincing",
            Outcome::Unknown => "unknown",
        }
    }

    /// Whether it makes a request fail, if no earlier attempt is in doubt.
    pub fn is_refusal(self) -> bool {
        matches!(
            self,
            Outcome::Refused | Outcome::ChargedRefusal { .. } | Outcome::NeedsWebhook | Outcome::CachedFailure
        )
    }

    /// Whether it is a complete 2xx that is not an answer. The request is repeated under its key, and the reply is
    /// final if the repeat has the same result.
    pub fn is_unclear(self) -> bool {
        matches!(self, Outcome::Unreadable | Outcome::Unconvincing)
    }
}

/// How a job ended, determined from what the service says of it, or from its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    /// It has a result; the credits that the service states for it, if any.
    Completed { stated: Option<Credits> },
    /// It ended without a result; the credits that the service states for it. Zero is the proof that nothing was charged.
    Failed { charged: Option<Credits> },
    /// The service still does not know the job, or has no result, when none can come any more.
    Lost,
}

/// The age of the key of a request in doubt, by this machine's clock and the service's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyAge {
    Alive,
    /// Less than two hours before the end of its life, or after it.
    Over,
    /// The two clocks disagree.
    Disputed,
}

/// An event that happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// It is about to be sent; `age` and `same_api_key` come from the ledger.
    Arm { age: KeyAge, same_api_key: bool },
    /// The attempt under way ended.
    Attempted(Outcome),
    /// The attempt under way was found at the start of a run: the process had died.
    FoundArmed,
    /// A reply about the job of a submitted request states a charge, and does not end the job.
    JobCharged { so_far: Credits },
    /// The job of a submitted request ended.
    JobEnded(JobEnd),
    /// The life of the key is over.
    LifeOver,
    /// Repeated 402 or 429 under this key, although balance and rate are proven to be sufficient.
    RefusalCached,
    /// The account is in order and the service answers other requests, so the refusal is about this request.
    RowAtFault,
    /// It was refused while it was the only request between two readings of the balance, and the second is lower: it
    /// was charged.
    FoundCharged,
    /// The attempts of a sandbox run are used up.
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

/// What the ledger records of a request, as far as decisions depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub state: State,
    /// The number of attempts of this generation, before the one under way, that may have been charged.
    pub unproven: u32,
    /// How often the key was changed.
    pub generation: u32,
    /// How often the key was changed because a refusal was cached under it.
    pub cached_refusals: u32,
    /// The number of complete 2xx replies under the current key that were not answers.
    pub unclear: u32,
    /// Credits held for it.
    pub held: Credits,
    /// The price to hold, or to charge if no charge is stated.
    pub price: Credits,
    /// A stated charge below this is not accepted: the table price, or the proven cost of a single request between two
    /// readings of the balance.
    pub least: Credits,
    /// A failed request that may have been charged is never retried automatically.
    pub possibly_charged: bool,
}

impl Standing {
    /// A request that was never sent.
    pub fn planned(price: Credits) -> Standing {
        Standing {
            state: State::Planned,
            unproven: 0,
            generation: 0,
            cached_refusals: 0,
            unclear: 0,
            held: Credits::ZERO,
            price,
            least: price,
            possibly_charged: false,
        }
    }
}

/// The effect of a move on the hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Keep,
    /// The price is held, including what is already held.
    Take,
    /// This much was charged so far, which is more than the price: it becomes the price, and is held.
    Raise(Credits),
    Release,
    /// The hold is released, and this much was charged.
    Charge(Credits),
}

/// The change that a move makes to the credits of a request and of its campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldChange {
    /// Credits held by the request afterwards.
    pub held: Credits,
    /// Credits newly held.
    pub added: Credits,
    /// Credits no longer held.
    pub freed: Credits,
    /// Credits charged by the service.
    pub charged: Credits,
}

impl Hold {
    /// The change for a request that holds `held` and costs `price`. The held credits are part of the price.
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

/// A move: the change to commit.
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

/// A move that the state machine does not allow: a bug in rescreen, or a ledger that was edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalMove {
    #[error("a request that is {} cannot take the event {event:?}", .state.as_str())]
    NoSuchMove { state: State, event: Event },
    #[error("a request in doubt is not sent again after the life of its key is over")]
    KeyLifeOver,
    #[error("a request in doubt is not sent again under another API key")]
    OtherApiKey,
    #[error("this machine's clock and the service's disagree about the age of a key")]
    ClocksDiffer,
    #[error("a request in doubt is not sent again to a route that its check no longer has")]
    OtherRoute,
    #[error("a request that may have been charged is not retried under a new key")]
    NotProven,
    #[error("three keys of this request were answered with a cached refusal")]
    TooManyCachedRefusals,
}
