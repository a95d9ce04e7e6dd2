//! Rate, cooldown and credits: when the service refuses for now.

use super::*;
use rescreen::simulator::ChargeStated;
use std::time::Duration;
use tokio::time::advance;

fn documented() -> Settings {
    Settings { clock: driven(), ..Settings::default() }
}

#[tokio::test]
async fn above_the_rate_is_429_with_retry_after_in_whole_seconds() {
    let service = Service::start(Settings { per_minute: 6, per_minute_max: 8, ..Settings::default() }).await;
    assert_eq!(service.get("/my_credits").await.status, 200);
    assert_eq!(service.get("/other-route").await.status, 404, "every message counts");
    let answer = service.post(AML, KEY, &aml("production", "Jo Vexford")).await;
    assert_eq!((answer.status, answer.code(), answer.header("retry-after")), (429, "rate_limited", Some("10")));
    let stats = service.stats();
    assert_eq!((stats.requests, stats.max_in_any_minute, stats.by_status[&429]), (3, 3, 1), "refused ones are seen");
}

#[tokio::test(start_paused = true)]
async fn sixty_messages_pass_at_once_and_then_one_a_second() {
    let simulator = Simulator::new(documented());
    let body = |at: usize| aml("production", &format!("Jo {at}"));
    for at in 0..60 {
        assert_eq!(post_in_process(&simulator, AML, &format!("key-{at:05}"), &body(at)).await.unwrap().status, 200);
    }
    let refused = post_in_process(&simulator, AML, "key-00060", &body(60)).await.unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    advance(Duration::from_secs(1)).await;
    assert_eq!(post_in_process(&simulator, AML, "key-00060", &body(60)).await.unwrap().status, 200);
    assert_eq!(post_in_process(&simulator, AML, "key-00061", &body(61)).await.unwrap().status, 429);
}

#[tokio::test(start_paused = true)]
async fn the_window_slides_and_the_busiest_minute_is_remembered() {
    let simulator = Simulator::new(documented());
    for at in 0..70 {
        post_in_process(&simulator, "/none", KEY, &json!(at)).await;
        advance(Duration::from_secs(1)).await;
    }
    assert_eq!(simulator.stats().max_in_any_minute, 60, "one a second");
    advance(Duration::from_secs(50)).await;
    for at in 0..20 {
        post_in_process(&simulator, "/none", KEY, &json!(at)).await;
    }
    assert_eq!(simulator.stats().max_in_any_minute, 60, "nine of the old ones and twenty new ones are fewer");
}

#[tokio::test(start_paused = true)]
async fn each_api_key_has_its_own_rate() {
    let simulator = Simulator::new(Settings { per_minute: 1, per_minute_max: 2, ..documented() });
    for (api_key, status) in [("first", 200), ("first", 429), ("second", 200)] {
        let request = Request::get("/my_credits").header("x-api-key", api_key).body(Body::empty()).unwrap();
        assert_eq!(simulator.exchange(request).await.status(), status, "{api_key}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_sandbox_payload_is_429_without_retry_after_for_two_seconds() {
    let simulator = Simulator::new(documented());
    let body = aml("sandbox", "Jo Vexford");
    assert_eq!(post_in_process(&simulator, AML, "key-00001", &body).await.unwrap().status, 200);
    advance(Duration::from_millis(1_900)).await;
    let warm = post_in_process(&simulator, AML, "key-00002", &body).await.unwrap();
    assert_eq!((warm.status, warm.code(), warm.header("retry-after")), (429, "sandbox_cooldown", None));
    advance(Duration::from_millis(100)).await;
    assert_eq!(post_in_process(&simulator, AML, "key-00002", &body).await.unwrap().status, 200);
}

#[tokio::test]
async fn the_cooldown_holds_over_a_socket_too() {
    let service = Service::start(unlimited()).await;
    for (key, status) in [("key-00001", 200), ("key-00002", 429)] {
        assert_eq!(service.post(AML, key, &aml("sandbox", "Jo Vexford")).await.status, status);
    }
}

#[tokio::test(start_paused = true)]
async fn distinct_reserved_inputs_run_immediately() {
    let simulator = Simulator::new(documented());
    for (number, status) in [("Jo 190", 200), ("Jo 290", 200), ("Jo 191", 500), ("Jo 291", 500)] {
        let answer = post_in_process(&simulator, AML, &format!("key-{number}"), &aml("sandbox", number)).await.unwrap();
        assert_eq!(answer.status, status, "{number}");
    }
}

#[tokio::test]
async fn a_completed_check_costs_its_price_and_sandbox_nothing() {
    let (prices, charge_stated) = ([("aml-screening".to_owned(), 5)].into(), Some(ChargeStated::Used));
    let service = Service::start(Settings { credits: 100, prices, charge_stated, ..unlimited() }).await;
    let answer = service.post(AML, "key-00001", &aml("production", "Jo Vexford")).await;
    assert_eq!((&answer.body["creditsUsed"], service.stats().balance), (&json!(5), 95));
    let answer = service.post(ID, "key-00002", &id("production", "8001015009087")).await;
    assert_eq!((&answer.body["creditsUsed"], service.stats().balance), (&json!(1), 94));
    let answer = service.post(AML, "key-00003", &aml("sandbox", "Jo Vexford")).await;
    assert_eq!((&answer.body["creditsUsed"], service.stats().balance), (&json!(0), 94));
    assert_eq!((service.stats().charges, service.stats().credits_charged, service.stats().balance), (2, 6, 94));
}

#[tokio::test]
async fn a_declared_price_is_charged_unless_another_is_set() {
    let mut declaration = own_check();
    declaration.price = Some(rescreen::model::Credits(6));
    let checks = checks_with(declaration);
    let body = json!({"mode": "production", "reportType": "own_report", "reference": "r-1"});
    for (prices, charged) in [([].into(), 6), ([("own-check".to_owned(), 9)].into(), 9)] {
        let charge_stated = Some(ChargeStated::Used);
        let settings = Settings { checks: checks.clone(), prices, charge_stated, ..unlimited() };
        let service = Service::start(settings).await;
        assert_eq!(service.post(ID, KEY, &body).await.body["creditsUsed"], charged);
    }
}

#[tokio::test]
async fn too_few_credits_are_402() {
    let prices = [("aml-screening".to_owned(), 5)].into();
    let service = Service::start(Settings { credits: 9, prices, ..unlimited() }).await;
    assert_eq!(service.post(AML, "key-00001", &aml("production", "Jo Vexford")).await.status, 200);
    let answer = service.post(AML, "key-00002", &aml("production", "Al Vexford")).await;
    assert_eq!((answer.status, answer.code()), (402, "insufficient_credits"));
    assert_eq!(service.stats().balance, 4);
}

#[tokio::test(start_paused = true)]
async fn credits_are_held_while_work_is_in_flight() {
    let latency = Duration::from_secs(5);
    let simulator = Simulator::new(Settings { credits: 2, latency, clock: driven(), ..unlimited() });
    let names = ["Jo Vexford", "Al Vexford", "Bo Vexford"];
    let bodies = names.map(|name| aml("production", name));
    let answers = futures::future::join_all(
        bodies.iter().zip(names).map(|(body, key)| post_in_process(&simulator, AML, key, body)),
    )
    .await;
    let mut statuses: Vec<u16> = answers.into_iter().map(|answer| answer.unwrap().status).collect();
    statuses.sort();
    assert_eq!(statuses, [200, 200, 402]);
    assert_eq!(simulator.stats().balance, 0);
}
