//! Push-back is obeyed: nothing is sent before its time, across runs too. A stop that a person must lift leaves no
//! failures behind.

use crate::support::{ran::results, tables::number, world::World};
use rescreen::{
    model::{ExitCode, Stop, state::State},
    simulator::Faults,
};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_before_retry_after_is_over() {
    let mut world = World::new().rows(6).in_flight(1).fault("rate429@4:1").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Complete).charged(6);
    let attempts = ran.attempts();
    let at = attempts.iter().position(|attempt| attempt.outcome == "rate_limited").unwrap();
    let written = attempts[at + 1..].iter().filter(|attempt| attempt.outcome != "not_written");
    for later in written {
        assert!(later.armed_at_us - attempts[at].armed_at_us >= 1_000_000, "{attempts:?}");
    }
    assert_eq!((ran.replies(429), ran.posts()), (1, 7));
}

#[tokio::test(start_paused = true)]
async fn with_many_under_way_a_push_back_closes_the_gate_for_all() {
    let mut world = World::new().rows(300).fault("rate429@20:1").under_paused_time().service(|settings| {
        settings.latency = Duration::from_millis(5);
    });
    let ran = world.run().await.exits(ExitCode::Complete).charged(300);
    assert_eq!(ran.replies(429), 1);
    assert!(ran.elapsed >= Duration::from_secs(1), "{:?}", ran.elapsed);
}

#[tokio::test(start_paused = true)]
async fn a_push_back_without_a_time_lasts_five_seconds_and_across_runs() {
    let mut world = World::new().rows(4).in_flight(1).fault("rate429_bare@3").under_paused_time();
    let first = world.run_until("a 429", |stats| stats.by_status.contains_key(&429)).await.exits(ExitCode::Interrupted);
    let until = first.report().sums.paused_until_us.unwrap();
    let left = until - world.paused().clock().now_us();
    assert!((4_990_000..=5_000_000).contains(&left), "{left}");
    let second = world.run_for(Duration::from_millis(150)).await.exits(ExitCode::TimeIsUp);
    assert_eq!(second.elapsed, Duration::from_millis(150));
    assert_eq!(second.stats.requests, first.stats.requests, "nothing is sent, not even by another run");
}

#[tokio::test]
async fn a_push_back_longer_than_a_run_waits_ends_it_with_the_time_to_resume() {
    let mut world = World::new().rows(4).in_flight(1).fault("rate429@3:3600");
    let ran = world.run().await.exits(ExitCode::Service).stops_with(|stop| matches!(stop, Stop::PushedBack { .. }));
    let stats = ran.in_state(State::Planned, 3).stats;
    let again = world.run().await.exits(ExitCode::Service).stops_with(|stop| matches!(stop, Stop::PushedBack { .. }));
    assert_eq!(again.stats, stats, "it holds in the next run");
}

#[tokio::test]
async fn a_key_that_is_refused_mid_run_stops_it_and_fails_nothing() {
    let mut world = World::new().rows(6).in_flight(1).fault("error401@4,error401@5");
    let ran = world.run().await.exits(ExitCode::Refused).counts(results(2).pending(4)).in_state(State::Failed, 0);
    assert_eq!(ran.stats.charges, 2);
    world.run().await.exits(ExitCode::Complete).charged(6).adds_up(true);
}

#[tokio::test]
async fn a_wrong_key_is_noticed_before_anything_is_sent() {
    let mut world = World::new().rows(3).service(|settings| settings.api_key = Some("another".into()));
    let ran = world.run().await.exits(ExitCode::Refused).counts(results(0).pending(3));
    assert_eq!(ran.posts(), 0);
    assert!(!ran.report().lines().join("\n").contains(crate::support::API_KEY));
}

#[tokio::test(start_paused = true)]
async fn a_402_while_the_balance_is_fine_is_asked_again() {
    let mut world = World::new().rows(3).in_flight(1).fault("error402@3").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Complete).charged(3);
    assert_eq!((ran.replies(402), number(ran.result_of(2), "attempts")), (1, 2));
    assert_eq!(ran.stats.by_route["GET /my_credits"], 3, "at the start, for the refusal, and at the end");
}

#[tokio::test(start_paused = true)]
async fn a_402_that_repeats_under_one_key_is_cached_there_and_the_next_key_asks_again() {
    let mut world = World::new().rows(1).in_flight(1).fault("error402@2,error402@4").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Complete).charged(1);
    assert_eq!((ran.replies(402), ran.stats.distinct_keys), (2, 1));
    let ledger = rusqlite::Connection::open(ran.out.join("ledger.sqlite")).unwrap();
    let generation: i64 = ledger.query_row("SELECT generation FROM request", [], |row| row.get(0)).unwrap();
    assert_eq!(generation, 1);
}

#[tokio::test]
async fn when_the_credits_run_out_the_run_pauses_and_resumes_after_a_top_up() {
    let mut world = World::new().rows(10).credits(4);
    let ran = world.run().await.exits(ExitCode::Budget).charged(4).counts(results(4).pending(6));
    assert_eq!((ran.replies(402), ran.stats.balance), (0, 0), "no request is sent without credits");
    world.running_service().simulator.set_balance(100);
    world.run().await.exits(ExitCode::Complete).charged(10).adds_up(true);
}

#[tokio::test(start_paused = true)]
async fn a_402_for_every_request_although_the_balance_is_fine_stops_the_run() {
    let mut world = World::new().rows(20).in_flight(4).under_paused_time();
    world.paused().turns_away(402);
    let ran = world.run().await.exits(ExitCode::Budget).in_state(State::Failed, 0);
    // Five different requests are refused, each under two keys, before the check is at fault and not one request.
    assert!(ran.attempts().len() < 80, "{} attempts", ran.attempts().len());
    world.paused().works_again();
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(20));
    assert_eq!((ran.stats.charges, ran.stats.double_charges), (20, 0));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_never_answers_stops_the_run_although_the_balance_can_be_read() {
    let mut world = World::new().rows(300).in_flight(32).under_paused_time();
    world.paused().turns_away(500);
    let ran = world.run().await.exits(ExitCode::Service);
    assert!(ran.attempts().len() < 200, "{} attempts", ran.attempts().len());
    world.paused().works_again();
    world.run().await.exits(ExitCode::Complete).counts(results(300)).charged(300);
}

#[tokio::test]
async fn a_price_that_only_the_balance_shows_stops_the_run_at_its_first_charge() {
    let mut world = World::new().rows(10).credits(100).service(|settings| {
        settings.prices = [("aml-screening".to_owned(), 3)].into();
        settings.dialect = rescreen::simulator::Dialect::Field;
    });
    let ran = world.run().await.exits(ExitCode::Budget).in_state(State::Failed, 0);
    assert_eq!((ran.stats.charges, ran.stats.balance), (1, 97));
}

#[tokio::test(start_paused = true)]
async fn when_another_client_spends_the_balance_the_run_pauses() {
    let mut world = World::new().rows(60).in_flight(2).credits(1_000).under_paused_time().service(|settings| {
        settings.latency = Duration::from_millis(10);
    });
    let simulator = world.running_service().simulator.clone();
    let spender = tokio::spawn(async move {
        while simulator.stats().charges < 5 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        simulator.set_balance(0);
    });
    let ran = world.run().await.exits(ExitCode::Budget);
    assert!(spender.is_finished(), "waiting for five charges: {:?}", ran.stats);
    spender.await.unwrap();
    assert!(ran.stats.charges < 60 && ran.stats.double_charges == 0, "{:?}", ran.stats);
    world.running_service().simulator.set_balance(1_000);
    world.run().await.exits(ExitCode::Complete).charged(60);
}

#[tokio::test(start_paused = true)]
async fn an_outage_pauses_the_run_and_paid_answers_are_kept() {
    let mut world = World::new().rows(8).in_flight(1).under_paused_time();
    let ran = world.run().await.exits(ExitCode::Complete).charged(8);
    world.append("book.csv", &crate::support::world::people(9..=12));
    world.running_service().simulator.set_faults("error503:1".parse().unwrap());
    let down = world.run_for(Duration::from_millis(300)).await.exits(ExitCode::TimeIsUp);
    assert_eq!(down.stats.charges, ran.stats.charges);
    assert_eq!(down.elapsed, Duration::from_millis(300), "the time limit applies while the balance is read");
    world.running_service().simulator.set_faults(Faults::none());
    world.run().await.exits(ExitCode::Complete).charged(12).adds_up(true);
}
