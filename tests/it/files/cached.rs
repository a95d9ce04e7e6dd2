//! A failure that the service keeps under a key. The service here is not the simulator: a script answers each request.

use super::sample::{jpeg, put, world};
use crate::support::{
    door::{Act, Door, Step},
    ran::{Ran, results},
    tables::text,
    world::World,
};
use rescreen::model::{ExitCode, Mode, state::State};
use serde_json::{Value, json};

/// A campaign of one passport. The service answers with these replies in turn, and then lets requests through.
fn passport(replies: Vec<(u16, Value)>) -> (Door, World) {
    let door = Door::open(move |seen, before| match (seen.step, replies.get(before)) {
        (Step::Check, Some((status, body))) => Act::Answer(*status, body.to_string()),
        _ => Act::Pass,
    });
    let world = world("id-document", &[("front_image", "file")]).csv("no,file\n1,a\n");
    put(&world, "a", &jpeg(1, 300));
    let world = world.sending_to(&door.url, door.arrivals());
    (door, world)
}

fn failed() -> (u16, Value) {
    (502, json!({"error": {"code": "PROCESSING_FAILURE", "message": "processing failed or timed out"}}))
}

fn cached(status: u16) -> (u16, Value) {
    (status, json!({"error": {"code": "CACHED_FAILURE", "message": "The earlier request with this key failed."}}))
}

fn keys(door: &Door) -> Vec<String> {
    door.seen(Step::Check).iter().map(|seen| seen.header("idempotency-key").unwrap().to_owned()).collect()
}

#[track_caller]
fn is_settled(ran: &Ran) {
    assert_eq!(ran.report().sums.account.held.0, 0);
    assert_eq!(ran.failure_codes(), [("cached_failure".to_owned(), 1)].into());
    let failure = &ran.failures()[0];
    let message = text(failure, "message");
    assert!(message.contains("CACHED_FAILURE: The earlier request with this key failed."), "{message}");
    assert!(message.contains("--retry cached_failure"), "{message}");
    assert_eq!((failure["possibly_charged"].as_bool(), failure["retryable"].as_bool()), (Some(false), Some(true)));
}

#[tokio::test]
async fn a_cached_failure_settles_the_request_uncharged_and_is_retried_under_a_new_key() {
    for status in [409, 422] {
        let (door, mut world) = passport(vec![failed(), cached(status)]);
        let ran = world.run().await.exits(ExitCode::Failures).counts(results(0).failures(1)).adds_up(true);
        is_settled(&ran);
        assert_eq!(ran.report().sums.account.charged.0, 0);
        let sent = keys(&door);
        assert!(sent.len() == 2 && sent[0] == sent[1], "{sent:?}");
        world.run().await.exits(ExitCode::Failures);
        assert_eq!(keys(&door).len(), 2, "without --retry it is not sent again");
        world.retry().await.exits(ExitCode::Complete).counts(results(1));
        assert!(keys(&door).len() == 3 && keys(&door)[2] != sent[0]);
    }
}

#[tokio::test]
async fn a_cached_failure_that_a_later_run_meets_settles_the_request() {
    let replies = std::iter::repeat_with(failed).take(6).chain([cached(409)]).collect();
    let (door, mut world) = passport(replies);
    world.run().await.exits(ExitCode::Doubt).in_state(State::InDoubt, 1);
    is_settled(&world.run().await.exits(ExitCode::Failures));
    assert_eq!(keys(&door).len(), 7);
}

#[tokio::test]
async fn a_charge_stated_by_the_reply_or_by_an_earlier_one_is_a_charge() {
    let mut states = cached(409);
    states.1["creditsUsed"] = json!(3);
    let pending = (202, json!({"status": "pending", "creditsUsed": 3}));
    let odd = (200, json!({"success": false, "creditsUsed": 3}));
    for (before, last) in [(failed(), states), (pending, cached(409)), (odd, cached(409))] {
        let shown = format!("{before:?}");
        let (_door, mut world) = passport(vec![before, last]);
        let ran = world.run().await.exits(ExitCode::Failures);
        assert_eq!((ran.report().sums.account.charged.0, ran.report().sums.account.held.0), (3, 0), "{shown}");
        assert_eq!(ran.failures()[0]["possibly_charged"].as_bool(), Some(true), "{shown}");
    }
}

#[tokio::test]
async fn pending_before_a_cached_failure_that_states_no_charge_is_free() {
    let (_door, mut world) = passport(vec![(202, json!({"status": "pending"})), cached(409)]);
    let ran = world.run().await.exits(ExitCode::Failures);
    assert_eq!(ran.report().sums.account.charged.0, 0);
    is_settled(&ran);
}

#[tokio::test]
async fn a_409_that_is_in_progress_is_repeated_under_its_key() {
    let busy = (409, json!({"error": {"code": "REQUEST_IN_PROGRESS", "message": "still processing"}}));
    let open = (409, json!({"error": {"code": "CACHED_FAILURE"}, "status": "pending"}));
    let (door, mut world) = passport(vec![busy, open, (409, json!("busy"))]);
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(1));
    assert_eq!(ran.report().sums.account.charged.0, 3);
    let sent = keys(&door);
    assert!(sent.len() == 4 && sent.iter().all(|key| *key == sent[0]), "{sent:?}");
}

#[tokio::test]
async fn a_code_that_is_declared_later_settles_what_an_earlier_run_left() {
    let unknown = (409, json!({"error": {"code": "EARLIER_FAILURE", "message": "it failed before"}}));
    let (door, mut world) = passport(vec![unknown; 7]);
    let ran = world.run().await.exits(ExitCode::Doubt).in_state(State::InDoubt, 1);
    let lines = ran.report().reasons().join("\n");
    assert!(
        lines.contains("(EARLIER_FAILURE), and may have been charged") && !lines.contains("settles this"),
        "{lines}"
    );
    let catalogue = rescreen::catalogue::Catalogue::built_in();
    let mut declaration = catalogue.get("id-document").unwrap().clone();
    declaration.cached_failure.as_mut().unwrap().codes.push("EARLIER_FAILURE".to_owned());
    let mut world = world.campaign(|file| file.declarations = vec![declaration]);
    let ran = world.run().await.exits(ExitCode::Failures);
    assert_eq!(ran.failure_codes(), [("cached_failure".to_owned(), 1)].into());
    assert_eq!((keys(&door).len(), world.file.mode()), (7, Mode::Production));
}
