//! A charge stated in any reply, whatever its status, is a charge: it is booked, the ask fails as possibly charged, and
//! neither `run` nor `run --retry` sends it again, under its key or a new one.

use super::{Campaign, Hostile, Reply, at_once, json};

fn refusal_that_charges(status: u16) -> Reply {
    let body = json!({ "error": { "code": "NO_MATCH", "message": "nothing was found" }, "creditsUsed": 1 });
    Reply::error(status, body).cost(1.0)
}

/// Row 3 of 12 is refused with a stated charge; the other rows are answered.
#[track_caller]
fn is_paid_once_and_fails_as_possibly_charged(status: u16) {
    let service = Hostile::new().on_row(3, refusal_that_charges(status)).start();
    let campaign = Campaign::of(&service, 12);
    campaign.run().exits(3);
    campaign.run_with("--retry").exits(3);
    campaign.run_with("--retry").exits(3);
    let ledger = campaign.ledger();
    let fate = ledger.row(3);
    assert_eq!((fate.state, fate.code.as_str(), fate.possibly_charged), ("failed", "refused", true), "{fate:?}");
    assert_eq!((fate.charged, fate.held), (1, 0), "{fate:?}");
    let published = campaign.published("failures", 3);
    assert_eq!((&published["possibly_charged"], &published["retryable"]), (&json!(true), &json!(false)));
    let book = service.book();
    assert_eq!((book.messages_of(3).len(), book.keys_of(3)), (1, 1), "{:?}", book.messages_of(3));
    assert_eq!((book.credits(), ledger.charged(), ledger.held()), (12.0, 12, 0));
}

macro_rules! charged_refusals {
    ($($name:ident $status:literal)*) => {$(
        #[test]
        #[ignore = "make hostile"]
        fn $name() {
            is_paid_once_and_fails_as_possibly_charged($status);
        }
    )*};
}

charged_refusals! {
    a_400_that_states_a_charge_is_paid_once 400
    a_402_that_states_a_charge_is_paid_once 402
    a_403_that_states_a_charge_is_paid_once 403
    a_404_that_states_a_charge_is_paid_once 404
    a_413_that_states_a_charge_is_paid_once 413
    a_422_that_states_a_charge_is_paid_once 422
    a_429_that_states_a_charge_is_paid_once 429
    a_303_that_states_a_charge_is_paid_once 303
}

#[test]
#[ignore = "make hostile"]
fn four_rows_refused_with_a_charge_cost_four_credits_over_three_runs() {
    let service = Hostile::new().on_all(refusal_that_charges(422)).start();
    let campaign = Campaign::of(&service, 4);
    campaign.run();
    campaign.run_with("--retry");
    campaign.run_with("--retry");
    let (book, ledger) = (service.book(), campaign.ledger());
    assert_eq!((book.charges(), book.credits()), (4, 4.0));
    assert_eq!((ledger.charged(), ledger.in_state("failed")), (4, 4), "{ledger:?}");
}

#[test]
#[ignore = "make hostile"]
fn a_refusal_states_its_charge_in_every_documented_place() {
    for stated in [
        json!({ "error": { "code": "NO_MATCH" }, "creditsUsed": "1" }),
        json!({ "error": { "code": "NO_MATCH" }, "creditsUsed": 0.5 }),
        json!({ "error": { "code": "NO_MATCH" }, "meta": { "credits_spent": 1 } }),
    ] {
        let service = Hostile::new().on_row(2, Reply::error(422, stated.clone()).cost(1.0)).start();
        let campaign = Campaign::of(&service, 6);
        campaign.run().exits(3);
        campaign.run_with("--retry").exits(3);
        let ledger = campaign.ledger();
        assert_eq!((ledger.row(2).charged, ledger.row(2).possibly_charged), (1, true), "{stated}");
        assert_eq!(service.book().messages_of(2).len(), 1, "{stated}");
    }
}

#[test]
#[ignore = "make hostile"]
fn a_server_error_that_states_a_charge_never_gets_a_second_key() {
    at_once([500, 502, 503], |status| {
        let service = Hostile::new().on_row(2, refusal_that_charges(status)).start();
        let campaign = Campaign::of(&service, 6);
        campaign.run_until_asked(1..=6);
        let mut retry = campaign.command("--retry");
        campaign.until_asked(&mut retry, [2]);
        let ledger = campaign.ledger();
        let booked = ledger.row(2).charged + ledger.row(2).held;
        assert_eq!((booked, service.book().keys_of(2)), (1, 1), "HTTP {status}: {:?}", ledger.row(2));
        assert_eq!(ledger.in_state("answered"), 5, "HTTP {status}");
    });
}

#[test]
#[ignore = "make hostile"]
fn a_refusal_that_states_no_charge_is_free_and_may_be_retried() {
    for stated in [json!({ "error": { "code": "X" } }), json!({ "error": { "code": "X" }, "creditsUsed": 0 })] {
        let refused = Reply::error(422, stated.clone());
        let service =
            Hostile::new().script(move |asked| (asked.row == 2 && asked.before < 6).then(|| refused.clone())).start();
        let campaign = Campaign::of(&service, 6);
        campaign.run().exits(3);
        let before = campaign.ledger();
        assert_eq!((before.row(2).charged, before.row(2).possibly_charged), (0, false), "{stated}");
        campaign.run_with("--retry").exits(0);
        assert_eq!((campaign.ledger().charged(), service.book().credits()), (6, 6.0), "{stated}");
    }
}
