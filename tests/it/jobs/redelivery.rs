//! The route that delivers the result of a job again.

use super::{
    deliveries::{event, next},
    receivers::{RECEIVER, received},
    service::{FOREIGN, ROUTE, business, exchange, get, post, simulator},
};
use axum::{body::Body, http::Request};
use rescreen::simulator::Simulator;
use serde_json::{Value, json};

async fn retry(simulator: &Simulator, id: &Value, api_key: &str, body: &str) -> (u16, Value) {
    let path = format!("{ROUTE}/jobs/{}/retry-webhook", id.as_str().unwrap());
    let request = Request::post(path).header("x-api-key", api_key).body(Body::from(body.to_owned())).unwrap();
    exchange(simulator, request).await
}

#[tokio::test(start_paused = true)]
async fn a_completed_result_is_delivered_again_without_a_charge() {
    let simulator = simulator(|_| {});
    let id = post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await.1["jobId"].clone();
    let first = next(&simulator).await.remove(0);
    simulator.delivered(first.number, Some(200));
    assert_eq!(next(&simulator).await, []);
    let (status, said) = retry(&simulator, &id, "own", "{}").await;
    assert_eq!((status, &said["jobId"], &said["creditsUsed"]), (200, &id, &json!(0)));
    let again = next(&simulator).await.remove(0);
    assert_eq!((&again.url, &again.body, &again.headers[0]), (&RECEIVER.to_owned(), &first.body, &first.headers[0]));
    simulator.delivered(again.number, Some(200));
    let stats = simulator.stats();
    assert_eq!((stats.credits_charged, stats.balance, stats.deliveries), (7, 993, 2));
    assert_eq!(stats.checks(), 1, "it is no check");
    assert_eq!(stats.by_route[&format!("POST {ROUTE}/jobs/{{jobId}}/retry-webhook")], 1);
}

#[tokio::test(start_paused = true)]
async fn it_replaces_the_attempts_that_wait_and_can_change_the_receiver() {
    let simulator = simulator(|_| {});
    let id = post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await.1["jobId"].clone();
    let first = next(&simulator).await.remove(0);
    simulator.delivered(first.number, Some(500));
    let other = json!({"webhookUrl": "https://other.example/", "webhookSecret": "z".repeat(32)});
    assert_eq!(retry(&simulator, &id, "own", &other.to_string()).await.0, 200);
    let moved = simulator.deliveries_due().remove(0);
    assert_eq!((moved.url.as_str(), &moved.body), ("https://other.example/", &first.body));
    assert_eq!(moved.headers[1].1, first.headers[1].1, "the same second");
    assert_ne!(moved.headers[2].1, first.headers[2].1, "another secret");
    simulator.delivered(moved.number, Some(200));
    assert_eq!((next(&simulator).await, simulator.nothing_due_for()), (vec![], None));
    assert_eq!(retry(&simulator, &id, "own", "{}").await.0, 200);
    assert_eq!(next(&simulator).await[0].url, "https://other.example/", "it is kept");
}

#[tokio::test(start_paused = true)]
async fn it_is_refused_for_other_jobs_and_bodies() {
    let simulator = simulator(|_| {});
    let id = post(&simulator, ROUTE, "key-0001", &business("production", 1)).await.1["jobId"].clone();
    let mut codes = Vec::new();
    let mut note =
        |(status, said): (u16, Value)| codes.push((status, said["error"]["code"].as_str().unwrap().to_owned()));
    note(retry(&simulator, &id, "own", "{}").await);
    tokio::time::advance(std::time::Duration::from_secs(1_200)).await;
    note(retry(&simulator, &id, "other", "{}").await);
    note(retry(&simulator, &json!("job_0"), "own", "{}").await);
    note(retry(&simulator, &id, "own", "{}").await);
    for body in ["", "[]", "{"] {
        note(retry(&simulator, &id, "own", body).await);
    }
    note(retry(&simulator, &id, "own", r#"{"webhookUrl": "https://x.example"}"#).await);
    note(get(&simulator, &format!("{ROUTE}/jobs/{}/retry-webhook", id.as_str().unwrap()), "own").await);
    // The job of another check.
    note(get(&simulator, &format!("{FOREIGN}/jobs/{}", id.as_str().unwrap()), "own").await);
    let wanted = [
        (409, "job_not_completed"),
        (404, "job_not_found"),
        (404, "job_not_found"),
        (400, "invalid_webhook"),
        (400, "invalid_json"),
        (400, "invalid_json"),
        (400, "invalid_json"),
        (400, "invalid_webhook"),
        (405, "method_not_allowed"),
        (404, "job_not_found"),
    ];
    assert_eq!(codes, wanted.map(|(status, code)| (status, code.to_owned())));
    assert_eq!(next(&simulator).await, []);
}

#[tokio::test(start_paused = true)]
async fn it_counts_towards_the_rate_and_a_check_without_it_has_none() {
    let simulator = simulator(|settings| (settings.per_minute, settings.per_minute_max) = (1, 3));
    let id = post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await.1["jobId"].clone();
    assert_eq!(retry(&simulator, &id, "own", "{}").await.0, 409);
    assert_eq!(retry(&simulator, &id, "own", "{}").await.0, 429);
    let path = "/africa-verification/jobs/job_1/retry-webhook";
    let request = Request::post(path).header("x-api-key", "another").body(Body::from("{}")).unwrap();
    assert_eq!(exchange(&simulator, request).await.1["error"]["code"], "not_found");
}

#[tokio::test(start_paused = true)]
async fn the_event_of_a_lost_delivery_can_be_asked_for() {
    let simulator = simulator(|settings| settings.job_faults = "lost:1".parse().unwrap());
    let id = post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await.1["jobId"].clone();
    assert_eq!(next(&simulator).await, []);
    assert_eq!(retry(&simulator, &id, "own", "{}").await.0, 200);
    assert_eq!(event(&next(&simulator).await[0])["data"]["jobId"], id);
}
