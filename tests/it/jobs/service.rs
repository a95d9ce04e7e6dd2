//! The simulated service answers later as the description says: 202 with the documented body, a job that ends as
//! completed or failed, its state at no credits for the submitting account only, and one charge when it has a result.

use crate::support::service::{lifted, simulated};
use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use rescreen::{
    model::Clock,
    simulator::{AuthAccepted, Settings, Simulator},
};
use serde_json::{Value, json};
use std::time::Duration;

pub const ROUTE: &str = "/business-bank-account-verification";
pub const FOREIGN: &str = "/foreign-bank-account-verification";

pub fn simulator(change: impl FnOnce(&mut Settings)) -> Simulator {
    let mut settings =
        Settings { clock: simulated(Clock::driven("2026-11-03T08:00:00Z".parse().unwrap())), ..lifted() };
    settings.credits = 1_000;
    change(&mut settings);
    Simulator::new(settings)
}

pub async fn exchange(simulator: &Simulator, request: Request<Body>) -> (u16, Value) {
    let (parts, body) = simulator.exchange(request).await.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    (parts.status.as_u16(), serde_json::from_slice(&bytes).unwrap())
}

pub async fn post(simulator: &Simulator, path: &str, key: &str, body: &Value) -> (u16, Value) {
    let request = Request::post(path).header("x-api-key", "own").header("Idempotency-Key", key);
    exchange(simulator, request.body(Body::from(body.to_string())).unwrap()).await
}

pub async fn get(simulator: &Simulator, path: &str, api_key: &str) -> (u16, Value) {
    exchange(simulator, Request::get(path).header("x-api-key", api_key).body(Body::empty()).unwrap()).await
}

pub fn business(mode: &str, number: u32) -> Value {
    json!({
        "mode": mode, "businessName": "Vexford", "registrationNumber": format!("2019/{number:06}/07"),
        "bankName": "Example Bank", "bankAccountNumber": "062000123", "bankAccountType": "current",
        "bankBranchCode": "450105",
    })
}

pub fn foreigner(number: u32) -> Value {
    json!({
        "mode": "production", "firstName": "Jo", "surname": "Vexford", "passportNumber": format!("ZX{number:05}A"),
        "passportCountry": "NG", "bankName": "FNB", "bankAccountNumber": "0620001", "bankBranchCode": "051001",
        "bankAccountType": "savings", "consentConfirmed": true, "purpose": "supplier payment",
    })
}

#[tokio::test(start_paused = true)]
async fn a_job_is_pending_then_completed_and_charged_once() {
    let simulator = simulator(|_| {});
    let (status, accepted) = post(&simulator, ROUTE, "key-0001", &business("production", 1)).await;
    assert_eq!(status, 202);
    let shown = ["success", "status", "mode", "reportType", "requiredCredits"].map(|name| accepted[name].clone());
    assert_eq!(shown, [json!(true), json!("pending"), json!("production"), json!("business-bank"), json!(7)]);
    let id = accepted["jobId"].as_str().unwrap();
    let path = format!("{ROUTE}/jobs/{id}");
    assert_eq!(get(&simulator, &path, "own").await.1["status"], "pending");
    assert_eq!((simulator.stats().charges, simulator.stats().balance), (0, 1_000), "nothing is charged yet");
    assert_eq!(post(&simulator, ROUTE, "key-0001", &business("production", 1)).await.1["jobId"], id, "the same job");
    tokio::time::advance(Duration::from_secs(20 * 60)).await;
    for _ in 0..3 {
        let (status, done) = get(&simulator, &path, "own").await;
        assert_eq!((status, &done["status"], &done["creditsUsed"]), (200, &json!("completed"), &json!(7)));
        assert!(done["result"]["checks"]["accountFound"].is_boolean(), "{done}");
    }
    assert_eq!((simulator.stats().charges, simulator.stats().balance), (1, 993));
}

#[tokio::test(start_paused = true)]
async fn a_job_is_charged_when_it_is_done_although_nobody_asks() {
    let simulator = simulator(|settings| settings.job_time = Some(Duration::from_secs(60)));
    post(&simulator, ROUTE, "key-0001", &business("production", 1)).await;
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(simulator.stats().credits_charged, 7);
    assert_eq!(simulator.charged_under("key-0001"), 7);
}

#[tokio::test(start_paused = true)]
async fn another_account_and_an_unknown_id_find_no_job() {
    let simulator = simulator(|_| {});
    let id = post(&simulator, ROUTE, "key-0001", &business("production", 1)).await.1["jobId"].clone();
    let path = format!("{ROUTE}/jobs/{}", id.as_str().unwrap());
    assert_eq!(get(&simulator, &path, "other").await.0, 404);
    assert_eq!(get(&simulator, &format!("{ROUTE}/jobs/job_0"), "own").await.0, 404);
    assert_eq!(get(&simulator, &path, "own").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_job_without_a_result_after_48_hours_fails_and_costs_nothing() {
    let simulator = simulator(|settings| settings.job_time = Some(Duration::from_secs(60 * 3_600)));
    let id = post(&simulator, ROUTE, "key-0001", &business("production", 1)).await.1["jobId"].clone();
    let path = format!("{ROUTE}/jobs/{}", id.as_str().unwrap());
    tokio::time::advance(Duration::from_secs(47 * 3_600)).await;
    assert_eq!(get(&simulator, &path, "own").await.1["status"], "pending");
    tokio::time::advance(Duration::from_secs(3_601)).await;
    let failed = get(&simulator, &path, "own").await.1;
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!("verification_timed_out")));
    assert_eq!((simulator.stats().charges, simulator.stats().balance), (0, 1_000));
}

#[tokio::test(start_paused = true)]
async fn seven_credits_must_be_available_while_a_job_is_processed() {
    let simulator = simulator(|settings| settings.credits = 13);
    assert_eq!(post(&simulator, ROUTE, "key-0001", &business("production", 1)).await.0, 202);
    let (status, refused) = post(&simulator, ROUTE, "key-0002", &business("production", 2)).await;
    assert_eq!((status, &refused["error"]["code"]), (402, &json!("insufficient_credits")));
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_job_costs_nothing_and_has_a_result() {
    let simulator = simulator(|settings| settings.job_time = Some(Duration::ZERO));
    let (status, accepted) = post(&simulator, ROUTE, "key-0001", &business("sandbox", 1)).await;
    assert_eq!((status, &accepted["requiredCredits"]), (202, &json!(0)));
    let path = format!("{ROUTE}/jobs/{}", accepted["jobId"].as_str().unwrap());
    let done = get(&simulator, &path, "own").await.1;
    assert_eq!((&done["status"], &done["creditsUsed"]), (&json!("completed"), &json!(0)));
    assert_eq!((simulator.stats().charges, simulator.stats().balance), (0, 1_000));
}

#[tokio::test(start_paused = true)]
async fn a_real_time_check_that_cannot_complete_needs_a_webhook_and_charges_nothing() {
    let simulator = simulator(|settings| settings.fallback_of_hundred = 100);
    let (status, refused) = post(&simulator, FOREIGN, "key-0001", &foreigner(1)).await;
    assert_eq!((status, &refused["error"]["code"]), (503, &json!("ASYNC_FALLBACK_REQUIRES_WEBHOOK")));
    assert_eq!((&refused["creditsUsed"], simulator.stats().balance), (&json!(0), 1_000));
    let mut with_webhook = foreigner(1);
    (with_webhook["webhookUrl"], with_webhook["webhookSecret"]) = ("https://x.example".into(), "x".repeat(32).into());
    let (status, accepted) = post(&simulator, FOREIGN, "key-0002", &with_webhook).await;
    assert_eq!(
        (status, &accepted["reportType"], &accepted["requiredCredits"]),
        (202, &json!("foreign-bank"), &json!(7))
    );
    assert_eq!(accepted["webhook"]["eventTypes"][0], "foreign_bank.verification.completed");
}

#[tokio::test(start_paused = true)]
async fn the_documented_real_time_reply_states_its_charge() {
    let simulator = simulator(|settings| settings.fallback_of_hundred = 0);
    let (status, answer) = post(&simulator, FOREIGN, "key-0001", &foreigner(1)).await;
    assert_eq!((status, &answer["processingMode"], &answer["status"]), (200, &json!("realtime"), &json!("completed")));
    assert!(answer["creditsUsed"].is_u64() && answer["result"]["outcome"].is_string(), "{answer}");
    assert_eq!(answer["result"]["bank"]["accountNumberLast4"], "0001");
}

#[tokio::test(start_paused = true)]
async fn the_length_of_a_key_is_checked_only_where_the_description_says_so() {
    let simulator = simulator(|_| {});
    assert_eq!(post(&simulator, FOREIGN, "short", &foreigner(1)).await.0, 400);
    assert_eq!(post(&simulator, FOREIGN, &"k".repeat(161), &foreigner(1)).await.0, 400);
    assert_eq!(post(&simulator, ROUTE, "short", &business("production", 1)).await.0, 202);
}

#[tokio::test(start_paused = true)]
async fn header_form_cooldown_and_key_life_can_be_set() {
    let bearer = simulator(|settings| settings.auth = AuthAccepted::Bearer);
    assert_eq!(get(&bearer, "/my_credits", "own").await.0, 401);
    let request = Request::get("/my_credits").header("authorization", "Bearer own").body(Body::empty()).unwrap();
    assert_eq!(exchange(&bearer, request).await.0, 200);

    let slow = simulator(|settings| settings.cooldown = Duration::from_secs(10));
    assert_eq!(post(&slow, ROUTE, "key-0001", &business("sandbox", 1)).await.0, 202);
    tokio::time::advance(Duration::from_secs(9)).await;
    assert_eq!(post(&slow, ROUTE, "key-0001", &business("sandbox", 1)).await.0, 429);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(post(&slow, ROUTE, "key-0001", &business("sandbox", 1)).await.0, 202);

    let short = simulator(|settings| settings.key_life = Some(Duration::from_secs(3_600)));
    let first = post(&short, ROUTE, "key-0001", &business("production", 1)).await.1["jobId"].clone();
    tokio::time::advance(Duration::from_secs(3_601)).await;
    assert_ne!(
        post(&short, ROUTE, "key-0001", &business("production", 1)).await.1["jobId"],
        first,
        "the key is forgotten"
    );
}
