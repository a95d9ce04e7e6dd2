//! The state machine compared with section 2 of `safety`: every state with every event.

use super::*;

const PRICE: Credits = Credits(5);

fn standing(state: State, unproven: u32) -> Standing {
    let held = if matches!(state, State::Planned | State::Answered | State::Failed) { Credits::ZERO } else { PRICE };
    Standing { state, unproven, held, ..Standing::planned(PRICE) }
}

fn after(outcome: Outcome, unproven: u32) -> (State, Hold, u32) {
    let moved = next(&standing(State::Armed, unproven), Event::Attempted(outcome)).unwrap();
    (moved.state, moved.hold, moved.unproven)
}

const ARM: Event = Event::Arm { age: KeyAge::Alive, same_api_key: true };

#[test]
fn a_proven_refusal_frees_the_hold_only_when_nothing_is_in_doubt_before_it() {
    for outcome in [Outcome::NotWritten, Outcome::Unauthorised, Outcome::NoCredits, Outcome::RateLimited] {
        assert_eq!(after(outcome, 0), (State::Planned, Hold::Release, 0), "{outcome:?}");
        assert_eq!(after(outcome, 1), (State::InDoubt, Hold::Keep, 1), "{outcome:?}");
    }
    assert_eq!(after(Outcome::Refused, 0), (State::Failed, Hold::Release, 0));
    assert_eq!(after(Outcome::Refused, 2), (State::Quarantined, Hold::Keep, 2));
}

#[test]
fn a_reply_that_proves_nothing_leaves_the_request_in_doubt_with_its_hold() {
    assert_eq!(after(Outcome::Unknown, 0), (State::InDoubt, Hold::Keep, 1));
    assert_eq!(after(Outcome::Misrouted, 0), (State::InDoubt, Hold::Keep, 1), "404 may be `no record`, and charged");
    assert_eq!(after(Outcome::Pending { stated: None }, 0), (State::Repeating, Hold::Keep, 1));
    let crashed = next(&standing(State::Armed, 3), Event::FoundArmed).unwrap();
    assert_eq!((crashed.state, crashed.hold, crashed.unproven), (State::InDoubt, Hold::Keep, 4));
}

#[test]
fn a_body_that_states_no_charge_proves_nothing_about_an_earlier_attempt() {
    assert_eq!(after(Outcome::Uncharged, 0), (State::Planned, Hold::Release, 0));
    assert_eq!(after(Outcome::Uncharged, 3), (State::InDoubt, Hold::Keep, 3), "the first may be under way still");
}

#[test]
fn the_stated_charge_is_booked_and_after_a_doubt_the_larger_of_it_and_the_price() {
    let stated = |credits| Outcome::Answered { stated: credits };
    assert_eq!(after(stated(Some(Credits(2))), 0).1, Hold::Charge(PRICE), "nothing shows that so little was taken");
    assert_eq!(after(stated(Some(Credits(7))), 0).1, Hold::Charge(Credits(7)));
    assert_eq!(after(stated(None), 0).1, Hold::Charge(PRICE));
    assert_eq!(after(stated(Some(Credits(0))), 1).1, Hold::Charge(PRICE), "a replay states 0, the first attempt paid");
    assert_eq!(after(stated(Some(Credits(9))), 1).1, Hold::Charge(Credits(9)));
}

#[test]
fn a_stated_charge_below_the_price_is_believed_down_to_the_proven_cost_of_a_lone_request() {
    let shown = Standing { least: Credits(2), ..standing(State::Armed, 0) };
    for (stated, charged) in [(0, 2), (1, 2), (2, 2), (3, 3), (9, 9)] {
        for outcome in [
            Outcome::Answered { stated: Some(Credits(stated)) },
            Outcome::ChargedRefusal { stated: Some(Credits(stated)) },
        ] {
            let moved = next(&shown, Event::Attempted(outcome)).unwrap();
            assert_eq!(moved.hold, Hold::Charge(Credits(charged)), "{outcome:?}");
        }
    }
    let doubted = Standing { unproven: 1, ..shown };
    let answered = Event::Attempted(Outcome::Answered { stated: Some(Credits(2)) });
    assert_eq!(next(&doubted, answered).unwrap().hold, Hold::Charge(PRICE), "the attempt before may have cost more");
}

#[test]
fn a_pending_reply_that_states_more_than_is_held_raises_the_hold() {
    let pending = |stated| after(Outcome::Pending { stated: Some(Credits(stated)) }, 0);
    assert_eq!(pending(5), (State::Repeating, Hold::Keep, 1));
    assert_eq!(pending(50), (State::Repeating, Hold::Raise(Credits(50)), 1));
}

#[test]
fn a_refusal_that_the_balance_shows_to_have_been_charged_is_booked_once_and_not_retried() {
    let refused = standing(State::Failed, 0);
    let found = next(&refused, Event::FoundCharged).unwrap();
    assert_eq!((found.state, found.hold, found.possibly_charged), (State::Failed, Hold::Charge(PRICE), true));
    let booked = Standing { possibly_charged: true, ..refused };
    assert!(next(&booked, Event::FoundCharged).is_err());
    assert_eq!(next(&booked, Event::Retry), Err(IllegalMove::NotProven));
}

#[test]
fn an_in_doubt_request_keeps_its_hold_and_is_re_sent_inside_life_under_the_same_api_key_only() {
    for state in [State::InDoubt, State::Repeating] {
        let moved = next(&standing(state, 1), ARM).unwrap();
        assert_eq!((moved.state, moved.hold, moved.unproven), (State::Armed, Hold::Take, 1));
        let arm = |age, same_api_key| next(&standing(state, 1), Event::Arm { age, same_api_key });
        assert_eq!(arm(KeyAge::Over, true), Err(IllegalMove::KeyLifeOver));
        assert_eq!(arm(KeyAge::Disputed, true), Err(IllegalMove::ClocksDiffer));
        assert_eq!(arm(KeyAge::Alive, false), Err(IllegalMove::OtherApiKey));
        assert_eq!(next(&standing(state, 1), Event::LifeOver).unwrap().state, State::Quarantined);
    }
    let fresh = next(&standing(State::Planned, 0), Event::Arm { age: KeyAge::Over, same_api_key: false }).unwrap();
    assert_eq!((fresh.state, fresh.hold), (State::Armed, Hold::Take), "an unsent request has no key to outlive");
}

#[test]
fn a_new_key_needs_proof_or_the_users_decision() {
    let again = next(&standing(State::Quarantined, 2), Event::SendAgain).unwrap();
    assert_eq!((again.state, again.hold, again.next_generation), (State::Planned, Hold::Charge(PRICE), true));
    assert_eq!(again.unproven, 0);
    let off = next(&standing(State::Quarantined, 2), Event::WriteOff).unwrap();
    assert_eq!((off.state, off.hold, off.possibly_charged), (State::Failed, Hold::Charge(PRICE), true));

    let retried = next(&standing(State::Failed, 0), Event::Retry).unwrap();
    assert_eq!((retried.state, retried.next_generation), (State::Planned, true));
    let charged = Standing { possibly_charged: true, ..standing(State::Failed, 0) };
    assert_eq!(next(&charged, Event::Retry), Err(IllegalMove::NotProven));
}

#[test]
fn a_cached_refusal_takes_a_new_key_three_times_at_most() {
    let moved = next(&standing(State::Planned, 0), Event::RefusalCached).unwrap();
    assert!(moved.next_generation && moved.cached_refusal);
    let worn = Standing { cached_refusals: CACHED_REFUSALS_MAX, ..standing(State::Planned, 0) };
    assert_eq!(next(&worn, Event::RefusalCached), Err(IllegalMove::TooManyCachedRefusals));
    assert!(next(&standing(State::InDoubt, 1), Event::RefusalCached).is_err());
}

#[test]
fn only_in_sandbox_do_attempts_run_out() {
    for state in [State::Planned, State::InDoubt, State::Repeating] {
        let over = |mode| next(&standing(state, 0), Event::AttemptsOver { mode });
        assert_eq!(over(Mode::Sandbox).unwrap().state, State::Failed);
        assert!(over(Mode::Production).is_err());
    }
}

#[test]
fn every_other_pair_is_a_named_error_and_final_states_do_not_move() {
    let events = [
        ARM,
        Event::FoundCharged,
        Event::Attempted(Outcome::Unknown),
        Event::FoundArmed,
        Event::LifeOver,
        Event::RefusalCached,
        Event::RowAtFault,
        Event::AttemptsOver { mode: Mode::Production },
        Event::Retry,
        Event::WriteOff,
        Event::SendAgain,
    ];
    let legal = |state| events.iter().filter(|event| next(&standing(state, 0), **event).is_ok()).count();
    let counts: Vec<usize> = State::ALL.into_iter().map(legal).collect();
    assert_eq!(counts, [3, 2, 3, 2, 0, 0, 2, 2]);
}

#[test]
fn no_move_releases_a_hold_while_an_attempt_is_unproven_unless_the_service_stated_it() {
    for unproven in 1..4 {
        for outcome in [
            Outcome::NotWritten,
            Outcome::Pending { stated: None },
            Outcome::Accepted { stated: None },
            Outcome::NeedsWebhook,
            Outcome::Refused,
            Outcome::Unauthorised,
            Outcome::NoCredits,
            Outcome::RateLimited,
            Outcome::Misrouted,
            Outcome::Unreadable,
            Outcome::Unconvincing,
            Outcome::Unknown,
        ] {
            assert_eq!(after(outcome, unproven).1, Hold::Keep, "{outcome:?} after {unproven}");
        }
    }
}

#[test]
fn state_codes_are_read_back() {
    for state in State::ALL {
        assert_eq!(State::from_code(state.code()), Some(state));
    }
    assert_eq!(State::from_code(99), None);
}

#[test]
fn a_charge_stated_with_a_refusal_is_booked_and_the_request_is_neither_retried_nor_given_a_new_key() {
    for (unproven, stated, charged) in [
        (0, Some(Credits(2)), PRICE),
        (0, Some(Credits(7)), Credits(7)),
        (0, None, PRICE),
        (1, Some(Credits(2)), PRICE),
        (1, Some(Credits(9)), Credits(9)),
    ] {
        let refusal = Event::Attempted(Outcome::ChargedRefusal { stated });
        let moved = next(&standing(State::Armed, unproven), refusal).unwrap();
        assert_eq!((moved.state, moved.hold), (State::Failed, Hold::Charge(charged)));
        assert!(moved.possibly_charged && !moved.next_generation);
    }
}

#[test]
fn a_2xx_that_is_not_an_answer_is_repeated_and_counts_when_the_repeat_says_the_same() {
    for outcome in [Outcome::Unreadable, Outcome::Unconvincing] {
        assert_eq!(after(outcome, 0), (State::InDoubt, Hold::Keep, 1), "{outcome:?}");
    }
    let repeated = Standing { unclear: 1, ..standing(State::Armed, 1) };
    let moved = next(&repeated, Event::Attempted(Outcome::Unconvincing)).unwrap();
    assert_eq!((moved.state, moved.hold), (State::Answered, Hold::Charge(PRICE)));
    let moved = next(&repeated, Event::Attempted(Outcome::Unreadable)).unwrap();
    assert_eq!((moved.state, moved.hold), (State::InDoubt, Hold::Keep), "the account is asked before it is final");
}

#[test]
fn a_row_at_fault_fails_alone_and_its_possible_charge_is_booked() {
    let proven = next(&standing(State::Planned, 0), Event::RowAtFault).unwrap();
    assert_eq!((proven.state, proven.hold, proven.possibly_charged), (State::Failed, Hold::Release, false));
    let doubted = next(&standing(State::InDoubt, 1), Event::RowAtFault).unwrap();
    assert_eq!((doubted.state, doubted.hold, doubted.possibly_charged), (State::Failed, Hold::Charge(PRICE), true));
}

#[test]
fn answered_and_failed_are_settled_and_nothing_else_is() {
    let settled: Vec<State> = State::ALL.into_iter().filter(|state| state.is_settled()).collect();
    assert_eq!(settled, [State::Answered, State::Failed]);
}

#[test]
fn an_accepted_job_keeps_its_hold_counts_as_unproven_and_moves_when_it_ends_or_a_person_decides() {
    for unproven in 0..3 {
        let accepted = after(Outcome::Accepted { stated: None }, unproven);
        assert_eq!(accepted, (State::Submitted, Hold::Keep, unproven + 1));
    }
    assert_eq!(after(Outcome::Accepted { stated: Some(PRICE) }, 0), (State::Submitted, Hold::Keep, 1));
    let dearer = after(Outcome::Accepted { stated: Some(Credits(7)) }, 0);
    assert_eq!(dearer, (State::Submitted, Hold::Raise(Credits(7)), 1), "the service says what it will charge");
    for event in [
        ARM,
        Event::Attempted(Outcome::Refused),
        Event::FoundArmed,
        Event::LifeOver,
        Event::RefusalCached,
        Event::RowAtFault,
        Event::FoundCharged,
        Event::AttemptsOver { mode: Mode::Sandbox },
        Event::Retry,
        Event::WriteOff,
        Event::SendAgain,
    ] {
        assert!(next(&standing(State::Submitted, 1), event).is_err(), "{event:?} moved a job");
    }
    for state in State::ALL.into_iter().filter(|state| *state != State::Submitted) {
        for end in [JobEnd::Completed { stated: None }, JobEnd::Failed { charged: None }, JobEnd::Lost] {
            assert!(next(&standing(state, 0), Event::JobEnded(end)).is_err(), "{end:?} moved {state:?}");
        }
        assert!(next(&standing(state, 0), Event::JobCharged { so_far: Credits(9) }).is_err(), "{state:?}");
    }
    let given_up = next(&standing(State::Submitted, 1), Event::PutBeforePerson).unwrap();
    assert_eq!((given_up.state, given_up.hold), (State::Quarantined, Hold::Keep), "a person decides about a job");
}

#[test]
fn a_reply_that_needs_a_webhook_fails_the_row_uncharged_unless_an_earlier_attempt_is_in_doubt() {
    assert_eq!(after(Outcome::CachedFailure, 0), (State::Failed, Hold::Release, 0));
    assert_eq!(after(Outcome::CachedFailure, 2), (State::Failed, Hold::Release, 0), "one key is one request");
    let unread = Standing { unclear: 1, ..standing(State::Armed, 2) };
    let contradicted = next(&unread, Event::Attempted(Outcome::CachedFailure)).unwrap();
    assert_eq!((contradicted.state, contradicted.hold), (State::Quarantined, Hold::Keep), "a success came before");
    assert_eq!(after(Outcome::NeedsWebhook, 0), (State::Failed, Hold::Release, 0));
    assert_eq!(after(Outcome::NeedsWebhook, 2), (State::InDoubt, Hold::Keep, 2), "the first may have been charged");
    let failed = next(&standing(State::Armed, 0), Event::Attempted(Outcome::NeedsWebhook)).unwrap();
    assert!(!failed.possibly_charged && !failed.next_generation);
}

#[test]
fn a_job_is_charged_once_when_it_has_a_result() {
    let held = Standing { held: Credits(7), least: Credits(6), ..standing(State::Submitted, 1) };
    let ended = |end| {
        let step = next(&held, Event::JobEnded(end)).unwrap();
        assert!(!step.next_generation);
        (step.state, step.hold, step.possibly_charged)
    };
    let completed = |stated: Option<u64>| ended(JobEnd::Completed { stated: stated.map(Credits) });
    assert_eq!(completed(None), (State::Answered, Hold::Charge(Credits(7)), false), "what is held");
    for (stated, charged) in [(7, 7), (6, 6), (0, 6), (9, 9)] {
        assert_eq!(completed(Some(stated)), (State::Answered, Hold::Charge(Credits(charged)), false), "{stated}");
    }
    let failed = |charged: u64| ended(JobEnd::Failed { charged: Some(Credits(charged)) });
    assert_eq!(failed(0), (State::Failed, Hold::Release, false), "zero is the proof");
    let unproven = ended(JobEnd::Failed { charged: None });
    assert_eq!(unproven, (State::Quarantined, Hold::Keep, false), "nothing says that it was not charged");
    let charged = failed(2);
    assert_eq!(charged, (State::Failed, Hold::Charge(Credits(2)), true), "a stated charge is a charge");
    assert_eq!(ended(JobEnd::Lost), (State::Quarantined, Hold::Keep, false));
}

#[test]
fn a_charge_that_is_stated_before_a_job_ends_is_held_at_least() {
    let open = Standing { held: Credits(7), ..standing(State::Submitted, 1) };
    for (so_far, hold) in [(0, Hold::Keep), (7, Hold::Keep), (8, Hold::Raise(Credits(8)))] {
        let step = next(&open, Event::JobCharged { so_far: Credits(so_far) }).unwrap();
        assert_eq!((step.state, step.hold, step.unproven), (State::Submitted, hold, 1), "{so_far}");
    }
}
