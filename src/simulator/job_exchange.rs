//! Exchanges about jobs: which requests are answered later, the reply that accepts one, and its state. What the
//! description leaves open is assumed: the body of a job's state, and that a job of another account is not found.

use super::{
    Simulator,
    answer::{compose, result_of},
    answer_style::AnswerStyle,
    digest::Digest,
    jobs::{JobState, report_type},
    order::Order,
    reply::{Refusal, Reply},
    state::Ticket,
    statement::ChargeStated,
};
use crate::{
    catalogue::{Flow, JOB_ID},
    model::{Mode, rng::Rng},
};
use serde_json::{Value, json};

/// The check that may be answered at once.
const REAL_TIME: &str = "foreign-bank-account";

impl Simulator {
    /// The template and the id of a job's path.
    pub(super) fn job_at<'a>(&self, path: &'a str) -> Option<(&str, &'a str)> {
        self.settings().catalogue.iter().filter_map(|check| check.job.as_ref()).find_map(|job| {
            let (before, after) = job.status.split_once(JOB_ID)?;
            let id = path.strip_prefix(before)?.strip_suffix(after)?;
            (!id.is_empty() && !id.contains('/')).then_some((job.status.as_str(), id))
        })
    }

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
    pub(super) fn later(&self, account: Digest, order: &Order, ticket: Ticket) -> Result<Reply, Refusal> {
        let has_webhook = order.fields.contains_key("webhookUrl") || self.settings().quirks.job_without_webhook;
        if order.check.name == REAL_TIME && !has_webhook {
            self.state().give_up(order, ticket);
            let message = "the real-time check cannot complete and no webhook was given";
            let refusal = Refusal::new(503, "ASYNC_FALLBACK_REQUIRES_WEBHOOK", message);
            return Err(Refusal { states_no_charge: true, ..refusal });
        }
        let id = self.state().accept_job(order, account, ticket, self.settings().job_time);
        Ok(self.accepted(order, &id))
    }

    /// The reply that accepts an order as a job.
    pub(super) fn accepted(&self, order: &Order, id: &str) -> Reply {
        let required = if order.mode == Mode::Production { self.price_of(order) } else { 0 };
        Reply::json(202, &accepted_body(order, id, required))
    }

    /// The state of a job, at no credits.
    pub(super) fn job_status(&self, account: Digest, path: &str) -> Result<Reply, Refusal> {
        let unknown = || Refusal::new(404, "job_not_found", "no such job of this account");
        let (_, id) = self.job_at(path).ok_or_else(unknown)?;
        let state = self.state();
        let job = state.jobs.find(id, account).ok_or_else(unknown)?;
        let (order, job_state) = (job.order.clone(), job.state);
        drop(state);
        let mut body = json!({
            "success": true,
            "jobId": id,
            "mode": order.mode,
            "reportType": report_type(&order.check),
            "creditsUsed": 0,
        });
        match job_state {
            JobState::Pending => body["status"] = "pending".into(),
            JobState::Failed(code) => {
                body["status"] = "failed".into();
                body["error"] = json!({"code": code, "message": "the verification has no result"});
            }
            JobState::Completed(receipt) => {
                body["status"] = "completed".into();
                body["creditsUsed"] = receipt.credits.into();
                let answer = compose(&order, &receipt, self.style_of(&order));
                body["result"] = result_of(&order, &answer);
            }
        }
        Ok(Reply::json(200, &body))
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
        let hold = order.check.job.as_ref().and_then(|job| job.hold).map(|hold| hold.0);
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
    if order.fields.contains_key("webhookUrl") {
        let kind = report_type(&order.check).replace('-', "_");
        let events = ["completed", "failed"].map(|end| format!("{kind}.verification.{end}"));
        body["webhook"] = json!({"delivery": "signed", "eventTypes": events});
    }
    body
}
