//! The rate limiter of one process under paused time: the limits are kept, and they are used.

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

/// The most requests in any window of a minute. The times must ascend.
pub(super) fn most_in_a_minute(times: &[Instant]) -> usize {
    let mut from = 0;
    let window = |(at, time): (usize, &Instant)| {
        while *time >= times[from] + MINUTE {
            from += 1;
        }
        at - from + 1
    };
    times.iter().enumerate().map(window).max().unwrap_or(0)
}

async fn admitted(rate: Rate, bucket: Bucket, count: usize) -> Vec<Instant> {
    admitted_by(&Throttle::new(rate, bucket), count).await
}

async fn admitted_by(throttle: &Throttle, count: usize) -> Vec<Instant> {
    let mut times = Vec::new();
    for _ in 0..count {
        let _permit = throttle.admit().await.unwrap();
        times.push(Instant::now());
    }
    times
}

fn rate(per_minute: u32, per_minute_max: u32) -> Rate {
    Rate { per_minute, per_minute_max }
}

#[tokio::test(start_paused = true)]
async fn the_first_minute_holds_the_documented_120_less_the_reserve() {
    let most = most_in_a_minute(&admitted(Rate::default(), Bucket::Full, 400).await);
    assert!((116..=120).contains(&most), "{most}");
}

#[tokio::test(start_paused = true)]
async fn an_empty_bucket_never_bursts() {
    let times = admitted(Rate::default(), Bucket::Empty, 200).await;
    assert!(most_in_a_minute(&times) <= 61);
}

#[tokio::test(start_paused = true)]
async fn without_room_for_a_bucket_the_limit_holds() {
    for (per_minute, per_minute_max) in [(60, 60), (60, 61), (1, 1), (2, 2), (120, 60)] {
        let most = most_in_a_minute(&admitted(rate(per_minute, per_minute_max), Bucket::Full, 150).await);
        assert!(most <= per_minute_max as usize, "{per_minute}/{per_minute_max}: {most}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_pair_of_limits_is_used_to_99_percent() {
    let pairs = [(60, 60), (600, 600), (6_000, 6_000), (30_000, 30_000), (60, 120), (600, 720), (60, 61)];
    for (per_minute, per_minute_max) in pairs {
        let count = per_minute as usize * 3;
        let times = admitted(rate(per_minute, per_minute_max), Bucket::Empty, count).await;
        let minutes = (times[count - 1] - times[0]).as_secs_f64() / 60.0;
        let used = (count - 1) as f64 / minutes / f64::from(per_minute);
        assert!((0.99..=1.001).contains(&used), "{per_minute}/{per_minute_max}: {used}");
    }
}

/// Timers that are repeatedly late, by up to two seconds.
#[tokio::test(start_paused = true)]
async fn a_late_timer_is_caught_up_within_the_minute() {
    for (per_minute, per_minute_max) in [(60, 60), (600, 600), (6_000, 6_000), (600, 720)] {
        let throttle = Throttle::new(rate(per_minute, per_minute_max), Bucket::Empty);
        let mut times = Vec::new();
        let count = per_minute as usize * 4;
        for number in 0..count {
            let _permit = throttle.admit().await.unwrap();
            times.push(Instant::now());
            if number % (per_minute as usize / 5) == 7 && number < count - 2 * per_minute as usize / 5 {
                tokio::time::sleep(Duration::from_millis(1_900)).await;
            }
        }
        let minutes = (times[count - 1] - times[0]).as_secs_f64() / 60.0;
        let used = (count - 1) as f64 / minutes / f64::from(per_minute);
        assert!((0.99..=1.001).contains(&used), "{per_minute}/{per_minute_max}: {used}");
        let most = most_in_a_minute(&times);
        assert!(most <= per_minute_max as usize, "{per_minute}/{per_minute_max}: {most}");
    }
}

/// A service with a token bucket of the difference of the limits never refuses a request either.
#[tokio::test(start_paused = true)]
async fn where_the_limits_differ_a_token_bucket_of_their_difference_is_enough() {
    for (per_minute, per_minute_max) in [(60, 120), (600, 720), (6_000, 7_200)] {
        let times = admitted(rate(per_minute, per_minute_max), Bucket::Full, per_minute_max as usize * 3).await;
        let (mut level, mut at) = (f64::from(per_minute_max - per_minute), times[0]);
        for time in times {
            let refilled = level + (time - at).as_secs_f64() * f64::from(per_minute) / 60.0;
            level = refilled.min(f64::from(per_minute_max - per_minute)) - 1.0;
            at = time;
            assert!(level >= 0.0, "{per_minute}/{per_minute_max}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn thousands_a_second_are_reached() {
    let start = Instant::now();
    admitted(rate(600_000, 720_000), Bucket::Empty, 20_000).await;
    let seconds = start.elapsed().as_secs_f64();
    assert!((1.9..2.2).contains(&seconds), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn a_pause_closes_the_gate_and_the_longest_counts() {
    let throttle = Throttle::new(Rate::default(), Bucket::Full);
    let start = Instant::now();
    throttle.pause_until(start + Duration::from_secs(9), "HTTP 429");
    throttle.pause_until(start + Duration::from_secs(3), "HTTP 503");
    assert_eq!(throttle.pause().unwrap().reason, "HTTP 429", "the longer pause is kept");
    let _permit = throttle.admit().await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 9);
    assert!(throttle.paused_until().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_permit_within_the_reserve_is_kept() {
    let throttle = Throttle::new(Rate::default(), Bucket::Full);
    let permit = throttle.admit().await.unwrap();
    tokio::time::sleep(PERMIT_AGE_MAX).await;
    let start = Instant::now();
    assert!(throttle.renew(permit).await.is_some());
    assert_eq!(start.elapsed(), Duration::ZERO);
}

/// A commit that takes 20 seconds, while one request is admitted each second.
#[tokio::test(start_paused = true)]
async fn permits_that_waited_together_do_not_leave_together() {
    let throttle = Throttle::new(Rate::default(), Bucket::Empty);
    let mut waiting = Vec::new();
    for _ in 0..20 {
        waiting.push(throttle.admit().await.unwrap());
    }
    let stall_over = Instant::now();
    let renewals = waiting.into_iter().map(|permit| async {
        let permit = throttle.renew(permit).await;
        permit.map(|_| stall_over.elapsed())
    });
    let left: Vec<Duration> = futures::future::join_all(renewals).await.into_iter().flatten().collect();
    let at_once = left.iter().filter(|after| **after < Duration::from_millis(900)).count();
    assert_eq!(at_once, 3, "the permit of this second, and two late ones: {left:?}");
    assert!((5..=8).contains(&left.len()), "the others are not sent now: {left:?}");
}

/// A stall during steady use: a late request counts when it is sent.
#[tokio::test(start_paused = true)]
async fn after_a_stall_the_minute_still_holds_the_limit() {
    for (per_minute, per_minute_max) in [(600, 600), (60, 60), (600, 720)] {
        for stall in [6, 20] {
            let throttle = Throttle::new(rate(per_minute, per_minute_max), Bucket::Empty);
            let mut times = admitted_by(&throttle, per_minute as usize).await;
            let stalled = Instant::now();
            let mut waiting = Vec::new();
            while stalled.elapsed() < Duration::from_secs(stall) && waiting.len() < 64 {
                waiting.push(throttle.admit().await.unwrap());
            }
            tokio::time::sleep_until(stalled + Duration::from_secs(stall)).await;
            let renewals = futures::future::join_all(waiting.into_iter().map(|permit| async {
                let permit = throttle.renew(permit).await;
                permit.map(|_| Instant::now())
            }));
            let (later, left) = tokio::join!(admitted_by(&throttle, 2 * per_minute as usize), renewals);
            times.extend(later);
            times.extend(left.into_iter().flatten());
            times.sort();
            let most = most_in_a_minute(&times);
            assert!(most <= per_minute_max as usize, "{per_minute}/{per_minute_max}, {stall} s: {most}");
        }
    }
}

/// Requests are sent even if every commit takes longer than a permit is valid.
#[tokio::test(start_paused = true)]
async fn a_disk_that_is_always_slow_does_not_stop_all_messages() {
    let throttle = std::sync::Arc::new(Throttle::new(rate(60, 60), Bucket::Empty));
    let mut renewals = tokio::task::JoinSet::new();
    let (mut sent, start) = (0, Instant::now());
    while start.elapsed() < Duration::from_secs(300) {
        tokio::select! {
            permit = throttle.admit() => {
                let throttle = throttle.clone();
                renewals.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    throttle.renew(permit.unwrap()).await
                });
            }
            Some(renewed) = renewals.join_next(), if !renewals.is_empty() => sent += usize::from(renewed.unwrap().is_some()),
        }
    }
    assert!(sent > 290, "{sent} of 300 seconds");
}
