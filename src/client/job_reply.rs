//! Replies of a check with the flow `job`: which one accepts the request as a job, and which one says that the answer
//! needs a webhook. Pure functions of the status and the body.

use crate::{
    catalogue::{AnswerSpec, JobSpec},
    model::{
        Credits, JobId,
        credits::{Amount, Rounding, read_amount},
    },
};
use serde_json::Value;

/// The code of a 503 for a real-time check that cannot complete, where no webhook was sent. The service's API
/// description, Errors.
const NEEDS_WEBHOOK: &str = "ASYNC_FALLBACK_REQUIRES_WEBHOOK";

/// Where a reply states what a job will cost. The service's API description, "Accepted asynchronous response".
const REQUIRED: &str = "/requiredCredits";

/// The words of `status` for a job that has no result yet. The description shows `pending`; the others are assumed.
pub(super) const OPEN: [&str; 6] = ["pending", "queued", "processing", "accepted", "submitted", "in_progress"];

/// The job that a 2xx names, if it accepts the request as a job: it has no result, and its `status`, if it has one, says
/// that the job is open. A reply with any other status is an answer, even if no rule knows its content. A reply whose job
/// id is not plain accepts nothing.
pub(super) fn accepted(status: u16, body: &Value, job: &JobSpec, answer: &AnswerSpec) -> Option<JobId> {
    let id = named_job(body, job)??;
    let says = body.get("status").filter(|status| !status.is_null());
    let is_open = says.and_then(Value::as_str).is_some_and(|word| OPEN.contains(&word.to_ascii_lowercase().as_str()));
    // A 202 means that there is no result yet.
    let has_result = status != 202 && answer.payload(body).is_some();
    (is_open || says.is_none() && !has_result).then_some(id)
}

/// The job that a body names: `None` if it names none, and `Some(None)` if its id is not plain.
pub(super) fn named_job(body: &Value, job: &JobSpec) -> Option<Option<JobId>> {
    let id = job.id.iter().find_map(|at| body.pointer(at).filter(|id| !id.is_null()))?;
    let text = id.as_str().map_or_else(|| id.as_u64().map(|id| id.to_string()), |id| Some(id.to_owned()));
    Some(text.and_then(|text| JobId::new(&text)))
}

/// What a job will cost, if the reply says so. As a charge, an amount above `most` is not believed: it is an unreadable
/// amount, which stops the run.
pub(super) fn required(body: &Value, most: Credits) -> Amount {
    match read_amount(body.pointer(REQUIRED), Rounding::Up) {
        Amount::Credits(absurd) if absurd > most => Amount::Unreadable(absurd.to_string()),
        amount => amount,
    }
}

/// Whether a 503 that states no charge says that the answer needs a webhook.
pub(super) fn needs_webhook(status: u16, code: Option<&str>) -> bool {
    status == 503 && code == Some(NEEDS_WEBHOOK)
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
            assumed: false,
        };
        let answer =
            AnswerSpec { payload: vec!["/result".into(), "/data/result".into()], columns: vec![], images: vec![] };
        accepted(status, &body, &job, &answer).map(|id| id.to_string())
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
        for status in [200, 202] {
            for word in ["completed", "failed", "Verified", ""] {
                let elsewhere = json!({"jobId": "job_1", "status": word, "verification": {"outcome": "verified"}});
                assert_eq!(id(status, elsewhere), None, "{status} {word}: its answer must not be thrown away");
            }
        }
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
        assert!(needs_webhook(503, code));
        for (status, code) in [(502, code), (503, Some("OTHER")), (503, None)] {
            assert!(!needs_webhook(status, code), "{status} {code:?}");
        }
    }
}
