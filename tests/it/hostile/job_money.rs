//! Charges of jobs that differ from what is held, jobs that change their mind, and the balance beside them.

use super::{
    Campaign, Reply, at_once,
    jobs::{ODD, ROWS, Submitted, accepted, completed, job_of, state, with_odd, with_status},
    json,
};
use std::time::Duration;

/// A row that is added later.
const NEW: u32 = ROWS + 1;

/// A completed job that charges this, and states this if it states anything.
fn charging(row: u32, charges: f64, states: Option<u64>) -> Reply {
    let mut body = state(row, row);
    match states {
        Some(credits) => body["creditsUsed"] = credits.into(),
        None => drop(body.as_object_mut().unwrap().remove("creditsUsed")),
    }
    Reply::exactly(&body).cost(charges)
}

#[test]
#[ignore = "make hostile"]
fn a_stated_charge_above_the_hold_is_booked_and_stops_until_the_price_is_changed() {
    let service = with_status(|asked| match asked.row {
        ODD | NEW => charging(asked.row, 9.0, Some(9)),
        row => completed(row),
    });
    let service = service.start();
    let Some(mut submitted) = Submitted::to(&service) else { return };
    submitted.hours_pass(1);
    let said = submitted.collect().exits(4).says("the service states 9 credits");
    // `collect` has no flag for a price, and needs none.
    assert_eq!(said.next_command(), "rescreen collect out/hostile");
    let ledger = submitted.campaign.ledger();
    assert_eq!((ledger.row(ODD).state, ledger.row(ODD).charged, ledger.row(ODD).held), ("answered", 9, 0));
    assert_eq!(ledger.sums["account"]["charged"], ledger.charged());
    submitted.campaign.append(NEW..=NEW);
    submitted.run_with("").exits(4);
    submitted.is_sent_once(ROWS);
    submitted.run_with("--price business-bank-account=9").exits(5);
    submitted.hours_pass(1);
    submitted.collect().exits(0);
    let ledger = submitted.campaign.ledger();
    assert_eq!((ledger.in_state("answered"), ledger.charged(), ledger.held()), (ROWS as usize + 1, 53, 0));
    assert_eq!(service.book().credits(), 53.0);
    assert_eq!(submitted.verdict(ODD).0, "clear", "the answer was paid for");
    submitted.is_sent_once(ROWS + 1);
}

#[test]
#[ignore = "make hostile"]
fn a_stated_charge_below_the_price_is_booked_at_the_price() {
    let service = with_odd(charging(ODD, 5.0, Some(5))).start();
    let Some(mut submitted) = Submitted::to(&service) else { return };
    submitted.hours_pass(1);
    submitted.collect().exits(0);
    let ledger = submitted.campaign.ledger();
    assert_eq!((ledger.row(ODD).charged, ledger.charged(), ledger.held()), (7, 42, 0));
    submitted.is_sent_once(ROWS);
}

#[test]
#[ignore = "make hostile"]
fn a_fall_of_the_balance_that_the_holds_of_jobs_explain_stops_nothing() {
    // Nothing states a charge: only the balance falls, by the price of each job.
    let service = with_status(|asked| charging(asked.row, 7.0, None)).start();
    let Some(mut submitted) = Submitted::to(&service) else { return };
    for rows in [ROWS, ROWS + 6] {
        submitted.hours_pass(1);
        if rows > ROWS {
            submitted.campaign.append(ROWS + 1..=rows);
            submitted.run_with("").exits(5);
            submitted.hours_pass(1);
        }
        submitted.collect().exits(0);
        let ledger = submitted.campaign.ledger();
        assert_eq!((ledger.charged(), ledger.held()), (7 * u64::from(rows), 0));
        assert_eq!(service.book().credits(), 7.0 * f64::from(rows));
        submitted.is_sent_once(rows);
    }
}

#[test]
#[ignore = "make hostile"]
fn a_fall_of_the_balance_beyond_the_holds_of_jobs_is_reported() {
    let service = with_status(|asked| charging(asked.row, 9.0, None)).start();
    let campaign = Campaign::of_jobs(&service, ROWS).with_unstated_charges();
    let Some(mut submitted) = Submitted::of(campaign, &service) else { return };
    submitted.hours_pass(1);
    submitted.collect().exits(0).says("the balance fell by 12 credits more than this run's requests explain");
    assert_eq!((submitted.campaign.ledger().charged(), service.book().credits()), (42, 54.0));
    submitted.is_sent_once(ROWS);
}

#[test]
#[ignore = "make hostile"]
fn a_job_that_failed_and_is_then_completed_stays_failed_and_is_not_sent_again() {
    let failed = json!({
        "success": true, "jobId": job_of(ODD), "status": "failed", "mode": "production", "creditsUsed": 0,
        "error": { "code": "verification_timed_out", "message": "no final result within 48 hours" },
    });
    let failed = Reply::error(200, failed);
    let service = with_status(move |asked| match (asked.row, asked.nth) {
        (ODD, 1) => failed.clone(),
        _ => completed(asked.row),
    });
    let service = service.start();
    let Some(mut submitted) = Submitted::to(&service) else { return };
    submitted.hours_pass(1);
    submitted.collect().exits(3);
    for _ in 0..2 {
        let ledger = submitted.campaign.ledger();
        let odd = ledger.row(ODD);
        assert_eq!((odd.state, odd.code.as_str(), odd.charged, odd.held), ("failed", "job_failed", 0, 0));
        assert_eq!((ledger.in_state("answered"), ledger.charged(), ledger.held()), (5, 35, 0));
        assert_eq!(service.book().job_asked[&ODD], 1);
        submitted.is_sent_once(ROWS);
        submitted.hours_pass(5);
        submitted.run_with("").exits(3);
        submitted.collect().exits(3);
    }
}

#[test]
#[ignore = "make hostile"]
fn jobs_that_are_charged_while_a_price_is_proven_stop_nothing() {
    at_once([Some(7), None], |states| {
        // The first new request of the second run takes so long that all jobs are asked for and charged meanwhile.
        let service = with_status(move |asked| charging(asked.row, 7.0, states));
        let slow = |asked: &super::Asked| Reply::error(202, accepted(asked.row)).after(Duration::from_millis(1_500));
        let service = service.script_first(move |asked| (asked.row > ROWS).then(|| slow(asked))).start();
        let Some(mut submitted) = Submitted::to(&service) else { return };
        submitted.hours_pass(1);
        submitted.campaign.append(ROWS + 1..=ROWS + 6);
        let said = submitted.run_with("");
        assert_eq!(said.code, 5, "states {states:?}: {}", said.stderr);
        let ledger = submitted.campaign.ledger();
        assert_eq!((ledger.in_state("answered"), ledger.in_state("submitted"), ledger.charged()), (6, 6, 42));
        submitted.is_sent_once(ROWS + 6);
    });
}
