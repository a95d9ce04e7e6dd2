//! Neither one check nor a few rows may use up the rate of the others. If the service limits one check, only that check
//! waits. Rows that the service always fails are repeated beside the others.

use crate::support::{
    ran::{Ran, results},
    world::World,
};
use axum::{body::Body, http::Response};
use rescreen::model::{Credits, ExitCode, SIMULATOR_MARKER, Stop, state::State};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

fn refusal(status: u16, retry_after: Option<&str>) -> Response<Body> {
    let reply = Response::builder().status(status).header(SIMULATOR_MARKER, "1");
    let reply = retry_after.into_iter().fold(reply, |reply, wait| reply.header("retry-after", wait));
    reply.body(Body::from(r#"{"error":{"code":"REFUSED","message":"not now"}}"#)).unwrap()
}

/// How often something was refused because of the rate.
fn limited(ran: &Ran) -> usize {
    ran.attempts().iter().filter(|attempt| attempt.outcome == "rate_limited").count()
}

/// Two checks of each of these rows at the usual rate.
fn two_checks(rows: usize) -> World {
    let world = World::new().rows(rows).under_paused_time().campaign(|file| {
        let mut media = file.checks[0].clone();
        media.check = "adverse-media".to_owned();
        media.fields.remove("country");
        file.checks.push(media);
        file.budget.prices.insert("adverse-media".to_owned(), Credits(1));
    });
    world.campaign(|file| (file.service.per_minute, file.service.per_minute_max) = (Some(600), Some(1_200)))
}

/// The answers of a check after a run of a minute in which the service limits the other one.
async fn answered_beside_a_limited_check(retry_after: Option<&'static str>) -> (World, Ran) {
    let mut world = two_checks(150);
    world.paused().stands_between(move |path, _| path.ends_with("/adverse-media").then(|| refusal(429, retry_after)));
    let ran = world.run_for(Duration::from_secs(60)).await;
    (world, ran)
}

#[tokio::test(start_paused = true)]
async fn a_check_with_a_limit_of_its_own_does_not_take_the_rate_of_another() {
    for retry_after in [None, Some("2"), Some("20"), Some("3600")] {
        let (mut world, ran) = answered_beside_a_limited_check(retry_after).await;
        assert_eq!(ran.results_of("aml-screening").len(), 150, "Retry-After {retry_after:?}");
        // It is asked again from time to time, and not more often than it says.
        let asked = limited(&ran);
        assert!((2..=20).contains(&asked) || retry_after == Some("3600"), "Retry-After {retry_after:?}: {asked}");
        let ran = ran.in_state(State::Failed, 0).in_state(State::InDoubt, 0);
        assert_eq!(
            ran.report().exit_code == ExitCode::Service,
            retry_after == Some("3600"),
            "{:?}",
            ran.report().sent.stops
        );
        world.paused().works_again();
        tokio::time::sleep(Duration::from_secs(3_700)).await;
        world.run().await.exits(ExitCode::Complete).charged(300).counts(results(300));
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_whose_limit_ends_comes_back_in_the_same_run() {
    let mut world = two_checks(60);
    let refused = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&refused);
    world.paused().stands_between(move |path, _| {
        let is_limited = path.ends_with("/adverse-media") && counter.fetch_add(1, Ordering::Relaxed) < 6;
        is_limited.then(|| refusal(429, Some("1")))
    });
    world.run().await.exits(ExitCode::Complete).charged(120).counts(results(120));
    assert!(refused.load(Ordering::Relaxed) > 6);
}

#[tokio::test(start_paused = true)]
async fn answers_that_were_on_the_way_do_not_end_the_pause_of_their_check() {
    let mut world = two_checks(60).service(|settings| settings.latency = Duration::from_secs(3));
    let (early, refusals) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let counted = (Arc::clone(&early), Arc::clone(&refusals));
    let refused: Mutex<Vec<Instant>> = Mutex::default();
    let sent = AtomicU32::new(0);
    world.paused().stands_between(move |path, _| {
        if !path.ends_with("/adverse-media") {
            return None;
        }
        let (now, mut refused) = (Instant::now(), refused.lock().unwrap());
        let is_early = |at: &Instant| now > *at && now < *at + Duration::from_secs(29);
        counted.0.fetch_add(refused.iter().any(is_early).into(), Ordering::Relaxed);
        // Two in a row, so that the second one shows whose limit it is.
        let turn = sent.fetch_add(1, Ordering::Relaxed) % 8;
        (turn >= 6).then(|| {
            refused.push(now);
            counted.1.fetch_add(1, Ordering::Relaxed);
            refusal(429, Some("30"))
        })
    });
    world.run().await.exits(ExitCode::Complete).charged(120).counts(results(120));
    assert!(refusals.load(Ordering::Relaxed) > 3);
    assert_eq!(early.load(Ordering::Relaxed), 0, "sent before the time that the service stated");
}

#[tokio::test(start_paused = true)]
async fn a_later_run_keeps_the_pause_of_a_check_whose_other_answers_came_after_the_refusal() {
    let mut world = two_checks(20).in_flight(8).service(|settings| settings.latency = Duration::from_secs(3));
    let sent = AtomicU32::new(0);
    world.paused().stands_between(move |path, _| {
        let is_third = path.ends_with("/adverse-media") && sent.fetch_add(1, Ordering::Relaxed) == 2;
        is_third.then(|| refusal(429, Some("2000")))
    });
    let ran = world.run().await.exits(ExitCode::Service);
    let answered = ran.results_of("adverse-media").len();
    assert!(answered > 0);
    let ran = world.run().await.exits(ExitCode::Service);
    assert_eq!(ran.results_of("adverse-media").len(), answered, "sent before the time that the service stated");
    tokio::time::sleep(Duration::from_secs(2_000)).await;
    world.run().await.exits(ExitCode::Complete).charged(40);
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_all_checks_pauses_all() {
    let mut world = two_checks(20);
    world.paused().stands_between(|path, _| (!path.contains("credits")).then(|| refusal(429, Some("20"))));
    let ran = world.run_for(Duration::from_secs(60)).await;
    assert!(limited(&ran) < 40, "{}", limited(&ran));
    assert!(ran.report().sums.paused_until_us.is_some());
    world.paused().works_again();
    world.run().await.exits(ExitCode::Complete).charged(40);
}

#[tokio::test(start_paused = true)]
async fn more_rows_of_a_limited_check_than_can_wait_are_left_for_a_later_run() {
    let mut world = two_checks(1_200)
        .campaign(|file| (file.service.per_minute, file.service.per_minute_max) = (Some(60_000), Some(90_000)));
    world.paused().stands_between(|path, _| path.ends_with("/adverse-media").then(|| refusal(429, Some("30"))));
    let ran = world.run().await.exits(ExitCode::Service);
    assert_eq!(ran.results_of("aml-screening").len(), 1_200);
    let ran = ran.stops_with(|stop| matches!(stop, Stop::CheckPaused { check, .. } if check == "adverse-media"));
    assert_eq!(ran.failures().len(), 0);
    world.paused().works_again();
    tokio::time::sleep(Duration::from_secs(60)).await;
    world.run().await.exits(ExitCode::Complete).charged(2_400).counts(results(2_400));
}

#[tokio::test(start_paused = true)]
async fn rows_that_fail_for_ever_leave_most_of_the_time_to_the_others() {
    let mut world = World::new().rows(300).under_paused_time().service(|settings| {
        settings.latency = Duration::from_millis(50);
    });
    world = world.campaign(|file| (file.service.per_minute, file.service.per_minute_max) = (Some(600), Some(600)));
    world.paused().stands_between(|_, sent| {
        let row: u32 = sent.split("\"P").nth(1)?.get(..5)?.parse().ok()?;
        (row % 20 < 3).then(|| refusal(500, None))
    });
    world.run_for(Duration::from_secs(20)).await;
    let ran = world.run_for(Duration::from_secs(20)).await;
    let answered = ran.results().len();
    assert!(answered >= 250, "{answered} of 255 are answered");
}

#[tokio::test(start_paused = true)]
async fn a_check_with_a_limit_of_its_own_fails_no_row_and_ends_the_run() {
    for retry_after in [None, Some("20"), Some("3600")] {
        let mut world = two_checks(3).in_flight(1);
        let counter = AtomicU32::new(0);
        world.paused().stands_between(move |path, _| {
            // One row of the limited check is answered, and then none.
            let is_limited = path.ends_with("/adverse-media") && counter.fetch_add(1, Ordering::Relaxed) > 0;
            is_limited.then(|| refusal(429, retry_after))
        });
        for _ in 0..4 {
            let ran = world.run().await.exits(ExitCode::Service).in_state(State::Failed, 0);
            assert_eq!(ran.results_of("aml-screening").len(), 3, "Retry-After {retry_after:?}");
            tokio::time::sleep(Duration::from_secs(3_700)).await;
        }
        world.paused().works_again();
        world.run().await.exits(ExitCode::Complete).charged(6).counts(results(6));
    }
}
