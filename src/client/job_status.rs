//! Replies about a job: what the service says has become of it. A pure function of a reply. The description shows the
//! states `pending`, `completed` and `failed`, and not the body of a status reply. A reply that does not clearly end the
//! job leaves it open, because asking again costs nothing.

use super::{
    classify::{ReplySpec, charge_in},
    job_reply::{OPEN, named_job},
    json_body::{JsonBody, json_body},
    reply_message::message,
    transport::Reply,
};
use crate::model::{
    Credits, JobId,
    credits::Amount,
    planted::{Bug, planted},
    printable::printable_cut,
};

/// The words of `status` for a job with a result. The description shows `completed`; the others are assumed.
const COMPLETED: [&str; 5] = ["completed", "complete", "done", "succeeded", "finished"];
/// The words of `status` for a job without a result. The description shows `failed`; the others are assumed.
const FAILED: [&str; 7] = ["failed", "failure", "error", "expired", "timed_out", "cancelled", "rejected"];
/// Where a reply states the status, its error, and the mode.
const STATUS: [&str; 2] = ["/status", "/data/status"];
const ERROR_CODES: [&str; 4] = ["/error/code", "/data/error/code", "/result/error/code", "/code"];

const TEXT_CHARACTERS_MAX: usize = 300;

/// What a reply says about a job.
#[derive(Clone)]
pub enum JobNews {
    /// It has no result yet.
    Open,
    /// It has a result, and the credits that the reply states were charged for it.
    Completed { stated: Amount, answer: Box<JsonBody> },
    /// It ended without a result. A charge is possible only if the reply states one.
    Failed { stated: Amount, code: Option<String>, message: String },
    /// The service does not know the job.
    NotFound,
    /// A complete 2xx that says nothing reliable about this job, and why.
    Unclear(&'static str),
}

/// Reads a complete reply about the job `id`. `None` if the reply is about the service and not about the job: the
/// outcome of [`classify`](super::classify) says what.
pub fn job_news(reply: &Reply, id: &JobId, spec: &ReplySpec<'_>) -> Option<JobNews> {
    let job = spec.job?;
    match reply.status {
        200..300 => {}
        404 | 410 => return Some(JobNews::NotFound),
        _ => return None,
    }
    let bytes = reply.body.as_deref()?;
    let Some(json) = json_body(bytes).filter(|json| json.value.is_object()) else {
        return Some(JobNews::Unclear("it is not a JSON object"));
    };
    let body = &json.value;
    let is_other = named_job(body, job).is_some_and(|named| named.as_ref() != Some(id));
    if is_other && !planted(Bug::StateOfAnotherJob) {
        return Some(JobNews::Unclear("it is about another job"));
    }
    let stated = charge_in(Some(body), spec);
    let status = STATUS.iter().find_map(|at| body.pointer(at)).filter(|status| !status.is_null());
    let word = status.map(|status| status.as_str().unwrap_or_default().trim().to_ascii_lowercase());
    let is = |words: &[&str]| word.as_deref().is_some_and(|word| words.contains(&word));
    let has_result = spec.answer.payload(body).is_some();
    Some(match () {
        () if is(&OPEN) || reply.status == 202 => JobNews::Open,
        () if is(&FAILED) => {
            let code = ERROR_CODES.iter().find_map(|at| body.pointer(at)?.as_str());
            let told = message(Some(body), None).unwrap_or_default();
            let shown = |text: &str| printable_cut(text, TEXT_CHARACTERS_MAX);
            JobNews::Failed { stated, code: code.map(shown), message: shown(&told) }
        }
        () if !has_result && is(&COMPLETED) => JobNews::Unclear("it says that the job is complete, and has no result"),
        () if !has_result => JobNews::Unclear("it has neither a known status nor a result"),
        () if word.is_none() && super::calls_itself_a_failure(body) => {
            JobNews::Unclear("it says that it failed, and does not say that the job did")
        }
        // An unknown status with a result is an answer: its rules judge it.
        () => JobNews::Completed { stated, answer: Box::new(json) },
    })
}

impl JobNews {
    /// The credits that the reply states, if it ends the job.
    pub fn stated(&self) -> Option<Credits> {
        match self {
            JobNews::Completed { stated: Amount::Credits(credits), .. }
            | JobNews::Failed { stated: Amount::Credits(credits), .. } => Some(*credits),
            _ => None,
        }
    }

    /// The name used in the ledger and in logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            JobNews::Open => "open",
            JobNews::Completed { .. } => "completed",
            JobNews::Failed { .. } => "failed",
            JobNews::NotFound => "not_found",
            JobNews::Unclear(_) => "unclear",
        }
    }
}

impl std::fmt::Debug for JobNews {
    /// A result contains personal data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JobNews::Failed { code, .. } => write!(f, "failed {code:?}"),
            JobNews::Unclear(why) => write!(f, "unclear: {why}"),
            _ => f.write_str(self.as_str()),
        }
    }
}

#[cfg(test)]
#[path = "job_status_tests.rs"]
mod tests;
