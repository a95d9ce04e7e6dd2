//! A key's age is judged by two clocks, and the one that makes it older counts. When the clocks disagree the run stops;
//! it does not send and does not give up a request.

use super::{in_doubt, in_doubt_in, posts, quarantined};
use crate::support::{ran::results, tables::number, world::World};
use rescreen::{
    model::{ExitCode, Stop, state::State},
    pipeline::campaign::file::SecretSource,
    sink::DatasetKind,
};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn within_70_hours_requests_in_doubt_are_settled_at_no_cost() {
    let mut world = in_doubt(3).await;
    world.paused().at_hours_minutes(69, 50).await;
    let ran = world.run().await.exits(ExitCode::Complete).charged(3).adds_up(true);
    assert!(ran.stats.replays >= 3 && ran.stats.conflicts == 0, "{:?}", ran.stats);
}

#[tokio::test(start_paused = true)]
async fn past_70_hours_nothing_in_doubt_is_sent_again_automatically() {
    let mut world = in_doubt(3).await;
    world.paused().at_hours_minutes(70, 10).await;
    let posts = posts(&mut world);
    for hour in [70, 71, 72, 73, 300] {
        world.paused().at_hours_minutes(hour, 20).await;
        let ran =
            world.run().await.exits(ExitCode::Doubt).in_state(State::Quarantined, 3).counts(results(0).pending(3));
        assert_eq!(ran.posts(), posts, "hour {hour}");
        assert_eq!(ran.report().sums.account.held.0, 3, "the hold is kept");
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_clocks_the_one_that_makes_a_key_older_counts() {
    for seconds in [-240, 240] {
        let mut world = in_doubt(1).await;
        world.paused().our_clock_is_off(seconds);
        // The right clock says 69:58. A clock that is 4 minutes fast says that the key has expired. The wrong clock
        // alone never makes a key younger.
        let (hour, minute) = if seconds > 0 { (69, 58) } else { (70, 2) };
        world.paused().at_hours_minutes(hour, minute).await;
        world.run().await.exits(ExitCode::Doubt).in_state(State::Quarantined, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn clocks_that_differ_about_a_keys_life_stop_the_run_and_give_nothing_up() {
    for seconds in [-7 * 24 * 3_600, 7 * 24 * 3_600] {
        let mut world = in_doubt(2).await;
        let posts = posts(&mut world);
        world.paused().at_hours_minutes(10, 0).await;
        world.paused().our_clock_is_off(seconds);
        let ran = world.run().await.exits(ExitCode::Doubt).in_state(State::InDoubt, 2);
        let ran = ran.stops_with(|stop| matches!(stop, Stop::ClockDiffers { .. }));
        assert_eq!(ran.posts(), posts, "{seconds} s");
        world.paused().our_clock_is_off(0);
        world.run().await.exits(ExitCode::Complete).charged(2);
    }
}

#[tokio::test(start_paused = true)]
async fn clocks_that_are_apart_and_agree_that_a_key_lives_block_nothing() {
    for seconds in [-600, -360, 360, 600] {
        let mut world = in_doubt(2).await;
        world.paused().at_hours_minutes(10, 0).await;
        world.paused().our_clock_is_off(seconds);
        let ran = world.run().await.exits(ExitCode::Complete).charged(2);
        assert_eq!(ran.stats.double_charges, 0, "{seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn in_sandbox_where_nothing_is_charged_no_clock_blocks_a_request() {
    let mut world = World::new().sandbox().rows(4).in_flight(1).under_paused_time();
    world.paused().loses_answers();
    world.run_for(Duration::from_secs(1)).await;
    world.paused().our_clock_is_off(4_000);
    world.paused().works_again();
    world.run().await.exits(ExitCode::Complete);
}

#[tokio::test(start_paused = true)]
async fn after_a_clock_was_corrected_the_older_age_counts_and_no_request_is_stuck() {
    for (wrong_by_days, tells_time) in [(8, true), (-8, true), (8, false), (-8, false)] {
        let mut world = World::new().rows(1).in_flight(1).under_paused_time();
        if !tells_time {
            world.paused().states_no_time();
        }
        world.paused().our_clock_is_off(wrong_by_days * 24 * 3_600);
        world.paused().loses_answers();
        world.run().await;
        let sent = posts(&mut world);
        world.paused().works_again();
        world.paused().our_clock_is_off(0);
        world.paused().at_hours_minutes(100, 0).await;
        let ran = world.run().await.exits(ExitCode::Doubt).in_state(State::Quarantined, 1);
        assert_eq!((ran.posts(), ran.stats.double_charges), (sent, 0), "{wrong_by_days} {tells_time}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_api_key_never_resends_requests_in_doubt() {
    let mut world = in_doubt(4).await;
    let posts = posts(&mut world);
    world.private("other-key", "sk-another-key-of-the-account\n");
    let mine = world.file.service.api_key.clone();
    let mut world = world.campaign(|file| file.service.api_key = Some(SecretSource::File("other-key".into())));
    for hour in [1, 30, 69] {
        world.paused().at_hours_minutes(hour, 0).await;
        let ran = world.run().await.exits(ExitCode::Doubt).in_state(State::InDoubt, 4);
        assert_eq!(ran.posts(), posts, "hour {hour}");
    }
    let mut world = world.campaign(|file| file.service.api_key = mine);
    world.run().await.exits(ExitCode::Complete).charged(4);
}

#[tokio::test(start_paused = true)]
async fn the_others_continue_while_some_wait_for_a_decision() {
    let (mut world, _) = quarantined(2).await;
    world.append("book.csv", &crate::support::world::people(3..=5));
    let ran = world.run().await.exits(ExitCode::Doubt).counts(results(3).pending(2)).in_state(State::Quarantined, 2);
    assert_eq!((ran.stats.charges, ran.stats.double_charges), (5, 0));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_lost_answer_waits_for_a_decision_and_keeps_its_hold() {
    let mut world = in_doubt(2).await;
    world.paused().turns_away(400);
    let ran = world.run().await.exits(ExitCode::Doubt).in_state(State::Quarantined, 2);
    assert_eq!(ran.report().sums.account.held.0, 2);
    world.paused().works_again();
    let posts = ran.posts();
    assert_eq!(world.run().await.exits(ExitCode::Doubt).posts(), posts);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_refused_first_is_as_old_as_its_first_attempt() {
    // It is unknown which refusals the service keeps under a key, so the key's life may have started with one.
    let mut world = World::new().rows(1).in_flight(1).under_paused_time();
    world.paused().turns_away(402);
    world.run().await.exits(ExitCode::Budget).in_state(State::Planned, 1);
    world.paused().at_hours_minutes(69, 0).await;
    world.paused().turns_away(500);
    world.run().await.in_state(State::InDoubt, 1);
    world.paused().works_again();
    world.paused().at_hours_minutes(71, 0).await;
    world.run().await.exits(ExitCode::Doubt).in_state(State::Quarantined, 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_never_left_the_machine_has_no_age() {
    let mut world = World::new().rows(1).in_flight(1).under_paused_time();
    world.paused().refuses_connections();
    world.run().await.exits(ExitCode::Service).in_state(State::Planned, 1);
    world.paused().at_hours_minutes(71, 0).await;
    world.paused().turns_away(500);
    world.run().await.in_state(State::InDoubt, 1);
    world.paused().works_again();
    world.run().await.exits(ExitCode::Complete).charged(1);
}

/// Adverse media answers are kept for 48 hours only.
#[tokio::test(start_paused = true)]
async fn a_key_that_lives_48_hours_is_not_sent_again_in_its_last_two() {
    let media = || {
        World::new().campaign(|file| {
            file.checks[0].check = "adverse-media".into();
            file.checks[0].fields.remove("country");
            file.budget.prices.insert("adverse-media".into(), rescreen::model::Credits(1));
        })
    };
    let mut world = in_doubt_in(media(), 2).await;
    world.paused().at_hours_minutes(45, 50).await;
    world.run().await.exits(ExitCode::Complete).charged(2);

    let mut world = in_doubt_in(media(), 2).await;
    world.paused().refuses_connections();
    let ran = world.run_for(Duration::from_secs(5)).await;
    let lines = ran.report().lines().join("\n");
    let (at, _) = ran.report().oldest_doubt_us.map(|at| (at + 46 * 3_600 * 1_000_000, ())).unwrap();
    assert!(lines.contains(&rescreen::model::clock::local_time(at)), "settled at no cost until then: {lines}");
    let pending = ran.lines(DatasetKind::Pending);
    assert!(pending.iter().any(|line| number(line, "deadline") == at), "the outputs say the same: {pending:?}");
    world.paused().works_again();
    world.paused().at_hours_minutes(46, 10).await;
    let posts = posts(&mut world);
    let ran = world.run().await.exits(ExitCode::Doubt).in_state(State::Quarantined, 2);
    assert_eq!(ran.posts(), posts, "the service has forgotten soon: it would be a second charge");
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_only_refused_and_is_forgotten_starts_a_new_life() {
    let mut world = World::new().rows(1).in_flight(1).under_paused_time();
    world.paused().turns_away(401);
    world.run().await.in_state(State::Planned, 1);
    world.paused().at_hours_minutes(96, 0).await;
    world.paused().loses_answers();
    world.run_for(Duration::from_secs(1)).await.in_state(State::InDoubt, 1);
    world.paused().works_again();
    let ran = world.run().await.exits(ExitCode::Complete).charged(1);
    assert_eq!(ran.stats.double_charges, 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_refused_and_may_still_be_known_keeps_its_age() {
    let mut world = World::new().rows(1).in_flight(1).under_paused_time();
    world.paused().turns_away(401);
    world.run().await.in_state(State::Planned, 1);
    world.paused().at_hours_minutes(71, 0).await;
    world.paused().loses_answers();
    world.run_for(Duration::from_secs(1)).await;
    world.paused().works_again();
    world.run().await.exits(ExitCode::Doubt).in_state(State::Quarantined, 1);
}
