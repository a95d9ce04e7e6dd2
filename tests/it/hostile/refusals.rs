//! A charge stated in any reply, whatever its status, is a charge: it is booked, the ask fails as possibly charged, and
//! neither `run` nor `run --retry` sends it again, under its key or a new one.

use super::{Campaign, Hostile, Reply, at_once, json};

fn refusal_that_charges(status: u16) -> Reply {
    let body = json!({ "error": { "code": "NO_MATCH", "message": "nothing was found" }, "creditsUsed": 1 });
    Reply::error(status, body).cost(1.0)
}

#[test]
#[ignore = "make hostile"]
fn a_refusal_that_states_a_charge_is_paid_once_whatever_its_status() {
    const STATUSES: [u16; 8] = [400, 402, 403, 404, 413, 422, 429, 303];
    // Rows 1 to 8 of 45.
    let refused = |asked: &super::Asked| STATUSES.get(asked.row as usize - 1).copied().map(refusal_that_charges);
    let service = Hostile::new().script(refused).start();
    let campaign = Campaign::of(&service, 45);
    campaign.run().exits(3);
    campaign.run_with("--retry").exits(3);
    campaign.run_with("--retry").exits(3);
    let (book, ledger) = (service.book(), campaign.ledger());
    for (row, status) in (1..).zip(STATUSES) {
        let fate = ledger.row(row);
        let found = (fate.state, fate.code.as_str(), fate.possibly_charged, fate.charged, fate.held);
        assert_eq!(found, ("failed", "refused", true, 1, 0), "HTTP {status}: {fate:?}");
        let published = campaign.published("failures", row);
        assert_eq!((&published["possibly_charged"], &published["retryable"]), (&json!(true), &json!(false)));
        assert_eq!((book.messages_of(row).len(), book.keys_of(row)), (1, 1), "HTTP {status}");
    }
    assert_eq!((book.credits(), ledger.charged(), ledger.held()), (45.0, 45, 0));
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
