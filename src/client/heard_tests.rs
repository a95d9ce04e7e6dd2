//! The table from replies to outcomes, row by row, in both dialects.

use super::*;
use crate::catalogue::Catalogue;

fn reply(status: u16, body: &str) -> Exchange {
    let reply = Reply { status, body: Some(body.into()), retry_after: None, date: None, simulated: false };
    Exchange { reply: Ok(reply), latency: Duration::ZERO }
}

fn hear_aml(exchange: &Exchange) -> Heard {
    let catalogue = Catalogue::built_in();
    hear(exchange, &catalogue.get("aml-screening").unwrap().answer, UNIX_EPOCH)
}

fn outcome_of(status: u16, body: &str) -> Outcome {
    hear_aml(&reply(status, body)).outcome
}

#[test]
fn both_envelopes_are_answers_and_state_their_charge() {
    let first = r#"{"success": true, "requestId": "r1", "remainingCredits": 9, "results": {"match": []}}"#;
    let heard = hear_aml(&reply(200, first));
    assert_eq!(heard.outcome, Outcome::Answered { stated: None });
    assert_eq!((heard.remaining, heard.request_id.as_deref()), (Some(Credits(9)), Some("r1")));
    let second = r#"{"data": {"match": []}, "meta": {"requestId": "r2", "creditsUsed": 5}}"#;
    let heard = hear_aml(&reply(200, second));
    assert_eq!(heard.outcome, Outcome::Answered { stated: Some(Credits(5)) });
    assert_eq!(heard.request_id.as_deref(), Some("r2"));
}

#[test]
fn a_2xx_that_is_no_known_envelope_proves_nothing() {
    for body in ["", "<html>sign in</html>", "[]", "{}", r#"{"success": true}"#, r#"{"results": null}"#, r#"{"resul"#] {
        assert_eq!(outcome_of(200, body), Outcome::Unknown, "{body}");
    }
}

#[test]
fn a_202_is_pending_unless_it_names_a_service_job() {
    assert_eq!(outcome_of(202, r#"{"status": "pending"}"#), Outcome::Pending);
    assert_eq!(outcome_of(200, r#"{"status": "pending"}"#), Outcome::Pending);
    assert_eq!(outcome_of(202, r#"{"status": "pending", "results": {"match": []}}"#), Outcome::Pending);
    assert_eq!(outcome_of(202, r#"{"results": {"match": []}}"#), Outcome::Pending, "a 202 is never an answer");
    assert_eq!(outcome_of(202, r#"{"status": "pending", "jobId": "j"}"#), Outcome::Unknown);
    assert_eq!(outcome_of(202, "<html>"), Outcome::Unknown);
}

#[test]
fn each_refusal_has_its_outcome_in_either_error_form() {
    for body in [r#"{"error": {"code": "X", "message": "no"}}"#, r#"{"error": "no"}"#, "no", ""] {
        for (status, outcome) in [
            (400, Outcome::Refused),
            (413, Outcome::Refused),
            (415, Outcome::Refused),
            (422, Outcome::Refused),
            (401, Outcome::Unauthorised),
            (403, Outcome::Unauthorised),
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
fn a_stated_zero_settles_a_5xx_and_never_a_409() {
    let body = r#"{"error": {"code": "ASYNC_FALLBACK_REQUIRES_WEBHOOK"}, "creditsUsed": 0}"#;
    assert_eq!(outcome_of(503, body), Outcome::Uncharged);
    assert_eq!(outcome_of(409, body), Outcome::Unknown);
    assert_eq!(outcome_of(503, r#"{"creditsUsed": 1}"#), Outcome::Unknown);
}

#[test]
fn a_body_that_was_cut_is_unknown_after_a_2xx_and_leaves_a_refusal_what_it_is() {
    let cut = |status| {
        let reply = Reply { status, body: None, retry_after: None, date: None, simulated: false };
        hear_aml(&Exchange { reply: Ok(reply), latency: Duration::ZERO }).outcome
    };
    assert_eq!(cut(200), Outcome::Unknown);
    assert_eq!(cut(400), Outcome::Refused);
}

#[test]
fn only_a_connect_failure_proves_that_nothing_left() {
    let broken = |fault| hear_aml(&Exchange { reply: Err(fault), latency: Duration::ZERO }).outcome;
    assert_eq!(broken(TransportFault::NotWritten("refused".into())), Outcome::NotWritten);
    assert_eq!(broken(TransportFault::Unknown("reset".into())), Outcome::Unknown);
}

#[test]
fn control_characters_of_the_service_do_not_reach_a_terminal() {
    let heard = hear_aml(&reply(400, r#"{"error": {"code": "A\u001b[2J", "message": "x\u0007\ny"}}"#));
    assert!(!heard.message.contains(char::is_control) && !heard.code.unwrap().contains(char::is_control));
}
