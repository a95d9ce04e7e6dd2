//! Closing the gate: nothing is sent for a time, because the service asked for it. Says so in the log. Which replies ask
//! for it is read in `client/said.rs`; whether only one check waits is decided by [`check_pauses`](super::check_pauses).

use super::context::RunContext;
pub use crate::throttle::PUSH_BACK_MAX;
use crate::{client::PushBack, model::Mode};
use std::time::Duration;
use tokio::time::Instant;

/// The longest push-back that is recorded for later runs.
pub const PAUSE_KEPT_MAX: Duration = Duration::from_secs(24 * 3_600);
/// How long a 429 without a stated time pauses all sends.
pub const PUSH_BACK_UNSTATED: Duration = Duration::from_secs(5);

/// Closes the gate for all requests, and says so: for a time that this run waits, and for the whole time for the workers
/// that share the account.
pub fn close_gate(context: &RunContext, pause: Duration, http_status: Option<u16>) {
    let reason = match http_status {
        Some(429) => "rate limit, HTTP 429".to_owned(),
        Some(status) => format!("the service asks to wait, HTTP {status}"),
        None => "the service asks to wait".to_owned(),
    };
    let all = pause.min(PAUSE_KEPT_MAX);
    let pause = pause.min(PUSH_BACK_MAX);
    let until = Instant::now() + pause;
    // Requests that were in flight together are refused together.
    let is_news = context.throttle.paused_until().is_none_or(|known| until > known + Duration::from_secs(1));
    context.throttle.pause_until(until, &reason);
    if is_news {
        tracing::info!("waiting {} s: {reason}", whole_seconds(pause));
        context.throttle.pause_all(all);
    }
}

/// The seconds of a wait, rounded up.
pub fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// How long a push-back of a request asks to wait. In sandbox, a 429 without a time is the repeat cooldown of a
/// single payload and delays only that.
pub fn pause(push_back: PushBack, mode: Mode) -> Option<Duration> {
    match (push_back, mode) {
        (PushBack::Stated(wait), _) => Some(wait),
        (PushBack::Unstated, Mode::Production) => Some(PUSH_BACK_UNSTATED),
        (PushBack::Unstated, Mode::Sandbox) => None,
    }
}

/// When a pause that begins at `now_us` ends, in microseconds since 1970. Capped, because a wrong time from the service must
/// not pause the campaign indefinitely.
pub fn pause_end(wait: Duration, now_us: i64) -> i64 {
    now_us.saturating_add(micros(wait.min(PAUSE_KEPT_MAX)))
}

pub fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
