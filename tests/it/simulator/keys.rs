//! Idempotency: what a key protects against, and for how long.

use super::*;
use std::time::Duration;
use tokio::time::advance;

#[tokio::test]
async fn the_same_key_and_body_bring_the_same_answer_at_no_charge() {
    let service = Service::start(unlimited()).await;
    let body = id("production", "8001015009087");
    let first = service.post(ID, KEY, &body).await;
    service.post(AML, "key-other", &aml("production", "Jo Vexford")).await;
    let again = service.post(ID, KEY, &body).await;
    assert_eq!(first.body, again.body, "the balance it states, too, is that of the first time");
    let stats = service.stats();
    assert_eq!((stats.charges, stats.replays, stats.distinct_keys, stats.double_charges), (2, 1, 2, 0));
}

#[tokio::test]
async fn the_same_key_with_another_body_or_route_is_409() {
    let service = Service::start(unlimited()).await;
    service.post(AML, KEY, &aml("production", "Jo Vexford")).await;
    let other_body = service.post(AML, KEY, &aml("production", "Jo Vexfort")).await;
    let other_route = service.post("/aml-pep", KEY, &aml("production", "Jo Vexford")).await;
    for answer in [other_body, other_route] {
        assert_eq!((answer.status, answer.code()), (409, "idempotency_conflict"));
    }
    assert_eq!((service.stats().charges, service.stats().conflicts), (1, 2));
}

#[tokio::test]
async fn a_key_belongs_to_its_api_key() {
    let service = Service::start(unlimited()).await;
    for (api_key, name) in [("first", "Jo Vexford"), ("second", "Al Sterrewind")] {
        let request = service.request("POST", AML).header("x-api-key", api_key).header("Idempotency-Key", KEY);
        let answer = service.send(request.body(aml("production", name).to_string())).await.unwrap();
        assert_eq!(answer.status, 200);
    }
    assert_eq!(service.stats().charges, 2);
}

#[tokio::test]
async fn a_refusal_is_not_kept_under_a_key() {
    let service = Service::start(Settings { credits: 0, ..unlimited() }).await;
    let body = aml("production", "Jo Vexford");
    assert_eq!(service.post(AML, KEY, &body).await.status, 402);
    service.simulator.set_balance(1);
    assert_eq!(service.post(AML, KEY, &body).await.status, 200);
    assert_eq!(service.stats().replays, 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_lives_72_hours_and_is_then_forgotten_and_charged_again() {
    let simulator = Simulator::new(Settings { clock: driven(), ..unlimited() });
    let body = aml("production", "Jo Vexford");
    let first = post_in_process(&simulator, AML, KEY, &body).await.unwrap();
    assert_eq!(first.header("date"), Some("Tue, 03 Nov 2026 08:00:00 GMT"));
    advance(Duration::from_secs(72 * 3600 - 1)).await;
    assert_eq!(post_in_process(&simulator, AML, KEY, &body).await.unwrap().body, first.body);
    advance(Duration::from_secs(1)).await;
    let later = post_in_process(&simulator, AML, KEY, &body).await.unwrap();
    assert_eq!(later.header("date"), Some("Fri, 06 Nov 2026 08:00:00 GMT"));
    let stats = simulator.stats();
    assert_eq!((stats.charges, stats.replays, stats.double_charges), (2, 1, 1), "expiry does not excuse");
}

const MEDIA: &str = "/adverse-media";

#[tokio::test(start_paused = true)]
async fn a_key_in_flight_is_202_pending_and_the_answer_comes_later() {
    let simulator = Simulator::new(Settings { latency: Duration::from_secs(15), clock: driven(), ..unlimited() });
    let body = json!({"mode": "production", "name": "Jo Vexford", "entity": 0});
    let first = tokio::spawn({
        let (simulator, body) = (simulator.clone(), body.clone());
        async move { post_in_process(&simulator, MEDIA, KEY, &body).await.unwrap() }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    let meanwhile = post_in_process(&simulator, MEDIA, KEY, &body).await.unwrap();
    assert_eq!((meanwhile.status, &meanwhile.body["status"]), (202, &json!("pending")));
    let first = first.await.unwrap();
    assert_eq!(post_in_process(&simulator, MEDIA, KEY, &body).await.unwrap().body, first.body);
    assert_eq!((simulator.stats().charges, simulator.stats().replays), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_key_in_flight_is_409_where_no_202_is_described() {
    let simulator = Simulator::new(Settings { latency: Duration::from_secs(15), clock: driven(), ..unlimited() });
    let body = aml("production", "Jo Vexford");
    let first = tokio::spawn({
        let (simulator, body) = (simulator.clone(), body.clone());
        async move { post_in_process(&simulator, AML, KEY, &body).await.unwrap() }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    let meanwhile = post_in_process(&simulator, AML, KEY, &body).await.unwrap();
    assert_eq!((meanwhile.status, meanwhile.code()), (409, "request_in_progress"));
    assert_eq!(first.await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn work_continues_and_is_charged_after_its_client_has_disconnected() {
    let simulator = Simulator::new(Settings { latency: Duration::from_secs(15), clock: driven(), ..unlimited() });
    let body = aml("production", "Jo Vexford");
    let exchange = post_in_process(&simulator, AML, KEY, &body);
    assert!(tokio::time::timeout(Duration::from_secs(10), exchange).await.is_err());
    assert_eq!(simulator.stats().charges, 0);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(simulator.stats().charges, 1);
    assert_eq!(post_in_process(&simulator, AML, KEY, &body).await.unwrap().status, 200);
    assert_eq!((simulator.stats().charges, simulator.stats().replays), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn sandbox_keys_are_honoured_too() {
    let simulator = Simulator::new(Settings { clock: driven(), ..unlimited() });
    let first = post_in_process(&simulator, AML, KEY, &aml("sandbox", "Jo Vexford")).await.unwrap();
    advance(Duration::from_secs(3)).await;
    assert_eq!(post_in_process(&simulator, AML, KEY, &aml("sandbox", "Jo Vexford")).await.unwrap().body, first.body);
    assert_eq!(post_in_process(&simulator, AML, KEY, &aml("sandbox", "Al Vexford")).await.unwrap().status, 409);
}
