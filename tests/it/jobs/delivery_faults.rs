//! Deliveries that go wrong on demand: lost, repeated, out of order, and before the reply that accepts the job.

use super::{
    deliveries::{MINUTE, event, next},
    receivers::received,
    service::{ROUTE, business, post, simulator},
};
use rescreen::simulator::Simulator;
use serde_json::Value;
use std::time::Duration;

fn with(faults: &str) -> Simulator {
    simulator(|settings| settings.job_faults = faults.parse().unwrap())
}

async fn submit(simulator: &Simulator, number: u32) -> Value {
    let key = format!("key-{number:04}");
    post(simulator, ROUTE, &key, &received(business("production", number))).await.1["jobId"].clone()
}

/// The jobs of all deliveries in their order. Each is accepted.
async fn delivered(simulator: &Simulator) -> Vec<Value> {
    let mut jobs = Vec::new();
    loop {
        let due = next(simulator).await;
        if due.is_empty() {
            return jobs;
        }
        for delivery in due {
            jobs.push(event(&delivery)["data"]["jobId"].clone());
            simulator.delivered(delivery.number, Some(200));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_share_of_the_events_is_lost_or_comes_twice_always_the_same() {
    let run = async || {
        let simulator = with("lost:0.3,twice:0.4");
        let mut jobs = Vec::new();
        for number in 0..50 {
            jobs.push(submit(&simulator, number).await);
        }
        let delivered = delivered(&simulator).await;
        jobs.iter().map(|job| delivered.iter().filter(|one| *one == job).count()).collect::<Vec<_>>()
    };
    let counts = run().await;
    assert_eq!(counts, run().await);
    let count = |times| counts.iter().filter(|count| **count == times).count();
    assert!((5..25).contains(&count(0)) && (5..30).contains(&count(2)) && count(1) > 5, "{counts:?}");
    assert_eq!(count(0) + count(1) + count(2), 50);
}

#[tokio::test(start_paused = true)]
async fn a_late_event_comes_after_later_ones() {
    let simulator = with("late:0.5:10m");
    let mut jobs = Vec::new();
    for number in 0..12 {
        jobs.push(submit(&simulator, number).await);
        tokio::time::advance(MINUTE).await;
    }
    let mut sorted = delivered(&simulator).await;
    assert_ne!(sorted, jobs);
    sorted.sort_by_key(|job| jobs.iter().position(|known| known == job));
    assert_eq!(sorted, jobs, "each comes once");
}

#[tokio::test(start_paused = true)]
async fn an_early_event_is_delivered_before_the_reply_that_accepts_its_job() {
    let simulator = with("early:1");
    let submitting = async { submit(&simulator, 1).await };
    let mut seen = None;
    let receiving = async {
        let delivery = loop {
            match simulator.deliveries_due().pop() {
                Some(delivery) => break delivery,
                None => tokio::task::yield_now().await,
            }
        };
        seen = Some(event(&delivery)["data"].clone());
        // The reply waits for this report.
        tokio::time::sleep(Duration::from_secs(1)).await;
        simulator.delivered(delivery.number, Some(200));
        tokio::time::Instant::now()
    };
    let (id, reported) = tokio::join!(async { (submitting.await, tokio::time::Instant::now()) }, receiving);
    assert!(id.1 >= reported, "the reply came first");
    let seen = seen.unwrap();
    assert_eq!((&seen["jobId"], &seen["status"]), (&id.0, &"completed".into()));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_does_not_answer_delays_an_early_reply_by_seconds_only() {
    let simulator = with("early:1");
    let begun = tokio::time::Instant::now();
    submit(&simulator, 1).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
    assert_eq!(simulator.deliveries_due().len(), 1, "it is still delivered");
}
