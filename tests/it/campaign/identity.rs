//! A ledger belongs to one campaign, mode, service and key scheme. Anything else is refused before it is read or sent,
//! because a key made under another identity is another charge.

use crate::support::{
    tables::text,
    world::{SAID, World},
};
use rescreen::{
    model::{ExitCode, Mode},
    pipeline::campaign::file::{CheckTable, SecretSource},
};

/// Runs two rows, changes the campaign, and runs again into the same folder.
async fn refused_after(change: impl FnOnce(&mut World)) -> String {
    let mut world = World::new().rows(2);
    world.private("secret", "one secret\n");
    world.private("other-secret", "another secret\n");
    world.run().await.exits(ExitCode::Complete).charged(2);
    let before = world.running_service().simulator.stats();
    change(&mut world);
    let again = world.run().await.exits(ExitCode::Usage);
    assert_eq!(again.stats, before, "nothing was sent");
    again.error()
}

#[tokio::test]
async fn a_ledger_of_another_campaign_is_refused() {
    let message = refused_after(|world| world.file.campaign = Some("2026-12".into())).await;
    insta::assert_snapshot!(message, @r#"
    this ledger belongs to campaign `2026-11`, but this run uses `2026-12`; use the recorded value, or start a new campaign with `--campaign NAME`
    "#);
}

#[tokio::test]
async fn a_ledger_of_another_mode_is_refused() {
    let message = refused_after(|world| world.file.mode = Some(Mode::Sandbox)).await;
    assert!(message.contains("mode `production`") && message.contains("`sandbox`"), "{message}");
}

#[tokio::test]
async fn a_ledger_of_another_service_is_refused() {
    let message = refused_after(|world| world.file.service.url = Some("http://127.0.0.1:9".into())).await;
    assert!(message.contains("service") && message.contains("127.0.0.1:9"), "{message}");
}

#[tokio::test]
async fn a_ledger_made_with_another_key_secret_or_none_is_refused_and_no_secret_is_printed() {
    let secret = |name: &str| Some(SecretSource::File(name.into()));
    let message = refused_after(|world| world.file.keys.secret = secret("secret")).await;
    assert!(message.contains("key secret") && !message.contains("one secret"), "{message}");

    let mut world = World::new().rows(2).campaign(|file| file.keys.secret = secret("secret"));
    world.private("secret", "one secret\n");
    world.private("other-secret", "another secret\n");
    let first = world.run().await.exits(ExitCode::Complete).charged(2);
    let mut world = world.campaign(|file| file.keys.secret = secret("other-secret"));
    let message = world.run().await.exits(ExitCode::Usage).error();
    assert!(!message.contains("another secret"), "{message}");
    let key = |ran: &crate::support::ran::Ran| text(ran.result_of(1), "idempotency_key").to_owned();
    let bare = World::new().rows(2).run().await;
    assert_ne!(key(&first), key(&bare), "the secret is in the key");
}

#[tokio::test(start_paused = true)]
async fn the_same_campaign_and_content_give_the_same_keys_without_the_ledger() {
    let mut world = World::new().rows(5).under_paused_time();
    world.run().await.exits(ExitCode::Complete).charged(5);
    std::fs::remove_dir_all(world.path("out")).unwrap();
    let again = world.run().await.exits(ExitCode::Complete);
    assert_eq!((again.stats.charges, again.stats.double_charges, again.stats.replays), (5, 0, 5));
}

#[tokio::test]
async fn a_second_run_on_a_ledger_in_use_is_refused_at_once() {
    let mut world = World::new().rows(2);
    world.run().await.exits(ExitCode::Complete);
    let held = rescreen::pipeline::Campaign::new(world.file.clone(), &world.path("")).unwrap();
    let held = rescreen::pipeline::Prepared::open(held).await.unwrap();
    let message = world.run().await.exits(ExitCode::Usage).error();
    assert!(message.contains("in use"), "{message}");
    drop(held);
    world.run().await.exits(ExitCode::Complete);
}

#[tokio::test]
async fn a_check_that_is_added_too_late_is_refused_and_the_campaign_stays_complete() {
    let late = CheckTable::of(SAID);
    let mut world = World::new().csv("no,name,id_number\n1,P00001 Vexford,8001015009087\n");
    world.run().await.exits(ExitCode::Complete).charged(1);
    world.append("book.csv", "2,P00002 Vexford,9111060123086\n");
    let mut world = world.campaign(|file| file.checks.push(late));
    let again = world.run().await.exits(ExitCode::Usage);
    assert!(again.error().contains("started without the check `said-verification`"), "{}", again.error());
    assert_eq!(again.stats.charges, 1, "nothing was sent");
    let mut world = world.campaign(|file| drop(file.checks.pop()));
    world.run().await.exits(ExitCode::Complete).charged(2).adds_up(true);
}
