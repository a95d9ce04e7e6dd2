//! The state of a job as a reply words it: which words mean what, and where a reply has them. The service's API description
//! shows `pending`, `completed` and `failed`, and not the body of a status reply; everything else here is assumed.

use crate::model::json_pointer;
use serde_json::Value;

const OPEN: [&str; 14] = [
    "pending",
    "queued",
    "processing",
    "accepted",
    "submitted",
    "in_progress",
    "running",
    "waiting",
    "created",
    "started",
    "received",
    "scheduled",
    "active",
    "new",
];
const COMPLETED: [&str; 5] = ["completed", "complete", "done", "succeeded", "finished"];
const FAILED: [&str; 6] = ["failed", "failure", "expired", "timed_out", "cancelled", "rejected"];
/// Words that say how the question went, and nothing about the job.
const ENVELOPE: [&str; 5] = ["success", "ok", "error", "fail", ""];

/// Where a reply states the state of its job: the envelope, the job in it, and the result itself.
const PLACES: [&str; 14] = [
    "/status",
    "/state",
    "/data/status",
    "/data/state",
    "/results/status",
    "/results/state",
    "/job/status",
    "/job/state",
    "/data/job/status",
    "/data/job/state",
    "/data/0/status",
    "/result/state",
    "/data/result/state",
    "/results/result/state",
];
/// Where the content of a result may say that there is none yet. Other words are content.
const OF_CONTENT: [&str; 6] = [
    "/result/status",
    "/data/result/status",
    "/results/result/status",
    "/result/outcome",
    "/data/result/outcome",
    "/results/result/outcome",
];

/// Members that describe a job. They are not part of a result.
const OF_STATE: [&str; 28] = [
    "jobId",
    "job_id",
    "id",
    "status",
    "state",
    "success",
    "mode",
    "environment",
    "message",
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

/// What the words of a reply say about its job.
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

/// Reads the state of a job. `more_completed` are further words for a job with a result. A job of which one word says that
/// it is open is open, whatever the others say: asking again costs nothing.
pub(super) fn job_word(body: &Value, more_completed: &[String]) -> JobWord {
    let words = || PLACES.iter().filter_map(|at| json_pointer::at(body, at)).filter_map(word);
    let of_content = OF_CONTENT.iter().filter_map(|at| json_pointer::at(body, at)).filter_map(word);
    let is_completed = |word: &String| {
        COMPLETED.contains(&word.as_str()) || more_completed.iter().any(|more| more.eq_ignore_ascii_case(word))
    };
    if words().chain(of_content).any(|word| OPEN.contains(&word.as_str())) {
        JobWord::Open
    } else if words().any(|word| FAILED.contains(&word.as_str())) {
        JobWord::Failed
    } else if let Some(other) = words().find(|word| !is_completed(word) && !ENVELOPE.contains(&word.as_str())) {
        JobWord::Other(other)
    } else if words().any(|word| is_completed(&word)) {
        JobWord::Completed
    } else {
        JobWord::Nothing
    }
}

/// Whether a word of an answer says that it is one: a job that has ended, or a question that went well.
pub fn is_good_word(word: &str) -> bool {
    COMPLETED.contains(&word) || ["success", "ok"].contains(&word)
}

/// Whether a value has content besides the state of a job: a result, in other words.
pub(super) fn has_content(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| match name.as_str() {
            "data" | "results" | "result" | "job" | "meta" => has_content(value),
            name => !OF_STATE.contains(&name) && !value.is_null(),
        }),
        Value::Array(values) => values.iter().any(has_content),
        _ => false,
    }
}

/// Whether the state in a result is one of the words that a check declares for it: then the word itself is the result.
pub(super) fn is_result(result: &Value, words: &[String]) -> bool {
    let state = result.get("status").or_else(|| result.get("state")).and_then(word);
    state.is_some_and(|state| words.iter().any(|word| word.eq_ignore_ascii_case(&state)))
}

/// A word in lower case, with `_` for what separates its parts. Numbers and other values say nothing.
fn word(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim().to_ascii_lowercase();
    Some(text.replace([' ', '-'], "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
            ] {
                assert_eq!(job_word(&body, &[]), wanted, "{body}");
            }
        }
    }

    #[test]
    fn a_job_is_open_if_any_word_says_so() {
        for body in [
            json!({"status": "completed", "data": {"status": "Running"}}),
            json!({"state": "processing", "result": {"outcome": "verified"}}),
            json!({"jobId": "job_1", "result": {"status": "pending"}}),
            json!({"data": {"status": "In Progress"}}),
            json!({"status": "completed", "result": {"outcome": "pending"}}),
        ] {
            assert_eq!(job_word(&body, &[]), JobWord::Open, "{body}");
        }
    }

    #[test]
    fn a_description_of_a_job_is_no_result() {
        for state in [
            json!({"jobId": "job_1", "status": "completed", "creditsUsed": 7}),
            json!({"data": {"jobId": "job_1", "state": "pending"}}),
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
        assert_eq!(job_word(&json!({"status": "awaiting_bank"}), &[]), JobWord::Other("awaiting_bank".to_owned()));
        assert_eq!(job_word(&json!({"status": "success", "result": {"status": "verified"}}), &[]), JobWord::Nothing);
        assert_eq!(job_word(&json!({"status": 7}), &[]), JobWord::Nothing);
        assert_eq!(job_word(&json!({"status": "Verified"}), &["verified".to_owned()]), JobWord::Completed);
        assert_eq!(job_word(&json!({"status": "error"}), &[]), JobWord::Nothing, "the question failed, not the job");
    }
}
