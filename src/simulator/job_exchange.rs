//! Requests that become jobs: which are answered later, the reply that accepts one, and what it costs.

use super::{
    Simulator,
    answer_style::AnswerStyle,
    check::{Flow, Mode},
    digest::Digest,
    job_time::job_time,
    jobs::{event_type, report_type},
    order::Order,
    reply::{Refusal, Reply},
    rng::Rng,
    settings::Settings,
    state::Ticket,
    statement::ChargeStated,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The check that may be answered at once.
const REAL_TIME: &str = "foreign-bank-account";

impl Simulator {
    /// Finishes the jobs that are due.
    pub(super) fn finish_jobs(&self) {
        let now_us = self.settings().clock.now_us();
        self.state().finish_jobs(now_us);
    }

    /// Whether an order is not answered at once. The same content always has the same fate.
    pub(super) fn is_later(&self, order: &Order) -> bool {
        if order.check.name != REAL_TIME {
            return order.check.flow == Flow::Job;
        }
        Rng::of(self.settings().seed.rotate_left(29), order.subject).below(100) < self.settings().fallback_of_hundred
    }

    /// Accepts an order as a job. A check that is usually answered at once needs a webhook for that.
    pub(super) async fn later(&self, account: Digest, order: &Order, ticket: Ticket) -> Result<Reply, Refusal> {
        let has_webhook = order.receiver.is_some() || self.settings().quirks.job_without_webhook;
        if order.check.name == REAL_TIME && !has_webhook {
            self.state().give_up(order, ticket);
            let message = "the real-time check cannot complete and no webhook was given";
            let refusal = Refusal::new(503, "ASYNC_FALLBACK_REQUIRES_WEBHOOK", message);
            return Err(Refusal { states_no_charge: true, ..refusal });
        }
        let Settings { seed, job_time: set, .. } = *self.settings();
        let is_early = order.receiver.is_some() && self.state().job_faults.of_event(seed, order.subject).early;
        let takes = if is_early { Duration::ZERO } else { set.unwrap_or_else(|| job_time(seed, order.subject)) };
        let id = self.state().accept_job(order, account, ticket, takes);
        self.0.changed.notify_waiters();
        if is_early {
            self.first_delivery(&id).await;
        }
        Ok(self.accepted(order, &id))
    }

    /// The reply that accepts an order as a job.
    pub(super) fn accepted(&self, order: &Order, id: &str) -> Reply {
        let required = if order.mode == Mode::Production { self.price_of(order) } else { 0 };
        Reply::json(202, &accepted_body(order, id, required))
    }

    /// The format of an answer. The description shows `creditsUsed` in the answers of checks with jobs.
    pub(super) fn style_of(&self, order: &Order) -> AnswerStyle {
        let mut style = self.style();
        if order.check.job.is_some() && self.settings().charge_stated.is_none() {
            style.statement.stated = ChargeStated::Used;
        }
        style
    }

    /// The credits that an order costs: those of a job if it is not answered at once.
    pub(super) fn price_of(&self, order: &Order) -> u64 {
        let price = self.price(&order.check);
        let hold = order.check.job.as_ref().and_then(|job| job.hold);
        match hold {
            Some(hold) if order.check.name == REAL_TIME && self.is_later(order) => hold,
            _ => price,
        }
    }
}

/// The service's description, "Accepted asynchronous response".
fn accepted_body(order: &Order, id: &str, required: u64) -> Value {
    let mut body = json!({
        "success": true,
        "jobId": id,
        "status": "pending",
        "mode": order.mode,
        "reportType": report_type(&order.check),
        "requiredCredits": required,
    });
    if order.receiver.is_some() {
        let events = ["completed", "failed"].map(|end| event_type(&order.check, end));
        body["webhook"] = json!({"delivery": "signed", "eventTypes": events});
    }
    body
}
