//! A status route that misbehaves: it must not lose a result, end a job before its time, charge twice, or keep other
//! jobs from ending.

use super::{BUSINESS, submitted, world};
use crate::support::{
    paused::reply,
    ran::{Ran, results},
    tables::text,
};
use axum::http::HeaderValue;
use rescreen::{
    model::{ExitCode, Stop, state::State},
    sink::DatasetKind,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

/// What the route replies for the state of a job.
type Replies = fn(Value) -> (u16, String);

const HOUR: Duration = Duration::from_secs(3_600);

fn open(ran: &Ran) -> u64 {
    ran.report().sums.in_state(State::Submitted)
}

fn balanced(ran: &Ran) {
    let account = ran.report().sums.account;
    assert_eq!((account.charged.0, account.held.0), (ran.stats.credits_charged, 0));
}

/// The job that this path is about, if it is the first or the only one that is asked for.
fn first_only(
    about: impl Fn(Value) -> (u16, String) + Send + 'static,
) -> impl Fn(&str, Value) -> Option<(u16, String)> {
    let first: Arc<Mutex<Option<String>>> = Arc::default();
    move |path, said| {
        let mut first = first.lock().unwrap();
        (first.get_or_insert_with(|| path.to_owned()) == path).then(|| about(said))
    }
}

#[tokio::test(start_paused = true)]
async fn replies_that_say_nothing_leave_the_job_open_and_the_others_end() {
    let odd: [(&str, Replies); 9] = [
        ("html", |_| (200, "<html>please log in</html>".to_owned())),
        ("a list", |_| (200, "[]".to_owned())),
        ("nothing", |_| (200, "{}".to_owned())),
        ("without a result", |said| (200, json!({"jobId": said["jobId"], "status": "completed"}).to_string())),
        ("another job", |mut said| {
            said["jobId"] = "job_of_another".into();
            (200, said.to_string())
        }),
        ("500", |_| (500, json!({"error": {"message": "internal"}}).to_string())),
        ("404", |_| (404, json!({"error": {"message": "no such job"}}).to_string())),
        ("401", |_| (401, json!({"error": {"message": "who are you"}}).to_string())),
        ("302", |_| (302, String::new())),
    ];
    for (name, about) in odd {
        let mut world = submitted(4).await;
        world.paused().says_about_jobs(first_only(about));
        let ran = world.collect(None).await.exits(ExitCode::Jobs);
        assert_eq!((open(&ran), ran.report().sums.account.held.0), (1, 7), "{name}");
        assert_eq!(ran.results().len() + ran.failures().len(), 3, "{name}");
        world.paused().works_again();
        let ran = world.collect(Some(HOUR * 5)).await;
        balanced(&ran);
        assert_eq!(ran.results().len() + ran.failures().len(), 4, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_stays_unknown_is_lost_after_three_hours_and_a_person_decides() {
    let mut world = submitted(3).await;
    world.paused().says_about_jobs(first_only(|_| (404, "{}".to_owned())));
    let ran = world.collect(Some(HOUR * 12)).await.exits(ExitCode::Doubt).counts(results(2).pending(1));
    assert_eq!((open(&ran), ran.report().sums.in_state(State::Quarantined)), (0, 1));
    assert_eq!(ran.report().sums.account.held.0, 7, "it may have been charged");
    assert_eq!(text(&ran.lines(DatasetKind::Pending)[0], "reason"), "quarantined");
    let lines = ran.report().lines().join("\n");
    assert!(lines.contains("rescreen resolve"), "{lines}");
}

#[tokio::test(start_paused = true)]
async fn a_route_that_knows_no_job_loses_none_and_stops_the_run() {
    let mut world = submitted(9).await;
    world.paused().says_about_jobs(|_, _| Some((404, "{}".to_owned())));
    for hour in 1..6 {
        world.paused().at_hours_minutes(hour, 0).await;
        let ran = world.collect(None).await.exits(ExitCode::Service).in_state(State::Submitted, 9);
        ran.stops_with(|stop| matches!(stop, Stop::JobRoute { status: 404, count: 5, .. }));
    }
    world.paused().works_again();
    balanced(&world.collect(Some(HOUR * 5)).await);
}

#[tokio::test(start_paused = true)]
async fn an_api_key_that_is_refused_everywhere_pauses_the_campaign() {
    let mut world = submitted(9).await;
    world.paused().says_about_jobs(|_, _| Some((401, "{}".to_owned())));
    let ran = world.collect(None).await.exits(ExitCode::Refused).in_state(State::Submitted, 9);
    ran.stops_with(|stop| matches!(stop, Stop::CheckRefused { status: 401, .. }));
}

#[tokio::test(start_paused = true)]
async fn an_outage_ends_the_collection_and_nothing_is_lost() {
    let mut world = submitted(3).await;
    world.paused().says_about_jobs(|_, _| Some((503, "{}".to_owned())));
    let ran = world.collect(None).await.exits(ExitCode::Service).in_state(State::Submitted, 3);
    ran.stops_with(|stop| matches!(stop, Stop::Unavailable { .. }));
    world.paused().works_again();
    balanced(&world.collect(Some(HOUR)).await);
}

#[tokio::test(start_paused = true)]
async fn a_429_pauses_all_questions_and_they_are_asked_again() {
    let mut world = submitted(5).await;
    let refused: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    world.paused().says_about_jobs(move |path, _| {
        refused.lock().unwrap().insert(path.to_owned()).then(|| (429, json!({"error": "slow down"}).to_string()))
    });
    let ran = world.collect(Some(HOUR)).await;
    balanced(&ran);
    assert_eq!(ran.results().len() + ran.failures().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_429_about_one_job_delays_no_other() {
    for wait in ["300", "3600"] {
        let mut world = submitted(5).await;
        let asked: Mutex<Vec<String>> = Mutex::default();
        world.paused().stands_between(move |path, _| {
            let mut asked = asked.lock().unwrap();
            if !path.contains("/jobs/") {
                return None;
            }
            asked.push(path.to_owned());
            // One is answered before.
            (asked.get(1).map(String::as_str) == Some(path)).then(|| {
                let mut reply = reply(429, "{}");
                reply.headers_mut().insert("retry-after", HeaderValue::from_static(wait));
                reply
            })
        });
        let ran = world.collect(None).await.exits(ExitCode::Jobs).in_state(State::Submitted, 1);
        assert!(ran.elapsed < Duration::from_secs(60), "{wait}: {:?}", ran.elapsed);
        assert_eq!(ran.results().len() + ran.failures().len(), 4, "{wait}");
        world.paused().works_again();
        balanced(&world.collect(Some(HOUR * 2)).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_completed_and_is_open_again_stays_completed() {
    let mut world = submitted(3).await;
    let before = world.collect(None).await;
    balanced(&before);
    world.paused().says_about_jobs(|_, mut said| {
        (said["status"], said["result"]) = ("pending".into(), Value::Null);
        Some((200, said.to_string()))
    });
    let ran = world.collect(Some(HOUR)).await;
    assert_eq!((ran.results().len(), open(&ran)), (before.results().len(), 0));
    assert_eq!(ran.stats.by_route, before.stats.by_route, "nobody asks for it again");
}

#[tokio::test(start_paused = true)]
async fn a_charge_above_the_hold_is_booked_and_stops_the_run() {
    let mut world = submitted(3).await;
    world.paused().says_about_jobs(|_, mut said| {
        (said["status"] == "completed").then(|| {
            said["creditsUsed"] = 11.into();
            (200, said.to_string())
        })
    });
    let ran = world.collect(None).await.exits(ExitCode::Budget);
    let charged = ran.report().sums.account.charged.0;
    assert!(charged >= 11 && charged.is_multiple_of(11), "{charged}");
    ran.stops_with(|stop| matches!(stop, Stop::Price { stated, table, .. } if (stated.0, table.0) == (11, 7)));
}

#[tokio::test(start_paused = true)]
async fn a_run_after_a_charge_above_the_hold_stops_until_a_setting_is_changed() {
    let mut world = submitted(3).await;
    let first = first_only(|mut said| {
        said["creditsUsed"] = 11.into();
        (200, said.to_string())
    });
    world.paused().says_about_jobs(move |path, mut said| {
        first(path, said.clone()).or_else(|| {
            (said["status"], said["result"]) = ("pending".into(), Value::Null);
            Some((200, said.to_string()))
        })
    });
    world.collect(None).await.exits(ExitCode::Budget);
    world.run().await.exits(ExitCode::Budget).stops_with(|stop| matches!(stop, Stop::Kept { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_charge_that_cannot_be_read_stops_the_run_and_the_held_price_is_booked() {
    for odd in [json!("many"), json!(-7), json!(70_000)] {
        let mut world = submitted(1).await;
        let told = odd.clone();
        world.paused().says_about_jobs(move |_, mut said| {
            said["creditsUsed"] = told.clone();
            Some((200, said.to_string()))
        });
        let ran = world.collect(None).await;
        assert_eq!(ran.report().sums.account.charged.0, 7, "{odd}");
        ran.stops_with(|stop| matches!(stop, Stop::AmountUnreadable { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_reply_that_states_its_own_cost_of_zero_is_not_the_charge_of_the_job() {
    let mut world = submitted(3).await;
    world.paused().says_about_jobs(|_, mut said| {
        said["creditsUsed"] = 0.into();
        Some((200, said.to_string()))
    });
    balanced(&world.collect(None).await);
}

#[tokio::test(start_paused = true)]
async fn a_failed_job_that_states_a_charge_is_booked_and_not_retried() {
    // Below the price, and at the price.
    for credits in [5, 7] {
        let mut world = submitted(2).await;
        world.paused().says_about_jobs(move |_, said| {
            let (id, why) = (&said["jobId"], json!({"code": "no_reply"}));
            Some((200, json!({"jobId": id, "status": "failed", "creditsUsed": credits, "error": why}).to_string()))
        });
        let ran = world.collect(None).await.exits(ExitCode::Failures).counts(results(0).failures(2));
        assert_eq!(ran.report().sums.account.charged.0, 2 * credits);
        let failure = &ran.failures()[0];
        assert_eq!((text(failure, "code"), failure["possibly_charged"].as_bool()), ("job_failed", Some(true)));
        assert_eq!(world.retry().await.posts(), 2, "nothing is sent again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_set_forward_by_days_ends_no_job() {
    let mut world = world(BUSINESS, 2, 7).under_paused_time().service(|settings| settings.job_time = Some(HOUR * 5));
    world.run().await.exits(ExitCode::Jobs);
    world.paused().our_clock_is_off(80 * 3_600);
    let ran = world.collect(None).await;
    assert_eq!(open(&ran), 2, "the service's clock says that they are young");
}
