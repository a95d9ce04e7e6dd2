//! Status replies as documented, and as a service that misbehaves may send them.

use super::*;
use crate::{
    catalogue::{AnswerSpec, JobSpec},
    client::{Exchange, Reply},
    model::Credits,
};
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;

fn read(status: u16, body: &[u8]) -> JobNews {
    let job = JobSpec {
        id: vec!["/jobId".into(), "/data/jobId".into()],
        status: "/jobs/{jobId}".into(),
        webhook: false,
        retry_webhook: None,
        hold: None,
        always: false,
        completed: vec!["settled".to_owned()],
        assumed: false,
    };
    let answer = AnswerSpec { payload: vec!["/result".into(), "/data/result".into()], ..AnswerSpec::default() };
    let spec = ReplySpec {
        answer: &answer,
        job: Some(&job),
        cached_failure: None,
        charge_pointer: None,
        remaining_pointer: None,
        price: Credits(7),
    };
    let reply = Reply { status, body: Some(body.to_vec()), ..Reply::default() };
    let exchange = Exchange { reply: Ok(reply), ..Exchange::without_reply(String::new()) };
    job_news(&Said::of(&exchange, UNIX_EPOCH), &JobId::new("job_1").unwrap(), &spec)
}

fn said(status: u16, body: Value) -> String {
    format!("{:?}", read(status, body.to_string().as_bytes()))
}

#[test]
fn the_documented_states_are_read() {
    let result = json!({"outcome": "verified"});
    assert_eq!(said(200, json!({"jobId": "job_1", "status": "pending", "creditsUsed": 0})), "open");
    let completed = json!({"jobId": "job_1", "status": "completed", "creditsUsed": 7, "result": result});
    assert_eq!(said(200, completed.clone()), "completed");
    let failed = json!({"jobId": "job_1", "status": "failed", "creditsUsed": 0,
        "error": {"code": "verification_timed_out", "message": "no result in 48 hours"}});
    let news = read(200, failed.to_string().as_bytes());
    let JobNews::Failed { code, message, .. } = &news else { panic!("{news:?}") };
    assert_eq!((code.as_deref(), message.as_str()), (Some("verification_timed_out"), "no result in 48 hours"));
    assert_eq!(said(404, json!({"error": {"code": "job_not_found"}})), "not_found");
}

#[test]
fn the_envelope_data_is_read_too() {
    assert_eq!(said(200, json!({"data": {"jobId": "job_1", "status": "Pending"}})), "open");
    let completed = json!({"data": {"jobId": "job_1", "status": "completed", "result": {"outcome": "verified"}}});
    assert_eq!(said(200, completed), "completed");
}

#[test]
fn a_reply_about_another_job_is_not_believed() {
    let result = json!({"outcome": "verified"});
    for id in [json!("job_2"), json!(7), json!("../x"), json!({"id": "job_1"}), json!("JOB_1")] {
        let body = json!({"jobId": id, "status": "completed", "result": result});
        assert_eq!(said(200, body), "other_job", "{id}");
    }
    let spaced = json!({"jobId": " job_1 ", "status": "completed", "result": result});
    assert_eq!(said(200, spaced), "completed");
    assert_eq!(said(200, json!({"status": "completed", "result": result})), "completed", "it names no job");
}

#[test]
fn a_job_ends_only_where_the_reply_is_clear() {
    for (body, wanted) in [
        (json!({"status": "completed"}), "it says that the job is complete, and has no result"),
        (json!({"status": "completed", "result": null}), "it says that the job is complete, and has no result"),
        (json!({}), "it has neither a known state nor a result"),
        (json!({"status": "sleeping"}), "its state is `sleeping`, which is not known"),
        (
            json!({"status": "awaiting_bank", "result": {"outcome": "x", "checks": {"accountFound": false}}}),
            "its state is `awaiting_bank`, which is not known",
        ),
        (
            json!({"status": "completed", "data": {"jobId": "job_1", "result": {}}}),
            "it says that the job is complete, and has no result",
        ),
        (json!({"status": 7}), "it has neither a known state nor a result"),
        (json!({"success": false, "error": {"code": "x"}}), "it has neither a known state nor a result"),
        (
            json!({"success": false, "result": {"outcome": "verified"}}),
            "it says that it failed, and does not say that the job did",
        ),
    ] {
        assert_eq!(said(200, body.clone()), format!("unclear: {wanted}"), "{body}");
    }
    let two = json!({"jobId": "job_1", "data": {"jobId": "job_77", "status": "completed", "result": {"outcome": "x"}}});
    assert_eq!(said(200, two), "other_job");
    for bytes in [&b"<html>"[..], b"", b"[]", b"\"completed\""] {
        assert_eq!(format!("{:?}", read(200, bytes)), "unclear: it is not a JSON object");
    }
    let running_again = json!({"status": "processing", "result": {"outcome": "verified"}});
    assert_eq!(said(200, running_again), "open");
    for body in [json!({}), json!({"status": "on_its_way", "result": {"outcome": "x"}}), json!({"result": {}})] {
        assert_eq!(said(202, body.clone()), "open", "a 202 has no result yet, unless it says so: {body}");
    }
    assert_eq!(said(202, json!({"status": "completed", "result": {"outcome": "x"}})), "completed");
    for envelope in [
        json!({"status": "success", "data": {"jobId": "job_1", "status": "pending"}}),
        json!({"success": true, "data": {"jobId": "job_1", "state": "pending"}}),
        json!({"data": {"job": {"id": "job_1", "status": "pending"}}}),
        json!({"jobId": "job_1", "state": "processing", "result": {"outcome": "pending", "checks": {"accountFound": false}}}),
    ] {
        assert_eq!(said(200, envelope.clone()), "open", "{envelope}");
    }
    assert_eq!(said(200, json!({"status": "settled", "result": {"outcome": "x"}})), "completed");
    let word = json!({"status": "completed", "result": {"status": "settled", "name": null}});
    assert_eq!(said(200, word), "completed", "the declared word is the result");
}

#[test]
fn what_the_service_says_of_itself_is_left_to_others() {
    for status in [302, 401, 403, 429, 500, 503] {
        let wanted = if status < 429 { "refused" } else { "unheard" };
        assert_eq!(said(status, json!({"status": "failed"})), wanted, "{status}");
    }
}
