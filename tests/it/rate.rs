//! The promise: never above the service's rate, across restarts and campaigns too, and the allowed rate is used.

mod account;
mod real_time;

use crate::support::world::{World, people};
use account::Limits;
use rescreen::model::ExitCode;

/// The same two limits on both sides.
fn limited(Limits { per_minute, per_minute_max }: Limits) -> World {
    World::new()
        .campaign(|file| (file.service.per_minute, file.service.per_minute_max) = (per_minute, per_minute_max))
        .service(|settings| (settings.per_minute, settings.per_minute_max) = (per_minute, per_minute_max))
}

#[tokio::test]
async fn at_6000_a_minute_the_schedule_is_used_fully_without_a_429() {
    // Starts with an empty bucket, so that a short run shows the sustained rate and not the burst.
    let mut world = limited(Limits { per_minute: 6_000, per_minute_max: 7_200 }).rows(1);
    let first = world.run().await.exits(ExitCode::Complete).charged(1);
    world.append("book.csv", &people(2..=251));
    let ran = world.run().await.exits(ExitCode::Complete).charged(251);
    assert_eq!(ran.replies(429), 0);
    let armed: Vec<i64> = ran.attempts()[1..].iter().map(|attempt| attempt.armed_at_us).collect();
    let (ideal, seconds) = (2.49, (armed[249] - armed[0]) as f64 / 1e6);
    // On a busy machine the bucket fills while nothing is sent, so the run may be faster; the service's 429s decide
    // that. Whether the whole schedule is used is measured by `make rate`. This test only catches a run that is idle.
    assert!(ideal / seconds >= 0.4, "{ideal} s would be ideal, it took {seconds} s");
    // 250 requests, plus the balance before the first and after the last.
    assert_eq!(ran.stats.requests - first.stats.requests, 252);
}

#[tokio::test]
async fn a_new_ledger_of_an_unknown_account_starts_without_a_burst() {
    let mut world = limited(Limits { per_minute: 600, per_minute_max: 650 }).rows(30);
    let ran = world.run().await.exits(ExitCode::Complete).charged(30);
    assert_eq!(ran.replies(429), 0);
    let least = std::time::Duration::from_millis(100 * (ran.stats.requests - 1));
    assert!(ran.elapsed >= least, "{} messages in {:?}", ran.stats.requests, ran.elapsed);
}

#[tokio::test]
async fn a_second_ledger_of_the_same_account_shares_the_bucket() {
    let mut world = limited(Limits { per_minute: 1_200, per_minute_max: 1_300 }).rows(40);
    let first = world.run().await.exits(ExitCode::Complete).charged(40);
    let mut world = world.campaign(|file| {
        (file.campaign, file.output.dir) = (Some("2026-12".to_owned()), Some("next".into()));
    });
    let second = world.run().await.exits(ExitCode::Complete);
    let sent = second.stats.requests - first.stats.requests;
    let least = std::time::Duration::from_millis(50 * (sent - 4));
    assert!(sent > 40 && second.elapsed >= least, "{sent} messages in {:?}", second.elapsed);
}

#[tokio::test]
async fn a_restart_does_not_fill_the_bucket() {
    let mut world = limited(Limits { per_minute: 600, per_minute_max: 650 }).rows(40);
    let first = world.run().await.exits(ExitCode::Complete).charged(40);
    world.append("book.csv", &people(41..=55));
    let ran = world.run().await.exits(ExitCode::Complete).charged(55);
    assert_eq!(ran.replies(429), 0);
    let sent = ran.stats.requests - first.stats.requests;
    // A late message is caught up, so the last one may come a little before its slot.
    let least = std::time::Duration::from_millis(100 * (sent - 2));
    assert!(ran.elapsed >= least, "{sent} messages in {:?}", ran.elapsed);
    assert!(ran.stats.max_in_any_minute <= 650);
}

#[tokio::test]
async fn repeats_and_balance_queries_count_against_the_rate() {
    let mut world = limited(Limits { per_minute: 1_200, per_minute_max: 1_240 })
        .rows(60)
        .fault("drop_after@2,error500@5,drop_before@9,error402@14");
    let ran = world.run().await.exits(ExitCode::Complete).charged(60);
    assert_eq!(ran.replies(429), 0);
    assert!(ran.stats.requests >= 65, "{}", ran.stats.requests);
}
