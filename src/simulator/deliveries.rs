//! Deliveries of events: the signed message that tells the receiver of a job that it is completed or failed. This module
//! builds them, and decides with the outbox when each is due. It sends nothing: that is the sender's work on a socket, and
//! the caller's in process. What the description leaves open is assumed: a failed event states its error in
//! `data.error`.

use super::{
    Simulator,
    digest::{digest, hex},
    job_state::Snapshot,
    jobs::{JobState, event_type},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a submission waits for the delivery that comes before its reply.
const EARLY_WAIT: Duration = Duration::from_secs(5);

/// A delivery that is due, with its headers and its signature.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedDelivery {
    /// Identifies this attempt in [`Simulator::delivered`].
    pub number: u64,
    pub url: String,
    /// The event id, the time and the signature.
    pub headers: [(&'static str, String); 3],
    pub body: Vec<u8>,
}

impl std::fmt::Debug for SignedDelivery {
    /// The body contains personal data, and the URL may contain a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SignedDelivery {{ {}, {} bytes, [redacted] }}", self.number, self.body.len())
    }
}

impl Simulator {
    /// Finishes the jobs that are due, and begins the deliveries that are due: at most 16 are under way at once. The
    /// caller sends each, and reports it with [`Simulator::delivered`].
    pub fn deliveries_due(&self) -> Vec<SignedDelivery> {
        self.finish_jobs();
        std::iter::from_fn(|| self.begin_delivery()).collect()
    }

    fn begin_delivery(&self) -> Option<SignedDelivery> {
        let now = self.settings().clock.now();
        let mut state = self.state();
        let (number, id, job) = loop {
            let (number, id) = state.outbox.begin(now.as_microsecond())?;
            match state.jobs.by_id.get(&id).filter(|job| job.order.receiver.is_some()) {
                Some(job) => break (number, id, Snapshot::of(job)),
                None => drop(state.outbox.end(number, true, 0)),
            }
        };
        state.count_delivery();
        drop(state);
        let receiver = job.order.receiver.as_ref()?;
        let (event_id, body) = self.event(&id, &job);
        let body = body.to_string().into_bytes();
        let timestamp = now.as_second().to_string();
        let signature = receiver.sign(&timestamp, &body);
        let headers =
            [("x-service-event-id", event_id), ("x-service-timestamp", timestamp), ("x-service-signature", signature)];
        Some(SignedDelivery { number, url: receiver.url().to_string(), headers, body })
    }

    /// Reports the result of a delivery: the status of the reply, or `None` if there was none in time. Any 2xx ends it.
    pub fn delivered(&self, number: u64, status: Option<u16>) {
        let accepted = status.is_some_and(|status| (200..300).contains(&status));
        self.state().end_delivery(number, accepted, self.settings().clock.now_us());
        self.0.changed.notify_waiters();
    }

    /// How long nothing is due: no job ends, and no delivery begins. `None` if nothing is awaited.
    pub fn nothing_due_for(&self) -> Option<Duration> {
        let state = self.state();
        let due_us = state.jobs.next_ready_us().into_iter().chain(state.outbox.next_due_us()).min()?;
        drop(state);
        let wait_us = due_us.saturating_sub(self.settings().clock.now_us());
        Some(Duration::from_micros(u64::try_from(wait_us).unwrap_or(0)))
    }

    /// Waits until the first delivery for a job has ended, or no delivery is planned.
    pub(super) async fn first_delivery(&self, id: &str) {
        self.finish_jobs();
        let ended = async {
            loop {
                let changed = self.0.changed.notified();
                if !self.state().outbox.is_unsent(id) {
                    return;
                }
                changed.await;
            }
        };
        // A receiver that does not answer must not keep the submission.
        drop(tokio::time::timeout(EARLY_WAIT, ended).await);
    }

    /// The event of a job that has ended, with its id. It is the same each time.
    fn event(&self, id: &str, job: &Snapshot) -> (String, Value) {
        let end = if matches!(job.state, JobState::Failed(_)) { "failed" } else { "completed" };
        let event_id = format!("evt_{}", hex(&digest(&[id.as_bytes(), end.as_bytes()])));
        let created_at = Timestamp::from_microsecond(job.ready_at_us).unwrap_or(Timestamp::UNIX_EPOCH);
        let body = json!({
            "id": event_id,
            "type": event_type(&job.order.check, end),
            "createdAt": created_at.to_string(),
            "data": self.job_view(id, job),
        });
        (event_id, body)
    }
}
