//! The version of the service's list may move while a campaign runs: the ledger counts the answers of each version, and
//! `status` says so.

use crate::support::{
    program::{Said, rescreen},
    tables::text,
    world::{World, people},
};
use rescreen::model::ExitCode;

#[tokio::test(start_paused = true)]
async fn status_shows_that_the_list_moved_during_the_campaign() {
    let mut world = World::new().rows(3).under_paused_time();
    world.run().await.exits(ExitCode::Complete);
    let status = |world: &World| Said::of(&mut rescreen(&world.path("."), &["status", "out"])).exits(0).stdout;
    let before = status(&world);
    assert!(!before.contains("2026.11.02"), "{before}");

    world.paused().at_hours_minutes(30, 0).await;
    world.append("book.csv", &people(4..=5));
    let ran = world.run().await.exits(ExitCode::Complete);
    let versions: Vec<&str> = ran.results().iter().map(|line| text(line, "dataset_version")).collect();
    assert_eq!(versions.iter().filter(|version| **version == "2026.11.03").count(), 2, "{versions:?}");
    let after = status(&world);
    assert!(
        after.contains("the list of aml-screening changed during this campaign: 2026.11.02 (3 answers from "),
        "{after}"
    );
    assert!(after.contains(", then 2026.11.03 (2 answers from "), "{after}");
}
