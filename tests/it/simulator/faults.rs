//! Faults on demand: what the client sees, and whether the service had acted.

use super::*;
use std::time::Duration;

async fn with(faults: &str) -> Service {
    Service::start(Settings { faults: faults.parse().unwrap(), ..unlimited() }).await
}

fn body() -> Value {
    aml("production", "Jo Vexford")
}

#[tokio::test]
async fn drop_before_ends_the_connection_before_anything_is_done() {
    let service = with("drop_before@1").await;
    let error = service.try_post(AML, KEY, &body()).await.unwrap_err();
    assert!(error.is_request() && error.status().is_none(), "no status and no header came: {error:?}");
    assert_eq!((service.stats().charges, service.stats().by_status[&0]), (0, 1));
    assert_eq!(service.post(AML, KEY, &body()).await.status, 200);
    assert_eq!((service.stats().charges, service.stats().replays), (1, 0));
}

#[tokio::test]
async fn drop_after_charges_and_the_same_key_brings_the_lost_answer() {
    let service = with("drop_after@1").await;
    let error = service.try_post(AML, KEY, &body()).await.unwrap_err();
    assert!(error.is_request() && error.status().is_none(), "no status and no header came: {error:?}");
    assert_eq!(service.stats().charges, 1);
    assert_eq!(service.post(AML, KEY, &body()).await.status, 200);
    assert_eq!((service.stats().charges, service.stats().replays), (1, 1));
}

#[tokio::test]
async fn truncate_charges_and_sends_half_of_the_stated_length() {
    let service = with("truncate@1").await;
    let request = service.request("POST", AML).header("x-api-key", "a").header("Idempotency-Key", KEY);
    let mut response = request.body(body().to_string()).send().await.unwrap();
    let stated = response.content_length().unwrap();
    let mut got = 0;
    let error = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => got += chunk.len() as u64,
            Ok(None) => panic!("the body ended as if it were whole"),
            Err(error) => break error,
        }
    };
    assert!(error.is_body() || error.is_decode(), "{error:?}");
    assert_eq!(got, stated / 2);
    assert_eq!(service.stats().charges, 1);
}

#[tokio::test]
async fn in_process_a_lost_reply_is_a_body_that_ends_in_an_error() {
    for faults in ["drop_before:1", "drop_after:1", "truncate:1"] {
        let simulator = Simulator::new(Settings { faults: faults.parse().unwrap(), ..unlimited() });
        assert_eq!(post_in_process(&simulator, AML, KEY, &body()).await, None, "{faults}");
    }
}

#[tokio::test]
async fn html_is_a_page_with_status_200_from_something_that_did_not_act() {
    let service = with("html:1").await;
    let answer = service.post(AML, KEY, &body()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(answer.body.as_str().unwrap().starts_with("<!doctype html>"));
    assert_eq!(service.stats().charges, 0);
}

#[tokio::test]
async fn errors_come_with_their_status_and_without_acting() {
    for (faults, status, code) in [
        ("error401:1", 401, "invalid_api_key"),
        ("error402:1", 402, "insufficient_credits"),
        ("error500:1", 500, "internal_error"),
        ("error502:1", 502, "processing_failure"),
        ("error503:1", 503, "service_unavailable"),
    ] {
        let service = with(faults).await;
        let answer = service.post(AML, KEY, &body()).await;
        assert_eq!((answer.status, answer.code(), answer.body.get("creditsUsed")), (status, code, None));
        assert_eq!(service.stats().charges, 0, "{faults}");
    }
}

#[tokio::test]
async fn error503_uncharged_states_that_nothing_was_charged() {
    let service = with("error503_uncharged:1").await;
    let answer = service.post(AML, KEY, &body()).await;
    assert_eq!((answer.status, answer.code()), (503, "ASYNC_FALLBACK_REQUIRES_WEBHOOK"));
    assert_eq!(answer.body["creditsUsed"], 0);
}

#[tokio::test]
async fn rate429_says_how_long_and_rate429_bare_does_not() {
    for (faults, retry_after) in [("rate429:1:30", Some("30")), ("rate429:1", Some("1")), ("rate429_bare:1", None)] {
        let answer = with(faults).await.post(AML, KEY, &body()).await;
        assert_eq!((answer.status, answer.header("retry-after")), (429, retry_after), "{faults}");
    }
}

#[tokio::test]
async fn pending_is_202_once_and_the_repeat_completes() {
    let service = with("pending:1").await;
    let first = service.post(AML, KEY, &body()).await;
    assert_eq!((first.status, &first.body["status"]), (202, &json!("pending")));
    assert_eq!(service.stats().charges, 0);
    assert_eq!(service.post(AML, KEY, &aml("production", "Al")).await.status, 409, "the key is in use");
    assert_eq!(service.post(AML, KEY, &body()).await.status, 200);
    assert_eq!(service.post(AML, KEY, &body()).await.status, 200);
    assert_eq!((service.stats().charges, service.stats().replays), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn latency_delays_an_answer_by_its_parameter() {
    let faults = "latency@2:2s".parse().unwrap();
    let simulator = Simulator::new(Settings { faults, clock: driven(), ..unlimited() });
    for (key, elapsed) in [("key-0001", 0), ("key-0002", 2), ("key-0003", 0)] {
        let begun = tokio::time::Instant::now();
        post_in_process(&simulator, AML, key, &body()).await.unwrap();
        assert_eq!(begun.elapsed(), Duration::from_secs(elapsed), "{key}");
    }
}

#[tokio::test]
async fn a_service_can_be_healed() {
    let service = with("error500:1").await;
    assert_eq!(service.post(AML, KEY, &body()).await.status, 500);
    service.simulator.set_faults("".parse().unwrap());
    assert_eq!(service.post(AML, KEY, &body()).await.status, 200);
}
