//! What else may explain a fall of the balance, or hide it: requests in doubt, jobs, late charges, top-ups, and an account
//! that lags behind the replies.

use crate::{
    model::Credits,
    pipeline::send::{
        moment::Moment,
        prices::tests::{PRICE, Run, answered, costs, job},
    },
};

#[test]
fn a_request_in_doubt_explains_a_fall_once() {
    let mut run = Run::after_first(&answered(None, None));
    run.account.held = Credits(5);
    assert_eq!(run.reads([990]), None, "it may have been charged meanwhile");
    assert!(run.must_run_alone(), "the next request is tried");
    run.account.held = Credits::ZERO;
    run.goes_alone(990, &answered(None, None));
    assert_eq!(run.reads([985]), None);
    assert!(!run.must_run_alone());
    let mut run = Run::after_first(&answered(None, None));
    run.account.held = Credits(5);
    assert_eq!(run.reads([985, 985]), costs(10), "more than it explains");
    let mut run = Run::new();
    run.account.held = Credits(50);
    for (before, finding) in [(1_000, None), (993, costs(7))] {
        run.goes_alone(before, &answered(None, None));
        assert_eq!(run.reads([before - 7]), finding, "ten requests in doubt do not explain the same fall twice");
    }
}

#[test]
fn what_was_taken_before_and_is_booked_later_explains_nothing() {
    let mut run = Run::new();
    run.account.reading = Some(run.account.reading(Credits(1_000), 0));
    // A request in doubt was charged, which shows in the reading before, and it is booked after that reading.
    run.account.held = Credits(5);
    run.goes_alone(995, &answered(None, None));
    (run.account.held, run.account.charged) = (Credits::ZERO, run.account.charged + Credits(5));
    assert_eq!(run.reads([988, 988]), costs(7));
}

#[test]
fn charges_that_show_late_are_not_the_price_of_the_next_check() {
    let mut run = Run::new();
    run.account.reading = Some(run.account.reading(Credits(1_000), 0));
    // Forty credits were booked, and the balance does not show them yet.
    run.account.charged = Credits(40);
    run.goes_alone(1_000, &answered(None, None));
    assert_eq!(run.reads([1_000, 955, 955]), None, "after a wait it shows all");
    assert!(run.must_run_alone(), "the next request is tried");
    run.goes_alone(955, &answered(None, None));
    assert_eq!(run.reads([950]), None);
    assert!(!run.must_run_alone());
}

#[test]
fn jobs_explain_a_fall_by_what_is_held_and_booked_for_them() {
    for attempted in [answered(None, None), job()] {
        let mut run = Run::after_first(&attempted);
        let own = attempted.settled.charged.0;
        run.has_jobs = true;
        run.account.held = PRICE.saturating_sub(attempted.settled.charged);
        // Four other jobs ended meanwhile.
        run.account.charged = run.account.charged + Credits(20);
        assert_eq!(run.reads([975]), None, "{own}");
        assert!(!run.must_run_alone(), "{own}");
        run.prices.fell(Credits(1), Moment::START);
        run.goes_alone(900, &attempted);
        run.account.held = Credits(2 * run.account.held.0);
        assert_eq!(run.reads([880, 880]), costs(20), "they explain no later fall");
    }
    let mut run = Run::after_first(&answered(None, None));
    (run.has_jobs, run.account.held) = (true, Credits(50));
    assert_eq!(run.reads([970]), None);
    assert!(!run.must_run_alone(), "open jobs do not hold up the run");
}

#[test]
fn a_job_that_is_charged_at_once_costs_what_the_balance_shows() {
    let mut run = Run::after_first(&job());
    (run.has_jobs, run.account.held) = (true, PRICE);
    assert_eq!(run.reads([993, 993]), costs(7));
}

#[test]
fn replies_are_compared_with_replies_where_the_account_lags_behind() {
    let mut run = Run::after_first(&answered(None, Some(899)));
    assert_eq!(run.reads([1_000, 1_000]), None, "the account is a cached one");
    assert!(run.must_run_alone());
    run.goes_alone(1_000, &answered(None, Some(894)));
    assert!(!run.prices.needs_reading() && !run.must_run_alone());
    let mut run = Run::new();
    for (left, finding) in [(950, None), (900, costs(50))] {
        run.goes_alone(1_000, &answered(None, Some(left)));
        assert_eq!(run.reads([1_000, 1_000]), finding);
    }
}

#[test]
fn a_reply_that_states_its_charge_is_not_compared_with_other_replies() {
    let mut run = Run::new();
    run.prices.fell(Credits(1), Moment::START);
    run.goes_alone(1_000, &answered(Some(5), Some(950)));
    assert_eq!(run.reads([1_000]), None);
    assert!(!run.must_run_alone(), "its price is known, and the account does not deny it");
}

#[test]
fn stated_charges_that_the_balance_always_denies_end_the_run_whatever_the_amounts() {
    let mut run = Run::new();
    run.prices.fell(Credits(1), Moment::START);
    for nth in 1..2 * 5 {
        run.goes_alone(1_000, &answered(Some(5), None));
        let after = 1_000 - 7 - nth % 2;
        assert_eq!(run.reads([after, after]), None, "{nth}");
    }
    run.goes_alone(1_000, &answered(Some(5), None));
    assert_eq!(run.reads([993, 993]), costs(7));
}

#[test]
fn a_balance_that_rises_or_a_reply_that_states_zero_does_not_hide_the_next_price() {
    for (attempted, after) in [(answered(None, None), 6_000), (answered(Some(0), None), 1_000)] {
        let mut run = Run::after_first(&attempted);
        while run.prices.next_reading().is_some() {
            run.reads_on(after);
        }
        run.prices.read(Some(Credits(after)), Credits(1), false, Moment::START);
        assert_eq!(run.prices.denied(), None, "one credit of another client ends no run");
    }
}
