//! Jobs are followed until they end: by a run while it sends, and by `collect` afterwards. Hours pass under paused time.

use super::{BUSINESS, world};
use crate::support::{
    ran::{Ran, results},
    tables::text,
    world::World,
};
use rescreen::{
    model::{ExitCode, state::State},
    simulator::ChargeStated,
    sink::DatasetKind,
};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// A campaign whose jobs take this long.
fn takes(rows: usize, job_time: Duration) -> World {
    world(BUSINESS, rows, 7).under_paused_time().service(|settings| settings.job_time = Some(job_time))
}

/// How often the service was asked for a job.
fn asked(ran: &Ran) -> u64 {
    ran.stats.by_route.iter().filter(|(route, _)| route.contains("/jobs/")).map(|(_, count)| count).sum()
}

/// Every row has a result or a failure, and what the ledger booked is what the service charged.
fn is_complete(ran: &Ran, rows: usize) {
    let sums = &ran.report().sums;
    assert_eq!(sums.account.charged.0, ran.stats.credits_charged);
    assert_eq!((sums.account.held.0, ran.stats.double_charges), (0, 0));
    assert_eq!(sums.in_state(State::Answered) + sums.in_state(State::Failed), rows as u64);
    assert!(ran.manifest().complete && ran.lines(DatasetKind::Pending).is_empty());
    assert_eq!(ran.results().len() + ran.failures().len(), rows);
}

#[tokio::test(start_paused = true)]
async fn collect_reads_the_results_and_a_finished_campaign_is_complete() {
    let mut world = takes(30, MINUTE * 20);
    let ran = world.run().await.exits(ExitCode::Jobs).counts(results(0).pending(30));
    assert_eq!(asked(&ran), 0, "no job is due yet");
    world.paused().at_hours_minutes(1, 0).await;
    let ran = world.collect(None).await;
    is_complete(&ran, 30);
    assert_eq!(asked(&ran), 30, "each once");
    assert!(matches!(ran.report().exit_code, ExitCode::Complete | ExitCode::Failures), "{:?}", ran.report().exit_code);
    let line = &ran.results()[0];
    assert_eq!((text(line, "verdict").is_empty(), line["credits"].as_i64()), (false, Some(7)));
    let again = world.collect(None).await;
    assert_eq!(asked(&again), 30, "nothing is left to ask");
    assert_eq!(world.run().await.stats.checks(), 30, "nothing is sent again");
}

#[tokio::test(start_paused = true)]
async fn a_job_without_a_result_is_asked_for_less_and_less_often() {
    let mut world = takes(1, HOUR * 40);
    world.run().await.exits(ExitCode::Jobs);
    let ran = world.collect(Some(HOUR * 24)).await.exits(ExitCode::Jobs).counts(results(0).pending(1));
    assert!((12..30).contains(&asked(&ran)), "{} questions in a day", asked(&ran));
    let lines = ran.report().lines().join("\n");
    assert!(lines.contains("1 request is in progress at the service as a job, the oldest since"), "{lines}");
    let ran = world.collect(Some(HOUR * 24)).await;
    is_complete(&ran, 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_the_service_gives_up_after_48_hours_is_a_failure_that_cost_nothing() {
    let mut world = takes(2, HOUR * 49);
    world.run().await.exits(ExitCode::Jobs);
    let ran = world.collect(Some(HOUR * 60)).await.exits(ExitCode::Failures).counts(results(0).failures(2));
    is_complete(&ran, 2);
    assert_eq!(ran.stats.credits_charged, 0);
    let failure = &ran.failures()[0];
    assert_eq!((text(failure, "code"), failure["possibly_charged"].as_bool()), ("job_failed", Some(false)));
    assert!(text(failure, "message").contains("verification_timed_out"), "{failure:?}");
    // It is proven uncharged, so it may be tried again.
    let ran = world.retry().await.exits(ExitCode::Jobs);
    assert_eq!(ran.report().sums.in_state(State::Submitted), 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_asks_for_due_jobs_once_and_does_not_wait_for_the_others() {
    let mut world = takes(6, MINUTE * 30);
    world.run().await.exits(ExitCode::Jobs);
    world.paused().at_hours_minutes(0, 10).await;
    let ran = world.run().await.exits(ExitCode::Jobs);
    assert_eq!(asked(&ran), 6);
    let ran = world.run().await.exits(ExitCode::Jobs);
    assert_eq!(asked(&ran), 6, "none is due again");
    world.paused().at_hours_minutes(1, 0).await;
    is_complete(&world.run().await, 6);
}

#[tokio::test(start_paused = true)]
async fn while_requests_wait_jobs_get_at_most_a_quarter_of_the_rate() {
    let mut world = takes(600, MINUTE).campaign(|file| {
        (file.service.per_minute, file.service.per_minute_max) = (Some(60), Some(120));
    });
    let ran = world.run_for(MINUTE * 8).await.exits(ExitCode::TimeIsUp);
    let (asked, posts) = (asked(&ran), ran.posts());
    assert!((350..500).contains(&posts), "{posts} requests in 8 minutes");
    assert!((60..=posts / 3 + 1).contains(&asked), "{asked} questions beside {posts} requests");
    assert!(!ran.results().is_empty(), "results are published before the last request is sent");
    world.run().await.exits(ExitCode::Jobs);
    is_complete(&world.collect(Some(HOUR)).await, 600);
}

#[tokio::test(start_paused = true)]
async fn a_spent_budget_does_not_keep_jobs_from_ending() {
    let mut world = takes(6, MINUTE).max_credits(21);
    let ran = world.run().await.exits(ExitCode::Budget).in_state(State::Submitted, 3);
    assert_eq!(ran.posts(), 3);
    world.paused().at_hours_minutes(0, 10).await;
    let ran = world.run().await;
    assert_eq!((ran.posts(), ran.report().sums.in_state(State::Submitted)), (3, 0));
    let mut world = world.max_credits(42);
    let ran = world.run().await.exits(ExitCode::Jobs);
    assert_eq!(ran.posts(), 6);
    world.paused().at_hours_minutes(1, 0).await;
    is_complete(&world.collect(None).await, 6);
}

#[tokio::test(start_paused = true)]
async fn collect_whose_time_is_up_says_that_jobs_are_left_also_after_a_result() {
    let mut world = takes(2, MINUTE * 20).service(|settings| settings.charge_stated = Some(ChargeStated::Nothing));
    world.run().await.exits(ExitCode::Jobs);
    let left = std::sync::Mutex::new(None::<String>);
    world.paused().says_about_jobs(move |path, said| {
        let mut left = left.lock().unwrap();
        let open = serde_json::json!({"jobId": said["jobId"], "status": "pending"}).to_string();
        (left.get_or_insert_with(|| path.to_owned()) == path).then_some((200, open))
    });
    world.paused().at_hours_minutes(1, 0).await;
    let ran = world.collect(Some(MINUTE * 5)).await.exits(ExitCode::Jobs).in_state(State::Submitted, 1);
    assert_eq!(ran.results().len() + ran.failures().len(), 1, "one had a result");
}

#[tokio::test(start_paused = true)]
async fn collect_with_a_time_ends_when_the_last_job_has_ended() {
    let mut world = takes(3, MINUTE * 20);
    world.run().await.exits(ExitCode::Jobs);
    let before = tokio::time::Instant::now();
    let ran = world.collect(Some(HOUR * 10)).await;
    is_complete(&ran, 3);
    assert!(before.elapsed() < HOUR, "{:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn jobs_of_another_api_key_are_left_alone_and_named() {
    let mut world = takes(2, MINUTE);
    world.run().await.exits(ExitCode::Jobs);
    world.private("api-key", "another-key-0123456789");
    world.paused().at_hours_minutes(1, 0).await;
    let ran = world.run().await.exits(ExitCode::Doubt);
    assert_eq!(asked(&ran), 0);
    let lines = ran.report().lines().join("\n");
    assert!(lines.contains("2 jobs were accepted under another API key"), "{lines}");
}
