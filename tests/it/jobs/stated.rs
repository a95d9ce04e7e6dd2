//! What a reply about a job states counts: its state where the reply describes the job and nowhere else, its result
//! whatever the words beside it say, and its charge whatever else it says.

use super::submitted;
use crate::support::{
    ran::{Ran, results},
    tables::text,
    world::World,
};
use rescreen::{
    ledger::{AskFate, LedgerError, Reading},
    model::{ExitCode, Stop, state::State},
    sink::DatasetKind,
};
use serde_json::{Value, json};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

/// What the route replies in place of what it would say.
type About = fn(&Value) -> Value;

/// The route of job states replies with this in place of what it would say.
fn says(world: &mut World, about: impl Fn(Value) -> Value + Send + 'static) {
    world.paused().says_about_jobs(move |_, said| Some((200, about(said).to_string())));
}

fn without(mut said: Value, name: &str) -> Value {
    said.as_object_mut().unwrap().remove(name);
    said
}

/// What is booked and what is held.
fn books(ran: &Ran) -> (u64, u64) {
    let account = ran.report().sums.account;
    (account.charged.0, account.held.0)
}

/// Collects a charged job that the route describes like this. Its result is kept, and nothing is sent again.
async fn kept(word: &str, about: impl Fn(Value) -> Value + Send + 'static) -> Ran {
    let mut world = submitted(1).await;
    says(&mut world, move |said| without(about(said), "creditsUsed"));
    let ran = world.collect(None).await.counts(results(1));
    assert_eq!(books(&ran), (7, 0), "{word}");
    assert_eq!(world.retry().await.posts(), 1, "{word}: nothing is sent again");
    ran
}

#[tokio::test(start_paused = true)]
async fn a_word_inside_a_result_is_a_finding_and_neither_opens_nor_fails_the_job() {
    for word in ["active", "New", "received", "pending", "rejected", "expired", "failed"] {
        kept(word, move |mut said| {
            (said["result"]["status"], said["result"]["state"]) = (word.into(), word.into());
            said
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_is_kept_although_the_state_beside_it_is_a_finding() {
    for word in ["rejected", "expired", "failed"] {
        let ran = kept(word, move |mut said| {
            said["status"] = word.into();
            said
        });
        assert_eq!(text(&ran.await.results()[0], "verdict"), "review", "{word}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_of_a_job_that_never_ends_is_kept_when_the_job_would_be_lost() {
    for word in ["active", "pending", "awaiting_bank"] {
        let mut world = submitted(1).await;
        says(&mut world, move |mut said| {
            said["status"] = word.into();
            said
        });
        world.paused().at_hours_minutes(70, 0).await;
        let ran = world.collect(None).await.exits(ExitCode::Jobs).counts(results(0).pending(1));
        assert_eq!(books(&ran), (0, 7), "{word}");
        world.paused().at_hours_minutes(73, 0).await;
        let ran = world.collect(None).await.counts(results(1));
        assert_eq!(books(&ran), (7, 0), "{word}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_job_that_states_no_charge_is_not_retried_before_a_person_decides() {
    let mut world = submitted(2).await;
    says(&mut world, |said| json!({"jobId": said["jobId"], "status": "failed", "error": {"code": "no_reply"}}));
    let ran = world.collect(None).await.exits(ExitCode::Doubt).counts(results(0).pending(2));
    assert_eq!((books(&ran), ran.report().sums.in_state(State::Quarantined)), ((0, 14), 2));
    assert_eq!(text(&ran.lines(DatasetKind::Pending)[0], "reason"), "quarantined");
    let waiting = Reading::open(&world.path("out/ledger.sqlite")).unwrap().quarantined().unwrap();
    let why = waiting[0].why.as_deref().unwrap();
    assert!(why.contains("no_reply; it states no charge") && why.contains("rescreen resolve"), "{why}");
    assert_eq!(world.retry().await.posts(), 2, "nothing is sent again");
}

#[tokio::test(start_paused = true)]
async fn a_charge_that_an_open_job_states_is_booked_if_the_job_fails_without_one() {
    let mut world = submitted(1).await;
    says(&mut world, |said| json!({"jobId": said["jobId"], "status": "pending", "creditsUsed": 7}));
    let ran = world.collect(None).await.exits(ExitCode::Jobs);
    assert_eq!(books(&ran), (0, 7));
    world.paused().at_hours_minutes(1, 0).await;
    says(&mut world, |said| json!({"jobId": said["jobId"], "status": "failed", "error": {"code": "no_reply"}}));
    let ran = world.collect(None).await.exits(ExitCode::Failures).counts(results(0).failures(1));
    assert_eq!((books(&ran), ran.failures()[0]["possibly_charged"].as_bool()), ((7, 0), Some(true)));
    assert_eq!(world.retry().await.posts(), 1, "nothing is sent again");
}

#[tokio::test(start_paused = true)]
async fn a_charge_above_the_hold_is_held_at_once_and_stops_the_run_whatever_the_reply_says() {
    let pending = |said: &Value| json!({"jobId": said["jobId"], "status": "pending", "creditsUsed": 9});
    let unclear = |said: &Value| json!({"jobId": said["jobId"], "status": "asleep", "meta": {"credits_spent": 9}});
    let nested = |said: &Value| json!({"data": {"jobId": said["jobId"], "status": "pending", "credits_used": "9"}});
    let refused = |_: &Value| json!({"error": {"message": "no", "creditsUsed": 9}});
    let replies: [(u16, About); 6] =
        [(200, pending), (200, unclear), (200, nested), (404, refused), (409, refused), (500, refused)];
    for (status, about) in replies {
        let mut world = submitted(1).await;
        world.paused().says_about_jobs(move |_, said| Some((status, about(&said).to_string())));
        let ran = world.collect(None).await.exits(ExitCode::Budget);
        assert_eq!((books(&ran), ran.report().sums.in_state(State::Submitted)), ((0, 9), 1), "{status}");
        ran.stops_with(|stop| matches!(stop, Stop::Price { stated, table, .. } if (stated.0, table.0) == (9, 7)));
        world.run().await.exits(ExitCode::Budget).stops_with(|stop| matches!(stop, Stop::Kept { .. }));
        world.paused().works_again();
        let ran = world.collect(Some(HOUR * 5)).await.counts(results(1));
        assert_eq!(books(&ran), (9, 0), "{status}: the larger of the two that were stated");
    }
}

#[tokio::test(start_paused = true)]
async fn the_charge_of_another_job_is_not_booked_for_this_one() {
    let mut world = submitted(1).await;
    says(&mut world, |mut said| {
        (said["jobId"], said["creditsUsed"]) = ("job_of_another".into(), 9.into());
        said
    });
    let ran = world.collect(None).await.exits(ExitCode::Jobs);
    assert_eq!(books(&ran), (0, 7));
}

#[tokio::test(start_paused = true)]
async fn an_id_with_spaces_or_in_another_case_names_the_same_job() {
    let mut world = submitted(1).await;
    says(&mut world, |mut said| {
        said["jobId"] = format!(" {}\n", said["jobId"].as_str().unwrap()).into();
        said
    });
    let ran = world.collect(None).await.counts(results(1));
    assert_eq!(books(&ran), (7, 0));
}

#[tokio::test(start_paused = true)]
async fn a_charge_counts_wherever_a_reply_may_describe_its_job() {
    let places: [About; 4] = [
        |said| json!({"data": [{"jobId": said["jobId"], "status": "pending", "creditsUsed": 7}]}),
        |said| json!({"jobId": said["jobId"], "status": "pending", "results": {"meta": {"credits_used": 7}}}),
        |said| json!({"jobId": said["jobId"], "status": "pending", "result": {"creditsUsed": 7}}),
        |said| json!({"jobId": said["jobId"], "status": "pending", "job": {"credits_spent": "7"}}),
    ];
    for place in places {
        let mut world = submitted(1).await;
        says(&mut world, move |said| place(&said));
        world.collect(None).await.exits(ExitCode::Jobs);
        world.paused().at_hours_minutes(1, 0).await;
        says(&mut world, |said| json!({"jobId": said["jobId"], "status": "failed", "creditsUsed": 0}));
        let ran = world.collect(None).await.exits(ExitCode::Failures).counts(results(0).failures(1));
        assert_eq!(books(&ran), (7, 0));
        assert_eq!(world.retry().await.posts(), 1, "nothing is sent again");
    }
}

/// Collects an answer that no rule recognises: it is paid, it waits until its check is declared, and its content is kept.
async fn kept_unrecognised(world: &mut World, content: &str) {
    let ran =
        world.collect(None).await.exits(ExitCode::Doubt).counts(results(0).pending(1)).in_state(State::Answered, 1);
    assert_eq!((text(&ran.lines(DatasetKind::Pending)[0], "reason"), books(&ran)), ("unrecognised", (7, 0)));
    let reading = Reading::open(&world.path("out/ledger.sqlite")).unwrap();
    let mut answers = Vec::new();
    reading
        .every_ask(|ask| {
            if let AskFate::Request(request) = ask.fate {
                answers.extend(request.answer.map(|answer| String::from_utf8(answer.body).unwrap()));
            }
            Ok::<(), LedgerError>(())
        })
        .unwrap();
    assert!(answers.len() == 1 && answers[0].contains(content), "{answers:?}");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_no_rule_recognises_is_kept_beside_the_word_of_a_failure() {
    for charge in [json!(7), Value::Null] {
        for word in ["rejected", "expired"] {
            let mut world = submitted(1).await;
            let charge = charge.clone();
            says(
                &mut world,
                move |said| json!({"jobId": said["jobId"], "status": word, "creditsUsed": charge, "result": {"decision": "no"}}),
            );
            kept_unrecognised(&mut world, "decision").await;
            assert_eq!(world.retry().await.posts(), 1, "{word}: nothing is sent again");
        }
    }
    // With an error, or with a charge of zero, the content is not a result.
    let failures: [About; 2] = [
        |said| json!({"jobId": said["jobId"], "status": "failed", "creditsUsed": 0, "result": {"tries": 3}}),
        |said| json!({"jobId": said["jobId"], "status": "failed", "creditsUsed": 0, "error": {"code": "x"}, "result": {"a": 1}}),
    ];
    for about in failures {
        let mut world = submitted(1).await;
        says(&mut world, move |said| about(&said));
        world.collect(None).await.exits(ExitCode::Failures).counts(results(0).failures(1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_in_an_unknown_place_is_kept_when_the_job_would_be_lost() {
    let places: [About; 3] = [
        |said| json!({"jobId": said["jobId"], "status": "completed", "result": said["result"].to_string()}),
        |said| json!([{"jobId": said["jobId"], "status": "completed", "answer": said["result"]}]),
        |said| json!({"jobId": said["jobId"], "status": "settled", "result": {"decision": "no"}}),
    ];
    for place in places {
        let mut world = submitted(1).await;
        says(&mut world, move |said| place(&said));
        world.collect(None).await.exits(ExitCode::Jobs).counts(results(0).pending(1));
        world.paused().at_hours_minutes(73, 0).await;
        kept_unrecognised(&mut world, "").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_in_place_of_a_job_is_not_the_word_of_the_service() {
    for (status, page) in
        [(404, "<html>404 Not Found</html>"), (410, ""), (404, r#"{"message": "no Route matched with those values"}"#)]
    {
        let mut world = submitted(1).await;
        world.paused().says_about_jobs(move |_, _| Some((status, page.to_owned())));
        for hours in [2, 4, 6, 8] {
            world.paused().at_hours_minutes(hours, 0).await;
            let ran = world.collect(None).await.counts(results(0).pending(1));
            assert_eq!(ran.report().sums.in_state(State::Submitted), 1, "HTTP {status} {page}");
        }
        world.paused().works_again();
        world.paused().at_hours_minutes(12, 0).await;
        world.collect(None).await.exits(ExitCode::Complete).counts(results(1));
    }
}
