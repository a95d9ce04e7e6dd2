//! One function reads credit amounts everywhere: integers, floats and numeric text; a fraction rounds up. An unreadable
//! or absurd amount counts as an unexpected price: it stops the run and is not booked.

use super::{Campaign, Hostile, Reply, Service, Stated, json};
use serde_json::Value;

/// The service charges 7 credits per answer and states them as `stated`; the table says 1. Returns what the ledger
/// books.
#[track_caller]
fn stops_at_the_first_charge(stated: Value) -> u64 {
    stops_at_the_first_charge_of(7.0, stated)
}

/// The same with another price of the service. At the table's price of 1, only the stated amount can stop the run.
#[track_caller]
fn stops_at_the_first_charge_of(price: f64, stated: Value) -> u64 {
    let shown = stated.to_string();
    let service = Hostile::new()
        .price(price)
        .states_with(move |body, _, _| drop(body.insert("creditsUsed".to_owned(), stated.clone())))
        .start();
    let campaign = Campaign::of(&service, 60).limit(150).with_unstated_charges();
    let said = campaign.run();
    assert_eq!(said.code, 4, "creditsUsed {shown}: {}", said.stderr);
    assert_eq!(service.book().charges(), 1, "creditsUsed {shown}: {}", said.stderr);
    let ledger = campaign.ledger();
    ledger.charged() + ledger.held()
}

#[test]
#[ignore = "make hostile"]
fn a_charge_is_read_as_an_integer_a_float_or_numeric_text() {
    // `model::credits` has the other ways to write an amount, here and below.
    assert_eq!(stops_at_the_first_charge(json!("6.01")), 7);
}

#[test]
#[ignore = "make hostile"]
fn an_amount_that_cannot_be_read_stops_the_run_and_is_not_booked() {
    assert_eq!(stops_at_the_first_charge_of(1.0, json!("7,00")), 1, "the price is booked");
}

#[test]
#[ignore = "make hostile"]
fn an_absurd_amount_stops_the_run_and_is_not_booked() {
    for stated in [json!(1e23), json!(101)] {
        assert_eq!(stops_at_the_first_charge_of(1.0, stated.clone()), 1, "creditsUsed {stated}: the price is booked");
    }
}

#[test]
#[ignore = "make hostile"]
fn an_absurd_amount_for_one_row_does_not_end_the_campaign() {
    let huge = json!({ "success": true, "results": { "match": [] }, "creditsUsed": u64::MAX });
    let service = Hostile::new().on_row(5, Reply::answer(huge)).start();
    let campaign = Campaign::of(&service, 10).limit(50);
    campaign.run().exits(4);
    let ledger = campaign.ledger();
    assert!(ledger.charged() + ledger.held() <= 10, "{ledger:?}");
    campaign.run_with("--continue-anyway").exits(0);
    assert_eq!((service.book().credits(), service.book().charges()), (10.0, 10));
    assert!(campaign.ledger().charged() <= 50);
}

#[test]
#[ignore = "make hostile"]
fn a_person_corrects_a_charge_that_was_booked_too_high() {
    let dear = json!({ "success": true, "results": { "match": [] }, "creditsUsed": 40 });
    let service = Hostile::new().on_row(5, Reply::answer(dear)).start();
    let campaign = Campaign::of(&service, 10).limit(100);
    campaign.run().exits(4);
    let id = campaign.ledger().row(5).id;
    assert_eq!(campaign.ledger().row(5).charged, 40);
    campaign.say(&format!("resolve out/hostile --charge 1 --request {id}")).exits(2);
    campaign.say(&format!("resolve out/hostile --charge 1 --request {id} --reason the-invoice-says-1")).exits(0);
    let ledger = campaign.ledger();
    assert_eq!(ledger.row(5).charged, 1, "{:?}", ledger.row(5));
    assert!(ledger.keeps(b"the-invoice-says-1"), "who, when and why are recorded");
    assert_eq!(ledger.sums["account"]["charged"], ledger.charged(), "the sums follow the rows: {}", ledger.sums);
    campaign.run_with("--continue-anyway --max-credits 1000").exits(0);
    assert_eq!((campaign.ledger().charged(), service.book().credits()), (10, 10.0));
}

#[test]
#[ignore = "make hostile"]
fn a_refusal_that_a_person_found_to_be_charged_is_not_sent_again() {
    let service = Hostile::new().on_row_until_healed(2, Reply::error(422, json!({ "error": "no" }))).start();
    let campaign = Campaign::of(&service, 3).limit(100);
    campaign.run().exits(3);
    let id = campaign.ledger().row(2).id;
    campaign.say(&format!("resolve out/hostile --charge 1 --request {id} --reason on-the-invoice")).exits(0);
    service.heal();
    campaign.run_with("--retry").exits(3);
    assert_eq!(service.book().charges(), 2, "the refused request was not sent under a new key");
    // If the person corrects that, it may be sent.
    campaign.say(&format!("resolve out/hostile --charge 0 --request {id} --reason refunded")).exits(0);
    campaign.run_with("--retry").exits(0);
    assert_eq!(service.book().charges(), 3);
}

#[test]
#[ignore = "make hostile"]
fn a_balance_in_a_reply_is_read_as_a_float_or_numeric_text() {
    for (text, price) in [(false, 8), (true, 8), (false, 1), (true, 1)] {
        let service = Hostile::new()
            .price(7.5)
            .balance(1000.0)
            .states_with(move |body, _, left| {
                let left = if text { json!(format!("{left:.2}")) } else { json!(left) };
                body.insert("remainingCredits".to_owned(), left);
            })
            .start();
        let campaign = Campaign::of(&service, 6).price(price).limit(150).with_unstated_charges();
        campaign.run().exits(if price == 8 { 0 } else { 4 });
        let book = service.book();
        let found = (book.charges(), book.balance_readings);
        // Readable amounts prove the right price without a query of the balance, which is read at the start and at the
        // end.
        let expected = if price == 8 { (6, 2) } else { (1, 3) };
        assert_eq!(found, expected, "as text: {text}");
    }
}

#[test]
#[ignore = "make hostile"]
fn a_balance_is_read_in_every_known_format() {
    let service = Hostile::new()
        .states(Stated::Nothing)
        .balance_script(|nth, balance| {
            let body = match nth % 4 {
                0 => json!({ "available_credits": balance }),
                1 => json!({ "Status": "Success", "Result": { "credits": format!("{balance:.2}") } }),
                2 => json!({ "available_credits": format!("{balance}"), "source": "org" }),
                _ => json!({ "available_credits": balance as i64, "organizationName": "x" }),
            };
            Reply::error(200, body)
        })
        .start();
    let campaign = Campaign::of(&service, 30);
    campaign.run().exits(0);
    assert!(service.book().balance_readings >= 2, "{}", service.book().balance_readings);
    assert_eq!(campaign.ledger().charged(), 30);
}

#[test]
#[ignore = "make hostile"]
fn the_larger_of_two_stated_charges_counts() {
    let service = Hostile::new()
        .price(9.0)
        .states_with(|body, used, _| {
            body.insert("creditsUsed".to_owned(), json!(1));
            body.insert("meta".to_owned(), json!({ "credits_spent": used }));
        })
        .start();
    let campaign = Campaign::of(&service, 40).limit(100);
    campaign.run().exits(4);
    assert_eq!(service.book().charges(), 1);
    assert_eq!(campaign.ledger().charged(), 9);
}

/// The balance can be read once. After that, the reply is JSON without a known amount.
fn readable_once() -> Hostile {
    Hostile::new().balance_script(|nth, balance| match nth {
        0 => Reply::error(200, json!({ "available_credits": balance })),
        _ => Reply::error(200, json!({ "wallet": "full" })),
    })
}

/// The run stops because the balance cannot be read, fails no row, and the next one sends nothing at all.
#[track_caller]
fn stops_where_the_balance_cannot_be_read(service: &Service) {
    let campaign = Campaign::of(service, 30).with("--in-flight 1");
    let said = campaign.run().exits(10);
    assert!(said.stderr.contains("/my_credits"), "{}", said.stderr);
    assert_eq!(campaign.ledger().in_state("failed"), 0, "{}", said.stderr);
    let sent = service.book().entries.len();
    assert!(sent < 12, "{sent} messages: {}", said.stderr);
    campaign.run().exits(10);
    assert_eq!(service.book().entries.len(), sent);
}

#[test]
#[ignore = "make hostile"]
fn when_the_balance_becomes_unreadable_no_row_is_blamed_for_a_refusal() {
    stops_where_the_balance_cannot_be_read(&readable_once().on_row(5, Reply::status(401)).start());
}

#[test]
#[ignore = "make hostile"]
fn a_balance_that_cannot_be_read_in_an_outage_stops_the_run() {
    let fails = |asked: &super::Asked| (asked.row > 4).then(|| Reply::status(500));
    stops_where_the_balance_cannot_be_read(&readable_once().script(fails).start());
}
