//! The floor under the balance, proofs with attempts in doubt at the same time, and replies whose charge contradicts
//! the account.

use super::{Campaign, Hostile, Reply, Stated, json, reply::Travel};

#[test]
#[ignore = "make hostile"]
fn a_stated_balance_below_the_floor_closes_the_gate_at_once() {
    for stated in [Stated::Both, Stated::Remaining] {
        let service = Hostile::new().balance(1000.0).states(stated).another_client_spends(600.0, 10).start();
        let campaign = Campaign::of(&service, 200).with("--keep-balance 500");
        let said = campaign.run().exits(4);
        // Requests under way when the balance falls may still arrive: four at once, including the one that showed the
        // fall.
        assert!(service.book().charges() <= 10 + 4, "{} charges; {}", service.book().charges(), said.stderr);
        let before = service.book().charges();
        campaign.run().exits(4);
        assert_eq!(service.book().charges(), before, "the floor holds in the next run");
    }
}

#[test]
#[ignore = "make hostile"]
fn the_floor_holds_where_a_refusal_states_the_balance() {
    let poor = json!({ "error": { "code": "BAD", "message": "no" }, "remainingCredits": 400 });
    let service = Hostile::new().balance(1000.0).states(Stated::Used).on_row(12, Reply::error(422, poor)).start();
    let campaign = Campaign::of(&service, 60).with("--keep-balance 500 --in-flight 1");
    let said = campaign.run();
    let looked = service.book().balance_readings >= 2;
    assert!(looked || said.code == 4, "the account is read again before anything is sent; {}", said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn a_lost_first_reply_is_not_a_price_surprise() {
    for stated in [Stated::Remaining, Stated::Nothing, Stated::Both] {
        let service = Hostile::new().states(stated).script(|asked| (asked.before == 0).then(Reply::lost)).start();
        let campaign = Campaign::of(&service, 10);
        let said = campaign.run();
        assert_eq!(said.code, 0, "{stated:?}: {}", said.stderr);
        assert_eq!((service.book().credits(), campaign.ledger().charged()), (10.0, 10), "{stated:?}");
    }
}

#[test]
#[ignore = "make hostile"]
fn several_lost_first_replies_are_not_a_price_surprise() {
    let service = Hostile::new().states(Stated::Remaining);
    let service = service.script(|asked| (asked.row <= 3 && asked.nth == 1).then(Reply::lost)).start();
    let campaign = Campaign::of(&service, 10);
    campaign.run().exits(0);
    assert_eq!(campaign.ledger().charged(), 10);
}

#[test]
#[ignore = "make hostile"]
fn a_charge_that_only_the_replay_states_is_booked() {
    let service = Hostile::new().price(7.0).script(|asked| (asked.before == 0).then(Reply::lost)).start();
    let campaign = Campaign::of(&service, 10).limit(100).with_unstated_charges();
    campaign.run().exits(4);
    assert!(service.book().charges() <= 2, "{} charges", service.book().charges());
    campaign.run_with("--price aml-screening=7").exits(0);
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (70.0, 70));
}

#[test]
#[ignore = "make hostile"]
fn a_replay_that_states_zero_does_not_free_the_first_charge() {
    let free = json!({ "success": true, "results": { "match": [] }, "creditsUsed": 0 });
    let service = Hostile::new()
        .script(|asked| (asked.row == 4 && asked.nth == 1).then(Reply::lost))
        .script(move |asked| (asked.row == 4).then(|| Reply::answer(free.clone())))
        .start();
    let campaign = Campaign::of(&service, 10);
    campaign.run().exits(0);
    assert_eq!((campaign.ledger().row(4).charged, service.book().credits()), (1, 10.0));
}

#[test]
#[ignore = "make hostile"]
fn a_service_that_states_zero_and_takes_credits_is_noticed() {
    let service = Hostile::new()
        .states_with(|body, _, left| {
            body.insert("creditsUsed".to_owned(), json!(0));
            body.insert("remainingCredits".to_owned(), super::script::number(left));
        })
        .start();
    let campaign = Campaign::of(&service, 100).limit(20).with_unstated_charges();
    campaign.run();
    let credits = service.book().credits();
    assert!(credits <= 20.0 + 4.0, "{credits} credits were charged under a limit of 20");
}

#[test]
#[ignore = "make hostile"]
fn a_stated_balance_that_is_always_zero_does_not_stop_a_campaign() {
    let service = Hostile::new()
        .states_with(|body, used, _| {
            body.insert("creditsUsed".to_owned(), super::script::number(used));
            body.insert("remainingCredits".to_owned(), json!(0));
        })
        .start();
    let campaign = Campaign::of(&service, 30);
    campaign.run().exits(0);
    assert_eq!(campaign.ledger().charged(), 30);
}

#[test]
#[ignore = "make hostile"]
fn a_balance_that_can_no_longer_be_read_stops_the_run() {
    let service = Hostile::new()
        .states(Stated::Nothing)
        .balance_script(|nth, balance| match nth {
            0 => Reply::error(200, json!({ "available_credits": balance })),
            _ => Reply::error(200, json!({ "available_credits": "1,000" })),
        })
        .start();
    let campaign = Campaign::of(&service, 300);
    let said = campaign.run().exits(10);
    assert!(service.book().charges() <= 110, "{} charges; {}", service.book().charges(), said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn a_cut_reply_is_settled_by_its_replay_for_one_charge() {
    let cut = Reply::clear().travels(Travel::CutAfter(20));
    let service = Hostile::new()
        .script(move |asked| ([2, 5, 8].contains(&asked.row) && asked.nth == 1).then(|| cut.clone()))
        .start();
    let campaign = Campaign::of(&service, 12);
    campaign.run().exits(0);
    assert_eq!((service.book().credits(), campaign.ledger().charged()), (12.0, 12));
}
