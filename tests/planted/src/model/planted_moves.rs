//! The planted bugs of the state machine: they replace a correct move by a wrong one.

use super::{
    planted::{Bug, planted},
    state::{Event, Hold, IllegalMove, JobEnd, KeyAge, Move, Outcome, Standing, State},
};

/// The move of the state machine with the planted bug; the correct move if none is planted.
pub(super) fn mistaken(
    standing: &Standing,
    event: Event,
    correct: Result<Move, IllegalMove>,
) -> Result<Move, IllegalMove> {
    use State::{Answered, Armed, Failed, InDoubt, Planned, Quarantined, Repeating};
    let Standing { unproven, price, .. } = *standing;
    let plain = Move {
        state: Planned,
        hold: Hold::Release,
        unproven,
        next_generation: false,
        cached_refusal: false,
        possibly_charged: false,
    };
    let armed = Move { state: Armed, hold: Hold::Take, ..plain };
    let new_key = Move { hold: Hold::Keep, unproven: 0, next_generation: true, ..plain };
    let move_ = match (standing.state, event) {
        (InDoubt | Repeating, Event::Arm { age: KeyAge::Over, same_api_key: true })
            if planted(Bug::SentPastKeyLife) =>
        {
            armed
        }
        (InDoubt | Repeating, Event::Arm { age: KeyAge::Alive, same_api_key: false })
            if planted(Bug::SentUnderOtherApiKey) =>
        {
            armed
        }
        (Armed, Event::FoundArmed) if planted(Bug::CrashForgotten) => plain,
        (Armed, Event::FoundArmed) if planted(Bug::NewKeyAfterCrash) => new_key,
        (Armed, Event::Attempted(outcome)) if refusal_settles_doubt(outcome) => plain,
        (Armed, Event::Attempted(Outcome::Accepted { .. })) if planted(Bug::JobHoldFreed) => {
            Move { hold: Hold::Release, ..correct? }
        }
        (Armed, Event::Attempted(Outcome::NeedsWebhook)) if planted(Bug::WebhookNeedCharged) => {
            Move { state: Failed, hold: Hold::Charge(price), possibly_charged: true, ..plain }
        }
        (Armed, Event::Attempted(Outcome::Unconvincing)) if planted(Bug::FailedAnswerFinal) => {
            Move { state: Answered, hold: Hold::Charge(price), ..plain }
        }
        (Armed, Event::Attempted(Outcome::Answered { stated } | Outcome::ChargedRefusal { stated }))
            if stated.is_some() && planted(Bug::TablePriceCharged) =>
        {
            Move { hold: Hold::Charge(price), ..correct? }
        }
        (Armed, Event::FoundArmed | Event::Attempted(_)) => {
            return correct.map(|correct| doubt_forgotten(correct, unproven));
        }
        (State::Submitted, Event::JobEnded(JobEnd::Lost)) if planted(Bug::LostJobSentAgain) => {
            Move { hold: Hold::Release, ..new_key }
        }
        (State::Submitted, Event::JobEnded(JobEnd::Completed { .. })) if planted(Bug::JobResultFree) => {
            Move { state: Answered, ..plain }
        }
        (State::Submitted, Event::JobEnded(JobEnd::Failed { .. })) if planted(Bug::FailedJobKeepsHold) => {
            Move { hold: Hold::Keep, ..correct? }
        }
        (InDoubt | Repeating, Event::LifeOver) if planted(Bug::LifeOverPlanned) => Move { unproven: 0, ..plain },
        (InDoubt, Event::RefusalCached) if planted(Bug::NewKeyAfterTimeout) || planted(Bug::NewKeyInDoubt) => new_key,
        (Planned | InDoubt | Repeating, Event::AttemptsOver { .. }) if planted(Bug::SixAttemptsFail) => {
            Move { state: Failed, ..plain }
        }
        (Quarantined, Event::WriteOff) if planted(Bug::WriteOffUncharged) => {
            Move { state: Failed, possibly_charged: true, ..plain }
        }
        _ => return correct,
    };
    Ok(move_)
}

/// Whether a reply that proves nothing about a charge makes its request count as never sent.
fn refusal_settles_doubt(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Pending { .. } => planted(Bug::HoldFreedByPending),
        Outcome::Misrouted => planted(Bug::HoldFreedByMissingRoute),
        Outcome::RateLimited => planted(Bug::DoubtSettledBy429),
        Outcome::Uncharged => planted(Bug::DoubtSettledBy503),
        Outcome::NotWritten => planted(Bug::DoubtSettledUnsent),
        _ => false,
    }
}

/// The move of a request that is now in doubt, without counting that, or with its hold released.
fn doubt_forgotten(correct: Move, unproven: u32) -> Move {
    let is_doubted = correct.unproven > unproven;
    let freed = is_doubted && correct.hold == Hold::Keep && planted(Bug::HoldFreedByDoubt);
    let uncounted = is_doubted && planted(Bug::DoubtNotCounted);
    Move {
        hold: if freed { Hold::Release } else { correct.hold },
        unproven: if uncounted { unproven } else { correct.unproven },
        ..correct
    }
}
