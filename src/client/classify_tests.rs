//! The table from replies to outcomes, row by row, in both envelopes.

use super::*;
use crate::{
    catalogue::Catalogue,
    client::{Exchange, Reply, TransportFault, said::TEXT_CHARACTERS_MAX},
};
use std::time::UNIX_EPOCH;

fn reply(status: u16, body: &str) -> Exchange {
    let reply = Reply { status, body: Some(body.into()), ..Reply::default() };
    Exchange { reply: Ok(reply), latency: Duration::ZERO, room: Default::default() }
}

fn classify_aml(exchange: &Exchange) -> Classified {
    classify_at(exchange, None, None)
}

/// Classifies it with the user's pointers to a charge and a balance.
fn classify_at(exchange: &Exchange, charge_pointer: Option<&str>, remaining_pointer: Option<&str>) -> Classified {
    let catalogue = Catalogue::built_in();
    let answer = &catalogue.get("aml-screening").unwrap().answer;
    let spec =
        ReplySpec { answer, job: None, cached_failure: None, charge_pointer, remaining_pointer, price: Credits(5) };
    classify(Said::of(exchange, UNIX_EPOCH), &spec)
}

fn outcome_of(status: u16, body: &str) -> Outcome {
    classify_aml(&reply(status, body)).outcome
}

#[test]
fn both_envelopes_are_answers_and_state_their_charge() {
    let first = r#"{"success": true, "requestId": "r1", "remainingCredits": 9, "results": {"match": []}}"#;
    let classified = classify_aml(&reply(200, first));
    assert_eq!(classified.outcome, Outcome::Answered { stated: None });
    assert_eq!((classified.remaining, classified.request_id.as_deref()), (Some(Credits(9)), Some("r1")));
    let second = r#"{"data": {"match": []}, "meta": {"requestId": "r2", "creditsUsed": 5}}"#;
    let classified = classify_aml(&reply(200, second));
    assert_eq!(classified.outcome, Outcome::Answered { stated: Some(Credits(5)) });
    assert_eq!(classified.request_id.as_deref(), Some("r2"));
}

#[test]
fn a_complete_2xx_without_content_is_repeated_before_it_counts() {
    let foreign = r#"{"message": "ok", "code": 0}"#;
    let portal = r#"{"error": "login_required", "login_url": "https://wifi.example/"}"#;
    for body in [
        "",
        portal,
        r#"{"error": "x"}"#,
        "<html>sign in</html>",
        r#"{"resul"#,
        r#"{"results": .5}"#,
        "[]",
        "{}",
        "7",
        foreign,
    ] {
        assert_eq!(outcome_of(200, body), Outcome::Unreadable, "{body}");
    }
    assert_eq!(outcome_of(200, r#"{"results": null}"#), Outcome::Unreadable);
    let at_the_root = r#"{"found": false, "message": "none"}"#;
    for body in
        [at_the_root, r#"{"success": false}"#, r#"{"error": {"x": 1}}"#, r#"{"success": "no", "results": null}"#]
    {
        assert_eq!(outcome_of(200, body), Outcome::Unconvincing, "{body}");
    }
}

#[test]
fn a_2xx_without_content_that_states_more_than_is_held_is_booked_at_once() {
    let answered = Outcome::Answered { stated: Some(Credits(6)) };
    assert_eq!(outcome_of(200, r#"{"success": false, "creditsUsed": 6}"#), answered);
    assert_eq!(outcome_of(200, r#"{"success": false, "creditsUsed": 5}"#), Outcome::Unconvincing);
}

#[test]
fn an_object_that_calls_itself_a_success_is_an_answer_wherever_its_content_is() {
    for body in [r#"{"success": true}"#, r#"{"success": true, "found": false}"#, r#"{"success": true, "jobId": "j"}"#] {
        assert_eq!(outcome_of(200, body), Outcome::Answered { stated: None }, "{body}");
    }
}

#[test]
fn text_in_another_encoding_is_an_answer_and_says_so() {
    let body = b"{\"results\": {\"match\": [], \"name\": \"Andr\xe9\"}}";
    let reply = Reply { status: 200, body: Some(body.to_vec()), ..Reply::default() };
    let classified = classify_aml(&Exchange { reply: Ok(reply), latency: Duration::ZERO, room: Default::default() });
    assert_eq!(classified.outcome, Outcome::Answered { stated: None });
    assert!(classified.answer.unwrap().wrong_encoding);
    let body = r#"{"results": {"match": [], "name": "Li \ud83d"}}"#;
    assert_eq!(outcome_of(200, body), Outcome::Answered { stated: None });
}

#[test]
fn a_202_is_pending_with_a_job_or_without() {
    let pending = Outcome::Pending { stated: None };
    assert_eq!(outcome_of(202, r#"{"status": "pending"}"#), pending);
    assert_eq!(outcome_of(200, r#"{"status": "pending"}"#), pending);
    assert_eq!(outcome_of(202, r#"{"status": "pending", "results": {"match": []}}"#), pending);
    assert_eq!(outcome_of(202, r#"{"results": {"match": []}}"#), pending, "a 202 is never an answer");
    assert_eq!(outcome_of(202, r#"{"status": "pending", "jobId": "j"}"#), pending);
    for status in [200, 202] {
        let charged = outcome_of(status, r#"{"status": "pending", "creditsUsed": 50}"#);
        assert_eq!(charged, Outcome::Pending { stated: Some(Credits(50)) }, "{status}: its charge is read");
    }
    assert_eq!(outcome_of(202, "<html>"), Outcome::Unknown);
}

#[test]
fn a_charge_is_read_wherever_it_is_stated_and_however_it_is_written() {
    for (body, credits) in [
        (r#"{"data": {}, "meta": {"credits_spent": 7}}"#, 7),
        (r#"{"results": {}, "creditsUsed": 7.0}"#, 7),
        (r#"{"results": {}, "creditsUsed": "7.00"}"#, 7),
        (r#"{"results": {}, "creditsUsed": 7.5}"#, 8),
        (r#"{"data": {}, "creditsUsed": 7, "meta": {"credits_spent": 11}}"#, 11),
        (r#"{"results": {}, "creditsUsed": 0}"#, 0),
        (r#"{"results": {}, "creditsUsed": 500}"#, 500),
    ] {
        let classified = classify_aml(&reply(200, body));
        assert_eq!(classified.outcome, Outcome::Answered { stated: Some(Credits(credits)) }, "{body}");
        assert_eq!(classified.unreadable_amount, None, "{body}");
    }
    let classified = classify_aml(&reply(200, r#"{"results": {}, "remainingCredits": "992.5"}"#));
    assert_eq!(classified.remaining, Some(Credits(992)));
}

#[test]
fn only_a_configured_pointer_is_read_and_an_empty_one_reads_nothing() {
    let body =
        r#"{"results": {}, "bill": 9, "left": 7, "creditsUsed": {"amount": 1}, "remainingCredits": "unlimited"}"#;
    let classified = classify_at(&reply(200, body), Some("/bill"), Some("/left"));
    assert_eq!(classified.outcome, Outcome::Answered { stated: Some(Credits(9)) });
    assert_eq!(
        (classified.remaining, classified.unreadable_amount),
        (Some(Credits(7)), None),
        "the known places are not read"
    );
    for pointer in ["", "/elsewhere"] {
        let classified = classify_at(&reply(200, body), Some(pointer), Some(pointer));
        assert_eq!(classified.outcome, Outcome::Answered { stated: None }, "`{pointer}`");
        assert_eq!((classified.remaining, classified.unreadable_amount), (None, None), "`{pointer}`");
    }
    let classified = classify_at(&reply(200, body), Some("/creditsUsed/amount"), None);
    assert_eq!(classified.outcome, Outcome::Answered { stated: Some(Credits(1)) });
    assert_eq!(classified.unreadable_amount.as_deref(), Some("unlimited"), "the other amount is read as before");
}

#[test]
fn an_invalid_amount_is_reported_and_not_booked() {
    for found in ["-1", "\"seven\"", "501", "18446744073709551615", "[7]", "1e23"] {
        let classified = classify_aml(&reply(200, &format!(r#"{{"results": {{}}, "creditsUsed": {found}}}"#)));
        assert_eq!(classified.outcome, Outcome::Answered { stated: None }, "{found}");
        assert!(classified.unreadable_amount.is_some(), "{found}");
    }
    let classified = classify_aml(&reply(200, r#"{"results": {}, "remainingCredits": "plenty"}"#));
    assert_eq!((classified.remaining, classified.unreadable_amount.as_deref()), (None, Some("plenty")));
}

#[test]
fn a_charge_stated_with_any_refusal_is_a_charge() {
    for status in [302, 400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 429, 500, 502, 503] {
        let stated = Outcome::ChargedRefusal { stated: Some(Credits(2)) };
        assert_eq!(outcome_of(status, r#"{"error": {"code": "NO_MATCH"}, "creditsUsed": 2}"#), stated, "{status}");
        let unclear = Outcome::ChargedRefusal { stated: None };
        assert_eq!(outcome_of(status, r#"{"creditsUsed": "some"}"#), unclear, "{status}");
        let free = outcome_of(status, r#"{"creditsUsed": 0}"#);
        assert!(!matches!(free, Outcome::ChargedRefusal { .. }), "{status}: {free:?}");
    }
}

#[test]
fn each_refusal_has_its_outcome_in_either_error_format() {
    for body in [r#"{"error": {"code": "X", "message": "no"}}"#, r#"{"error": "no"}"#] {
        for (status, outcome) in [
            (400, Outcome::Refused),
            (413, Outcome::Refused),
            (415, Outcome::Refused),
            (422, Outcome::Refused),
            (401, Outcome::Unauthorised),
            (402, Outcome::NoCredits),
            (429, Outcome::RateLimited),
            (301, Outcome::Misrouted),
            (307, Outcome::Misrouted),
            (404, Outcome::Misrouted),
            (405, Outcome::Misrouted),
            (408, Outcome::Unknown),
            (409, Outcome::Unknown),
            (500, Outcome::Unknown),
            (502, Outcome::Unknown),
            (503, Outcome::Unknown),
            (504, Outcome::Unknown),
        ] {
            assert_eq!(outcome_of(status, body), outcome, "{status} {body}");
        }
    }
}

#[test]
fn a_refusal_by_something_between_proves_nothing() {
    for body in ["<html>blocked</html>", "no", ""] {
        for status in [400, 403, 407, 409, 413, 415, 422, 451, 502] {
            assert_eq!(outcome_of(status, body), Outcome::Unknown, "{status} {body}");
        }
        assert_eq!(outcome_of(429, body), Outcome::RateLimited, "{body}");
        for status in [302, 404, 405] {
            assert_eq!(outcome_of(status, body), Outcome::Misrouted, "it is in doubt: {status} {body}");
        }
    }
    assert_eq!((outcome_of(402, "<html>"), outcome_of(402, "")), (Outcome::Unknown, Outcome::NoCredits));
    assert_eq!((outcome_of(401, "<html>"), outcome_of(401, "no")), (Outcome::Unknown, Outcome::Unauthorised));
}

#[test]
fn a_403_is_the_services_only_with_the_content_of_its_errors() {
    assert_eq!(outcome_of(403, r#"{"error": {"code": "X", "message": "no"}}"#), Outcome::Unauthorised);
    // A filter between may have put it in the place of an answer.
    for body in [r#"{"message": "Forbidden"}"#, r#"{"error": "no"}"#, "{}", "{"] {
        assert_eq!(outcome_of(403, body), Outcome::Blocked, "{body}");
    }
}

#[test]
fn a_stated_zero_settles_a_503_and_no_other_status() {
    let body = r#"{"error": {"code": "ASYNC_FALLBACK_REQUIRES_WEBHOOK"}, "creditsUsed": 0}"#;
    assert_eq!(outcome_of(503, body), Outcome::Uncharged);
    for status in [409, 500, 502, 504] {
        assert_eq!(outcome_of(status, body), Outcome::Unknown, "{status}");
    }
}

#[test]
fn a_truncated_reply_proves_nothing_about_a_row() {
    let cut = |status| {
        let reply = Reply { status, body: None, ..Reply::default() };
        classify_aml(&Exchange { reply: Ok(reply), latency: Duration::ZERO, room: Default::default() }).outcome
    };
    for status in [200, 400, 413, 422, 502] {
        assert_eq!(cut(status), Outcome::Unknown, "{status}");
    }
    assert_eq!((cut(401), cut(402)), (Outcome::Unauthorised, Outcome::NoCredits));
}

#[test]
fn only_a_connect_failure_proves_that_nothing_left() {
    let broken = |fault| {
        classify_aml(&Exchange { reply: Err(fault), latency: Duration::ZERO, room: Default::default() }).outcome
    };
    assert_eq!(broken(TransportFault::NotWritten("refused".into())), Outcome::NotWritten);
    assert_eq!(broken(TransportFault::Unknown("reset".into())), Outcome::Unknown);
}

#[test]
fn a_refusal_is_shown_in_any_format_and_a_401_names_the_other_header() {
    let message = |status: u16, body: &str| classify_aml(&reply(status, body)).message;
    assert_eq!(message(400, r#"{"errors": [{"field": "country", "message": "unknown"}]}"#), "country: unknown");
    assert_eq!(message(422, r#"{"detail": "no such list"}"#), "no such list");
    assert!(!message(400, "no such\u{1b}[2J list").contains('\u{1b}'), "plain text is made safe to print");
    assert!(message(500, &"x".repeat(10_000)).chars().count() <= TEXT_CHARACTERS_MAX + 1);
    assert_eq!(message(502, "<html>bad gateway</html>"), "HTTP 502 without a message");
    assert_eq!(message(502, "<title>Bad gateway</title>"), "Bad gateway");
    assert_eq!(message(200, "[1]"), "the reply is not an answer in a known format");
    assert!(message(401, r#"{"error": "bad key"}"#).starts_with("bad key ("));
    assert!(message(401, "").contains(r#"auth = "bearer""#));
}

#[test]
fn service_messages_are_truncated_and_safe_to_print() {
    let hostile = format!("A\u{1b}[2J\nerror: x\u{202e}\u{61c}{}", "x".repeat(10_000));
    let text = Value::from(hostile).to_string();
    let begins = r"A\u{1b}[2J\nerror: x\u{202e}\u{61c}xxx";
    let body = format!(
        r#"{{"error": {{"code": {text}, "message": {text}}}, "requestId": {text}, "remainingCredits": {text}}}"#
    );
    let classified = classify_aml(&reply(400, &body));
    for said in [classified.code.unwrap(), classified.message, classified.request_id.unwrap()] {
        assert!(said.starts_with(begins) && said.chars().count() <= 300, "{said}");
    }
    let unreadable = classified.unreadable_amount.unwrap();
    assert!(!unreadable.contains(char::is_control) && !unreadable.contains('\u{202e}'), "{unreadable}");
    let fault = TransportFault::Untrusted { host: "a\u{202e}".into(), fault: "b\n\u{1b}".into() };
    let classified = classify_aml(&Exchange { reply: Err(fault), latency: Duration::ZERO, room: Default::default() });
    assert!(
        classified.message.contains(r"a\u{202e}") && classified.message.contains(r"b\n\u{1b}"),
        "{}",
        classified.message
    );
}

/// Classifies a reply to a check with the flow `job`.
fn of_bank_account(status: u16, body: &str) -> Classified {
    let catalogue = Catalogue::built_in();
    let check = catalogue.get("foreign-bank-account").unwrap();
    let (answer, job) = (&check.answer, check.job.as_ref());
    let spec = ReplySpec {
        answer,
        job,
        cached_failure: None,
        charge_pointer: None,
        remaining_pointer: None,
        price: Credits(7),
    };
    classify(Said::of(&reply(status, body), UNIX_EPOCH), &spec)
}

#[test]
fn the_documented_503_proves_itself_unless_a_charge_is_stated() {
    let of = |error: Value, more: Value| {
        let mut body = serde_json::json!({ "error": error });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        of_bank_account(503, &body.to_string()).outcome
    };
    let code = "ASYNC_FALLBACK_REQUIRES_WEBHOOK";
    let none = serde_json::json!({});
    assert_eq!(of(serde_json::json!({ "code": code }), none.clone()), Outcome::NeedsWebhook, "no charge is stated");
    assert_eq!(of(serde_json::json!({"code": code, "creditsUsed": 0}), none.clone()), Outcome::NeedsWebhook);
    assert_eq!(of(serde_json::json!({ "code": code.to_lowercase() }), none.clone()), Outcome::NeedsWebhook);
    let charged = of(serde_json::json!({"code": code, "creditsUsed": 7}), none.clone());
    assert_eq!(charged, Outcome::ChargedRefusal { stated: Some(Credits(7)) });
    assert_eq!(of(serde_json::json!({"code": "OTHER"}), none), Outcome::Unknown);
}

#[test]
fn only_a_check_with_the_flow_job_is_accepted_as_a_job() {
    let body = r#"{"success": true, "jobId": "job_1", "status": "pending", "requiredCredits": 7}"#;
    let accepted = of_bank_account(202, body);
    assert_eq!(accepted.outcome, Outcome::Accepted { stated: Some(Credits(7)) });
    assert_eq!(accepted.job.map(|id| id.to_string()).as_deref(), Some("job_1"));
    let direct = classify_aml(&reply(202, body));
    assert_eq!((direct.outcome, direct.job), (Outcome::Pending { stated: None }, None));
}

#[test]
fn a_202_that_names_no_usable_job_or_says_that_it_failed_is_repeated() {
    for body in [
        r#"{"status": "pending"}"#,
        r#"{"status": "pending", "jobId": "../my_credits"}"#,
        r#"{"status": "pending", "jobId": "job_1", "success": false}"#,
        r#"{"status": "pending", "jobId": "job_1", "error": {"code": "x"}}"#,
    ] {
        assert_eq!(of_bank_account(202, body).outcome, Outcome::Pending { stated: None }, "{body}");
    }
}

#[test]
fn a_real_time_result_is_an_answer_even_if_it_names_a_job() {
    let body = r#"{"success": true, "status": "completed", "creditsUsed": 6, "jobId": "job_1",
        "result": {"outcome": "verified", "checks": {}}}"#;
    assert_eq!(of_bank_account(200, body).outcome, Outcome::Answered { stated: Some(Credits(6)) });
}

#[test]
fn a_missing_webhook_fails_only_a_check_with_the_flow_job_and_only_if_no_charge_is_stated() {
    let body =
        |charge| format!(r#"{{"error": {{"code": "ASYNC_FALLBACK_REQUIRES_WEBHOOK", "message": "m"}}{charge}}}"#);
    let uncharged = body(r#", "creditsUsed": 0"#);
    assert_eq!(of_bank_account(503, &uncharged).outcome, Outcome::NeedsWebhook);
    assert_eq!(outcome_of(503, &uncharged), Outcome::Uncharged);
    assert_eq!(outcome_of(503, &body("")), Outcome::Unknown, "another check knows no such code");
    let charged = of_bank_account(503, &body(r#", "creditsUsed": 7"#)).outcome;
    assert_eq!(charged, Outcome::ChargedRefusal { stated: Some(Credits(7)) });
}
