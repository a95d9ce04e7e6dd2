//! What a person decides about quarantined requests: the money it moves, the key it makes, and that who, when and why
//! are recorded.

use super::{in_doubt, in_doubt_in, quarantined};
use crate::support::{
    program::{Said, rescreen},
    ran::results,
    tables::text,
    world::World,
};
use rescreen::{
    Error,
    ledger::{CommitMode, Decision},
    model::{Clock, ExitCode, KeySecret, RequestId, state::State},
    pipeline::{self, Resolution, campaign::file::SecretSource},
};
use rusqlite::Connection;

/// Request, decision, reason, who, when.
type Decided = (i64, String, String, String, i64);

fn decisions(world: &World) -> Vec<Decided> {
    let ledger = Connection::open(world.path("out/ledger.sqlite")).unwrap();
    let sql = "SELECT request, decision, reason, decided_by, decided_at FROM decision ORDER BY id";
    let mut select = ledger.prepare(sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
    select.query_map([], row).unwrap().map(Result::unwrap).collect()
}

/// Key (of a later generation, else empty), generation, hold and charge of each request.
fn requests(world: &World) -> Vec<(Vec<u8>, u32, i64, i64)> {
    let ledger = Connection::open(world.path("out/ledger.sqlite")).unwrap();
    let sql = "SELECT coalesce(key, x''), generation, held, charged FROM request ORDER BY id";
    let mut select = ledger.prepare(sql).unwrap();
    let found = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    found.unwrap().map(Result::unwrap).collect()
}

async fn decide(world: &World, only: &[i64], decision: Decision, reason: &str) -> Result<u64, Error> {
    decide_with(world, only, decision, reason, None).await
}

async fn decide_with(
    world: &World,
    only: &[i64],
    decision: Decision,
    reason: &str,
    secret: Option<&KeySecret>,
) -> Result<u64, Error> {
    let only: Vec<RequestId> = only.iter().copied().map(RequestId).collect();
    let (clock, commit_mode) = (Clock::System, CommitMode::Background);
    let resolution =
        Resolution { decision, reason, decided_by: "Nomsa", include_in_doubt: false, secret, clock, commit_mode };
    pipeline::decide(&world.path("out"), &only, &resolution).await.map(|moved| moved.len() as u64)
}

#[tokio::test(start_paused = true)]
async fn quarantined_requests_are_listed_with_their_rows_and_holds() {
    let (world, _) = quarantined(3).await;
    let waiting = pipeline::quarantined(&world.path("out")).unwrap();
    assert_eq!(waiting.len(), 3);
    for (at, one) in waiting.iter().enumerate() {
        assert_eq!((one.held.0, one.generation, one.check.as_str()), (1, 0, "aml-screening"));
        let rows: Vec<(&str, u64)> = one.rows.iter().map(|row| (row.source.as_str(), row.row_number)).collect();
        assert_eq!(rows, [("book.csv", at as u64 + 1)]);
        assert!(one.attempts >= 1 && one.first_armed_at_us.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_off_makes_the_ask_a_failure_and_the_hold_a_charge() {
    let (mut world, ran) = quarantined(2).await;
    let command = ran.report().decision_command().expect("no other run can help");
    assert_eq!((&command[..2], command[3].as_str()), (&["rescreen".to_owned(), "resolve".to_owned()][..], "--list"));
    let posts = ran.posts();
    let before = jiff::Timestamp::now().as_microsecond();
    assert_eq!(decide(&world, &[], Decision::WriteOff, " the desk confirmed ").await.unwrap(), 2);
    let ran = world.run().await.exits(ExitCode::Failures).counts(results(0).failures(2)).adds_up(true);
    assert_eq!((ran.posts(), ran.stats.charges), (posts, 2), "nothing is sent");
    let account = ran.report().sums.account;
    assert_eq!((account.held.0, account.charged.0), (0, 2));
    for line in ran.failures() {
        assert_eq!(text(line, "code"), "written_off");
    }
    let decided = decisions(&world);
    assert_eq!(decided.len(), 2);
    for (_, decision, reason, who, when) in decided {
        assert_eq!([decision, reason, who], ["write_off", "the desk confirmed", "Nomsa"]);
        assert!(when >= before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_written_off_request_is_never_retried() {
    let (mut world, ran) = quarantined(1).await;
    decide(&world, &[], Decision::WriteOff, "why").await.unwrap();
    let posts = ran.posts();
    for _ in 0..2 {
        assert_eq!(world.retry().await.exits(ExitCode::Failures).counts(results(0).failures(1)).posts(), posts);
    }
}

#[tokio::test(start_paused = true)]
async fn sending_again_makes_a_new_generation_a_new_key_and_a_new_charge() {
    let (mut world, _) = quarantined(1).await;
    decide(&world, &[], Decision::SendAgain, "the answer is needed").await.unwrap();
    let [(key, generation, held, charged)] = &requests(&world)[..] else { panic!("one request") };
    assert_eq!((key.len(), *generation, *held, *charged), (16, 1, 0, 1), "the old hold is a charge");
    let keys = world.running_service().simulator.stats().distinct_keys;
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(1)).adds_up(true);
    assert_eq!(ran.stats.distinct_keys, keys + 1);
    assert_eq!((ran.stats.charges, ran.report().sums.account.charged.0), (2, 2), "both charges are counted");
    assert_eq!(ran.report().sums.account.held.0, 0);
    assert_eq!(decisions(&world)[0].1, "send_again");
}

#[tokio::test(start_paused = true)]
async fn sending_again_needs_room_in_the_budget() {
    let mut world = in_doubt_in(World::new().max_credits(2), 2).await;
    world.paused().at_hours_minutes(71, 0).await;
    world.run().await.exits(ExitCode::Doubt);
    decide(&world, &[], Decision::SendAgain, "why").await.unwrap();
    let ran = world.run().await.exits(ExitCode::Budget).in_state(State::Planned, 2);
    assert_eq!(ran.stats.charges, 2);
    let mut world = world.max_credits(4);
    let ran = world.run().await.exits(ExitCode::Complete);
    assert_eq!(ran.report().sums.account.charged.0, 4);
}

#[tokio::test(start_paused = true)]
async fn only_the_requests_named_are_decided() {
    let (mut world, _) = quarantined(3).await;
    let ids: Vec<i64> = pipeline::quarantined(&world.path("out")).unwrap().iter().map(|one| one.request.0).collect();
    assert_eq!(decide(&world, &ids[1..2], Decision::WriteOff, "why").await.unwrap(), 1);
    let ran = world
        .run()
        .await
        .exits(ExitCode::Doubt)
        .in_state(State::Quarantined, 2)
        .counts(results(0).failures(1).pending(2));
    assert_eq!(ran.report().sums.account.held.0, 2);
    assert_eq!(decisions(&world)[0].0, ids[1]);
}

#[tokio::test(start_paused = true)]
async fn a_decision_without_a_reason_is_refused_and_changes_nothing() {
    let (mut world, _) = quarantined(1).await;
    for reason in ["", "  \n"] {
        let error = decide(&world, &[], Decision::SendAgain, reason).await.unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::Usage);
        assert!(error.to_string().contains("reason"), "{error}");
    }
    assert!(decisions(&world).is_empty());
    world.run().await.exits(ExitCode::Doubt).in_state(State::Quarantined, 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_quarantined_cannot_be_decided() {
    let mut world = in_doubt(1).await;
    for (request, found) in [(1, "is in doubt or at the service as a job, not quarantined"), (99, "is not quarantined")]
    {
        let error = decide(&world, &[request], Decision::WriteOff, "why").await.unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::Usage);
        assert!(error.to_string().contains(&format!("request {request} {found}")), "{error}");
    }
    assert_eq!(decide(&world, &[], Decision::SendAgain, "why").await.unwrap(), 0, "in doubt is not quarantined");
    world.run().await.exits(ExitCode::Complete).charged(1);
}

#[tokio::test(start_paused = true)]
async fn with_a_key_secret_only_that_secret_makes_the_next_key() {
    let world = World::new().campaign(|file| file.keys.secret = Some(SecretSource::File("secret".into())));
    world.private("secret", "planted-key-secret\n");
    let mut world = in_doubt_in(world, 1).await;
    world.paused().at_hours_minutes(71, 0).await;
    world.run().await.exits(ExitCode::Doubt);
    for (secret, says) in [(None, "-c FILE"), (Some(KeySecret::new("another".into())), "key secret")] {
        let decided = decide_with(&world, &[], Decision::SendAgain, "why", secret.as_ref()).await;
        let error = decided.unwrap_err();
        assert!(error.exit_code() == ExitCode::Usage && error.to_string().contains(says), "{error}");
    }
    let secret = KeySecret::new("planted-key-secret".into());
    decide_with(&world, &[], Decision::SendAgain, "why", Some(&secret)).await.unwrap();
    let ran = world.run().await.exits(ExitCode::Complete);
    assert_eq!((ran.stats.charges, ran.stats.distinct_keys), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn the_program_lists_and_decides_and_records_who() {
    let (mut world, _) = quarantined(2).await;
    let folder = world.path("");
    let say = |words: &[&str]| Said::of(rescreen(&folder, words).env("USER", "nomsa"));
    let listed = say(&["resolve", "out", "--list"]).exits(8);
    assert!(listed.stdout.contains("book.csv row 1") && !listed.stdout.contains("Vexford"), "{}", listed.stdout);
    let no_reason = say(&["resolve", "out", "--write-off"]);
    assert_eq!(no_reason.code, 2);
    say(&["resolve", "out", "--write-off", "--reason", " "]).exits(2);
    say(&["resolve", "out", "--write-off", "--request", "77", "--reason", "why"]).exits(2);
    say(&["resolve", "out", "--write-off", "--reason", "asked the desk"]).exits(0).says("2 requests decided");
    say(&["resolve", "out", "--list"]).exits(0);
    assert!(decisions(&world).iter().all(|decided| decided.3 == "nomsa" && decided.2 == "asked the desk"));
    world.run().await.exits(ExitCode::Failures).counts(results(0).failures(2));
}

#[tokio::test(start_paused = true)]
async fn a_plan_says_that_only_a_decision_or_another_api_key_helps() {
    let (world, _) = quarantined(2).await;
    let (code, reasons) = world.planned(&world.api_key());
    assert_eq!(code, ExitCode::Doubt);
    assert!(
        reasons[0].contains("2 requests are in quarantine") && reasons[0].contains("rescreen resolve"),
        "{reasons:?}"
    );

    let world = in_doubt(2).await;
    assert_eq!(world.planned(&world.api_key()), (ExitCode::Complete, vec![]));
    let (code, reasons) = world.planned("another");
    assert_eq!(code, ExitCode::Doubt);
    assert!(reasons[0].contains("2 requests in doubt were sent under another API key"), "{reasons:?}");
}
