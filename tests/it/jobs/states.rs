//! Replies about the state of a job that the service should not give, each by its own fault.

use super::service::{ROUTE, business, get, post, simulator};
use rescreen::simulator::{Faults, Simulator};
use serde_json::{Value, json};
use std::time::Duration;

fn with(faults: &str) -> Simulator {
    simulator(|settings| settings.job_faults = faults.parse().unwrap())
}

/// Submits a job, and returns the path of its state.
async fn submit(simulator: &Simulator, number: u32) -> String {
    let key = format!("key-{number:04}");
    let accepted = post(simulator, ROUTE, &key, &business("production", number)).await.1;
    format!("{ROUTE}/jobs/{}", accepted["jobId"].as_str().unwrap())
}

async fn state(simulator: &Simulator, path: &str) -> (u16, Value) {
    get(simulator, path, "own").await
}

async fn end(_: &Simulator) {
    tokio::time::advance(Duration::from_secs(20 * 60)).await;
}

#[tokio::test(start_paused = true)]
async fn a_state_can_be_refused_although_the_job_exists() {
    for (fault, status, code) in [
        ("state_401:1", 401, "invalid_api_key"),
        ("state_404:1", 404, "job_not_found"),
        ("state_429:1", 429, "rate_limited"),
        ("row:1:state_404", 404, "job_not_found"),
    ] {
        let simulator = with(fault);
        let path = submit(&simulator, 1).await;
        let (found, refused) = state(&simulator, &path).await;
        assert_eq!((found, &refused["error"]["code"]), (status, &json!(code)), "{fault}");
        end(&simulator).await;
        assert_eq!(state(&simulator, &path).await.0, status, "{fault}");
        assert_eq!(simulator.stats().charges, 1, "the job is not affected");
    }
}

#[tokio::test(start_paused = true)]
async fn a_state_can_be_a_web_page() {
    let simulator = with("state_html:1");
    let path = submit(&simulator, 1).await;
    let request = axum::http::Request::get(path).header("x-api-key", "own").body(axum::body::Body::empty()).unwrap();
    let reply = simulator.exchange(request).await;
    assert_eq!(
        (reply.status(), &reply.headers()["content-type"]),
        (200.try_into().unwrap(), &"text/html; charset=utf-8".parse().unwrap())
    );
}

#[tokio::test(start_paused = true)]
async fn a_completed_job_can_be_pending_again() {
    let simulator = with("state_reverted:1");
    let path = submit(&simulator, 1).await;
    end(&simulator).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let said = state(&simulator, &path).await.1;
        seen.push((said["status"].as_str().unwrap().to_owned(), said.get("result").is_some()));
    }
    let wanted = [("completed", true), ("pending", false), ("pending", false)];
    assert_eq!(seen, wanted.map(|(status, result)| (status.to_owned(), result)));
}

#[tokio::test(start_paused = true)]
async fn a_completed_job_can_have_no_result_or_another_charge() {
    for (fault, charge, has_result) in [("state_empty:1", 7, false), ("state_charge:1", 8, true), ("", 7, true)] {
        let simulator = with(fault);
        let path = submit(&simulator, 1).await;
        assert_eq!(state(&simulator, &path).await.1["creditsUsed"], 0, "{fault}: while it is pending");
        end(&simulator).await;
        let said = state(&simulator, &path).await.1;
        let found = (&said["status"], &said["creditsUsed"], said.get("result").is_some());
        assert_eq!(found, (&json!("completed"), &json!(charge), has_result), "{fault}");
        assert_eq!(simulator.stats().credits_charged, 7);
    }
}

#[tokio::test(start_paused = true)]
async fn a_state_can_be_that_of_another_job() {
    let simulator = with("state_crossed:1");
    let paths = [submit(&simulator, 1).await, submit(&simulator, 2).await];
    end(&simulator).await;
    for (asked, other) in [(0, 1), (1, 0)] {
        let said = state(&simulator, &paths[asked]).await.1;
        assert!(paths[other].ends_with(said["jobId"].as_str().unwrap()), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn permanent_faults_stay_with_their_jobs_and_change_nothing_else() {
    let refused = async |faults: &str| {
        let simulator = simulator(|settings| {
            settings.job_faults = faults.parse().unwrap();
            settings.faults = "error500:0.2".parse::<Faults>().unwrap();
        });
        let mut statuses = Vec::new();
        for number in 0..30 {
            statuses
                .push(post(&simulator, ROUTE, &format!("key-{number:04}"), &business("production", number)).await.0);
        }
        statuses
    };
    assert_eq!(refused("").await, refused("row:0.5:state_404,state_html:0.5,lost:0.5,twice:1").await);
    let simulator = with("row:0.5:state_404");
    let mut found = [0, 0];
    for number in 0..30 {
        let path = submit(&simulator, number).await;
        let statuses = [state(&simulator, &path).await.0, state(&simulator, &path).await.0];
        assert_eq!(statuses[0], statuses[1]);
        found[usize::from(statuses[0] == 404)] += 1;
    }
    assert!(found[0] > 5 && found[1] > 5, "{found:?}");
}
