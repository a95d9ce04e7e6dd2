//! The state of a job as a reply states it: which words mean what, and where they count. The service's API description
//! shows `pending`, `completed` and `failed`, and not the body of a status reply; everything else here is assumed.
//!
//! A word counts where the reply describes its job, and never inside the result: "active" may be the state of a bank
//! account there, and "expired" that of a passport.

use crate::{
    catalogue::{AnswerSpec, JobSpec},
    model::json_pointer,
};
use serde_json::Value;

/// The job has no result yet.
pub(super) const OPEN: [&str; 7] =
    ["pending", "queued", "processing", "in_progress", "running", "waiting", "scheduled"];
/// These say the same outside a result. Inside one they are findings, such as the state of a bank account.
const OPEN_OR_FINDING: [&str; 7] = ["accepted", "submitted", "created", "started", "received", "active", "new"];
const COMPLETED: [&str; 5] = ["completed", "complete", "done", "succeeded", "finished"];
const FAILED: [&str; 7] = ["failed", "failure", "expired", "timed_out", "cancelled", "canceled", "rejected"];
/// Further words of an answer that failed or is not complete.
const NOT_GOOD: [&str; 8] = ["error", "fail", "errored", "unsuccessful", "aborted", "timeout", "partial", "incomplete"];
/// Words about the HTTP call, not about the job.
const CALL_STATUS: [&str; 5] = ["success", "ok", "error", "fail", ""];

/// Where a reply may describe its job, besides the places of the job's id that the check declares.
pub(super) const ENVELOPES: [&str; 6] = ["", "/data", "/results", "/job", "/data/job", "/data/0"];
/// The members of a description that state the job.
const STATES: [&str; 2] = ["status", "state"];

/// Members that describe a job. They are not part of a result.
const OF_STATE: [&str; 29] = [
    "jobId",
    "job_id",
    "id",
    "status",
    "state",
    "success",
    "mode",
    "environment",
    "message",
    "error",
    "code",
    "requestId",
    "request_id",
    "reportType",
    "report_type",
    "type",
    "webhook",
    "creditsUsed",
    "credits_used",
    "requiredCredits",
    "remainingCredits",
    "createdAt",
    "created_at",
    "updatedAt",
    "updated_at",
    "submittedAt",
    "expiresAt",
    "progress",
    "links",
];

/// Members that may contain a description or a result.
const NESTED: [&str; 5] = ["data", "results", "result", "job", "meta"];

/// What a reply says about its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JobWord {
    Open,
    Completed,
    Failed,
    /// A word that is not known.
    Other(String),
    /// The reply has no word for it.
    Nothing,
}

/// A job as a reply states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatedJob {
    pub(super) word: JobWord,
    /// There is a result: content at a place that the check declares for its answer.
    pub(super) has_result: bool,
}

/// Reads the state of a job; `job` is the declaration of its check, if it has one. Of several descriptions, an open one
/// decides, because asking again costs nothing.
///
/// A description may be the place of the result too, as `data` often is. Then its word counts only if no other
/// description has one, and only if the word cannot be a finding.
pub(super) fn stated_job(body: &Value, job: Option<&JobSpec>, answer: &AnswerSpec) -> StatedJob {
    let (ids, completed) = job.map_or((&[][..], &[][..]), |job| (&job.id[..], &job.completed[..]));
    let payload = answer.payload_pointer(body).and_then(|at| Some((at, json_pointer::at(body, at)?)));
    let result = payload.filter(|(_, found)| has_content(found) || is_declared(found, completed)).map(|(at, _)| at);
    let is_inside = |at: &str| result.is_some_and(|result| at == result || at.starts_with(&format!("{result}/")));
    let outside =
        descriptions(body, ids).filter(|at| !is_inside(at)).flat_map(|at| words(body, at)).collect::<Vec<_>>();
    let word = match job_word(&outside, completed, &[&OPEN[..], &OPEN_OR_FINDING].concat()) {
        JobWord::Nothing => {
            let envelope = result.filter(|at| ENVELOPES.contains(at) || ids.iter().any(|id| parent(id) == Some(at)));
            let words = envelope.map_or_else(Vec::new, |at| words(body, at));
            match job_word(&words, completed, &OPEN) {
                // A word that is not known is part of the result.
                JobWord::Other(_) => JobWord::Nothing,
                word => word,
            }
        }
        word => word,
    };
    StatedJob { word, has_result: result.is_some() }
}

/// Where a reply describes its job: at its root, beside the id of the job, and in an envelope with nothing else in it.
fn descriptions<'a>(body: &'a Value, ids: &'a [String]) -> impl Iterator<Item = &'a str> {
    let is_bare = |at: &str| json_pointer::at(body, at).is_some_and(|found| !has_own_content(found));
    let named = ids.iter().filter(|id| json_pointer::at(body, id).is_some_and(|id| !id.is_null()));
    ENVELOPES.into_iter().filter(move |at| at.is_empty() || is_bare(at)).chain(named.filter_map(|id| parent(id)))
}

/// The place of the object that a pointer to the id of a job leads into.
fn parent(id: &str) -> Option<&str> {
    Some(id.rsplit_once('/')?.0)
}

/// The words of a description.
fn words(body: &Value, at: &str) -> Vec<String> {
    let Some(description) = json_pointer::at(body, at) else { return Vec::new() };
    STATES.iter().filter_map(|name| word(description.get(name)?)).collect()
}

fn job_word(words: &[String], more_completed: &[String], open: &[&str]) -> JobWord {
    let is_completed =
        |word: &str| COMPLETED.contains(&word) || more_completed.iter().any(|more| more.eq_ignore_ascii_case(word));
    let any = |is: &dyn Fn(&str) -> bool| words.iter().any(|word| is(word));
    if any(&|word| open.contains(&word)) {
        JobWord::Open
    } else if any(&|word| FAILED.contains(&word)) {
        JobWord::Failed
    } else if any(&is_completed) {
        JobWord::Completed
    } else {
        let other = words.iter().find(|word| !CALL_STATUS.contains(&word.as_str()));
        other.map_or(JobWord::Nothing, |other| JobWord::Other(other.clone()))
    }
}

/// Whether the state of a whole answer says that it failed, or that it is not complete yet. Any other word may be part
/// of what was found, such as the state of a company.
pub fn is_word_of_failure(state: &str) -> bool {
    let state = plain(state);
    [&FAILED[..], &OPEN, &NOT_GOOD].concat().contains(&state.as_str())
}

/// Whether a value has content besides the state of a job: a result, in other words.
pub(super) fn has_content(value: &Value) -> bool {
    let nested = |value: &Value| NESTED.iter().filter_map(|name| value.get(name)).any(has_content);
    has_own_content(value) || nested(value) || value.as_array().is_some_and(|values| values.iter().any(has_content))
}

/// The same, apart from what is nested in another envelope. A document in an envelope as text is content.
fn has_own_content(value: &Value) -> bool {
    let is_document = |value: &Value| value.as_str().is_some_and(|text| text.trim_start().starts_with(['{', '[']));
    let is_content = |(name, value): (&String, &Value)| match NESTED.contains(&name.as_str()) {
        true => is_document(value),
        false => !OF_STATE.contains(&name.as_str()) && !value.is_null(),
    };
    value.as_object().is_some_and(|members| members.iter().any(is_content))
}

/// Whether the state in a result is one of the words that a check declares for it: then the word itself is the result.
fn is_declared(result: &Value, words: &[String]) -> bool {
    let state = STATES.iter().find_map(|name| result.get(name)).and_then(word);
    state.is_some_and(|state| words.iter().any(|word| word.eq_ignore_ascii_case(&state)))
}

/// A word in lower case, with `_` for what separates its parts. Numbers and other values say nothing.
pub(super) fn word(value: &Value) -> Option<String> {
    value.as_str().map(plain)
}

fn plain(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn declared(completed: &[&str]) -> JobSpec {
        JobSpec {
            id: vec!["/jobId".into(), "/data/jobId".into(), "/data/job/id".into()],
            status: "/x/{jobId}".into(),
            retry_webhook: None,
            hold: None,
            webhook: false,
            always: false,
            completed: completed.iter().map(|word| (*word).to_owned()).collect(),
            assumed: false,
        }
    }

    /// The state of a job, whose result may be at these places.
    fn state_at(body: &Value, payload: &[&str], completed: &[&str]) -> (JobWord, bool) {
        let payload = payload.iter().map(|at| (*at).to_owned()).collect();
        let answer = AnswerSpec { payload, ..AnswerSpec::default() };
        let StatedJob { word, has_result } = stated_job(body, Some(&declared(completed)), &answer);
        (word, has_result)
    }

    fn state(body: &Value) -> (JobWord, bool) {
        state_at(body, &["/result", "/data/result", "/results", "/data"], &[])
    }

    #[test]
    fn the_words_of_the_description_are_read_in_every_envelope() {
        for (word, wanted) in
            [("pending", JobWord::Open), ("completed", JobWord::Completed), ("failed", JobWord::Failed)]
        {
            for body in [
                json!({"status": word}),
                json!({"state": word}),
                json!({"status": "success", "data": {"jobId": "job_1", "status": word}}),
                json!({"status": 200, "data": {"status": word}}),
                json!({"success": true, "data": {"state": word}}),
                json!({"success": true, "results": {"status": word}}),
                json!({"data": {"job": {"id": "job_1", "status": word}}}),
                json!({"data": [{"jobId": "job_1", "status": word}]}),
            ] {
                assert_eq!(state(&body), (wanted.clone(), false), "{body}");
            }
        }
    }

    #[test]
    fn no_word_inside_a_result_says_how_the_job_stands() {
        for word in ["active", "New", "received", "pending", "failed", "rejected", "expired", "completed", "odd"] {
            let finding = json!({"outcome": "verified", "status": word, "state": word, "checks": {"status": word}});
            for body in [
                json!({"jobId": "job_1", "status": "completed", "result": finding}),
                json!({"status": "completed", "data": {"jobId": "job_1", "status": "completed", "result": finding}}),
                json!({"jobId": "job_1", "status": "completed", "results": finding}),
                json!({"jobId": "job_1", "status": "completed", "data": finding}),
                json!({"jobId": "job_1", "status": "completed", "result": finding, "data": {"status": word, "x": 1}}),
                json!({"data": {"job": {"id": "job_1", "status": "completed"}}, "result": finding}),
            ] {
                assert_eq!(state(&body), (JobWord::Completed, true), "{body}");
            }
        }
    }

    #[test]
    fn a_word_beside_the_content_of_an_envelope_counts_if_it_can_be_no_finding() {
        for (word, wanted) in [
            ("pending", JobWord::Open),
            ("completed", JobWord::Completed),
            ("failed", JobWord::Failed),
            ("active", JobWord::Nothing),
            ("odd", JobWord::Nothing),
        ] {
            for body in [
                json!({"success": true, "data": {"status": word, "outcome": "verified"}}),
                json!({"success": true, "data": {"jobId": "job_1", "status": word, "outcome": "verified"}}),
            ] {
                assert_eq!(state(&body), (wanted.clone(), true), "{body}");
            }
            let at_root = json!({"jobId": "job_1", "status": word, "outcome": "verified"});
            assert_eq!(state_at(&at_root, &[""], &[]), (wanted, true), "{word}");
        }
    }

    #[test]
    fn a_job_is_open_if_one_of_its_descriptions_says_so() {
        for (body, has_result) in [
            (json!({"status": "completed", "data": {"jobId": "job_1", "status": "Running"}}), false),
            (json!({"state": "processing", "result": {"outcome": "verified"}}), true),
            (json!({"jobId": "job_1", "status": "active", "result": {"outcome": "verified"}}), true),
            (json!({"data": {"status": "In Progress"}}), false),
        ] {
            assert_eq!(state(&body), (JobWord::Open, has_result), "{body}");
        }
    }

    #[test]
    fn a_description_of_a_job_is_no_result() {
        for state in [
            json!({"jobId": "job_1", "status": "completed", "creditsUsed": 7}),
            json!({"data": {"jobId": "job_1", "state": "pending"}}),
            json!({"status": "failed", "error": {"code": "verification_timed_out"}}),
            json!({"result": {}}),
            json!({"result": null}),
            json!([]),
            json!("text"),
        ] {
            assert!(!has_content(&state), "{state}");
        }
        assert!(has_content(&json!({"outcome": "verified"})) && has_content(&json!({"data": {"checks": {}}})));
    }

    #[test]
    fn other_words_and_no_words_are_told_apart() {
        let word = |body| state_at(&body, &["/result"], &["verified"]);
        assert_eq!(word(json!({"status": "awaiting_bank"})), (JobWord::Other("awaiting_bank".to_owned()), false));
        assert_eq!(word(json!({"status": 7})), (JobWord::Nothing, false));
        assert_eq!(word(json!({"status": "Verified"})), (JobWord::Completed, false));
        assert_eq!(word(json!({"status": "completed", "result": {"status": "verified"}})), (JobWord::Completed, true));
        assert_eq!(word(json!({"status": "success", "result": {"status": "pending"}})), (JobWord::Nothing, false));
        assert_eq!(word(json!({"status": "error"})), (JobWord::Nothing, false), "the question failed, not the job");
    }
}
