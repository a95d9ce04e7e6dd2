//! What a service charges without stating it is charged once: refusals that charge silently, charges above the stated
//! ones, and keys that are charged again.

use super::{Hostile, Reply, Stated, json, script::number};
use crate::{hostile::Campaign, support::program::wait_until};

/// Answers state their charge. These rows are refused, and each of their keys is silently charged.
fn refuses_and_charges(refused: impl Fn(u32) -> bool + Send + Sync + 'static) -> Hostile {
    let refusal = Reply::error(422, json!({ "error": "no match found" })).cost(1.0);
    Hostile::new().states(Stated::Used).script(move |asked| refused(asked.row).then(|| refusal.clone()))
}

#[test]
#[ignore = "make hostile"]
fn after_a_run_that_was_ended_the_balance_is_read_before_refusals_are_retried() {
    for signal in ["TERM", "KILL"] {
        let service = refuses_and_charges(|row| row % 10 == 0).start();
        let campaign = Campaign::of(&service, 400).with("--max-errors 100%").with_unstated_charges();
        let run = campaign.start("");
        wait_until("charges", || service.book().charges() >= 100);
        run.signal(signal);
        run.wait();
        let said = campaign.run_with("--retry");
        assert_eq!(service.book().charged_twice(), [0; 0], "{signal}: {}", said.stderr);
    }
}

#[test]
#[ignore = "make hostile"]
fn after_refusals_in_a_row_the_balance_is_read_before_they_are_retried() {
    let service = refuses_and_charges(|row| (20..40).contains(&row)).start();
    let campaign = Campaign::of(&service, 100).with_unstated_charges();
    campaign.run().exits(6);
    let said = campaign.run_with("--retry refused");
    assert_eq!(service.book().charged_twice(), [0; 0], "{}", said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn a_stated_charge_that_the_balance_contradicted_in_one_run_ends_the_next_one() {
    let service = Hostile::new().price(7.0).states_with(|body, _, left| {
        body.insert("creditsUsed".to_owned(), json!(1));
        body.insert("balanceAfter".to_owned(), number(left));
    });
    let service = service.start();
    let campaign = Campaign::of(&service, 300).limit(100).with_unstated_charges();
    let said = campaign.run().exits(4);
    assert!(said.stderr.contains("the balance fell by 600 credits more"), "{}", said.stderr);
    let campaign = campaign.limit(300);
    let said = campaign.run().exits(4);
    assert!(said.stderr.contains("7 credits"), "{}", said.stderr);
    assert_eq!(service.book().charges(), 105, "each request of the second run was sent alone");
}

#[test]
#[ignore = "make hostile"]
fn a_silently_charged_refusal_gets_no_new_key() {
    for refusal in [Reply::status(402), Reply::status(429).header("retry-after", "0"), Reply::status(403)] {
        let service = Hostile::new().on_row(7, refusal.cost(1.0)).start();
        let campaign = Campaign::of(&service, 20).with("--in-flight 1").with_unstated_charges();
        campaign.run().exits(3);
        campaign.run_with("--retry").exits(3);
        assert_eq!(service.book().keys_of(7), 1, "{:?}", service.book().messages_of(7));
    }
}

#[test]
#[ignore = "make hostile"]
fn a_row_with_endless_uncharged_server_errors_fails_when_nothing_else_is_left() {
    let service = Hostile::new().on_row(7, Reply::error(503, json!({ "creditsUsed": 0 }))).start();
    let campaign = Campaign::of(&service, 20);
    let codes: Vec<i32> = (0..4).map(|_| campaign.run().code).collect();
    assert_eq!(codes.last(), Some(&3), "{codes:?}");
    assert_eq!(campaign.ledger().settled(), 20);
}
