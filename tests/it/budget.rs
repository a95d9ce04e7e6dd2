//! The promise: charges plus holds never exceed what the user allows, in any run and across all runs of a campaign.

use crate::support::{
    ran::results,
    tables::text,
    world::{AML, World},
};
use rescreen::{
    model::{Credits, ExitCode, Stop, budget::BudgetRefusal, state::State},
    simulator::{ChargeStated, Dialect},
    sink::DatasetKind,
};
use std::time::Duration;

#[tokio::test]
async fn a_limit_of_400_for_1000_rows_charges_exactly_400_and_the_rest_later() {
    let mut world = World::new().rows(1_000).max_credits(400);
    let ran = world.run().await.exits(ExitCode::Budget).charged(400).counts(results(400).pending(600)).adds_up(false);
    let ran = ran.stops_with(|stop| matches!(stop, Stop::Budget(BudgetRefusal::Limit { limit: Credits(400), .. })));
    assert_eq!(ran.posts(), 400);
    let mut world = world.max_credits(1_000);
    world.run().await.exits(ExitCode::Complete).charged(1_000).counts(results(1_000)).adds_up(true);
}

#[tokio::test]
async fn the_limit_covers_all_runs_together() {
    let mut world = World::new().rows(30).max_credits(10);
    world.run().await.exits(ExitCode::Budget).charged(10);
    let again = world.run().await.exits(ExitCode::Budget).charged(10);
    assert_eq!(again.posts(), 10);
}

#[tokio::test]
async fn a_limit_that_just_covers_the_book_completes_it() {
    World::new().rows(50).max_credits(50).run().await.exits(ExitCode::Complete).charged(50);
    World::new().rows(50).max_credits(49).run().await.exits(ExitCode::Budget).charged(49);
}

#[tokio::test]
async fn a_price_that_does_not_fit_the_rest_of_the_limit_is_not_spent() {
    let mut world = World::new().rows(10).max_credits(10).service(|settings| {
        settings.prices = [(AML.to_owned(), 3)].into();
    });
    world.file.budget.prices.insert(AML.into(), Credits(3));
    world.run().await.exits(ExitCode::Budget).charged(9).counts(results(3).pending(7));
}

#[tokio::test]
async fn the_balance_is_never_taken_below_the_floor() {
    let mut world = World::new().rows(30).credits(100).campaign(|file| file.budget.keep_balance = Some(Credits(90)));
    let ran = world.run().await.exits(ExitCode::Budget).charged(10);
    let ran = ran.stops_with(|stop| matches!(stop, Stop::Budget(BudgetRefusal::Balance { keep: Credits(90), .. })));
    assert_eq!(ran.stats.balance, 90);
    world.running_service().simulator.set_balance(110);
    world.run().await.exits(ExitCode::Complete).charged(30);
}

#[tokio::test]
async fn production_requires_a_price_a_limit_and_an_id_before_anything_is_opened() {
    for (change, what) in [
        (World::new().campaign(|file| file.budget.prices.clear()), "price for `aml-screening`"),
        (World::new().campaign(|file| file.budget.max_credits = None), "--max-credits"),
        (World::new().campaign(|file| file.input.id = None), "--id"),
        (World::new().campaign(|file| file.campaign = None), "--campaign"),
    ] {
        let mut world = change.rows(3);
        let ran = world.run().await.exits(ExitCode::Usage);
        assert!(ran.error().contains(what), "{}", ran.error());
        assert_eq!(ran.stats.requests, 0);
        assert!(!ran.out.exists(), "no ledger is left behind");
    }
}

#[tokio::test]
async fn a_price_above_the_table_stops_arming_at_once() {
    let mut world = World::new().rows(50).in_flight(4).service(|settings| {
        settings.prices = [(AML.to_owned(), 3)].into();
        settings.charge_stated = Some(rescreen::simulator::ChargeStated::Used);
    });
    let ran = world
        .run()
        .await
        .exits(ExitCode::Budget)
        .stops_with(|stop| matches!(stop, Stop::Price { stated: Credits(3), table: Credits(1), .. }));
    let charges = ran.stats.charges;
    assert!((1..=4).contains(&charges), "{charges}: the overshoot is at most the requests in flight");
    let mut world = {
        ran.charged(charges * 3);
        world
    };
    world.file.budget.prices.insert(AML.into(), Credits(3));
    world.run().await.exits(ExitCode::Complete).charged(150);
}

#[tokio::test(start_paused = true)]
async fn a_price_that_rose_beyond_the_limit_leaves_doubts_for_a_run_with_a_higher_limit() {
    let mut world = World::new().rows(3).in_flight(1).max_credits(3).under_paused_time();
    world.paused().loses_answers();
    world.run_for(Duration::from_secs(300)).await.in_state(State::InDoubt, 3);
    world.paused().works_again();
    world.file.budget.prices.insert(AML.into(), Credits(5));
    let posts = world.running_service().checks_arrived();
    let ran = world.run().await.exits(ExitCode::Budget).in_state(State::InDoubt, 3);
    assert_eq!(ran.posts(), posts, "the rest of its price does not fit the budget");
    let ran = world.max_credits(100).run().await.exits(ExitCode::Complete).counts(results(3));
    assert_eq!(ran.stats.double_charges, 0);
}

#[tokio::test]
async fn a_configured_pointer_finds_the_balance() {
    let field = |settings: &mut rescreen::simulator::Settings| settings.dialect = Dialect::Field;
    let mut world = World::new().rows(5).credits(3).service(field).campaign(|file| {
        file.service.balance_pointer = Some("/Result/credits".into());
    });
    world.run().await.exits(ExitCode::Budget).charged(3);
}

#[tokio::test]
async fn a_balance_that_cannot_be_read_stops_production_before_any_request() {
    let mut world = World::new().rows(3).campaign(|file| file.service.balance_pointer = Some("/wallet".into()));
    let ran = world.run().await.exits(ExitCode::Service).charged(0).counts(results(0).pending(3));
    let ran = ran.stops_with(|stop| *stop == Stop::BalanceUnreadable);
    assert_eq!(ran.posts(), 0);
    let mut world = world.campaign(|file| file.service.balance_pointer = None);
    world.run().await.exits(ExitCode::Complete).charged(3);
}

#[tokio::test(start_paused = true)]
async fn requests_in_doubt_count_against_the_limit() {
    let mut world = World::new().rows(3).in_flight(1).max_credits(1).fault("drop_after@2").under_paused_time();
    let ran = world.run_until("a charge", |stats| stats.charges == 1).await;
    let ran = ran.in_state(State::InDoubt, 1).in_state(State::Planned, 2);
    assert_eq!((ran.posts(), ran.stats.charges), (1, 1));
    assert_eq!((ran.report().sums.account.charged, ran.report().sums.account.held), (Credits(0), Credits(1)));
    let reasons: Vec<String> =
        ran.lines(DatasetKind::Pending).iter().map(|line| text(line, "reason").to_owned()).collect();
    assert_eq!(reasons, ["in_doubt", "unsent", "unsent"]);
    world.run().await.exits(ExitCode::Budget).charged(1).counts(results(1).pending(2));
    let mut world = world.max_credits(3);
    world.run().await.exits(ExitCode::Complete).charged(3);
}

#[tokio::test]
async fn after_a_lost_reply_the_larger_of_price_and_statement_is_charged() {
    let mut world = World::new().rows(1).fault("drop_after@2");
    world.file.budget.prices.insert(AML.into(), Credits(2));
    let ran = world.run().await.exits(ExitCode::Complete);
    assert_eq!((ran.stats.credits_charged, ran.report().sums.account.charged), (1, Credits(2)));
}

#[tokio::test(start_paused = true)]
async fn where_replies_state_nothing_of_credits_the_balance_is_read_every_hundred_answers() {
    let mut world = World::new().rows(250).in_flight(4).under_paused_time().service(|settings| {
        settings.charge_stated = Some(ChargeStated::Nothing);
    });
    let ran = world.run().await.exits(ExitCode::Complete).charged(250);
    assert_eq!(
        ran.stats.by_route["GET /my_credits"], 5,
        "at the start, for the first charge, twice on the way, at the end"
    );
}
