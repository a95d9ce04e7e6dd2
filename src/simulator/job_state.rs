//! Requests about a job that was accepted: its state, and the repeated delivery of its result. Both cost no credits. What
//! the description leaves open is assumed: the body of a job's state, that a job of another account is not found, the
//! reply of retry-webhook, and the 409 for a job that is not completed.

use super::{
    Simulator,
    answer::result_of,
    check::JOB_ID,
    digest::Digest,
    job_fault::StateFault,
    jobs::{Job, JobPath, JobState, event_type, report_type},
    order::Order,
    receiver::Receiver,
    reply::{Refusal, Reply},
    retry_after::RetryAfter,
    state::State,
};
use axum::http::Method;
use serde_json::{Map, Value, json};

impl Simulator {
    /// The job that a path is about.
    pub(super) fn job_at<'a>(&'a self, path: &'a str) -> Option<JobPath<'a>> {
        let jobs = self.settings().checks.iter().filter_map(|check| check.job.as_ref());
        let templates =
            jobs.flat_map(|job| std::iter::once(&job.status).chain(&job.retry_webhook).zip(std::iter::repeat(job)));
        templates.into_iter().find_map(|(template, job)| {
            let (before, after) = template.split_once(JOB_ID)?;
            let id = path.strip_prefix(before)?.strip_suffix(after)?;
            (!id.is_empty() && !id.contains('/')).then_some(JobPath { template, status: &job.status, id })
        })
    }

    /// Answers a request about a job.
    pub(super) fn about_job(
        &self,
        account: Digest,
        method: &Method,
        path: &str,
        body: &[u8],
    ) -> Result<Reply, Refusal> {
        let path = self.job_at(path).ok_or_else(unknown)?;
        match *method {
            Method::GET if path.template == path.status => self.job_status(account, &path),
            Method::POST if path.template != path.status => self.retry_webhook(account, &path, body),
            _ => Err(Refusal::new(405, "method_not_allowed", "this route does not accept this method")),
        }
    }

    /// The state of a job.
    fn job_status(&self, account: Digest, path: &JobPath<'_>) -> Result<Reply, Refusal> {
        let mut state = self.state();
        let State { jobs, job_faults, job_state_rng, seed, .. } = &mut *state;
        let job = jobs.find_at(path, account).ok_or_else(unknown)?;
        let fault = job_faults.of_state(*seed, job.order.subject, job_state_rng);
        let (mut id, mut shown) = (path.id.to_owned(), Snapshot::of(job));
        match fault {
            Some(StateFault::Unauthorized) => {
                return Err(Refusal::new(401, "invalid_api_key", "this API key is not known"));
            }
            Some(StateFault::NotFound) => return Err(unknown()),
            Some(StateFault::RateLimited) => return Err(Refusal::rate_limited(RetryAfter::Seconds(1))),
            Some(StateFault::Html) => return Ok(Reply::html()),
            Some(StateFault::Reverted) if job.was_shown => shown.state = JobState::Pending,
            _ => job.was_shown |= matches!(job.state, JobState::Completed(_)),
        }
        if fault == Some(StateFault::Crossed)
            && let Some((other, job)) = other_job(jobs.by_id.iter(), &id, &shown)
        {
            (id, shown) = (other.clone(), Snapshot::of(job));
        }
        drop(state);
        let mut body = json!({"success": true});
        body.as_object_mut().expect("it is an object").extend(self.job_view(&id, &shown));
        match (fault, shown.state) {
            (Some(StateFault::Empty), JobState::Completed(_)) => {
                drop(body.as_object_mut().map(|body| body.remove("result")))
            }
            (Some(StateFault::Charge), JobState::Completed(receipt)) => {
                body["creditsUsed"] = (receipt.credits + 1).into()
            }
            _ => {}
        }
        Ok(Reply::json(200, &body))
    }

    /// What the service tells about a job: the members of its state, and of `data` in its event.
    pub(super) fn job_view(&self, id: &str, job: &Snapshot) -> Map<String, Value> {
        let Snapshot { order, state, .. } = job;
        let mut view = json!({
            "jobId": id,
            "mode": order.mode,
            "reportType": report_type(&order.check),
            "creditsUsed": 0,
        });
        match state {
            JobState::Pending => view["status"] = "pending".into(),
            JobState::Failed(code) => {
                view["status"] = "failed".into();
                view["error"] = json!({"code": code, "message": "the verification has no result"});
            }
            JobState::Completed(receipt) => {
                view["status"] = "completed".into();
                view["creditsUsed"] = receipt.credits.into();
                let answer = self.completed(order, receipt);
                view["result"] = result_of(order, &answer);
            }
        }
        let Value::Object(view) = view else { unreachable!("it is an object") };
        view
    }

    /// Delivers the event of a completed job again, to its receiver or to another one from now on.
    fn retry_webhook(&self, account: Digest, path: &JobPath<'_>, body: &[u8]) -> Result<Reply, Refusal> {
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(body) else {
            return Err(Refusal::new(400, "invalid_json", "the body must be one JSON object"));
        };
        let receiver = Receiver::take(&mut fields)?;
        let mut state = self.state();
        let State { jobs, outbox, .. } = &mut *state;
        let job = jobs.find_at(path, account).ok_or_else(unknown)?;
        if !matches!(job.state, JobState::Completed(_)) {
            return Err(Refusal::new(409, "job_not_completed", "only a completed result can be delivered again"));
        }
        if receiver.is_some() {
            job.order.receiver = receiver;
        }
        if job.order.receiver.is_none() {
            let message = "webhookUrl: the job has no receiver; this field and webhookSecret name one";
            return Err(Refusal::new(400, "invalid_webhook", message));
        }
        let order = job.order.clone();
        outbox.forget(path.id);
        outbox.add(path.id, self.settings().clock.now_us(), false);
        drop(state);
        self.0.changed.notify_waiters();
        let webhook = json!({"delivery": "signed", "eventTypes": [event_type(&order.check, "completed")]});
        let body =
            json!({"success": true, "jobId": path.id, "status": "completed", "creditsUsed": 0, "webhook": webhook});
        Ok(Reply::json(200, &body))
    }
}

/// A job at one moment.
pub(super) struct Snapshot {
    pub(super) order: Order,
    pub(super) state: JobState,
    pub(super) ready_at_us: i64,
}

impl Snapshot {
    pub(super) fn of(job: &Job) -> Snapshot {
        Snapshot { order: job.order.clone(), state: job.state, ready_at_us: job.ready_at_us }
    }
}

/// Another completed job of the same check, about another subject.
fn other_job<'a>(
    mut jobs: impl Iterator<Item = (&'a String, &'a Job)>,
    id: &str,
    job: &Snapshot,
) -> Option<(&'a String, &'a Job)> {
    jobs.find(|(other, found)| {
        let is_like = found.order.check.name == job.order.check.name && found.order.subject != job.order.subject;
        *other != id && is_like && matches!(found.state, JobState::Completed(_))
    })
}

fn unknown() -> Refusal {
    Refusal::new(404, "job_not_found", "no such job of this account")
}
