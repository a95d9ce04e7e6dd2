//! The simulated service and the receiver agree, although they share no code: what the one signs, the other accepts.

use super::post::{Post, RECEIVER, SECRET};
use crate::support::{
    program::until,
    service::{Service, lifted},
};
use rescreen::{simulator::Settings, webhook::PATH};
use serde_json::{Value, json};
use std::time::Duration;

/// Submits a job with this secret, and returns its id.
async fn submit(service: &Service, post: &Post, number: u32, secret: &str) -> String {
    let body = json!({
        "mode": "production", "businessName": "Vexford", "registrationNumber": format!("2019/{number:06}/07"),
        "bankName": "Example Bank", "bankAccountNumber": "062000123", "bankAccountType": "current",
        "bankBranchCode": "450105", "webhookUrl": format!("http://{}{PATH}{RECEIVER}", post.address),
        "webhookSecret": secret,
    });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = reqwest::Client::new().post(format!("{}/business-bank-account-verification", service.url));
    let request = request.header("x-api-key", "own").header("Idempotency-Key", format!("key-{number:04}"));
    let reply = request.body(body.to_string()).send().await.unwrap().bytes().await.unwrap();
    serde_json::from_slice::<Value>(&reply).unwrap()["jobId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_receiver_accepts_what_the_service_signs_and_nothing_else() {
    let faults = "twice:1".parse().unwrap();
    let service = Service::start(Settings { job_time: Some(Duration::ZERO), job_faults: faults, ..lifted() });
    let post = Post::open();
    let forged = submit(&service, &post, 1, &"another secret ".repeat(4)).await;
    let genuine = submit(&service, &post, 2, SECRET).await;
    let stats = || service.simulator.stats();
    until("three deliveries", async || stats().delivered >= 2 && stats().deliveries >= 3).await;
    let jobs: Vec<String> = post.events().into_iter().map(|event| event.job.unwrap().to_string()).collect();
    assert_eq!(jobs, [genuine], "not {forged}");
    let (received, _) = post.close();
    assert_eq!((received.new, received.repeated, received.refused), (1, 1, 1));
}
