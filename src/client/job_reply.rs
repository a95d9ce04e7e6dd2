//! Replies of a check with the flow `job`: which one accepts the request as a job, and which one says that the answer
//! needs a webhook. Pure functions of the status and the body.

use super::{
    job_words::{JobWord, has_content, stated_job},
    own_failure::calls_itself_a_failure,
    reply_kind::ReplyKind,
};
use crate::{
    catalogue::{AnswerSpec, JobSpec},
    model::{
        Credits, JobId,
        credits::{Amount, Rounding, read_amount},
        json_pointer,
    },
};
use serde_json::Value;

/// The code of a 503 for a real-time check that cannot complete, where no webhook was sent. The service's API
/// description, Errors.
const NEEDS_WEBHOOK: &str = "ASYNC_FALLBACK_REQUIRES_WEBHOOK";

/// Where a reply states what a job will cost. The service's API description, "Accepted asynchronous response".
const REQUIRED: &str = "/requiredCredits";

/// The job that a 2xx names, if it accepts the request as a job: it says that the job is open, or it has no result. A 202
/// has no result yet, unless it says so. A reply whose job id is not plain accepts nothing.
pub(super) fn accepted(kind: ReplyKind, body: &Value, job: &JobSpec, answer: &AnswerSpec) -> Option<JobId> {
    let id = named_job(body, job)??;
    let has_result = || answer.payload(body).is_some() || has_content(body);
    let is_open = match stated_job(body, Some(job), answer).word {
        JobWord::Open => true,
        JobWord::Other(_) => kind == ReplyKind::Accepted,
        JobWord::Nothing => kind == ReplyKind::Accepted || !has_result(),
        JobWord::Completed | JobWord::Failed => false,
    };
    is_open.then_some(id)
}

/// Why a reply that says that the answer is pending names no job that can be followed.
pub(super) fn unusable(body: &Value, job: &JobSpec) -> String {
    let places = job.id.join(" or ");
    match ids(body, job).next() {
        None => format!("expected the id of a job at {places}, found none"),
        Some(_) if calls_itself_a_failure(body) => "it names a job and says that it failed".to_owned(),
        Some(id) => format!("expected the id of a job at {places}, of letters, digits and `-_.:~=+`, found {id}"),
    }
}

/// The values at the places of a job id.
fn ids<'a>(body: &'a Value, job: &'a JobSpec) -> impl Iterator<Item = &'a Value> {
    job.id.iter().filter_map(|at| json_pointer::at(body, at).filter(|id| !id.is_null()))
}

/// The job that a body names: `None` if it names none, and `Some(None)` if its id is not plain or the body names several.
pub(super) fn named_job(body: &Value, job: &JobSpec) -> Option<Option<JobId>> {
    let mut ids = ids(body, job).map(|id| {
        let text = id.as_str().map_or_else(|| id.as_u64().map(|id| id.to_string()), |id| Some(id.to_owned()));
        text.and_then(|text| JobId::new(text.trim()))
    });
    let first = ids.next()?;
    Some(first.filter(|first| ids.all(|other| other.is_some_and(|other| other.is_same(first)))))
}

/// What a job will cost, if the reply says so. As a charge, an amount above `most` is not believed: it is an unreadable
/// amount, which stops the run.
pub(super) fn required(body: &Value, most: Credits) -> Amount {
    match read_amount(json_pointer::at(body, REQUIRED), Rounding::Up) {
        Amount::Credits(absurd) if absurd > most => Amount::Unreadable(absurd.to_string()),
        amount => amount,
    }
}

/// Whether a 503 without a charge above zero says that the answer needs a webhook.
pub(super) fn needs_webhook(kind: ReplyKind, code: Option<&str>) -> bool {
    kind == ReplyKind::Unavailable && code.is_some_and(|code| code.trim().eq_ignore_ascii_case(NEEDS_WEBHOOK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(status: u16, body: Value) -> Option<String> {
        let job = JobSpec {
            id: vec!["/jobId".into(), "/data/jobId".into()],
            status: "/x/{jobId}".into(),
            retry_webhook: None,
            hold: None,
            webhook: false,
            always: false,
            completed: vec![],
            assumed: false,
        };
        let answer = AnswerSpec { payload: vec!["/result".into(), "/data/result".into()], ..AnswerSpec::default() };
        accepted(ReplyKind::of(status), &body, &job, &answer).map(|id| id.to_string())
    }

    #[test]
    fn the_documented_reply_names_a_job() {
        let body = json!({"success": true, "jobId": "job_1", "status": "pending", "mode": "production",
            "reportType": "foreign-bank", "requiredCredits": 7,
            "webhook": {"delivery": "signed", "eventTypes": ["foreign_bank.verification.completed"]}});
        assert_eq!(id(202, body.clone()).as_deref(), Some("job_1"));
        assert_eq!(id(200, body).as_deref(), Some("job_1"), "`status` says pending");
        assert_eq!(id(201, json!({"data": {"jobId": "job_2"}})).as_deref(), Some("job_2"), "it has no result");
        assert_eq!(id(202, json!({"jobId": 77, "status": "Queued"})).as_deref(), Some("77"));
    }

    #[test]
    fn a_result_is_not_a_job() {
        assert_eq!(id(200, json!({"jobId": "job_1", "status": "completed", "result": {"outcome": "verified"}})), None);
        assert_eq!(id(200, json!({"jobId": "job_1", "result": {"outcome": "verified"}})), None);
        for (status, word) in [(200, "Verified"), (200, ""), (200, "completed"), (202, "completed"), (202, "failed")] {
            let elsewhere = json!({"jobId": "job_1", "status": word, "verification": {"outcome": "verified"}});
            assert_eq!(id(status, elsewhere), None, "{status} {word}: its answer must not be thrown away");
        }
    }

    #[test]
    fn a_job_is_named_in_other_envelopes_and_with_other_words() {
        for body in [
            json!({"jobId": "job_1", "status": "running"}),
            json!({"jobId": "job_1", "status": "Awaiting Bank"}),
            json!({"status": "success", "data": {"jobId": "job_1", "status": "pending"}}),
            json!({"success": true, "data": {"jobId": "job_1", "state": "created"}, "mode": "production"}),
        ] {
            assert_eq!(id(202, body.clone()).as_deref(), Some("job_1"), "{body}");
        }
        let in_data = json!({"data": {"jobId": "job_1", "status": "pending"}});
        assert_eq!(id(200, in_data).as_deref(), Some("job_1"));
        assert_eq!(id(202, json!({"jobId": "Sm9iMQ=="})).as_deref(), Some("Sm9iMQ=="));
        assert_eq!(id(202, json!({"jobId": "job_1", "data": {"jobId": "job_2"}})), None, "it names two");
    }

    #[test]
    fn a_missing_or_odd_job_id_names_no_job() {
        for odd in [
            json!(null),
            json!(-7),
            json!(7.5),
            json!(""),
            json!("../my_credits"),
            json!("a".repeat(129)),
            json!(["job_1"]),
        ] {
            assert_eq!(id(202, json!({"jobId": odd.clone(), "status": "pending"})), None, "{odd}");
        }
        assert_eq!(id(202, json!({"status": "pending"})), None);
    }

    #[test]
    fn what_a_job_will_cost_is_believed_as_a_charge_is() {
        let of = |value: Value| required(&json!({"requiredCredits": value}), Credits(100));
        for (value, credits) in [(json!(7), 7), (json!("8"), 8), (json!(6.5), 7), (json!(100), 100)] {
            assert_eq!(of(value.clone()), Amount::Credits(Credits(credits)), "{value}");
        }
        for odd in [json!(101), json!("many"), json!([7])] {
            assert!(matches!(of(odd.clone()), Amount::Unreadable(_)), "{odd}");
        }
        assert_eq!(required(&json!({}), Credits(100)), Amount::Absent);
    }

    #[test]
    fn only_the_documented_503_needs_a_webhook() {
        let code = Some("ASYNC_FALLBACK_REQUIRES_WEBHOOK");
        assert!(needs_webhook(ReplyKind::Unavailable, code));
        for (status, code) in [(502, code), (503, Some("OTHER")), (503, None)] {
            assert!(!needs_webhook(ReplyKind::of(status), code), "{status} {code:?}");
        }
    }
}
