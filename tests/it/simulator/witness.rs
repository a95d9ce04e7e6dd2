//! The charge book, the counters and the reset.

use super::*;

#[tokio::test]
async fn the_same_subject_under_two_keys_is_a_double_charge() {
    let service = Service::start(unlimited()).await;
    let body = aml("production", "Jo Vexford");
    service.post(AML, "key-00001", &body).await;
    service.post(AML, "key-00002", &body).await;
    service.post(AML, "key-00003", &aml("production", "Al Vexford")).await;
    let stats = service.stats();
    assert_eq!((stats.charges, stats.double_charges), (3, 1));
}

#[tokio::test]
async fn order_transport_and_defaults_do_not_make_another_subject() {
    let service = Service::start(unlimited()).await;
    service.post(AML, "key-00001", &aml("production", "Jo Vexford")).await;
    let reordered = json!({"country": "za", "entity": 0, "name": "Jo Vexford", "mode": "production"});
    service.post(AML, "key-00002", &reordered).await;
    let mut with_receiver = reordered;
    with_receiver["webhookUrl"] = json!("https://receiver.test/");
    service.post(AML, "key-00003", &with_receiver).await;
    assert_eq!(service.stats().double_charges, 2);
}

#[tokio::test]
async fn sandbox_and_replays_are_not_double_charges() {
    let service = Service::start(unlimited()).await;
    let body = aml("production", "Jo Vexford");
    service.post(AML, KEY, &body).await;
    service.post(AML, KEY, &body).await;
    service.post(AML, "key-00002", &aml("sandbox", "Jo Vexford")).await;
    assert_eq!((service.stats().charges, service.stats().double_charges), (1, 0));
}

#[tokio::test]
async fn the_stats_page_needs_no_key_and_is_not_counted() {
    let service = Service::start(unlimited()).await;
    service.post(AML, KEY, &aml("production", "Jo Vexford")).await;
    service.get("/my_credits").await;
    let page = service.send(service.request("GET", "/_simulator/stats")).await.unwrap().body;
    assert_eq!(
        page,
        json!({
            "requests": 2,
            "by_status": {"200": 2},
            "by_route": {"GET /my_credits": 1, "POST /aml-screening": 1},
            "distinct_keys": 1,
            "replays": 0,
            "charges": 1,
            "credits_charged": 1,
            "double_charges": 0,
            "conflicts": 0,
            "max_in_any_minute": 2,
            "jobs": 0,
            "deliveries": 0,
            "delivered": 0,
            "balance": 999_999,
        })
    );
    assert_eq!(serde_json::from_value::<Stats>(page).unwrap(), service.stats());
}

#[tokio::test]
async fn a_reset_forgets_keys_charges_and_rates() {
    let service = Service::start(Settings { per_minute: 1, per_minute_max: 3, ..Settings::default() }).await;
    let untouched = service.stats();
    let body = aml("production", "Jo Vexford");
    assert_eq!(service.post(AML, KEY, &body).await.status, 200);
    let reset = service.send(service.request("POST", "/_simulator/reset")).await.unwrap();
    assert_eq!((reset.status, service.stats()), (200, untouched));
    for key in [KEY, "key-00002"] {
        assert_eq!(service.post(AML, key, &body).await.status, 200, "two at once, as at the start");
    }
    let stats = service.stats();
    assert_eq!((stats.charges, stats.double_charges, stats.replays), (2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn work_begun_before_a_reset_leaves_no_trace_after_it() {
    let latency = std::time::Duration::from_secs(5);
    let simulator = Simulator::new(Settings { latency, clock: driven(), ..unlimited() });
    let body = aml("production", "Jo Vexford");
    let work = async { post_in_process(&simulator, AML, KEY, &body).await };
    let reset = async { simulator.reset() };
    let (answer, ()) = tokio::join!(work, reset);
    assert_eq!(answer.unwrap().status, 200);
    assert_eq!(simulator.stats().charges, 0);
}

#[tokio::test]
async fn the_server_stops_on_request_and_answers_work_already_begun() {
    let service = Service::start(Settings { latency: std::time::Duration::from_millis(100), ..unlimited() }).await;
    let Service { simulator, url, client, _until_dropped: until_dropped } = service;
    let request = client.post(format!("{url}{AML}")).header("x-api-key", "a").header("Idempotency-Key", KEY);
    let exchange = tokio::spawn(request.body(aml("production", "Jo Vexford").to_string()).send());
    while simulator.stats().requests == 0 {
        tokio::task::yield_now().await;
    }
    drop(until_dropped);
    assert_eq!(exchange.await.unwrap().unwrap().status(), 200);
    assert!(client.get(format!("{url}/my_credits")).header("x-api-key", "a").send().await.is_err());
}
