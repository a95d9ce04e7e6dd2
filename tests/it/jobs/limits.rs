//! `per_hour` and `in_flight` of a single check.

use crate::support::world::{AML, World};
use rescreen::{
    model::{ExitCode, state::State},
    pipeline::campaign::check_settings::CheckSettings,
};
use std::time::Duration;

fn with(settings: CheckSettings, rows: usize) -> World {
    World::new().rows(rows).under_paused_time().campaign(|file| {
        file.service.checks.insert(AML.to_owned(), settings);
    })
}

/// The same, with a second check that has no limit.
fn beside_media(settings: CheckSettings, rows: usize) -> World {
    with(settings, rows).campaign(|file| {
        let mut media = file.checks[0].clone();
        media.check = "adverse-media".to_owned();
        media.fields.remove("country");
        file.checks.push(media);
        file.budget.prices.insert("adverse-media".to_owned(), rescreen::model::Credits(1));
    })
}

#[tokio::test(start_paused = true)]
async fn no_more_than_the_limit_is_sent_in_an_hour_and_the_next_run_remembers() {
    let limited = CheckSettings { per_hour: Some(3), ..CheckSettings::default() };
    let mut world = with(limited, 8);
    let first = world.run_for(Duration::from_millis(1_500)).await.in_state(State::Answered, 3);
    assert_eq!(first.posts(), 3);
    let second = world.run_for(Duration::from_millis(500)).await.in_state(State::Answered, 3);
    assert_eq!(second.posts(), 3, "the hour is not over");
    let mut world = world.campaign(|file| file.service.checks.clear());
    world.run().await.exits(ExitCode::Complete).charged(8);
}

#[tokio::test(start_paused = true)]
async fn a_check_at_its_limit_does_not_hold_back_another_check() {
    let limited = CheckSettings { per_hour: Some(1), ..CheckSettings::default() };
    let mut world = beside_media(limited, 4);
    let ran = world.run_for(Duration::from_secs(3)).await;
    assert_eq!(ran.stats.by_route.get("POST /adverse-media"), Some(&4));
    assert_eq!(ran.stats.by_route.get("POST /aml-screening"), Some(&1));
}

#[tokio::test(start_paused = true)]
async fn however_many_rows_wait_for_their_limit_the_other_check_goes_on() {
    let limited = CheckSettings { per_hour: Some(10), ..CheckSettings::default() };
    let mut world = beside_media(limited, 1_500);
    let ran = world.run_for(Duration::from_secs(1_800)).await;
    assert_eq!(ran.stats.by_route.get("POST /adverse-media"), Some(&1_500));
    assert_eq!(ran.stats.by_route.get("POST /aml-screening"), Some(&10));
    let mut world = world.campaign(|file| file.service.checks.clear());
    world.run().await.exits(ExitCode::Complete).charged(3_000);
}

#[tokio::test(start_paused = true)]
async fn rows_that_wait_for_their_limit_are_all_sent_in_their_time() {
    let limited = CheckSettings { per_hour: Some(400), ..CheckSettings::default() };
    let mut world = with(limited, 1_500);
    let ran = world.run().await.exits(ExitCode::Complete).charged(1_500);
    assert!(ran.elapsed >= Duration::from_secs(3 * 3_600), "{:?}", ran.elapsed);
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_one_in_flight_is_kept() {
    let limited = CheckSettings { in_flight: Some(1), ..CheckSettings::default() };
    let mut world = with(limited, 4).service(|settings| settings.latency = Duration::from_millis(100));
    let ran = world.run().await.exits(ExitCode::Complete).charged(4);
    assert!(ran.elapsed >= Duration::from_millis(400), "{:?}", ran.elapsed);
}
