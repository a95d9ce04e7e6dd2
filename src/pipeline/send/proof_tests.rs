//! Tests of the proof of prices: for every kind of reply to a lone request, the next step and its effect on later
//! requests.

use super::*;
use crate::{
    model::{
        Judgement, RequestId,
        state::{Outcome, State},
    },
    pipeline::send::next_step::tests::attempted,
};

pub const CHECK: &str = "aml-screening";
const PRICE: Credits = Credits(5);

pub fn one() -> Candidate {
    Candidate::new(RequestId(1), CHECK.to_owned())
}

pub fn answered(stated: Option<u64>, remaining: Option<u64>) -> Attempted {
    let stated = stated.map(Credits);
    let mut answered = attempted(State::Answered, Outcome::Answered { stated }, Some(200));
    (answered.stated, answered.remaining) = (stated, remaining.map(Credits));
    (answered.settled.price, answered.settled.charged) = (PRICE, stated.unwrap_or(PRICE).max(PRICE));
    answered.judgement = Some(Judgement::unrecognised());
    answered
}

fn refused() -> Attempted {
    let mut refused = answered(None, None);
    (refused.judgement, refused.outcome) = (None, Outcome::Refused);
    (refused.settled.charged, refused.settled.state) = (Credits::ZERO, State::Failed);
    refused
}

/// Sends the next lone request after this balance, with this reply.
pub fn goes_alone(proofs: &mut Proofs, before: u64, attempted: &Attempted) {
    proofs.read(true);
    assert!(!proofs.needs_reading_before(&one()) && proofs.wants_alone(&one()));
    proofs.started(&one(), Some(Credits(before)));
    assert!(proofs.wants_alone(&one()), "nothing else is sent meanwhile");
    proofs.observe(&one(), attempted);
}

/// Proofs whose first request gets this reply, after a balance of 1,000.
fn after_first(attempted: &Attempted) -> Proofs {
    let mut proofs = Proofs::new(Mode::Production, false);
    assert!(proofs.needs_reading_before(&one()) && proofs.wants_alone(&one()));
    goes_alone(&mut proofs, 1_000, attempted);
    proofs
}

/// The result of the proof after these balances were read.
pub fn shown(proofs: &mut Proofs, balances: &[u64]) -> ShownPrice {
    let mut balances = balances.iter();
    loop {
        match proofs.step(Credits::ZERO, 0).expect("a request has ended") {
            ProofStep::ShownPrice(shown) => {
                assert_eq!(balances.next(), None, "it is shown with fewer balances");
                return shown;
            }
            ProofStep::Read(_) => proofs.record_reading(Credits(*balances.next().expect("it wants another balance"))),
        }
    }
}

fn proven() -> ShownPrice {
    ShownPrice::Proven { check: CHECK.to_owned() }
}

pub fn costs(fell: u64) -> ShownPrice {
    ShownPrice::Costs { check: CHECK.to_owned(), fell: Credits(fell), price: PRICE }
}

/// Proofs after an unexplained fall in an earlier run, whose first reply states the full charge.
fn doubted_after_first() -> Proofs {
    let mut proofs = Proofs::new(Mode::Production, true);
    goes_alone(&mut proofs, 1_000, &answered(Some(5), None));
    proofs
}

#[test]
fn a_charge_that_is_stated_in_full_is_its_own_proof_until_the_balance_falls_unexplained() {
    let mut proofs = after_first(&answered(Some(5), None));
    assert!(!proofs.is_answered() && !proofs.wants_alone(&one()));
    assert_eq!(proofs.step(Credits::ZERO, 0), None);
    for (balances, seen) in
        [(&[995][..], proven()), (&[1_000], ShownPrice::Unclear), (&[980, 970], ShownPrice::Unclear)]
    {
        let mut proofs = doubted_after_first();
        assert_eq!(shown(&mut proofs, balances), seen);
        assert!(!proofs.wants_alone(&one()), "{balances:?}");
    }
}

#[test]
fn a_stated_charge_that_the_balance_contradicts_five_times_equally_is_not_the_price() {
    let mut proofs = doubted_after_first();
    for _ in 0..4 {
        assert_eq!(shown(&mut proofs, &[993, 993]), ShownPrice::Unclear);
        assert!(proofs.wants_alone(&one()));
        goes_alone(&mut proofs, 1_000, &answered(Some(5), None));
    }
    assert_eq!(shown(&mut proofs, &[993, 993]), costs(7));
    let mut proofs = doubted_after_first();
    for fell in [7, 7, 7, 7, 8, 7] {
        assert_eq!(shown(&mut proofs, &[1_000 - fell, 1_000 - fell]), ShownPrice::Unclear, "another client may spend");
        goes_alone(&mut proofs, 1_000, &answered(Some(5), None));
    }
}

#[tokio::test(start_paused = true)]
async fn after_100_answers_and_five_minutes_the_balance_is_read_whatever_replies_state() {
    let mut proofs = after_first(&answered(Some(5), None));
    proofs.read(true);
    for _ in 0..READ_ANSWERS {
        assert!(!proofs.is_due());
        proofs.observe(&one(), &answered(Some(5), Some(900)));
    }
    assert!(!proofs.is_due() && !proofs.needs_reading(), "five minutes are not over");
    tokio::time::advance(READ_AFTER).await;
    assert!(proofs.is_due());
    proofs.read(false);
    assert!(!proofs.is_due());
}

#[test]
fn a_stated_charge_below_the_price_has_to_be_shown_by_the_balance() {
    let mut proofs = after_first(&answered(Some(1), None));
    assert!(proofs.needs_reading());
    assert_eq!(shown(&mut proofs, &[990, 990]), costs(10));
    let mut proofs = after_first(&answered(Some(1), None));
    assert_eq!(shown(&mut proofs, &[995]), proven());
    assert_eq!(proofs.shown(CHECK), None, "it cost 5, and the reply said 1");
    let mut proofs = after_first(&answered(Some(1), Some(999)));
    assert_eq!(shown(&mut proofs, &[]), proven());
    assert_eq!(proofs.shown(CHECK), Some(Credits(1)));
    proofs.fell(Credits(1));
    assert_eq!(proofs.shown(CHECK), None, "what was shown may have changed");
}

#[test]
fn a_stated_balance_proves_the_price_without_another_reading() {
    let mut proofs = after_first(&answered(None, Some(995)));
    assert_eq!(shown(&mut proofs, &[]), proven());
    assert!(!proofs.wants_alone(&one()));
}

#[test]
fn without_stated_amounts_nothing_is_sent_before_the_account_is_read() {
    let mut proofs = after_first(&answered(None, None));
    assert!(proofs.needs_reading());
    assert_eq!(shown(&mut proofs, &[993, 993]), costs(7));
}

#[test]
fn a_balance_that_does_not_fall_is_read_again_after_growing_waits_and_proves_nothing() {
    for attempted in [answered(None, None), answered(Some(0), None), answered(None, Some(1_000))] {
        let mut proofs = after_first(&attempted);
        let mut waits = Vec::new();
        while let Some(ProofStep::Read(wait)) = proofs.step(Credits::ZERO, 0) {
            waits.push(wait.as_secs());
            proofs.record_reading(Credits(1_000));
        }
        assert_eq!(waits, [0, 5, 30, 60]);
        assert!(!proofs.wants_alone(&one()), "the run continues at the price");
        proofs.read(true);
        for count in 1..=UNSTATED_MAX {
            assert!(!proofs.needs_reading(), "{count}");
            proofs.started(&one(), None);
            proofs.observe(&one(), &answered(None, Some(1_000)));
        }
        assert!(proofs.needs_reading(), "the account is read every hundred answers, regardless of replies");
        assert!(proofs.has_unread(), "and at the end");
    }
    let mut proofs = after_first(&answered(None, None));
    assert_eq!(shown(&mut proofs, &[1_000, 1_000, 950, 950]), costs(50), "it shows the charge late");
}

#[test]
fn where_the_balance_falls_between_requests_two_equal_costs_in_a_row_decide() {
    let mut proofs = after_first(&answered(None, None));
    assert_eq!(shown(&mut proofs, &[900, 890]), ShownPrice::Unclear);
    goes_alone(&mut proofs, 890, &answered(None, None));
    assert_eq!(shown(&mut proofs, &[800, 780]), ShownPrice::Unclear);
    goes_alone(&mut proofs, 780, &answered(None, None));
    assert_eq!(shown(&mut proofs, &[680, 650]), costs(70), "three times more than the price");

    let mut proofs = after_first(&answered(None, None));
    assert_eq!(shown(&mut proofs, &[900, 890]), ShownPrice::Unclear);
    goes_alone(&mut proofs, 890, &answered(None, None));
    assert_eq!(shown(&mut proofs, &[790, 780]), costs(90), "the same twice in a row");

    let mut proofs = after_first(&answered(None, None));
    for before in [1_000, 980, 960] {
        assert!(proofs.wants_alone(&one()));
        if before < 1_000 {
            goes_alone(&mut proofs, before, &answered(None, None));
        }
        assert_eq!(shown(&mut proofs, &[before - 10, before - 20]), ShownPrice::Unclear, "another client spent it all");
    }
    assert!(!proofs.wants_alone(&one()), "another client does not hold up the run");
}

#[test]
fn a_request_in_doubt_that_may_have_been_charged_meanwhile_is_not_a_higher_price() {
    let mut proofs = after_first(&answered(None, None));
    let in_doubt = Credits(5);
    for _ in 0..2 {
        assert!(matches!(proofs.step(in_doubt, 0), Some(ProofStep::Read(_))));
        proofs.record_reading(Credits(990));
    }
    assert_eq!(proofs.step(in_doubt, 0), Some(ProofStep::ShownPrice(ShownPrice::Unclear)));
    assert!(proofs.wants_alone(&one()), "the next request is tried");
}

#[test]
fn replies_are_compared_with_replies_where_the_account_lags_behind() {
    let mut proofs = after_first(&answered(None, Some(899)));
    assert_eq!(shown(&mut proofs, &[1_000]), ShownPrice::Unclear, "the account is a cached one");
    goes_alone(&mut proofs, 1_000, &answered(None, Some(894)));
    assert_eq!(shown(&mut proofs, &[]), proven());
}

#[tokio::test(start_paused = true)]
async fn an_unexplained_fall_makes_each_check_prove_its_price_again_but_not_all_the_time() {
    let mut proofs = after_first(&answered(None, Some(995)));
    assert_eq!(shown(&mut proofs, &[]), proven());
    for times in 1..=FORGOTTEN_MAX {
        proofs.fell(Credits(3));
        assert!(proofs.wants_alone(&one()) && proofs.unexplained() == Credits(3 * u64::from(times)));
        goes_alone(&mut proofs, 990, &answered(None, Some(985)));
        assert_eq!(shown(&mut proofs, &[]), proven());
    }
    proofs.fell(Credits(3));
    assert!(!proofs.wants_alone(&one()), "another client is spending: not again at once");
    for _ in 0..FORGOTTEN_ANSWERS {
        proofs.observe(&one(), &answered(None, Some(900)));
    }
    proofs.fell(Credits(3));
    assert!(proofs.wants_alone(&one()));
}

#[test]
fn after_an_unexplained_fall_a_statement_alone_is_not_a_proof() {
    let mut proofs = after_first(&answered(Some(5), None));
    proofs.fell(Credits(45));
    goes_alone(&mut proofs, 900, &answered(Some(5), None));
    assert_eq!(shown(&mut proofs, &[850, 850]), ShownPrice::Unclear, "the reply says 5, and another client may spend");
    assert!(proofs.wants_alone(&one()));
    goes_alone(&mut proofs, 900, &answered(Some(5), None));
    assert_eq!(shown(&mut proofs, &[895]), proven());
}

#[test]
fn after_a_fall_before_the_first_request_stated_charges_are_not_a_proof() {
    let mut proofs = Proofs::new(Mode::Production, false);
    proofs.fell(Credits(45));
    goes_alone(&mut proofs, 1_000, &answered(Some(5), None));
    assert_eq!(shown(&mut proofs, &[950, 950]), ShownPrice::Unclear, "the reply says 5, and the balance does not");
    assert!(proofs.wants_alone(&one()));
}

#[test]
fn where_nothing_is_stated_the_balance_is_read_every_hundred_answers() {
    let mut proofs = after_first(&answered(None, None));
    assert_eq!(shown(&mut proofs, &[995]), proven());
    proofs.read(true);
    for count in 1..=UNSTATED_MAX {
        proofs.started(&one(), None);
        proofs.observe(&one(), &answered(None, None));
        assert_eq!(proofs.needs_reading(), count == UNSTATED_MAX, "{count}");
    }
    assert!(proofs.has_unread());
    proofs.read(true);
    assert!(!proofs.needs_reading() && !proofs.has_unread());
}

#[test]
fn a_request_that_was_not_answered_proves_nothing() {
    let mut lost = answered(None, None);
    (lost.judgement, lost.outcome, lost.settled.charged) = (None, Outcome::Unknown, Credits::ZERO);
    let proofs = after_first(&lost);
    assert!(!proofs.is_answered() && proofs.needs_reading_before(&one()) && proofs.wants_alone(&one()));
}

#[test]
fn a_lone_refusal_after_which_the_balance_is_lower_was_charged() {
    let mut proofs = after_first(&refused());
    assert!(matches!(shown(&mut proofs, &[999, 999]), ShownPrice::ChargedRefusal { fell: Credits(1), .. }));
    assert!(proofs.wants_alone(&one()), "it proves no price");
    let mut proofs = after_first(&refused());
    assert_eq!(shown(&mut proofs, &[1_000]), ShownPrice::Unclear, "it was free");
    let mut proofs = after_first(&refused());
    assert_eq!(shown(&mut proofs, &[990, 980]), ShownPrice::Unclear, "the balance also falls for other reasons");
}

#[test]
fn a_fall_that_was_recorded_as_a_charge_is_no_longer_unexplained() {
    let mut proofs = Proofs::new(Mode::Production, false);
    proofs.fell(Credits(9));
    proofs.explained(Credits(5));
    assert_eq!(proofs.unexplained(), Credits(4));
    proofs.explained(Credits(5));
    assert_eq!(proofs.unexplained(), Credits::ZERO);
}

#[test]
fn a_repeated_answer_with_a_balance_that_is_too_low_asks_for_a_reading_before_anything_leaves() {
    let mut proofs = after_first(&answered(Some(5), Some(995)));
    proofs.read(true);
    let mut repeated = answered(Some(5), Some(100));
    proofs.observe(&one(), &repeated);
    assert!(!proofs.needs_reading());
    repeated.settled.doubtful_balance = true;
    proofs.observe(&one(), &repeated);
    assert!(proofs.needs_reading());
    proofs.read(true);
    assert!(!proofs.needs_reading());
}

fn job() -> Attempted {
    let mut job = attempted(State::Submitted, Outcome::Accepted { stated: None }, Some(202));
    job.settled.price = PRICE;
    job
}

/// The result of a proof beside this many other jobs, for which as much is held, after these balances were read.
fn shown_beside(proofs: &mut Proofs, open: u64, balances: &[u64]) -> ShownPrice {
    let held = Credits(PRICE.0 * open);
    for balance in balances {
        assert!(matches!(proofs.step(held, open), Some(ProofStep::Read(_))));
        proofs.record_reading(Credits(*balance));
    }
    match proofs.step(held, open) {
        Some(ProofStep::ShownPrice(shown)) => shown,
        step => panic!("{step:?}"),
    }
}

#[test]
fn charges_of_jobs_that_ended_during_a_proof_are_not_its_price() {
    for (attempted, fell) in [(answered(None, None), 25), (job(), 20), (answered(None, Some(975)), 25)] {
        let mut proofs = after_first(&attempted);
        for _ in 0..4 {
            proofs.job_charged(PRICE);
        }
        let after = 1_000 - fell;
        assert_eq!(shown_beside(&mut proofs, 0, &[after, after]), ShownPrice::Unclear, "four jobs cost 20");
        assert!(proofs.wants_alone(&one()), "the next request is tried");
        goes_alone(&mut proofs, 900, &attempted);
        assert_eq!(shown_beside(&mut proofs, 0, &[890, 890]), costs(10), "they explain no later fall");
    }
    let mut proofs = after_first(&answered(None, None));
    proofs.job_charged(PRICE);
    assert_eq!(shown_beside(&mut proofs, 0, &[950, 950]), costs(45), "one job explains 5 of the 50");
}

#[test]
fn jobs_that_end_at_the_service_during_every_proof_are_not_a_higher_price() {
    for attempted in [answered(None, None), job()] {
        let mut proofs = after_first(&attempted);
        for nth in 1..=UNCLEAR_MAX {
            assert!(proofs.wants_alone(&one()), "{nth}");
            if nth > 1 {
                goes_alone(&mut proofs, 1_000, &attempted);
            }
            assert_eq!(shown_beside(&mut proofs, 10, &[980, 980]), ShownPrice::Unclear, "{nth}");
        }
        assert!(!proofs.wants_alone(&one()), "jobs do not hold up the run");
        proofs.fell(Credits(1));
        goes_alone(&mut proofs, 1_000, &attempted);
        assert_eq!(shown_beside(&mut proofs, 10, &[900, 900]), costs(100), "ten jobs cost no more than 50");
    }
}
