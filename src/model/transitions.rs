//! The state machine of a request. Every move is a durable commit of the ledger. Only this function decides what a
//! reply means for a request and its credits.

use super::{
    credits::Credits,
    mode::Mode,
    state::{Event, Hold, IllegalMove, JobEnd, KeyAge, Move, Outcome, Standing, State},
};

/// Maximum generations added because of a cached refusal.
pub const CACHED_REFUSALS_MAX: u32 = 3;

/// The next move of the state machine. It is pure, and total on states and events.
pub fn next(standing: &Standing, event: Event) -> Result<Move, IllegalMove> {
    let to = |state, hold| Move {
        state,
        hold,
        unproven: standing.unproven,
        next_generation: false,
        cached_refusal: false,
        possibly_charged: false,
    };
    let in_doubt = Move { unproven: standing.unproven.saturating_add(1), ..to(State::InDoubt, Hold::Keep) };
    let replan = |hold| Move { unproven: 0, next_generation: true, ..to(State::Planned, hold) };
    match (standing.state, event) {
        (State::Planned, Event::Arm { .. }) => Ok(to(State::Armed, Hold::Take)),
        (State::InDoubt | State::Repeating, Event::Arm { age: KeyAge::Over, .. }) => Err(IllegalMove::KeyLifeOver),
        (State::InDoubt | State::Repeating, Event::Arm { age: KeyAge::Disputed, .. }) => Err(IllegalMove::ClocksDiffer),
        (State::InDoubt | State::Repeating, Event::Arm { same_api_key: false, .. }) => Err(IllegalMove::OtherApiKey),
        (State::InDoubt | State::Repeating, Event::Arm { .. }) => Ok(to(State::Armed, Hold::Take)),

        (State::Armed, Event::FoundArmed) => Ok(in_doubt),
        (State::Armed, Event::Attempted(outcome)) => Ok(match outcome {
            Outcome::Answered { stated } => to(State::Answered, Hold::Charge(charge(standing, stated))),
            // The final charge is not known yet, but is not less than this.
            Outcome::Pending { stated: Some(so_far) } if so_far > standing.price => {
                Move { state: State::Repeating, hold: Hold::Raise(so_far), ..in_doubt }
            }
            Outcome::Pending { .. } => Move { state: State::Repeating, ..in_doubt },
            Outcome::Accepted { stated: Some(required) } if required > standing.price => {
                Move { state: State::Submitted, hold: Hold::Raise(required), ..in_doubt }
            }
            Outcome::Accepted { .. } => Move { state: State::Submitted, ..in_doubt },
            Outcome::ChargedRefusal { stated } => {
                Move { possibly_charged: true, ..to(State::Failed, Hold::Charge(charge(standing, stated))) }
            }
            Outcome::Unconvincing if standing.unclear > 0 => to(State::Answered, Hold::Charge(charge(standing, None))),
            Outcome::Refused if standing.unproven > 0 => to(State::Quarantined, Hold::Keep),
            Outcome::Refused => to(State::Failed, Hold::Release),
            // An earlier success under its key could not be read. One of the two is wrong.
            Outcome::CachedFailure if standing.unclear > 0 => to(State::Quarantined, Hold::Keep),
            // One key is one request, so no earlier attempt was charged either.
            Outcome::CachedFailure => Move { unproven: 0, ..to(State::Failed, Hold::Release) },
            Outcome::NeedsWebhook if standing.unproven == 0 => to(State::Failed, Hold::Release),
            Outcome::NotWritten
            | Outcome::Unauthorised
            | Outcome::NoCredits
            | Outcome::RateLimited
            | Outcome::NeedsWebhook
            | Outcome::Uncharged => {
                // An earlier attempt may have been charged, and a later refusal proves nothing about it.
                if standing.unproven > 0 { to(State::InDoubt, Hold::Keep) } else { to(State::Planned, Hold::Release) }
            }
            Outcome::Blocked | Outcome::Misrouted | Outcome::Unreadable | Outcome::Unconvincing | Outcome::Unknown => {
                in_doubt
            }
        }),

        (State::Submitted, Event::JobCharged { so_far }) if so_far > standing.held => {
            Ok(to(State::Submitted, Hold::Raise(so_far)))
        }
        (State::Submitted, Event::JobCharged { .. }) => Ok(to(State::Submitted, Hold::Keep)),
        (State::Submitted, Event::JobEnded(end)) => Ok(match end {
            JobEnd::Completed { stated } => to(State::Answered, Hold::Charge(job_charge(standing, stated))),
            // One key is one job, so no earlier attempt was charged either.
            JobEnd::Failed { charged: Some(Credits::ZERO) } => Move { unproven: 0, ..to(State::Failed, Hold::Release) },
            JobEnd::Failed { charged: Some(charged) } => {
                Move { possibly_charged: true, ..to(State::Failed, Hold::Charge(charged)) }
            }
            // Nothing says whether it was charged.
            JobEnd::Failed { charged: None } | JobEnd::Lost => to(State::Quarantined, Hold::Keep),
        }),

        (State::InDoubt | State::Repeating, Event::LifeOver) => Ok(to(State::Quarantined, Hold::Keep)),

        // A person may decide about a job that never ends.
        (State::InDoubt | State::Repeating | State::Submitted, Event::PutBeforePerson) => {
            Ok(to(State::Quarantined, Hold::Keep))
        }

        (State::Planned, Event::RefusalCached) if standing.unproven > 0 => Err(IllegalMove::NotProven),
        (State::Planned, Event::RefusalCached) if standing.cached_refusals >= CACHED_REFUSALS_MAX => {
            Err(IllegalMove::TooManyCachedRefusals)
        }
        (State::Planned, Event::RefusalCached) => Ok(Move { cached_refusal: true, ..replan(Hold::Keep) }),

        (State::Planned, Event::RowAtFault) => Ok(to(State::Failed, Hold::Release)),
        (State::InDoubt, Event::RowAtFault) => {
            Ok(Move { possibly_charged: true, ..to(State::Failed, Hold::Charge(standing.held)) })
        }

        (State::Planned | State::InDoubt | State::Repeating, Event::AttemptsOver { mode: Mode::Sandbox }) => {
            Ok(to(State::Failed, Hold::Release))
        }

        // The balance fell although the refusal stated no charge.
        (State::Failed, Event::FoundCharged) if !standing.possibly_charged => {
            Ok(Move { possibly_charged: true, ..to(State::Failed, Hold::Charge(standing.price)) })
        }

        (State::Failed, Event::Retry) if standing.possibly_charged => Err(IllegalMove::NotProven),
        (State::Failed, Event::Retry) => Ok(replan(Hold::Keep)),

        (State::Quarantined, Event::WriteOff) => {
            Ok(Move { possibly_charged: true, ..to(State::Failed, Hold::Charge(standing.held)) })
        }
        (State::Quarantined, Event::SendAgain) => Ok(replan(Hold::Charge(standing.held))),

        (state, event) => Err(IllegalMove::NoSuchMove { state, event }),
    }
}

/// The stated credits, else the price; after an attempt that may have been charged, the larger of the two. A stated
/// charge below the proven cost of the check is not accepted.
fn charge(standing: &Standing, stated: Option<Credits>) -> Credits {
    match stated {
        None => standing.price,
        Some(stated) if standing.unproven > 0 => stated.max(standing.price),
        Some(stated) => stated.max(standing.least),
    }
}

/// The stated credits of a job, else what is held for it. One key is one job, so an earlier attempt cost nothing more.
fn job_charge(standing: &Standing, stated: Option<Credits>) -> Credits {
    stated.map_or(standing.held, |stated| stated.max(standing.least))
}

#[cfg(test)]
#[path = "transitions_tests.rs"]
mod tests;
