//! The receiver that a submission names: checked before anything is accepted, and part of what a key stands for.

use super::service::{FOREIGN, ROUTE, business, foreigner, get, post, simulator};
use serde_json::{Value, json};

pub const SECRET: &str = "a_secret_of_more_than_thirty-two_characters";
pub const RECEIVER: &str = "https://receiver.example/hooks/1";

/// A body with a receiver.
pub fn received(mut body: Value) -> Value {
    (body["webhookUrl"], body["webhookSecret"]) = (RECEIVER.into(), SECRET.into());
    body
}

#[tokio::test(start_paused = true)]
async fn an_invalid_receiver_is_refused_before_anything_is_accepted() {
    let simulator = simulator(|settings| settings.fallback_of_hundred = 0);
    let wrong = [
        json!({"webhookUrl": RECEIVER}),
        json!({"webhookSecret": SECRET}),
        json!({"webhookUrl": "http://receiver.example/", "webhookSecret": SECRET}),
        json!({"webhookUrl": "receiver.example", "webhookSecret": SECRET}),
        json!({"webhookUrl": RECEIVER, "webhookSecret": "x".repeat(31)}),
        json!({"webhookUrl": 7, "webhookSecret": SECRET}),
        json!({"webhookUrl": null, "webhookSecret": null}),
    ];
    for (path, plain) in [(ROUTE, business("production", 1)), (FOREIGN, foreigner(1))] {
        for members in &wrong {
            let mut body = plain.clone();
            body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            let (status, refused) = post(&simulator, path, "key-0001", &body).await;
            assert_eq!((status, &refused["error"]["code"]), (400, &json!("invalid_webhook")), "{members}");
            assert!(!refused.to_string().contains(SECRET), "{refused}");
        }
    }
    let stats = simulator.stats();
    assert_eq!((stats.jobs, stats.charges, stats.distinct_keys, stats.balance), (0, 0, 0, 1_000));
    for url in ["http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/", RECEIVER] {
        let mut body = received(business("production", 2));
        body["webhookUrl"] = url.into();
        assert_eq!(post(&simulator, ROUTE, url, &body).await.0, 202, "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_stands_for_its_receiver_too() {
    let simulator = simulator(|_| {});
    let body = received(business("production", 1));
    let id = post(&simulator, ROUTE, "key-0001", &body).await.1["jobId"].clone();
    assert_eq!(post(&simulator, ROUTE, "key-0001", &body).await.1["jobId"], id);
    for (name, value) in [("webhookUrl", "https://other.example/"), ("webhookSecret", &*"y".repeat(40))] {
        let mut other = body.clone();
        other[name] = value.into();
        assert_eq!(post(&simulator, ROUTE, "key-0001", &other).await.0, 409, "{name}");
    }
    assert_eq!(post(&simulator, ROUTE, "key-0001", &business("production", 1)).await.0, 409, "no receiver");
    assert_eq!(simulator.stats().jobs, 1);
}

#[tokio::test(start_paused = true)]
async fn no_reply_shows_the_secret() {
    let simulator = simulator(|settings| settings.job_time = Some(std::time::Duration::ZERO));
    let accepted = post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await.1;
    assert_eq!(accepted["webhook"]["delivery"], "signed");
    let path = format!("{ROUTE}/jobs/{}", accepted["jobId"].as_str().unwrap());
    let done = get(&simulator, &path, "own").await.1;
    assert_eq!(done["status"], "completed");
    let event = String::from_utf8(simulator.deliveries_due().remove(0).body).unwrap();
    for text in [accepted.to_string(), done.to_string(), event] {
        assert!(!text.contains(SECRET) && !text.contains("receiver.example"), "{text}");
    }
}
