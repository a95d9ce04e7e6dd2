//! The deliveries of the simulated service, in process and under paused time: what an event contains, how it is signed,
//! and when it is repeated.

use super::{
    receivers::{RECEIVER, SECRET, received},
    service::{FOREIGN, ROUTE, business, foreigner, get, post, simulator},
};
use hmac::{Hmac, KeyInit, Mac};
use rescreen::simulator::{SignedDelivery, Simulator};
use serde_json::{Value, json};
use sha2::Sha256;
use std::time::Duration;

pub const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// The event in a delivery.
pub fn event(delivery: &SignedDelivery) -> Value {
    serde_json::from_slice(&delivery.body).unwrap()
}

/// Waits until something is delivered, and returns it.
pub async fn next(simulator: &Simulator) -> Vec<SignedDelivery> {
    loop {
        let due = simulator.deliveries_due();
        match simulator.nothing_due_for() {
            None => return due,
            Some(_) if !due.is_empty() => return due,
            Some(wait) => tokio::time::advance(wait).await,
        }
    }
}

fn header<'a>(delivery: &'a SignedDelivery, name: &str) -> &'a str {
    &delivery.headers.iter().find(|(known, _)| *known == name).unwrap().1
}

/// The signature, by code that shares nothing with the program.
fn signature(secret: &str, delivery: &SignedDelivery) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{}.", header(delivery, "x-service-timestamp")).as_bytes());
    mac.update(&delivery.body);
    let digest = mac.finalize().into_bytes();
    format!("v1={}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

#[tokio::test(start_paused = true)]
async fn a_completed_job_is_delivered_once_as_documented() {
    let simulator = simulator(|settings| settings.fallback_of_hundred = 100);
    let id = post(&simulator, FOREIGN, "key-0001", &received(foreigner(1))).await.1["jobId"].clone();
    assert_eq!(simulator.nothing_due_for(), Some(20 * MINUTE));
    tokio::time::advance(20 * MINUTE - Duration::from_secs(1)).await;
    assert_eq!(simulator.deliveries_due(), []);
    tokio::time::advance(Duration::from_secs(1)).await;
    let [delivery] = <[_; 1]>::try_from(simulator.deliveries_due()).unwrap();
    assert_eq!(delivery.url, RECEIVER);
    let event = event(&delivery);
    let state = get(&simulator, &format!("{FOREIGN}/jobs/{}", id.as_str().unwrap()), "own").await.1;
    assert_eq!(
        event,
        json!({
            "id": header(&delivery, "x-service-event-id"),
            "type": "foreign_bank.verification.completed",
            "createdAt": "2026-11-03T08:20:00Z",
            "data": {
                "jobId": id, "status": "completed", "mode": "production", "reportType": "foreign-bank",
                "creditsUsed": 7, "result": state["result"],
            },
        })
    );
    assert!(event["id"].as_str().unwrap().starts_with("evt_") && event["data"]["result"]["outcome"].is_string());
    assert_eq!(header(&delivery, "x-service-timestamp"), "1793694000", "2026-11-03T08:20:00Z");
    assert_eq!(header(&delivery, "x-service-signature"), signature(SECRET, &delivery));
    assert_eq!(simulator.deliveries_due(), [], "it is under way");
    simulator.delivered(delivery.number, Some(204));
    assert_eq!((next(&simulator).await, simulator.nothing_due_for()), (vec![], None));
    let stats = simulator.stats();
    assert_eq!((stats.deliveries, stats.delivered, stats.charges), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_job_without_a_result_delivers_its_failure() {
    let simulator = simulator(|settings| settings.job_time = Some(60 * HOUR));
    post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await;
    tokio::time::advance(48 * HOUR).await;
    let event = event(&simulator.deliveries_due()[0]);
    assert_eq!(event["type"], "business_bank.verification.failed");
    let data = &event["data"];
    assert_eq!((&data["status"], &data["creditsUsed"], data.get("result")), (&json!("failed"), &json!(0), None));
    assert_eq!(data["error"]["code"], "verification_timed_out");
    assert_eq!(simulator.stats().charges, 0);
}

#[tokio::test(start_paused = true)]
async fn a_failed_delivery_is_repeated_with_the_same_body_and_a_fresh_signature() {
    let simulator = simulator(|settings| settings.job_time = Some(MINUTE));
    post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await;
    let (mut first, mut at) = (None, Vec::new());
    // No reply, redirects and all refusals count as failures.
    for status in [None, Some(500), Some(302), Some(401), Some(404), Some(410), Some(199), Some(300)] {
        let [delivery] = <[_; 1]>::try_from(next(&simulator).await).unwrap();
        let first = first.get_or_insert_with(|| delivery.clone());
        assert_eq!(
            (&delivery.body, header(&delivery, "x-service-event-id")),
            (&first.body, header(first, "x-service-event-id"))
        );
        assert_eq!(header(&delivery, "x-service-signature"), signature(SECRET, &delivery));
        at.push(header(&delivery, "x-service-timestamp").parse::<u64>().unwrap());
        simulator.delivered(delivery.number, status);
        simulator.delivered(delivery.number, Some(200));
    }
    let minutes: Vec<u64> = at.windows(2).map(|pair| (pair[1] - pair[0]) / 60).collect();
    assert_eq!(minutes, [1, 5, 30, 120, 360, 720, 1_440]);
    assert_eq!(next(&simulator).await, [], "it is given up");
    assert_eq!((simulator.stats().deliveries, simulator.stats().delivered), (8, 0));
}

#[tokio::test(start_paused = true)]
async fn a_time_scale_shortens_jobs_and_repeats_and_leaves_the_clock_alone() {
    let simulator = simulator(|settings| {
        settings.time_scale = 60;
        settings.job_time = Some(30 * MINUTE);
    });
    post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await;
    assert_eq!(simulator.nothing_due_for(), Some(Duration::from_secs(30)));
    tokio::time::advance(Duration::from_secs(30)).await;
    let [first] = <[_; 1]>::try_from(simulator.deliveries_due()).unwrap();
    assert_eq!(header(&first, "x-service-timestamp"), "1793692830", "2026-11-03T08:00:30Z");
    simulator.delivered(first.number, None);
    assert_eq!(simulator.nothing_due_for(), Some(Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn forty_eight_hours_are_played_in_a_minute() {
    let simulator = simulator(|settings| (settings.time_scale, settings.job_time) = (2_880, Some(Duration::MAX)));
    post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await;
    assert_eq!(simulator.nothing_due_for(), Some(MINUTE));
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_job_delivers_a_result_at_no_cost() {
    let simulator = simulator(|_| {});
    post(&simulator, ROUTE, "key-0001", &received(business("sandbox", 1))).await;
    let event = event(&next(&simulator).await[0]);
    assert_eq!(event["type"], "business_bank.verification.completed");
    assert_eq!((&event["data"]["mode"], &event["data"]["creditsUsed"]), (&json!("sandbox"), &json!(0)));
    assert!(event["data"]["result"]["checks"].is_object());
    assert_eq!((simulator.stats().charges, simulator.stats().balance), (0, 1_000));
}

#[tokio::test(start_paused = true)]
async fn a_real_time_answer_and_a_job_without_a_receiver_deliver_nothing() {
    let simulator = simulator(|settings| settings.fallback_of_hundred = 0);
    assert_eq!(post(&simulator, FOREIGN, "key-0001", &received(foreigner(1))).await.0, 200);
    assert_eq!(post(&simulator, ROUTE, "key-0002", &business("production", 1)).await.0, 202);
    assert_eq!(next(&simulator).await, []);
    assert_eq!((simulator.stats().charges, simulator.stats().deliveries), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn jobs_without_a_set_time_take_the_same_time_for_the_same_content() {
    let times = async |seed| {
        let simulator = simulator(|settings| (settings.job_time, settings.seed) = (None, seed));
        let mut times = Vec::new();
        for number in 0..40 {
            post(&simulator, ROUTE, &format!("key-{number:04}"), &business("production", number)).await;
            times.push(simulator.nothing_due_for().unwrap());
            simulator.reset();
        }
        times
    };
    let (one, again, two) = (times(1).await, times(1).await, times(2).await);
    assert!(one == again && one != two);
    let few = one.iter().filter(|time| **time < 30 * MINUTE).count();
    assert!((20..40).contains(&few), "{few} of 40 take minutes");
}

#[tokio::test(start_paused = true)]
async fn a_reset_forgets_deliveries_and_a_late_report_changes_nothing() {
    let simulator = simulator(|_| {});
    post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await;
    let before = next(&simulator).await.remove(0);
    simulator.reset();
    post(&simulator, ROUTE, "key-0001", &received(business("production", 1))).await;
    let after = next(&simulator).await.remove(0);
    simulator.delivered(before.number, Some(200));
    simulator.delivered(after.number, None);
    assert_eq!(simulator.nothing_due_for(), Some(MINUTE), "only the attempt after the reset counts");
    assert_eq!(simulator.stats().delivered, 0);
}

#[test]
fn a_delivery_does_not_show_its_content() {
    let headers = [("x-service-event-id", "evt_1"), ("x-service-timestamp", "1"), ("x-service-signature", "v1=00")];
    let headers = headers.map(|(name, value)| (name, value.to_owned()));
    let url = "https://user:password@x.example".to_owned();
    let delivery = SignedDelivery { number: 7, url, headers, body: b"Thandi".to_vec() };
    assert_eq!(format!("{delivery:?}"), "SignedDelivery { 7, 6 bytes, [redacted] }");
}
