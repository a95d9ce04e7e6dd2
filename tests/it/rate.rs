//! The promise: never above the service's rate, across restarts and campaigns too, and the allowed rate is used.

mod account;
mod real_time;

use crate::support::world::{World, people};
use account::Limits;
use rescreen::model::ExitCode;
use std::time::Duration;

/// The same two limits on both sides.
fn limited(Limits { per_minute, per_minute_max }: Limits) -> World {
    World::new()
        .campaign(|file| {
            (file.service.per_minute, file.service.per_minute_max) = (Some(per_minute), Some(per_minute_max))
        })
        .service(|settings| (settings.per_minute, settings.per_minute_max) = (per_minute, per_minute_max))
}

/// The time that this many messages take from the first to the last, without a burst.
fn steady(per_minute: u32, messages: u64) -> Duration {
    Duration::from_secs(60) * (messages as u32 - 1) / per_minute
}

#[tokio::test(start_paused = true)]
async fn at_6000_a_minute_the_schedule_is_used_fully_without_a_429() {
    // Starts with an empty bucket, so that a short run shows the sustained rate and not the burst.
    let mut world = limited(Limits { per_minute: 6_000, per_minute_max: 7_200 }).rows(1).under_paused_time();
    let first = world.run().await.exits(ExitCode::Complete).charged(1);
    world.append("book.csv", &people(2..=251));
    let ran = world.run().await.exits(ExitCode::Complete).charged(251);
    assert_eq!(ran.replies(429), 0);
    let armed: Vec<i64> = ran.attempts()[1..].iter().map(|attempt| attempt.armed_at_us).collect();
    let (ideal, seconds) = (2.49, (armed[249] - armed[0]) as f64 / 1e6);
    assert!((0.99..=1.0).contains(&(ideal / seconds)), "{ideal} s would be ideal, it took {seconds} s");
    // 250 requests, plus the balance before the first and after the last.
    assert_eq!(ran.stats.requests - first.stats.requests, 252);
}

/// A service in this process has no shared bucket: a run that continues a ledger starts with an empty one.
#[tokio::test(start_paused = true)]
async fn a_restart_without_a_shared_bucket_starts_without_a_burst() {
    let mut world = limited(Limits { per_minute: 600, per_minute_max: 650 }).rows(40).under_paused_time();
    let first = world.run().await.exits(ExitCode::Complete).charged(40);
    world.append("book.csv", &people(41..=55));
    let ran = world.run().await.exits(ExitCode::Complete).charged(55);
    assert_eq!(ran.replies(429), 0);
    let sent = ran.stats.requests - first.stats.requests;
    let least = steady(600, sent);
    assert!((least..least + Duration::from_millis(200)).contains(&ran.elapsed), "{sent} messages in {:?}", ran.elapsed);
}

#[tokio::test(start_paused = true)]
async fn repeats_and_balance_queries_count_against_the_rate() {
    let mut world = limited(Limits { per_minute: 1_200, per_minute_max: 1_240 }).rows(1).under_paused_time();
    let first = world.run().await.exits(ExitCode::Complete).charged(1);
    // The second run starts with an empty bucket, so every message takes its time.
    world.append("book.csv", &people(2..=60));
    let faults = "drop_after@2,error500@5,drop_before@9,error402@14";
    world.running_service().simulator.set_faults(faults.parse().unwrap());
    let ran = world.run().await.exits(ExitCode::Complete).charged(60);
    assert_eq!(ran.replies(429), 0);
    let sent = ran.stats.requests - first.stats.requests;
    // 59 rows, four repeats, and the balance at the start, for the refusal, and at the end.
    assert!(sent >= 65, "{sent}");
    // The first message is the balance. The refused row is repeated five seconds later, and then the balance is read
    // again. The others come at the steady rate and leave out no slot.
    let mut armed: Vec<i64> = ran.attempts()[1..].iter().map(|attempt| attempt.armed_at_us).collect();
    armed.pop();
    let took = Duration::from_micros((armed[armed.len() - 1] - armed[0]).unsigned_abs());
    assert_eq!(took, steady(1_200, sent - 3), "{sent} messages");
    assert!(armed.windows(2).all(|pair| pair[1] - pair[0] >= 50_000), "{armed:?}");
}

/// A bucket that processes share is a file, whose times are real.
mod timed {
    use super::*;
    use std::time::Instant;

    #[tokio::test]
    #[ignore = "timed: make gauntlet"]
    async fn a_new_ledger_of_an_unknown_account_starts_without_a_burst() {
        let mut world = limited(Limits { per_minute: 600, per_minute_max: 650 }).rows(30);
        let ran = world.run().await.exits(ExitCode::Complete).charged(30);
        assert_eq!(ran.replies(429), 0);
        // A slow machine takes longer, and no machine is faster than the schedule.
        let least = steady(600, ran.stats.requests);
        assert!(ran.elapsed >= least, "{} messages in {:?}", ran.stats.requests, ran.elapsed);
    }

    #[tokio::test]
    #[ignore = "timed: make gauntlet"]
    async fn a_second_ledger_of_the_same_account_shares_the_bucket() {
        let begun = Instant::now();
        let mut world = limited(Limits { per_minute: 1_200, per_minute_max: 1_300 }).rows(40);
        let first = world.run().await.exits(ExitCode::Complete).charged(40);
        let mut world = world.campaign(|file| {
            (file.campaign, file.output.dir) = (Some("2026-12".to_owned()), Some("next".into()));
        });
        let second = world.run().await.exits(ExitCode::Complete);
        assert!(second.stats.requests - first.stats.requests > 40);
        // Both together: while nothing is sent between them, the bucket fills, more so on a slow machine.
        let (sent, elapsed) = (second.stats.requests, begun.elapsed());
        assert!(elapsed >= steady(1_200, sent - 1), "{sent} messages in {elapsed:?}");
    }

    #[tokio::test]
    #[ignore = "timed: make gauntlet"]
    async fn a_restart_does_not_fill_the_bucket() {
        let begun = Instant::now();
        let mut world = limited(Limits { per_minute: 600, per_minute_max: 650 }).rows(40);
        world.run().await.exits(ExitCode::Complete).charged(40);
        world.append("book.csv", &people(41..=55));
        let ran = world.run().await.exits(ExitCode::Complete).charged(55);
        assert_eq!(ran.replies(429), 0);
        // A late message is caught up, so the last one may come a little before its slot.
        let (sent, elapsed) = (ran.stats.requests, begun.elapsed());
        assert!(elapsed >= steady(600, sent - 1), "{sent} messages in {elapsed:?}");
        assert!(ran.stats.max_in_any_minute <= 650);
    }
}
