//! Whether a refusal says that the request under its key has failed before: a pure function of the status and the body.
//! The service's API description, Errors: a 409 is an idempotency conflict, "also a cached failure on passport
//! authentication". It does not show what tells the two apart, so each check declares the codes.

use super::reply_kind::ReplyKind;
use crate::{catalogue::CachedFailureSpec, model::json_pointer};
use serde_json::Value;

/// Where a refusal may have its code.
const CODES: [&str; 8] =
    ["/error/code", "/code", "/errorCode", "/error_code", "/data/error/code", "/data/code", "/errors/0/code", "/error"];
/// Where a reply may say that it is still working.
const STATES: [&str; 6] = ["/status", "/state", "/data/status", "/data/state", "/error/status", "/results/status"];

/// Whether a refusal is a cached failure: it has a declared code, no other code, and does not say that the request is
/// still being processed.
pub(super) fn is_cached_failure(kind: ReplyKind, body: Option<&Value>, spec: Option<&CachedFailureSpec>) -> bool {
    let (Some(body), Some(spec)) = (body, spec) else { return false };
    // What is about the account or the rate says nothing about an earlier request.
    if !kind.is_error() || kind.is_about_account() {
        return false;
    }
    let text = |at: &&str| json_pointer::at(body, at).and_then(Value::as_str);
    let is_declared = |found: &str| spec.codes.iter().any(|code| same_code(code, found));
    // A sentence is a message, and a number repeats the status.
    let is_code = |found: &&str| found.chars().any(char::is_alphabetic) && !found.trim().contains(' ');
    let mut codes = CODES.iter().filter_map(text).filter(is_code).peekable();
    let says_open = STATES.iter().filter_map(text).any(|word| {
        let word = word.trim().to_lowercase().replace(['-', ' '], "_");
        ["pending", "processing", "in_progress", "queued", "running"].contains(&word.as_str())
    });
    !says_open && codes.peek().is_some() && codes.all(is_declared)
}

/// Whether two codes are the same. Case and punctuation do not matter.
fn same_code(one: &str, other: &str) -> bool {
    let plain =
        |code: &str| -> String { code.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect() };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is(status: u16, body: Value) -> bool {
        let spec = CachedFailureSpec { codes: vec!["CACHED_FAILURE".to_owned()] };
        is_cached_failure(ReplyKind::of(status), Some(&body), Some(&spec))
    }

    #[test]
    fn a_declared_code_is_a_cached_failure_in_any_case_and_at_any_place() {
        for code in ["CACHED_FAILURE", "cached_failure", "CachedFailure", "cached-failure"] {
            assert!(is(409, json!({"error": {"code": code, "message": "it failed"}})), "{code}");
        }
        for body in [
            json!({"code": "CACHED_FAILURE"}),
            json!({"success": false, "error": "CACHED_FAILURE", "message": "the earlier request failed"}),
            json!({"error": "the earlier request failed", "errorCode": "cached_failure"}),
            json!({"data": {"error": {"code": "CACHED_FAILURE"}}, "status": "failed"}),
            json!({"errors": [{"code": "CACHED_FAILURE"}]}),
            json!({"code": "409", "error": {"code": "CACHED_FAILURE"}}),
        ] {
            assert!(is(409, body.clone()) && is(422, body.clone()) && is(502, body.clone()), "{body}");
        }
    }

    #[test]
    fn a_conflict_a_request_in_progress_and_a_contradiction_are_none() {
        for body in [
            json!({"error": {"code": "IDEMPOTENCY_CONFLICT"}}),
            json!({"error": {"code": "CACHED_FAILURE"}, "status": "pending"}),
            json!({"error": {"code": "CACHED_FAILURE"}, "data": {"status": "In Progress"}}),
            json!({"code": "REQUEST_IN_PROGRESS", "error": {"code": "CACHED_FAILURE"}}),
            json!({"error": {"message": "CACHED_FAILURE"}}),
            json!({"error": {"code": null}}),
            json!({}),
            json!("CACHED_FAILURE"),
        ] {
            assert!(!is(409, body.clone()), "{body}");
        }
        let cached = json!({"error": {"code": "CACHED_FAILURE"}});
        for status in [200, 202, 303, 401, 402, 403, 429] {
            assert!(!is(status, cached.clone()), "{status}");
        }
        assert!(!is_cached_failure(ReplyKind::Conflict, Some(&cached), None), "only a check that declares it");
        assert!(!is_cached_failure(
            ReplyKind::Conflict,
            None,
            Some(&CachedFailureSpec { codes: vec!["CACHED_FAILURE".into()] })
        ));
    }
}
