//! Sandbox: nothing is charged, the balance is not read, repeats of one payload wait for the cooldown, and the reserved
//! inputs do what they are reserved for.

use crate::support::{
    ran::results,
    tables::text,
    world::{World, book},
};
use rescreen::model::ExitCode;
use std::time::Duration;

#[tokio::test]
async fn sandbox_costs_nothing_and_reads_no_balance() {
    let mut world = World::new().sandbox().rows(20).credits(0);
    let ran = world.run().await.exits(ExitCode::Complete).charged(0).counts(results(20)).adds_up(true);
    assert_eq!((ran.stats.distinct_keys, ran.stats.by_route.get("GET /my_credits")), (20, None));
}

#[tokio::test]
async fn sandbox_requires_neither_prices_nor_a_limit_nor_an_id() {
    let mut world = World::new().sandbox().rows(2).campaign(|file| {
        file.budget = Default::default();
        file.input.id = None;
        file.campaign = None;
    });
    let ran = world.run().await.exits(ExitCode::Complete);
    assert!(ran.results().iter().all(|line| line["subject"].is_null() && text(line, "campaign") == "book"));
}

#[tokio::test(start_paused = true)]
async fn a_repeated_payload_waits_out_the_cooldown_alone() {
    // The reply to the first row is lost. Its repeat falls within the two seconds of the cooldown.
    let mut world = World::new().sandbox().rows(30).in_flight(1).fault("drop_after@1").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(30));
    let first = ran.attempts().into_iter().filter(|attempt| attempt.request == 1).collect::<Vec<_>>();
    assert_eq!(first.last().unwrap().outcome, "answered");
    let waited = Duration::from_micros((first.last().unwrap().armed_at_us - first[0].armed_at_us) as u64);
    assert!(waited >= Duration::from_secs(2), "{waited:?}");
    let others = ran.attempts().into_iter().filter(|attempt| attempt.request > 1).map(|attempt| attempt.armed_at_us);
    let longest = others.max().unwrap() - first[0].armed_at_us;
    assert!(longest < 1_000_000, "no other request waits: {longest} us");
}

#[tokio::test]
async fn an_input_ending_in_90_has_no_finding() {
    let rows: String = (100..160).map(|n| format!("{n},Vexford {n}90,active\n")).collect();
    let mut world = World::new().sandbox().csv(&format!("no,name,status\n{rows}"));
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(60));
    assert!(ran.results().iter().all(|line| text(line, "verdict") == "clear"));
}

#[tokio::test(start_paused = true)]
async fn an_input_ending_in_91_fails_as_documented_and_the_others_continue() {
    let csv = book(1..=20) + "21,Vexford 4591,active\n";
    let mut world = World::new().sandbox().csv(&csv).under_paused_time();
    let ran = world.run_for(Duration::from_millis(1_500)).await.exits(ExitCode::Doubt).counts(results(20).pending(1));
    assert!(ran.replies(500) >= 1);
}

#[tokio::test(start_paused = true)]
async fn in_sandbox_running_out_of_attempts_is_a_failure() {
    let csv = book(1..=20) + "21,Vexford 4591,active\n";
    let mut world = World::new().sandbox().csv(&csv).under_paused_time();
    let ran = world.run().await.exits(ExitCode::Failures).counts(results(20).failures(1)).adds_up(true);
    assert_eq!(ran.failure_codes(), [("attempts_over".into(), 1)].into());
}
