//! The throttle in paused time: no window of a minute holds more messages than the service allows, and no longer period
//! exceeds the sustained rate, whatever the rate, the waits, the push-backs, the restarts and the other processes.

use super::cases;
use proptest::{collection::vec, prelude::*};
use rescreen::{
    model::Clock,
    throttle::{Bucket, BucketFile, Rate, Throttle},
};
use std::time::Duration;
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
enum Event {
    Messages(usize),
    Wait(Duration),
    PushBack(Duration),
    /// Another process, with an empty bucket.
    Restart,
}

fn event() -> impl Strategy<Value = Event> {
    let ms = |ms| Duration::from_millis(ms);
    prop_oneof![
        5 => (1..80_usize).prop_map(Event::Messages),
        3 => (0..150_000_u64).prop_map(move |wait| Event::Wait(ms(wait))),
        1 => (0..90_000_u64).prop_map(move |wait| Event::PushBack(ms(wait))),
        2 => Just(Event::Restart),
    ]
}

async fn messages(rate: Rate, events: &[Event]) -> Vec<Instant> {
    let mut throttle = Throttle::new(rate, Bucket::Full);
    let mut times = Vec::new();
    for event in events {
        match event {
            Event::Messages(count) => {
                for _ in 0..*count {
                    let _permit = throttle.admit().await.unwrap();
                    times.push(Instant::now());
                }
            }
            Event::Wait(wait) => tokio::time::sleep(*wait).await,
            Event::PushBack(wait) => throttle.pause_until(Instant::now() + *wait, ""),
            Event::Restart => throttle = Throttle::new(rate, Bucket::Empty),
        }
    }
    times
}

/// Processes that start, send and end in turn, and share the bucket of their account in a file.
async fn messages_of_processes(rate: Rate, events: &[Event]) -> Vec<Instant> {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::driven("2026-11-21T12:00:00Z".parse().unwrap());
    let process = || {
        let file = BucketFile::open(folder.path(), "an account").unwrap();
        Throttle::new(rate, Bucket::Shared(file, clock))
    };
    let mut processes = [process(), process(), process()];
    let mut times = Vec::new();
    for (number, event) in events.iter().enumerate() {
        let turn = &mut processes[number % 3];
        match event {
            Event::Messages(count) => {
                for _ in 0..*count {
                    let _permit = turn.admit().await.unwrap();
                    times.push(Instant::now());
                }
            }
            Event::Wait(wait) => tokio::time::sleep(*wait).await,
            Event::PushBack(wait) => turn.pause_until(Instant::now() + *wait, ""),
            Event::Restart => *turn = process(),
        }
    }
    times
}

/// From the first message to each later one, the sustained rate is exceeded by at most one minute's larger limit.
fn is_sustained(times: &[Instant], rate: Rate) -> bool {
    let allowed = |time: &Instant| {
        let minutes = (*time - times[0]).as_secs_f64() / 60.0;
        f64::from(rate.per_minute_max) + minutes * f64::from(rate.per_minute)
    };
    times.iter().enumerate().all(|(at, time)| at as f64 <= allowed(time))
}

/// The most messages in any window of a minute. The times are in ascending order.
fn most_in_a_minute(times: &[Instant]) -> usize {
    let mut from = 0;
    let window = |(at, time): (usize, &Instant)| {
        while *time >= times[from] + MINUTE {
            from += 1;
        }
        at - from + 1
    };
    times.iter().enumerate().map(window).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn no_minute_holds_more_than_the_limit(
        per_minute in 1..400_u32, more in 0..400_u32, events in vec(event(), 1..12),
    ) {
        let rate = Rate { per_minute, per_minute_max: per_minute + more };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let times = runtime.block_on(messages(rate, &events));
        let most = most_in_a_minute(&times);
        prop_assert!(most <= rate.per_minute_max as usize, "{most} of {rate:?}");
        prop_assert!(times.is_empty() || is_sustained(&times, rate));
    }

    #[test]
    fn processes_that_share_a_bucket_hold_the_limit_together(
        per_minute in 1..400_u32, more in 0..400_u32, events in vec(event(), 1..12),
    ) {
        let rate = Rate { per_minute, per_minute_max: per_minute + more };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let times = runtime.block_on(messages_of_processes(rate, &events));
        let most = most_in_a_minute(&times);
        prop_assert!(most <= rate.per_minute_max as usize, "{most} of {rate:?}");
        prop_assert!(times.is_empty() || is_sustained(&times, rate));
    }
}
