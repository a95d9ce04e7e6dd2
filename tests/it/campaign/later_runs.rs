//! Changes between runs: another price, another API key, other checks, more requests in doubt than a page. None of them
//! charges twice, and a change that is not allowed is refused with what to do.

use crate::support::{
    ran::results,
    world::{SAID, World},
};
use rescreen::{
    model::{Credits, ExitCode, state::State},
    pipeline::campaign::file::{CheckTable, SecretSource},
    simulator::Stats,
    sink::OutputFormat,
};

/// A world in which one request is answered and the others are in doubt.
async fn in_doubt(mut world: World, rows: u64) -> World {
    world = world.rows(rows as usize).in_flight(rows as usize).under_paused_time();
    world.paused().turns_away_after(1, 500);
    let ran = world.run().await.exits(ExitCode::Doubt);
    assert_eq!(ran.report().sums.in_state(State::InDoubt), rows - 1);
    world.paused().works_again();
    world
}

#[tokio::test]
async fn content_that_is_mapped_and_content_that_is_a_default_make_one_request() {
    let text = "no,name,dataset\n1,Thandi Nkosi,\n2,Thandi Nkosi,all\n";
    let mut world = World::new().csv(text);
    world.run().await.exits(ExitCode::Complete).charged(1).counts(results(2));
}

#[tokio::test(start_paused = true)]
async fn more_requests_in_doubt_than_a_page_are_each_sent_once() {
    let mut world = in_doubt(World::new(), 150).await;
    world.running_service().simulator.set_faults("pending:1.0".parse().unwrap());
    let mut world = world.in_flight(4);
    let hundred = |stats: &Stats| stats.by_status.get(&202).is_some_and(|count| *count >= 100);
    let ran = world.run_until("100 pending answers", hundred).await;
    let ran = ran.exits(ExitCode::Interrupted);
    assert_eq!(ran.stats.conflicts, 0);
}

#[tokio::test(start_paused = true)]
async fn a_raised_price_applies_to_requests_in_doubt() {
    // Turned away before the service states a charge, so the rise of the price is not known yet.
    let mut world = World::new().rows(20).in_flight(20).under_paused_time().service(|settings| {
        settings.prices = [("aml-screening".to_owned(), 5)].into();
    });
    world.paused().turns_away(500);
    world.run().await.exits(ExitCode::Doubt);
    world.paused().works_again();
    let mut world = world.max_credits(100).campaign(|file| {
        file.budget.prices.insert("aml-screening".to_owned(), Credits(5));
    });
    world.run().await.exits(ExitCode::Complete).charged(100);
}

#[tokio::test(start_paused = true)]
async fn requests_in_doubt_of_another_api_key_stay_as_they_are_and_the_report_says_so() {
    let world = in_doubt(World::new(), 10).await;
    world.private("other-key", "sk-another-key-of-the-account\n");
    let mine = world.file.service.api_key.clone();
    let mut world = world.campaign(|file| file.service.api_key = Some(SecretSource::File("other-key".into())));
    let ran = world.run().await.exits(ExitCode::Doubt);
    let lines = ran.report().lines().join("\n");
    assert!(lines.contains("under another API key"), "{lines}");
    let mut world = world.campaign(|file| file.service.api_key = mine);
    world.run().await.exits(ExitCode::Complete).charged(10);
}

#[tokio::test]
async fn the_checks_and_the_format_of_a_campaign_are_those_of_its_first_run() {
    let fields = [("idNumber".to_owned(), "no".into())].into();
    let said = CheckTable {
        check: SAID.to_owned(),
        name: None,
        when: Some("false".to_owned()),
        fields,
        expect: Default::default(),
    };
    let mut world = World::new().rows(2).campaign(|file| file.checks.push(said));
    world.run().await.exits(ExitCode::Complete);
    let mut world = world.campaign(|file| {
        file.checks.pop();
    });
    let message = world.run().await.exits(ExitCode::Usage).error();
    assert!(message.contains("was started with the check `said-verification`"), "{message}");

    let mut world = World::new().rows(2);
    world.run().await.exits(ExitCode::Complete);
    let other = match world.file.output.format {
        Some(OutputFormat::Jsonl) => OutputFormat::Parquet,
        _ => OutputFormat::Jsonl,
    };
    let mut world = world.campaign(|file| file.output.format = Some(other));
    let message = world.run().await.exits(ExitCode::Usage).error();
    assert!(message.contains("format"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_absurd_retry_after_does_not_block_a_campaign_forever() {
    let mut world = World::new().rows(3).in_flight(1).fault("rate429@2:99999999").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Service);
    let until = ran.report().sums.paused_until_us.unwrap();
    let a_day_us = 24 * 3_600 * 1_000_000_i64;
    assert!(until <= world.paused().clock().now_us() + a_day_us, "{until}");
    world.run().await.exits(ExitCode::Service);
}

#[tokio::test]
async fn requests_in_doubt_are_settled_before_a_spent_budget_ends_the_run() {
    let mut world = World::new().rows(20).in_flight(1).max_credits(10).fault("drop_after@11");
    world.run().await.exits(ExitCode::Budget).charged(10).in_state(State::InDoubt, 0);
}
