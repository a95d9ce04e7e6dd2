//! What a reply states about credits is believed only as far as the balance does not contradict it: charges stated too
//! low, balances that show a charge late or never, refusals that charge without stating it, and prices that were seen
//! by mistake.

use super::{Campaign, Hostile, Reply, Stated, at_once, json, script::number};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// Replies state a charge of 1, whatever is charged, and the true balance.
fn states_one(service: Hostile) -> Hostile {
    service.states_with(|body, _, left| {
        body.insert("creditsUsed".to_owned(), json!(1));
        body.insert("remainingCredits".to_owned(), number(left));
    })
}

#[test]
#[ignore = "make hostile"]
fn a_stated_charge_below_the_price_does_not_lift_the_limit() {
    let service = states_one(Hostile::new().price(10.0)).start();
    let campaign = Campaign::of(&service, 60).price(10).limit(100);
    campaign.run().exits(4);
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (100.0, 100));
}

#[test]
#[ignore = "make hostile"]
fn a_stated_charge_below_the_price_is_booked_once_the_balance_confirms_it() {
    at_once([true, false], |states_balance| {
        let service = Hostile::new()
            .states_with(move |body, used, left| {
                body.insert("creditsUsed".to_owned(), number(used));
                if states_balance {
                    body.insert("remainingCredits".to_owned(), number(left));
                }
            })
            .start();
        let campaign = Campaign::of(&service, 40).price(10).limit(100);
        campaign.run().exits(0);
        // The first one is sent alone, and is booked at the price.
        assert_eq!((service.book().credits(), campaign.ledger().charged()), (40.0, 49), "{states_balance}");
    });
}

#[test]
#[ignore = "make hostile"]
fn a_price_that_rises_while_the_stated_charge_stays_is_seen_in_the_balance() {
    let service = states_one(Hostile::new().price_by(|before| if before < 20 { 1.0 } else { 50.0 })).start();
    let campaign = Campaign::of(&service, 300).limit(400).with_unstated_charges();
    let said = campaign.run().exits(4);
    assert!(said.stderr.contains("price"), "{}", said.stderr);
    // Four under way, and five that are sent alone.
    assert!(service.book().charges() <= 20 + 4 + 5, "{} charges; {}", service.book().charges(), said.stderr);
}

/// A service that charges 50 for a price of 1, whatever it states, is noticed at its first charge.
fn its_first_charge_ends_the_run(service: Hostile) {
    let service = service.start();
    let campaign = Campaign::of(&service, 100).limit(300).with_unstated_charges();
    campaign.run().exits(4);
    assert_eq!(service.book().charges(), 1);
}

#[test]
#[ignore = "make hostile"]
fn a_stated_balance_from_before_the_charge_hides_no_price() {
    let before = Arc::new(Mutex::new(1_000_000.0));
    let service = Hostile::new().price(50.0).states_with(move |body, _, left| {
        let shown = std::mem::replace(&mut *before.lock().unwrap(), left);
        body.insert("remainingCredits".to_owned(), number(shown));
    });
    its_first_charge_ends_the_run(service);
}

#[test]
#[ignore = "make hostile"]
fn a_stated_balance_that_never_moves_hides_no_price() {
    let service = Hostile::new()
        .price(50.0)
        .states_with(|body, _, _| drop(body.insert("remainingCredits".to_owned(), json!(1_000_000))));
    its_first_charge_ends_the_run(service);
}

#[test]
#[ignore = "make hostile"]
fn an_account_minutes_behind_the_replies_does_not_show_a_price() {
    // The account shows its state before the run that another campaign just made.
    let service = Hostile::new()
        .balance(899.0)
        .states(Stated::Remaining)
        .balance_script(|_, _| Reply::error(200, json!({ "available_credits": 1000 })))
        .start();
    let campaign = Campaign::of(&service, 40).limit(100);
    let said = campaign.run().exits(0);
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (40.0, 40), "{}", said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn an_account_behind_the_replies_does_not_hide_a_price_that_the_replies_show() {
    let service = Hostile::new()
        .price(50.0)
        .states(Stated::Remaining)
        .balance_script(|_, _| Reply::error(200, json!({ "available_credits": 1_000_000 })))
        .start();
    let campaign = Campaign::of(&service, 100).limit(300).with_unstated_charges();
    campaign.run().exits(4).says("price");
    let charges = service.book().charges();
    assert!(charges <= 3, "{charges} charges");
}

#[test]
#[ignore = "make hostile"]
fn an_account_that_shows_charges_one_reading_late_ends_the_run() {
    let before = Mutex::new(1_000_000.0);
    let service = Hostile::new().price(50.0).states(Stated::Nothing).balance_script(move |_, balance| {
        let shown = std::mem::replace(&mut *before.lock().unwrap(), balance);
        Reply::error(200, json!({ "available_credits": number(shown) }))
    });
    let service = service.start();
    let campaign = Campaign::of(&service, 400).limit(1_000).with_unstated_charges();
    let said = campaign.run().exits(4);
    assert!(said.stderr.contains("the balance fell by") && said.stderr.contains("--price"), "{}", said.stderr);
    // Two readings, each after at most 100 answers and those under way.
    let charges = service.book().charges();
    assert!(charges <= 210, "{charges} charges; {}", said.stderr);
    campaign.run().exits(4);
    assert_eq!(service.book().charges(), charges, "the same run again sends nothing");
}

/// Every fifth row gets a 422, which charges one credit and states this much about the balance.
fn charges_refusals_in_silence(states_balance: bool) -> Hostile {
    let left = Arc::new(Mutex::new(1_000_000.0));
    let (stating, taking) = (Arc::clone(&left), left);
    Hostile::new()
        .states_with(move |body, _, after| {
            *stating.lock().unwrap() = after;
            if states_balance {
                body.insert("remainingCredits".to_owned(), number(after));
            }
        })
        .script(move |asked| {
            (asked.row % 5 == 0).then(|| {
                let mut left = taking.lock().unwrap();
                if !asked.is_charged {
                    *left -= 1.0;
                }
                let mut body = json!({ "error": "no match found" });
                if states_balance {
                    body["remainingCredits"] = number(*left);
                }
                Reply::error(422, body).cost(1.0)
            })
        })
}

#[test]
#[ignore = "make hostile"]
fn a_refusal_whose_own_reply_shows_its_charge_is_booked_and_not_retried() {
    let service = charges_refusals_in_silence(true).start();
    let campaign = Campaign::of(&service, 40).with("--in-flight 1 --max-errors 100%");
    campaign.run().exits(3);
    for _ in 0..3 {
        campaign.run_with("--retry").exits(3);
    }
    let fate = campaign.ledger().row(5).clone();
    assert_eq!((fate.charged, fate.possibly_charged), (1, true), "{fate:?}");
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (40.0, 40));
}

#[test]
#[ignore = "make hostile"]
fn lone_refusals_after_which_the_account_is_lower_stay_within_the_limit() {
    let body = json!({ "error": { "code": "NO_MATCH", "message": "no match found" } });
    let service = Hostile::new().price(10.0).on_all(Reply::error(422, body).cost(10.0)).start();
    let campaign = Campaign::of(&service, 60).price(10).limit(100).with("--max-errors 100%");
    campaign.run();
    campaign.run_with("--retry --continue-anyway");
    let (book, ledger) = (service.book(), campaign.ledger());
    assert!(book.credits() <= 100.0, "{} credits", book.credits());
    assert_eq!(ledger.charged() as f64, book.credits());
    assert!(ledger.rows.values().filter(|fate| fate.state == "failed").all(|fate| fate.possibly_charged));
}

#[test]
#[ignore = "make hostile"]
fn refusals_since_an_unexplained_fall_are_not_retried_without_confirmation() {
    let service = charges_refusals_in_silence(false).start();
    let campaign = Campaign::of(&service, 60).with("--max-errors 100%").with_unstated_charges();
    campaign.run().exits(3);
    let before = service.book().entries.len();
    let said = campaign.run_with("--retry").exits(3);
    assert_eq!(service.book().entries.len(), before, "{}", said.stderr);
    assert!(said.stderr.contains("--retry-unproven"), "{}", said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn a_price_that_was_stated_by_mistake_is_dropped_with_its_charge() {
    let service = Hostile::new()
        .on_row(5, Reply::answer(json!({ "success": true, "results": { "match": [] }, "creditsUsed": 90 })))
        .start();
    let campaign = Campaign::of(&service, 60).limit(80);
    let said = campaign.run().exits(4);
    let id = campaign.ledger().row(5).id;
    assert!(said.stderr.contains(&format!("--request {id}")), "{}", said.stderr);
    campaign.say(&format!("resolve out/hostile --charge 1 --request {id} --reason the-invoice-says-1")).exits(0);
    campaign.run_with("--continue-anyway").exits(0);
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (60.0, 60));
}

#[test]
#[ignore = "make hostile"]
fn a_fall_caused_by_another_client_is_neither_held_nor_booked_after_continue_anyway() {
    // Another program spends 37 credits while the first request is under way.
    let service = Hostile::new().states(Stated::Nothing).another_client_spends(37.0, 1).start();
    let campaign = Campaign::of(&service, 60).limit(80);
    let said = campaign.run().exits(4);
    assert!(said.stderr.contains("If another program spent the difference"), "{}", said.stderr);
    campaign.run_with("--continue-anyway").exits(0);
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (60.0, 60));
}

#[test]
#[ignore = "make hostile"]
fn an_unreadable_amount_can_be_switched_off_and_the_balance_proves_the_price() {
    for (file, limit) in [
        ("charge_pointer = \"\"\nremaining_pointer = \"\"\n", 100),
        ("charge_pointer = \"/creditsUsed/amount\"\nremaining_pointer = \"\"\n", 100),
    ] {
        let service = Hostile::new()
            .states_with(|body, used, _| {
                body.insert("creditsUsed".to_owned(), json!({ "amount": used, "unit": "credit" }));
                body.insert("remainingCredits".to_owned(), json!("unlimited"));
            })
            .start();
        let campaign = Campaign::of(&service, 20).limit(limit);
        let said = campaign.run().exits(4);
        assert!(said.stderr.contains("charge_pointer") && said.stderr.contains("\"\""), "{}", said.stderr);
        assert_eq!(service.book().charges(), 1);
        let campaign = campaign.file(&format!("[service]\n{file}"));
        campaign.run_with("--continue-anyway").exits(0);
        assert_eq!((service.book().credits(), campaign.ledger().charged()), (20.0, 20), "{file}");
    }
}

#[test]
#[ignore = "make hostile"]
fn a_charge_that_a_pending_reply_states_is_held_and_stops_the_run() {
    at_once([202, 200], |status| {
        let pending = Reply::error(status, json!({ "status": "pending", "creditsUsed": 50 })).cost(50.0);
        let service = Hostile::new().price(5.0).on_row(3, pending).start();
        let campaign = Campaign::of(&service, 8).price(5).limit(1000).with("--for 8s");
        let said = campaign.run().exits(4);
        assert!(said.stderr.contains("50"), "HTTP {status}: {}", said.stderr);
        assert_eq!(campaign.ledger().row(3).held, 50, "HTTP {status}");
    });
}

/// What happens in real time.
mod timed {
    use super::*;

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn an_account_that_shows_a_charge_seconds_later_is_waited_for() {
        let seen: Mutex<(Instant, f64)> = Mutex::new((Instant::now(), 1_000_000.0));
        let service = Hostile::new().price(50.0).states(Stated::Nothing).balance_script(move |_, balance| {
            let mut seen = seen.lock().unwrap();
            if seen.0.elapsed() > Duration::from_secs(4) {
                *seen = (Instant::now(), balance);
            }
            Reply::error(200, json!({ "available_credits": number(seen.1), "source": "cache" }))
        });
        its_first_charge_ends_the_run(service);
    }
}
