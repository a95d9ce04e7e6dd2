//! Jobs of a check: how a reply names the job that the service accepted, and what the job holds until it has a result.

use crate::model::Credits;
use serde::{Deserialize, Serialize};

/// The place of the job id in [`JobSpec::status`].
pub const JOB_ID: &str = "{jobId}";

/// How the service answers later. A check has it if its flow is `job`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// JSON pointers to the job id in the reply that accepts the request. The first that is present is used.
    pub id: Vec<String>,
    /// The path that shows the state of a job, with `{jobId}` in place of the id.
    pub status: String,
    /// The path that makes the service deliver the result of a job again, with `{jobId}` in place of the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_webhook: Option<String>,
    /// The credits that must be available while a job is processed. At least this much is held for each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Credits>,
    /// The request may name a webhook for the delivery of the result, as `webhookUrl` with `webhookSecret`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub webhook: bool,
    /// Every request is accepted as a job; none is answered at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// Further words for the state of a job that has a result, besides `completed` and the like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<String>,
    /// The service's description does not show the reply that accepts the request.
    #[serde(default)]
    pub assumed: bool,
}

/// Checks that a job is declared if and only if the flow is `job`, and that it is valid.
///
/// # Errors
/// What was expected.
pub(super) fn check(job: Option<&JobSpec>, flow_is_job: bool) -> Result<(), String> {
    let job = match (job, flow_is_job) {
        (Some(job), true) => job,
        (None, true) => return Err("flow `job`: expected a table `job` beside it, found none".to_owned()),
        (Some(_), false) => return Err("job: expected the flow `job` beside this table, found another flow".to_owned()),
        (None, false) => return Ok(()),
    };
    if job.id.is_empty() || job.id.iter().any(|pointer| !pointer.starts_with('/')) {
        return Err("job.id: expected JSON pointers, which begin with `/`".to_owned());
    }
    if !is_path(&job.status) {
        return Err(format!("job.status: expected a path such as `/checks/jobs/{JOB_ID}`, found `{}`", job.status));
    }
    match &job.retry_webhook {
        Some(path) if !is_path(path) => Err(format!(
            "job.retry_webhook: expected a path such as `/checks/jobs/{JOB_ID}/retry-webhook`, found `{path}`"
        )),
        Some(path) if *path == job.status => {
            Err("job.retry_webhook: expected another path than that of `status`, found the same".to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether a text is a path with one place for the id of a job.
fn is_path(text: &str) -> bool {
    let rest = text.replacen(JOB_ID, "", 1);
    let is_plain = rest.starts_with('/') && !rest.contains(['?', '#', ' ', '{', '}']) && !rest.contains("..");
    text.contains(&format!("/{JOB_ID}")) && is_plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(status: &str, id: &[&str]) -> JobSpec {
        let id = id.iter().map(|pointer| (*pointer).to_owned()).collect();
        JobSpec {
            id,
            status: status.to_owned(),
            retry_webhook: None,
            hold: None,
            webhook: false,
            always: false,
            completed: vec![],
            assumed: false,
        }
    }

    #[test]
    fn a_job_needs_its_flow_and_the_flow_needs_its_job() {
        let job = job("/a/jobs/{jobId}", &["/jobId"]);
        assert_eq!((check(Some(&job), true), check(None, false)), (Ok(()), Ok(())));
        assert!(check(None, true).unwrap_err().contains("a table `job`"));
        assert!(check(Some(&job), false).unwrap_err().contains("the flow `job`"));
    }

    #[test]
    fn the_status_path_has_one_place_for_the_id_and_the_id_has_a_pointer() {
        assert_eq!(check(Some(&job("/a/{jobId}/result", &["/jobId", "/data/jobId"])), true), Ok(()));
        for text in ["/a", "a/{jobId}", "/a{jobId}", "/a/{jobId}/{jobId}", "/a/{jobId}?x", "/../{jobId}", "/a/{id}"] {
            assert!(check(Some(&job(text, &["/jobId"])), true).is_err(), "{text}");
        }
        for id in [&[][..], &["jobId"], &[""]] {
            assert!(check(Some(&job("/a/{jobId}", id)), true).is_err(), "{id:?}");
        }
    }

    #[test]
    fn the_path_that_delivers_again_is_checked_like_the_status_path_and_differs_from_it() {
        let again = |path: &str| {
            check(Some(&JobSpec { retry_webhook: Some(path.to_owned()), ..job("/a/{jobId}", &["/jobId"]) }), true)
        };
        assert_eq!(again("/a/{jobId}/retry-webhook"), Ok(()));
        for path in ["", "/a", "a/{jobId}/x", "/a/{jobId}/{jobId}", "/a/{jobId}/x?y", "/../{jobId}/x", "/a/{id}/x"] {
            assert!(again(path).unwrap_err().contains("job.retry_webhook: expected a path"), "{path}");
        }
        assert!(again("/a/{jobId}").unwrap_err().contains("expected another path"));
    }
}
