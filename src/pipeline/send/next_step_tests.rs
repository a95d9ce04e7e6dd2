//! Tests of the next step, case by case.

use super::*;
use crate::{
    client::Classified,
    ledger::Settled,
    model::{Credits, RequestId, credits::Amount},
};

/// An attempt without any stated amounts.
pub fn attempted(state: State, outcome: Outcome, http_status: Option<u16>) -> Attempt {
    let settled = Settled {
        state,
        attempts: 1,
        refusals_in_row: 0,
        cached_refusals: 0,
        unclear: 0,
        price: Credits(1),
        charged: Credits::ZERO,
        so_far: Credits::ZERO,
        unexplained_fall: Credits::ZERO,
        doubtful_balance: false,
    };
    let reply = Classified {
        outcome,
        kind: http_status.map_or(ReplyKind::NoReply, ReplyKind::of),
        author: Author::Service,
        http_status,
        remaining: None,
        unreadable_amount: None,
        request_id: None,
        location: None,
        push_back: None,
        repeat_after: None,
        server_now_us: None,
        job: None,
        charge: Amount::Absent,
        job_fault: None,
        early: None,
        answer: None,
        code: None,
        message: String::new(),
        words: String::new(),
    };
    Attempt { reply, settled, judgement: None, other_mode: None, waits: None, uploaded: false, other_side: None }
}

fn one() -> Candidate {
    Candidate::new(RequestId(1), "aml-screening".to_owned())
}

#[test]
fn an_unknown_outcome_is_tried_six_times_a_run_and_then_stays_in_doubt() {
    let lost = attempted(State::InDoubt, Outcome::Unknown, None);
    let mut current = one();
    for _ in 0..5 {
        let Next::Again(next, delay) = next_step(current, &lost, 0, Mode::Production) else { panic!("tried again") };
        assert!(delay <= Duration::from_secs(60));
        current = next;
    }
    assert!(matches!(next_step(current, &lost, 0, Mode::Production), Next::LeftForLater(_)));
}

#[test]
fn in_sandbox_running_out_of_attempts_is_a_failure() {
    let mut last = one();
    last.attempts = ATTEMPTS_MAX - 1;
    let lost = attempted(State::InDoubt, Outcome::Unknown, None);
    assert!(matches!(next_step(last, &lost, 0, Mode::Sandbox), Next::AttemptsOver(_)));
}

#[test]
fn a_429_uses_up_no_attempt_and_waits_as_long_as_it_says() {
    let mut refused = attempted(State::Planned, Outcome::RateLimited, Some(429));
    refused.reply.push_back = Some(PushBack::Stated(Duration::from_secs(7)));
    let Next::Again(next, delay) = next_step(one(), &refused, 0, Mode::Production) else { panic!("tried again") };
    assert_eq!((next.attempts, delay), (0, Duration::from_secs(7)));
    refused.reply.push_back = Some(PushBack::Stated(Duration::from_secs(901)));
    assert!(matches!(next_step(next, &refused, 0, Mode::Production), Next::PushedBack(..)));
}

#[test]
fn a_sandbox_cooldown_delays_one_request_alone_and_grows() {
    let mut refused = attempted(State::Planned, Outcome::RateLimited, Some(429));
    refused.reply.push_back = Some(PushBack::Unstated);
    let mut current = one();
    for millis in [2_500, 5_000, 10_000, 11_000, 11_000] {
        let Next::Again(next, delay) = next_step(current, &refused, 0, Mode::Sandbox) else { panic!("tried again") };
        assert_eq!(delay, Duration::from_millis(millis));
        current = next;
    }
}

#[test]
fn a_429_that_repeats_while_others_are_answered_is_cached_under_the_key() {
    let mut refused = attempted(State::Planned, Outcome::RateLimited, Some(429));
    refused.reply.push_back = Some(PushBack::Stated(Duration::from_secs(1)));
    refused.settled.refusals_in_row = 4;
    let mut current = one();
    for answered in 0..3 {
        let Next::Again(next, _) = next_step(current, &refused, answered, Mode::Production) else { panic!("again") };
        current = next;
    }
    assert!(matches!(next_step(current, &refused, 3, Mode::Production), Next::AskAccount(_)));
    let mut quiet = one();
    for _ in 0..10 {
        let Next::Again(next, _) = next_step(quiet, &refused, 5, Mode::Production) else {
            panic!("the rate is not fine")
        };
        quiet = next;
    }
}

#[test]
fn a_key_is_never_changed_while_anything_is_in_doubt() {
    let mut refused = attempted(State::InDoubt, Outcome::NoCredits, Some(402));
    refused.settled.refusals_in_row = 9;
    assert!(!refused.may_change_key());
}

#[test]
fn in_doubt_a_refusal_kept_under_the_key_is_asked_for_again_six_times_a_run() {
    let mut refused = attempted(State::InDoubt, Outcome::NoCredits, Some(402));
    refused.settled.refusals_in_row = 9;
    let mut current = one();
    for _ in 0..5 {
        let Next::AskAccount(next) = next_step(current, &refused, 0, Mode::Production) else { panic!("asked again") };
        current = next;
    }
    assert!(matches!(next_step(current, &refused, 0, Mode::Production), Next::LeftForLater(_)));

    refused.reply.outcome = Outcome::RateLimited;
    refused.reply.push_back = Some(PushBack::Stated(Duration::from_secs(1)));
    let mut current = one();
    for answered in 0..8 {
        let Next::Again(next, _) = next_step(current, &refused, answered, Mode::Production) else { panic!("again") };
        current = next;
    }
    assert!(matches!(next_step(current, &refused, 8, Mode::Production), Next::LeftForLater(_)), "the rate is fine");
}

#[test]
fn pending_is_asked_for_again_after_five_to_sixty_seconds() {
    let pending = attempted(State::Repeating, Outcome::Pending { stated: None }, Some(202));
    let mut current = one();
    for seconds in [5, 10, 20, 40, 60, 60] {
        let Next::Again(next, delay) = next_step(current, &pending, 0, Mode::Production) else { panic!("again") };
        assert_eq!((next.attempts, delay), (0, Duration::from_secs(seconds)));
        current = next;
    }
}

#[test]
fn outages_and_foreign_replies_are_distinguished_from_refusals() {
    assert!(attempted(State::InDoubt, Outcome::Unknown, None).is_outage());
    assert!(attempted(State::InDoubt, Outcome::Unknown, Some(502)).is_outage());
    assert!(!attempted(State::InDoubt, Outcome::Unknown, Some(409)).is_outage());
    assert!(attempted(State::InDoubt, Outcome::Unreadable, Some(200)).is_not_read());
    assert!(!attempted(State::Failed, Outcome::Refused, Some(400)).is_not_read());
}

#[test]
fn a_rate_refusal_is_final_after_three_in_a_row_and_only_where_the_key_may_change() {
    let mut refused = attempted(State::Planned, Outcome::RateLimited, Some(429));
    for (refusals_in_row, for_good) in [(2, false), (3, true), (9, true)] {
        refused.settled.refusals_in_row = refusals_in_row;
        assert!(refused.may_change_key() && refused.is_refused_for_good() == for_good, "{refusals_in_row}");
    }
    refused.settled.state = State::InDoubt;
    assert!(!refused.is_refused_for_good());
    (refused.settled.state, refused.settled.cached_refusals) = (State::Planned, CACHED_REFUSALS_MAX);
    assert!(!refused.is_refused_for_good());
}

#[test]
fn a_refusal_for_credits_rate_or_key_may_change_the_key_where_nothing_is_in_doubt() {
    for outcome in [Outcome::NoCredits, Outcome::RateLimited, Outcome::Unauthorised] {
        assert!(attempted(State::Planned, outcome, None).is_refusal_that_may_change_key());
        assert!(!attempted(State::InDoubt, outcome, None).is_refusal_that_may_change_key());
    }
    assert!(!attempted(State::Planned, Outcome::Uncharged, None).is_refusal_that_may_change_key());
}

#[test]
fn new_keys_are_useless_when_the_last_one_was_refused_too() {
    let mut refused = attempted(State::Planned, Outcome::NoCredits, Some(402));
    for (refusals_in_row, cached_refusals, useless) in [(2, 1, true), (1, 1, false), (2, 0, false), (3, 2, true)] {
        (refused.settled.refusals_in_row, refused.settled.cached_refusals) = (refusals_in_row, cached_refusals);
        assert_eq!(refused.has_useless_new_keys(1), useless, "{refusals_in_row}, {cached_refusals}");
    }
    refused.settled.state = State::InDoubt;
    assert!(!refused.has_useless_new_keys(1));
}

#[test]
fn an_unreadable_reply_is_requested_again_and_is_a_refusal_the_second_time() {
    let mut unreadable = attempted(State::InDoubt, Outcome::Unreadable, Some(200));
    unreadable.settled.unclear = 1;
    let Next::Again(_, delay) = next_step(one(), &unreadable, 0, Mode::Production) else { panic!("asked again") };
    assert!(delay >= UNCLEAR);
    unreadable.settled.unclear = 2;
    assert!(matches!(next_step(one(), &unreadable, 0, Mode::Production), Next::AskAccount(_)));
}

#[test]
fn conflicts_and_pending_requests_are_recognised_by_status_and_outcome() {
    assert!(attempted(State::InDoubt, Outcome::Unknown, Some(409)).is_conflict());
    assert!(!attempted(State::InDoubt, Outcome::Unknown, Some(408)).is_conflict());
    assert!(!attempted(State::InDoubt, Outcome::Unknown, None).is_conflict());
    assert!(attempted(State::Repeating, Outcome::Pending { stated: None }, Some(202)).is_pending());
    assert!(!attempted(State::InDoubt, Outcome::Unknown, Some(202)).is_pending());
}

#[test]
fn a_pending_reply_may_ask_for_the_longest_pause_and_for_a_longer_one_the_request_is_left_for_later() {
    let mut pending = attempted(State::Repeating, Outcome::Pending { stated: None }, Some(202));
    pending.reply.repeat_after = Some(PUSH_BACK_MAX);
    let Next::Again(next, delay) = next_step(one(), &pending, 0, Mode::Production) else { panic!("again") };
    assert_eq!((next.repeats, delay), (1, PUSH_BACK_MAX));
    for more in [Duration::from_millis(1), Duration::from_secs(60)] {
        pending.reply.repeat_after = Some(PUSH_BACK_MAX + more);
        assert!(matches!(next_step(one(), &pending, 0, Mode::Production), Next::LeftForLater(_)), "{more:?}");
    }
}

#[test]
fn a_request_fails_after_18_attempts_that_were_all_uncharged() {
    for (state, outcome, attempts, fails) in [
        (State::Planned, Outcome::Uncharged, 18, true),
        (State::Planned, Outcome::Uncharged, 17, false),
        (State::InDoubt, Outcome::Uncharged, 18, false),
        (State::Planned, Outcome::NotWritten, 18, false),
    ] {
        let mut failed = attempted(state, outcome, Some(503));
        failed.settled.attempts = attempts;
        assert_eq!(failed.fails_for_good(), fails, "{state:?}, {outcome:?}, {attempts}");
    }
}
