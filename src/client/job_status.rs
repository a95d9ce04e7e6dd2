//! Replies about a job: what the service says has become of it. A pure function of a reply. The description shows the
//! states `pending`, `completed` and `failed`, and not the body of a status reply. A reply that does not clearly end the
//! job leaves it open, because asking again costs nothing. [`job_words`](super::job_words) has the words.

use super::{
    author::Author,
    classify::ReplySpec,
    job_reply::named_job,
    job_words::{JobWord, has_content, stated_job},
    json_body::JsonBody,
    reply_kind::ReplyKind,
    said::{Said, shown},
};
use crate::model::{JobId, json_pointer, printable::printable_cut};

/// Where a reply states why the job failed.
const ERROR_CODES: [&str; 4] = ["/error/code", "/data/error/code", "/result/error/code", "/code"];

const WORD_CHARACTERS_MAX: usize = 40;

/// What a reply says about a job. Its result is kept whatever the words beside it say: a job that is said to be open or to
/// have failed may have one all the same.
#[derive(Clone)]
pub enum JobNews {
    /// It has not ended yet.
    Open { result: Option<Box<JsonBody>> },
    /// It has a result. If no word of the reply says that the job is completed (`is_said`), it is one only if the rules of
    /// the check recognise it.
    Completed { result: Box<JsonBody>, is_said: bool },
    /// It ended without a result. If the reply has one, and the rules of the check recognise it, the job is completed.
    Failed { result: Option<Box<JsonBody>>, code: Option<String>, message: String },
    /// The service does not know the job.
    NotFound,
    /// The reply is about another job.
    OtherJob { named: String },
    /// A complete 2xx that says nothing reliable about this job, and why.
    Unclear { why: String, result: Option<Box<JsonBody>> },
    /// The poll is refused, or leads nowhere: it says nothing about the job.
    Refused,
    /// No whole reply came, or one that asks to try again later.
    Unheard,
}

/// Reads what was said about the job `id`.
pub fn job_news(said: &Said<'_>, id: &JobId, spec: &ReplySpec<'_>) -> JobNews {
    match said.kind {
        kind if kind.is_success() => {}
        ReplyKind::NotFound | ReplyKind::Gone if said.author != Author::Another => return JobNews::NotFound,
        kind if kind.is_final() => return JobNews::Refused,
        _ => return JobNews::Unheard,
    }
    let (Some(job), Some(_)) = (spec.job, said.body()) else { return JobNews::Unheard };
    // What may be a result in an unknown place is kept, in case no better reply comes.
    let kept = || said.json.clone().filter(|json| has_content(&json.value)).map(Box::new);
    let unclear = |why: &str| JobNews::Unclear { why: why.to_owned(), result: kept() };
    let Some(json) = said.json.as_ref().filter(|json| json.value.is_object()) else {
        return unclear("it is not a JSON object");
    };
    let body = &json.value;
    if let Some(named) = named_job(body, job).filter(|named| !named.as_ref().is_some_and(|named| named.is_same(id))) {
        return JobNews::OtherJob {
            named: named.map_or_else(|| "an unusable id".to_owned(), |named| named.to_string()),
        };
    }
    let stated = stated_job(body, Some(job), spec.answer);
    let result = stated.has_result.then(|| Box::new(json.clone()));
    match (stated.word, result) {
        (JobWord::Open, result) => JobNews::Open { result },
        (JobWord::Failed, result) => {
            let code = ERROR_CODES.iter().find_map(|at| json_pointer::at(body, at)?.as_str());
            JobNews::Failed { result, code: code.map(shown), message: said.words().unwrap_or_default() }
        }
        (JobWord::Completed, Some(result)) => JobNews::Completed { result, is_said: true },
        (JobWord::Completed, None) => unclear("it says that the job is complete, and has no result"),
        (_, result) if said.kind == ReplyKind::Accepted => JobNews::Open { result },
        (JobWord::Other(word), result) => {
            let word = printable_cut(&word, WORD_CHARACTERS_MAX);
            JobNews::Unclear { why: format!("its state is `{word}`, which is not known"), result }
        }
        (JobWord::Nothing, None) => unclear("it has neither a known state nor a result"),
        (JobWord::Nothing, result) if super::calls_itself_a_failure(body) => {
            JobNews::Unclear { why: "it says that it failed, and does not say that the job did".to_owned(), result }
        }
        (JobWord::Nothing, Some(result)) => JobNews::Completed { result, is_said: false },
    }
}

impl JobNews {
    /// The name used in the ledger and in logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            JobNews::Open { .. } => "open",
            JobNews::Completed { .. } => "completed",
            JobNews::Failed { .. } => "failed",
            JobNews::NotFound => "not_found",
            JobNews::OtherJob { .. } => "other_job",
            JobNews::Unclear { .. } => "unclear",
            JobNews::Refused => "refused",
            JobNews::Unheard => "unheard",
        }
    }
}

impl std::fmt::Debug for JobNews {
    /// A result contains personal data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JobNews::Failed { code, .. } => write!(f, "failed {code:?}"),
            JobNews::Unclear { why, .. } => write!(f, "unclear: {why}"),
            _ => f.write_str(self.as_str()),
        }
    }
}

#[cfg(test)]
#[path = "job_status_tests.rs"]
mod tests;
