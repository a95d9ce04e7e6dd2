//! Closing the gate: nothing is sent for a time, because the service asked for it. Says so in the log.

use super::context::RunContext;
use std::time::Duration;
use tokio::time::Instant;

/// Closes the gate for all requests, and says so.
pub fn close_gate(context: &RunContext, pause: Duration, http_status: Option<u16>) {
    let reason = match http_status {
        Some(429) => "rate limit, HTTP 429".to_owned(),
        Some(status) => format!("the service asks to wait, HTTP {status}"),
        None => "the service asks to wait".to_owned(),
    };
    let until = Instant::now() + pause;
    // Requests that were in flight together are refused together.
    let is_news = context.throttle.paused_until().is_none_or(|known| until > known + Duration::from_secs(1));
    context.throttle.pause_until(until, &reason);
    if is_news {
        tracing::info!("waiting {} s: {reason}", whole_seconds(pause));
    }
}

/// The seconds of a wait, rounded up.
pub fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}
