//! Replies about a job: what the service says has become of it. A pure function of a reply. The description shows the
//! states `pending`, `completed` and `failed`, and not the body of a status reply. A reply that does not clearly end the
//! job leaves it open, because asking again costs nothing. [`job_words`](super::job_words) has the words.

use super::{
    classify::{ReplySpec, charge_in},
    job_reply::named_job,
    job_words::{JobWord, has_content, is_result, job_word},
    json_body::{JsonBody, json_body},
    reply_message::message,
    transport::Reply,
};
use crate::model::{
    Credits, JobId,
    credits::Amount,
    json_pointer,
    planted::{Bug, planted},
    printable::printable_cut,
};

/// Where a reply states why the job failed.
const ERROR_CODES: [&str; 4] = ["/error/code", "/data/error/code", "/result/error/code", "/code"];

const TEXT_CHARACTERS_MAX: usize = 300;
const WORD_CHARACTERS_MAX: usize = 40;

/// What a reply says about a job.
#[derive(Clone)]
pub enum JobNews {
    /// It has no result yet.
    Open,
    /// It has a result, and the credits that the reply states were charged for it. If no word of the reply says that the
    /// job is completed (`is_said`), it is one only if the rules of the check recognise it.
    Completed { stated: Amount, answer: Box<JsonBody>, is_said: bool },
    /// It ended without a result. A charge is possible only if the reply states one.
    Failed { stated: Amount, code: Option<String>, message: String },
    /// The service does not know the job.
    NotFound,
    /// A complete 2xx that says nothing reliable about this job, and why.
    Unclear(String),
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
        return Some(JobNews::Unclear("it is not a JSON object".to_owned()));
    };
    let body = &json.value;
    let is_other = named_job(body, job).is_some_and(|named| named.as_ref() != Some(id));
    if is_other && !planted(Bug::StateOfAnotherJob) {
        return Some(JobNews::Unclear("it is about another job".to_owned()));
    }
    let stated = charge_in(Some(body), spec);
    let has_result =
        spec.answer.payload(body).is_some_and(|found| has_content(found) || is_result(found, &job.completed));
    let unclear = |why: &str| JobNews::Unclear(why.to_owned());
    Some(match job_word(body, &job.completed) {
        JobWord::Open => JobNews::Open,
        JobWord::Failed => {
            let code = ERROR_CODES.iter().find_map(|at| json_pointer::at(body, at)?.as_str());
            let told = message(Some(body), None).unwrap_or_default();
            let shown = |text: &str| printable_cut(text, TEXT_CHARACTERS_MAX);
            JobNews::Failed { stated, code: code.map(shown), message: shown(&told) }
        }
        JobWord::Completed if has_result => JobNews::Completed { stated, answer: Box::new(json), is_said: true },
        JobWord::Completed => unclear("it says that the job is complete, and has no result"),
        _ if reply.status == 202 => JobNews::Open,
        JobWord::Other(word) => {
            let word = printable_cut(&word, WORD_CHARACTERS_MAX);
            JobNews::Unclear(format!("its state is `{word}`, which is not known"))
        }
        JobWord::Nothing if !has_result => unclear("it has neither a known state nor a result"),
        JobWord::Nothing if super::calls_itself_a_failure(body) => {
            unclear("it says that it failed, and does not say that the job did")
        }
        JobWord::Nothing => JobNews::Completed { stated, answer: Box::new(json), is_said: false },
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
