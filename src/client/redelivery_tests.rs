//! Replies to the request that a result be delivered again.

use super::*;
use crate::{
    catalogue::Catalogue,
    client::{InProcess, InProcessRequest, PushBack, Settings, transport::Reply},
};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, UNIX_EPOCH},
};

fn of(status: u16, body: Option<&str>, wait: Option<&str>) -> Redelivered {
    let reply = Reply {
        status,
        body: body.map(|body| body.as_bytes().to_vec()),
        retry_after: wait.map(str::to_owned),
        ..Reply::default()
    };
    let exchange = Exchange { reply: Ok(reply), ..Exchange::without_reply(String::new()) };
    redelivered(&Said::of(&exchange, UNIX_EPOCH))
}

#[test]
fn a_success_is_an_object_or_nothing_and_never_another_page() {
    assert_eq!(of(200, Some(r#"{"jobId": "job_1"}"#), None), Redelivered::Accepted);
    assert_eq!(of(200, Some(r#"{"message": "queued"}"#), None), Redelivered::Accepted);
    assert_eq!(of(204, Some(""), None), Redelivered::Accepted);
    let page = |status| of(status, Some("<html>sign in</html>"), None);
    for status in [200, 403, 404, 407] {
        assert_eq!(page(status), Redelivered::NotAnswered(NotAnswered::OfAnother { status }), "{status}");
    }
    assert_eq!(page(302), Redelivered::NotAnswered(NotAnswered::Redirect { status: 302, location: None }));
    assert_eq!(of(200, None, None), unavailable("HTTP 200, cut off"));
    assert_eq!(of(200, Some(r#"{"jobId": "#), None), unavailable("HTTP 200, not JSON"));
    let refusal = DeliveryRefusal { kind: ReplyKind::Success, status: 200, message: "no such receiver".to_owned() };
    let no = r#"{"success": false, "message": "no such receiver"}"#;
    assert_eq!(of(200, Some(no), None), Redelivered::Refused(refusal), "it says that it failed");
    let failed_job = r#"{"jobId": "job_1", "status": "failed", "error": {"code": "timed_out"}}"#;
    assert_eq!(of(200, Some(failed_job), None), Redelivered::Accepted, "the error is the job's");
}

fn unavailable(message: &str) -> Redelivered {
    Redelivered::NotAnswered(NotAnswered::Unavailable { message: message.to_owned() })
}

#[test]
fn a_refusal_is_about_the_job_the_key_the_rate_or_the_service() {
    let message = "not completed\u{1b}[2J";
    let refused = of(409, Some(r#"{"error": {"message": "not completed\u001b[2J"}}"#), None);
    let Redelivered::Refused(DeliveryRefusal { kind: ReplyKind::Conflict, status: 409, message: shown }) = refused
    else {
        panic!("{refused:?}")
    };
    assert!(shown.starts_with("not completed") && shown != message, "{shown}");
    for status in [400, 404, 405, 422] {
        let refusal = DeliveryRefusal { kind: ReplyKind::of(status), status, message: String::new() };
        assert_eq!(of(status, None, None), Redelivered::Refused(refusal), "{status}");
    }
    for status in [401, 403] {
        assert_eq!(of(status, Some("{}"), None), Redelivered::NotAnswered(NotAnswered::Unauthorised { status }));
    }
    let pushed_back = |push_back| Redelivered::NotAnswered(NotAnswered::PushedBack(push_back));
    let seconds = |seconds| pushed_back(PushBack::Stated(Duration::from_secs(seconds)));
    assert_eq!((of(429, None, Some("7")), of(503, None, Some("9"))), (seconds(7), seconds(9)));
    assert_eq!(of(429, None, Some("soon")), pushed_back(PushBack::Unstated));
    for status in [500, 502, 503, 504] {
        assert_eq!(of(status, None, None), unavailable(&format!("HTTP {status}")));
    }
    let lost = Exchange::without_reply("timed out".to_owned());
    assert_eq!(redelivered(&Said::of(&lost, UNIX_EPOCH)), unavailable("timed out"));
}

#[test]
fn a_receiver_is_not_shown() {
    let receiver = NewReceiver { url: "https://hooks.example".to_owned(), secret: "hidden-words".to_owned().into() };
    assert!(!format!("{receiver:?}").contains("hidden-words"));
}

/// What is sent for a job of this declaration.
async fn sent(job: &JobSpec, receiver: Option<&NewReceiver>) -> Option<InProcessRequest> {
    let seen = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&seen);
    let service = InProcess::new(move |request| {
        *keep.lock().unwrap() = Some(request);
        async { Ok(axum::http::Response::new(axum::body::Body::from("{}"))) }
    });
    let settings = Settings { in_process: Some(service), ..Settings::at("https://service.example/base") };
    let client = Client::new(&settings).unwrap();
    let id = JobId::new("job_1").unwrap();
    client.deliver_again(Permit::issue(1, Duration::ZERO), job, &id, Auth::XApiKey, receiver).await;
    seen.lock().unwrap().take()
}

#[tokio::test]
async fn only_the_declared_route_is_reached_and_nothing_identifies_a_check() {
    let catalogue = Catalogue::built_in();
    let mut count = 0;
    for job in catalogue.iter().filter_map(|check| check.job.as_ref()) {
        let request = sent(job, None).await;
        let Some(path) = &job.retry_webhook else {
            assert!(request.is_none(), "a check without the route sends nothing");
            continue;
        };
        let request = request.unwrap();
        assert_eq!(request.uri().to_string(), format!("https://service.example/base{}", path.replace(JOB_ID, "job_1")));
        assert!(!catalogue.iter().any(|check| check.routes.all().any(|route| request.uri().path().ends_with(route))));
        assert_eq!((request.method(), request.body().as_slice()), (&Method::POST, b"{}".as_slice()));
        let names: Vec<&str> = request.headers().keys().map(|name| name.as_str()).collect();
        assert_eq!(names, ["x-api-key", "content-type", "accept-encoding"], "no idempotency key");
        let receiver = NewReceiver { url: "https://hooks.example/1".to_owned(), secret: "s".repeat(32).into() };
        let body = sent(job, Some(&receiver)).await.unwrap().into_body();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let wanted = serde_json::json!({ "webhookUrl": receiver.url, "webhookSecret": "s".repeat(32) });
        assert_eq!(body, wanted);
        count += 1;
    }
    assert_eq!(count, 2);
}
