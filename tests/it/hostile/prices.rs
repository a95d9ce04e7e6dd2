//! The first charge of a check is proven before the second request is sent, a price that rises later is noticed, and a
//! stop for a price is remembered. This holds for every kind of reply: a stated charge, only the balance, or nothing.

use super::{Campaign, Hostile, Reply, Stated, json};

/// The table says 5; the service charges 50.
#[track_caller]
fn the_first_charge_is_the_only_one(stated: Stated) {
    let service = Hostile::new().price(50.0).states(stated).start();
    let campaign = Campaign::of(&service, 40).price(5).limit(1000).with_unstated_charges();
    let said = campaign.run().exits(4);
    assert!(said.stderr.contains("50") && said.stderr.contains("price"), "{}", said.stderr);
    assert_eq!(service.book().charges(), 1, "{}", said.stderr);
    if matches!(stated, Stated::Used | Stated::Meta) {
        // The reply itself states the charge, which is booked. The account is read only at the start and at the end.
        assert_eq!((campaign.ledger().charged(), service.book().balance_readings), (50, 2), "{}", said.stderr);
    }
}

#[test]
#[ignore = "make hostile"]
fn a_wrong_price_is_seen_at_the_first_charge_where_it_is_stated() {
    the_first_charge_is_the_only_one(Stated::Used);
}

#[test]
#[ignore = "make hostile"]
fn a_wrong_price_is_seen_at_the_first_charge_where_meta_states_it() {
    the_first_charge_is_the_only_one(Stated::Meta);
}

#[test]
#[ignore = "make hostile"]
fn a_wrong_price_is_seen_at_the_first_charge_where_only_the_balance_is_stated() {
    the_first_charge_is_the_only_one(Stated::Remaining);
}

#[test]
#[ignore = "make hostile"]
fn a_wrong_price_is_seen_at_the_first_charge_where_nothing_is_stated() {
    the_first_charge_is_the_only_one(Stated::Nothing);
}

#[test]
#[ignore = "make hostile"]
fn the_second_envelope_states_its_charge_in_meta() {
    let answer = json!({ "data": { "match": [] }, "input": "[absent]", "mode": "[absent]", "requestId": "[absent]" });
    let service = Hostile::new().price(50.0).states(Stated::Meta).on_all(Reply::answer(answer)).start();
    let campaign = Campaign::of(&service, 40).price(5).limit(1000);
    campaign.run().exits(4);
    assert_eq!((service.book().charges(), campaign.ledger().charged()), (1, 50));
}

#[test]
#[ignore = "make hostile"]
fn configured_pointers_name_other_places_of_charge_and_balance() {
    let service = Hostile::new()
        .price(9.0)
        .states_with(|body, used, _| drop(body.insert("billing".to_owned(), json!({ "cost": used }))))
        .start();
    let campaign = Campaign::of(&service, 20).limit(100);
    let campaign = campaign.file("[service]\ncharge_pointer = \"/billing/cost\"\n");
    let said = campaign.run().exits(4);
    assert_eq!((service.book().charges(), campaign.ledger().charged()), (1, 9), "{}", said.stderr);
    assert_eq!(service.book().balance_readings, 2, "read at the start and at the end");

    let service = Hostile::new()
        .states_with(|body, _, left| drop(body.insert("billing".to_owned(), json!({ "left": left }))))
        .start();
    let campaign = Campaign::of(&service, 20).limit(100);
    let campaign = campaign.file("[service]\nremaining_pointer = \"/billing/left\"\n");
    campaign.run().exits(0);
    assert_eq!(service.book().balance_readings, 2, "at the start and at the end: the replies prove the price");
}

#[test]
#[ignore = "make hostile"]
fn a_price_that_rises_in_a_run_is_seen_in_the_stated_balance() {
    let service =
        Hostile::new().price_by(|before| if before < 5 { 1.0 } else { 7.0 }).states(Stated::Remaining).start();
    let campaign = Campaign::of(&service, 200).limit(200).with_unstated_charges();
    let said = campaign.run().exits(4);
    assert!(said.stderr.contains("price"), "{}", said.stderr);
    // Four may be under way when the rise is noticed, and one more is sent alone to prove the price.
    assert!(service.book().credits() <= 100.0, "{} credits; {}", service.book().credits(), said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn a_price_that_rises_in_a_run_is_seen_where_nothing_is_stated() {
    let service = Hostile::new().price_by(|before| if before < 20 { 1.0 } else { 7.0 }).states(Stated::Nothing).start();
    let campaign = Campaign::of(&service, 300).limit(400).with_unstated_charges();
    let said = campaign.run().exits(4);
    assert!(said.stderr.contains("price"), "{}", said.stderr);
    // The balance is read at least every 100 answers.
    assert!(service.book().charges() <= 130, "{} charges; {}", service.book().charges(), said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn an_unexplained_fall_of_the_balance_is_reported_at_the_end() {
    let service = Hostile::new().price_by(|before| if before < 20 { 1.0 } else { 7.0 }).states(Stated::Nothing).start();
    let campaign = Campaign::of(&service, 40).limit(400).with_unstated_charges();
    let said = campaign.run();
    // After the last request it is unknown whether the price rose or another program spent, but the fall is reported.
    assert!(said.code == 4 || said.stderr.contains("balance"), "exit {}: {}", said.code, said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn credits_that_another_program_takes_stop_nothing() {
    for stated in [Stated::Both, Stated::Used, Stated::Remaining, Stated::Nothing] {
        let service = Hostile::new().states(stated).another_client_spends(500.0, 20).start();
        let campaign = Campaign::of(&service, 60).limit(100);
        let said = campaign.run();
        assert_eq!(said.code, 0, "{stated:?}: {}", said.stderr);
        assert_eq!((service.book().credits(), campaign.ledger().charged()), (60.0, 60), "{stated:?}");
    }
}

#[test]
#[ignore = "make hostile"]
fn a_balance_that_rises_in_a_run_stops_nothing() {
    for stated in [Stated::Both, Stated::Remaining] {
        let service = Hostile::new().states(stated).another_client_spends(-5000.0, 7).balance(100.0).start();
        let campaign = Campaign::of(&service, 60);
        campaign.run().exits(0);
        assert_eq!(campaign.ledger().charged(), 60, "{stated:?}");
    }
}

#[test]
#[ignore = "make hostile"]
fn a_stop_for_a_price_is_remembered_until_the_price_is_given() {
    let service = Hostile::new().price(9.0).start();
    let campaign = Campaign::of(&service, 10).limit(100);
    let first = campaign.run().exits(4);
    for _ in 0..3 {
        let again = campaign.run().exits(4);
        assert!(again.stderr.contains("price"), "{}", again.stderr);
    }
    assert_eq!(service.book().entries.len(), 1, "the same run again sends nothing; {}", first.stderr);
    campaign.run_with("--price aml-screening=9").exits(0);
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (90.0, 90));
}

#[test]
#[ignore = "make hostile"]
fn the_highest_price_seen_is_held_after_continue_anyway() {
    let service = Hostile::new().price(9.0).start();
    let campaign = Campaign::of(&service, 20).limit(40);
    campaign.run().exits(4);
    for _ in 0..4 {
        campaign.run_with("--continue-anyway").exits(4);
        let credits = service.book().credits();
        assert!(credits <= 40.0, "{credits} credits of 40");
    }
    assert!(service.book().charges() >= 2, "--continue-anyway continues");
}
