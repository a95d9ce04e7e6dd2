//! Whose fault a refusal is: the account's, the check's, or one request's. A refusal that says nothing about the rows
//! fails none of them, and a new key is tried only where the key can be at fault.

use crate::support::{
    paused::reply,
    ran::{Ran, results},
    world::World,
};
use rescreen::{
    model::{ExitCode, Stop, state::State},
    pipeline::RunOptions,
};
use std::{
    sync::atomic::{AtomicU16, Ordering},
    time::Duration,
};

/// The highest number of new keys that a request of this world has had.
fn new_keys(ran: &Ran) -> i64 {
    let ledger = rusqlite::Connection::open(ran.out.join("ledger.sqlite")).unwrap();
    ledger.query_row("SELECT max(generation) FROM request", [], |row| row.get(0)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_402_while_the_balance_just_covers_the_price_is_asked_again() {
    let mut world = World::new().rows(1).in_flight(1).credits(1).fault("error402@2").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Complete).charged(1);
    assert_eq!((ran.replies(402), ran.stats.balance), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_refuses_every_request_under_every_key_stops_the_run_and_fails_nothing() {
    let mut world = World::new().rows(2).in_flight(2).under_paused_time();
    world.paused().turns_away(429);
    let ran = world.run().await.exits(ExitCode::Service).in_state(State::Planned, 2);
    let ran =
        ran.stops_with(|stop| matches!(stop, Stop::Unavailable { message } if message.contains("under several keys")));
    assert!(new_keys(&ran) > 0, "the first key alone may have kept the refusal");
    world.paused().works_again();
    world.run().await.exits(ExitCode::Complete).charged(2);
}

/// A world with one request in doubt, whose repeats are all answered with 429.
async fn in_doubt_and_refused_for_the_rate(world: World) -> (World, Ran) {
    let mut world = world.rows(1).in_flight(1).under_paused_time();
    world.paused().loses_answers();
    world.run_for(Duration::from_secs(1)).await.in_state(State::InDoubt, 1);
    world.paused().turns_away(429);
    let ran = world.run().await;
    (world, ran)
}

#[tokio::test(start_paused = true)]
async fn in_doubt_a_request_that_the_rate_refuses_again_and_again_keeps_its_key_for_a_later_run() {
    let (mut world, ran) = in_doubt_and_refused_for_the_rate(World::new()).await;
    ran.exits(ExitCode::Doubt).in_state(State::InDoubt, 1);
    world.paused().works_again();
    let ran = world.run().await.exits(ExitCode::Complete).charged(1);
    assert_eq!(ran.stats.distinct_keys, 1);
}

#[tokio::test(start_paused = true)]
async fn in_sandbox_a_request_that_the_rate_refuses_again_and_again_fails() {
    let (_, ran) = in_doubt_and_refused_for_the_rate(World::new().sandbox()).await;
    let ran = ran.exits(ExitCode::Failures);
    assert_eq!(ran.failure_codes(), [("attempts_over".into(), 1)].into());
}

/// Three runs end at a 429 that asks for an hour. The refusals are counted over all of them.
async fn the_third_refusal_in_a_row_changes_the_key(world: World, faults: &str) {
    let mut world = world.rows(1).in_flight(1).fault(faults).under_paused_time();
    let lifted = || RunOptions { lift_pause: true, ..RunOptions::default() };
    for expected in [0, 0, 1] {
        let ran = world.run_with(lifted()).await.exits(ExitCode::Service).in_state(State::Planned, 1);
        let ran = ran.stops_with(|stop| matches!(stop, Stop::PushedBack { .. }));
        assert_eq!(new_keys(&ran), expected);
    }
    let ran = world.run_with(lifted()).await.exits(ExitCode::Complete).counts(results(1));
    assert_eq!((ran.replies(429), new_keys(&ran)), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_429_of_an_hour_in_three_runs_is_cached_under_the_key_and_the_new_key_is_kept() {
    // Each run reads the account first, so every second message is the check.
    let faults = "rate429@2:3600,rate429@4:3600,rate429@6:3600";
    the_third_refusal_in_a_row_changes_the_key(World::new(), faults).await;
}

#[tokio::test(start_paused = true)]
async fn in_sandbox_a_cached_429_is_recognised_without_reading_the_account() {
    let faults = "rate429@1:3600,rate429@2:3600,rate429@3:3600";
    the_third_refusal_in_a_row_changes_the_key(World::new().sandbox(), faults).await;
}

/// A sandbox where the account cannot be read.
fn without_a_balance(rows: usize, faults: &str) -> World {
    let world = World::new().sandbox().rows(rows).in_flight(1).fault(faults).under_paused_time();
    world.campaign(|file| file.service.balance_pointer = Some("/wallet".into()))
}

#[tokio::test(start_paused = true)]
async fn in_sandbox_a_refused_row_is_at_fault_although_the_balance_cannot_be_read() {
    let mut world = without_a_balance(3, "error401@2,error401@5");
    world.run().await.exits(ExitCode::Failures).counts(results(2).failures(1));
}

#[tokio::test(start_paused = true)]
async fn in_sandbox_a_refusal_before_any_answer_stops_where_the_balance_cannot_be_read() {
    let mut world = without_a_balance(1, "error401@1");
    let ran = world.run().await.exits(ExitCode::Service).in_state(State::Planned, 1);
    ran.stops_with(|stop| *stop == Stop::BalanceUnreadable);
}

#[tokio::test(start_paused = true)]
async fn in_sandbox_an_outage_ends_when_the_account_answers_even_without_a_balance() {
    // After five of them the account is read, which is message 6.
    let mut world = without_a_balance(1, "error500@1,error500@2,error500@3,error500@4,error500@5");
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(1));
    assert_eq!((ran.replies(500), ran.stats.by_route["GET /my_credits"]), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_comes_twice_before_any_answer_does_not_fail_the_row() {
    let mut world = World::new().rows(1).in_flight(1).fault("html@2,html@3").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(1));
    let attempts = ran.attempts();
    let outcomes: Vec<&str> = attempts.iter().map(|attempt| attempt.outcome.as_str()).collect();
    assert_eq!(outcomes, ["unreadable", "unreadable", "answered"]);
    assert_eq!((ran.stats.charges, ran.stats.distinct_keys), (1, 1));
}

/// A first run answers three of `rows`. In the next, the service refuses every request with this status; the balance is
/// answered.
async fn refused_after_three_answers(rows: usize, status: u16) -> (World, Ran) {
    let mut world = World::new().rows(rows).in_flight(1).max_credits(3).under_paused_time();
    world.run().await.exits(ExitCode::Budget).in_state(State::Answered, 3);
    world.paused().stands_between(move |path, _| {
        let refusal = r#"{"success":false,"error":{"code":"NOT_ALLOWED","message":"not allowed"}}"#;
        (path != "/my_credits").then(|| reply(status, refusal))
    });
    let mut world = world.max_credits(1_000);
    let ran = world.run().await;
    (world, ran)
}

#[tokio::test(start_paused = true)]
async fn a_check_that_is_refused_from_a_run_on_fails_no_row() {
    for (status, code) in [(401, ExitCode::Refused), (403, ExitCode::Refused), (404, ExitCode::Service)] {
        let (mut world, ran) = refused_after_three_answers(12, status).await;
        ran.exits(code).in_state(State::Answered, 3).in_state(State::Failed, 0);
        world.paused().works_again();
        world.run().await.exits(ExitCode::Complete).counts(results(12)).charged(12);
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_that_two_servers_refuse_in_turn_ends() {
    for first in [403, 404] {
        let mut world = World::new().rows(6).in_flight(1).under_paused_time();
        let times = AtomicU16::new(first);
        world.paused().stands_between(move |path, body| {
            let is_odd = path != "/my_credits" && body.contains("P00004");
            is_odd.then(|| {
                let status = 403 + (1 + times.fetch_add(1, Ordering::Relaxed)) % 2;
                reply(status, r#"{"error": {"code": "X", "message": "no"}}"#)
            })
        });
        // A 404 proves nothing about a charge.
        world.run().await.exits(ExitCode::Doubt).counts(results(5).pending(1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_few_last_rows_that_are_refused_do_not_keep_a_campaign_open() {
    for status in [401, 403] {
        let (_, ran) = refused_after_three_answers(5, status).await;
        ran.exits(ExitCode::Failures).counts(results(3).failures(2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_is_sent_again_though_every_run_stops_at_the_others() {
    let mut world = World::new().rows(6).in_flight(6).under_paused_time();
    world.paused().loses_answers();
    world.run_for(Duration::from_secs(1)).await.in_state(State::InDoubt, 6);
    let of_the_sixth = |body: &str| body.contains("P00006");
    world.paused().works_again();
    world.paused().stands_between(move |path, body| {
        (path != "/my_credits").then(|| if of_the_sixth(body) { reply(429, "") } else { reply(503, "") })
    });
    world.run().await.in_state(State::InDoubt, 6);
    world
        .paused()
        .stands_between(move |path, body| (path != "/my_credits" && !of_the_sixth(body)).then(|| reply(301, "")));
    world.run().await.stops_with(|stop| matches!(stop, Stop::Misrouted { .. }));
    world.run().await.in_state(State::Answered, 1);
}
