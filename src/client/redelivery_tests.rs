//! Replies to the request that a result be delivered again.

use super::*;
use crate::client::transport::Reply;

fn of(status: u16, body: Option<&str>, wait: Option<&str>) -> Redelivered {
    let reply = Reply {
        status,
        body: body.map(|body| body.as_bytes().to_vec()),
        retry_after: wait.map(str::to_owned),
        date: None,
        rate_headers: Vec::new(),
        simulated: false,
    };
    let exchange = Exchange { reply: Ok(reply), ..Exchange::without_reply(String::new()) };
    redelivered(&exchange, SystemTime::UNIX_EPOCH)
}

#[test]
fn a_success_is_an_object_or_nothing_and_never_another_page() {
    assert_eq!(of(200, Some(r#"{"jobId": "job_1"}"#), None), Redelivered::Accepted);
    assert_eq!(of(204, Some(""), None), Redelivered::Accepted);
    assert_eq!(of(200, Some("<html>sign in</html>"), None), Redelivered::NotTheService);
    assert_eq!(of(200, None, None), Redelivered::Unavailable { message: "HTTP 200".to_owned() }, "it was cut off");
}

#[test]
fn a_refusal_is_about_the_job_the_key_the_rate_or_the_service() {
    let message = "not completed\u{1b}[2J";
    let refused = of(409, Some(r#"{"error": {"message": "not completed\u001b[2J"}}"#), None);
    let Redelivered::Refused { status: 409, message: shown } = refused else { panic!("{refused:?}") };
    assert!(shown.starts_with("not completed") && shown != message, "{shown}");
    for status in [302, 400, 404, 405, 422] {
        assert_eq!(of(status, None, None), Redelivered::Refused { status, message: String::new() }, "{status}");
    }
    for status in [401, 403] {
        assert_eq!(of(status, Some("{}"), None), Redelivered::Unauthorised { status });
    }
    let seconds = |seconds| Redelivered::PushedBack { wait: Some(Duration::from_secs(seconds)) };
    assert_eq!((of(429, None, Some("7")), of(503, None, Some("9"))), (seconds(7), seconds(9)));
    assert_eq!(of(429, None, Some("soon")), Redelivered::PushedBack { wait: None });
    for status in [500, 502, 503, 504] {
        assert_eq!(of(status, None, None), Redelivered::Unavailable { message: format!("HTTP {status}") });
    }
    let lost = Exchange::without_reply("timed out".to_owned());
    let unavailable = Redelivered::Unavailable { message: "timed out".to_owned() };
    assert_eq!(redelivered(&lost, SystemTime::UNIX_EPOCH), unavailable);
}

#[test]
fn a_receiver_is_not_shown() {
    let receiver = NewReceiver { url: "https://hooks.example".to_owned(), secret: "hidden-words".to_owned().into() };
    assert!(!format!("{receiver:?}").contains("hidden-words"));
}
