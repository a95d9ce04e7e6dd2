//! Hand-made servers that misbehave: each fault is found, named, and has its exit code. None is ever sent anything but a
//! read of the account and sandbox requests.

use super::{Server, diagnosed, found, page};
use crate::support::service::lifted;
use rescreen::{catalogue::Spelling, client::Auth, model::ExitCode, pipeline::doctor::Standing};
use std::time::Duration;

const AML: &str = "aml-screening";

fn quick() -> rescreen::simulator::Settings {
    rescreen::simulator::Settings { cooldown: Duration::from_millis(10), ..lifted() }
}

#[tokio::test]
async fn only_sandbox_requests_are_sent_even_for_a_production_campaign() {
    let server = Server::before(quick(), |_| None);
    let diagnosis = diagnosed(&server.url, &[AML, "said-verification", "foreign-bank-account"], |file| {
        file.mode = Some(rescreen::model::Mode::Production);
    });
    diagnosis.await;
    let posts = server.posts();
    assert!(posts.len() >= 5, "{}", posts.len());
    for post in posts {
        let body: serde_json::Value = serde_json::from_str(&post.body).unwrap();
        assert_eq!(body["mode"], "sandbox", "{}", post.path);
    }
}

#[tokio::test]
async fn the_wrong_spelling_and_the_wrong_header_of_one_check_are_recommended() {
    let server = Server::before(quick(), |sent| (sent.path == "/aml-screening").then(|| page(404, "{}")));
    let diagnosis = diagnosed(&server.url, &[AML], |_| {}).await;
    assert_eq!(diagnosis.exit_code(), ExitCode::Complete, "{:#?}", diagnosis.findings);
    assert_eq!(diagnosis.recommended.checks[AML], (None, Some(Spelling::Alternate)));
    assert!(found(&diagnosis, "route of aml-screening").1.contains("/aml-pep is"));

    let server = Server::start(|sent, headers| match sent.path.as_str() {
        "/my_credits" => page(200, r#"{"available_credits": 5}"#),
        _ if headers.contains_key("authorization") => page(200, r#"{"results": {"match": []}}"#),
        _ => page(401, "{}"),
    });
    let diagnosis = diagnosed(&server.url, &[AML], |_| {}).await;
    assert_eq!(diagnosis.recommended.checks[AML], (Some(Auth::Bearer), None), "{:#?}", diagnosis.findings);
}

#[tokio::test]
async fn a_route_that_no_spelling_reaches_is_exit_code_10_if_the_campaign_uses_it() {
    let server = Server::before(quick(), |sent| sent.path.starts_with("/aml").then(|| page(404, "{}")));
    let used = diagnosed(&server.url, &[AML], |_| {}).await;
    assert_eq!(used.exit_code(), ExitCode::Service);
    assert!(found(&used, "route of aml-screening").1.contains("neither /aml-screening nor /aml-pep"));
    let unused = diagnosed(&server.url, &[], |_| {}).await;
    assert_eq!(unused.exit_code(), ExitCode::Complete, "{:#?}", unused.findings);
    assert_eq!(found(&unused, "route of aml-screening").0, Standing::Note);
}

#[tokio::test]
async fn a_redirect_a_page_and_a_wrong_path_are_exit_code_10_with_their_cause() {
    for (status, body, cause) in [
        (301, "", "a redirect, which is never followed"),
        (200, "<html>sign in</html>", "not JSON"),
        (404, "{}", "check the path in [service] url"),
        (500, "{}", "HTTP 500"),
    ] {
        let server = Server::start(move |_, _| page(status, body));
        let diagnosis = diagnosed(&server.url, &[AML], |_| {}).await;
        assert_eq!(diagnosis.exit_code(), ExitCode::Service, "{status}");
        assert!(found(&diagnosis, "reachability").1.contains(cause), "{:#?}", diagnosis.findings);
        assert!(server.posts().is_empty(), "{status}");
    }
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_is_exit_code_10() {
    let diagnosis = diagnosed("http://127.0.0.1:1", &[AML], |_| {}).await;
    assert_eq!(diagnosis.exit_code(), ExitCode::Service);
    assert!(found(&diagnosis, "reachability").1.contains("cannot connect"), "{:#?}", diagnosis.findings);
}

#[tokio::test]
async fn odd_balances_are_named_without_their_value() {
    for (body, standing, lines) in [
        (r#"{"Status": "Success", "Result": {"credits": "98765"}}"#, Standing::Good, 0),
        (r#"{"wallet": {"left": 98765}}"#, Standing::Note, 2),
        (r#"{"a": 98765, "b": 98765}"#, Standing::Bad(ExitCode::Service), 0),
        (r#"{"plan": "gold"}"#, Standing::Bad(ExitCode::Service), 0),
    ] {
        let server = Server::before(quick(), move |sent| (sent.path == "/my_credits").then(|| page(200, body)));
        let diagnosis = diagnosed(&server.url, &[AML], |_| {}).await;
        assert_eq!(found(&diagnosis, "balance").0, standing, "{body}");
        assert_eq!(diagnosis.recommended.lines().len(), lines, "{body}");
        assert!(!diagnosis.to_json().to_string().contains("98765"), "the balance is not shown");
    }
}

#[tokio::test]
async fn another_clock_and_headers_about_the_rate_are_noted() {
    let server = Server::before(quick(), |sent| {
        (sent.path == "/my_credits").then(|| {
            let mut response = page(200, r#"{"available_credits": 5}"#);
            let headers = response.headers_mut();
            headers.insert("date", "Mon, 02 Jan 2006 15:04:05 GMT".parse().unwrap());
            headers.insert("x-ratelimit-limit", "30".parse().unwrap());
            response
        })
    });
    let diagnosis = diagnosed(&server.url, &[AML], |_| {}).await;
    assert_eq!(found(&diagnosis, "clock").0, Standing::Note, "{:#?}", diagnosis.findings);
    assert!(found(&diagnosis, "rate").1.contains("x-ratelimit-limit: 30"));
    assert_eq!(diagnosis.exit_code(), ExitCode::Complete);
}

#[tokio::test]
async fn a_service_that_refuses_one_check_is_exit_code_7() {
    let server = Server::before(quick(), |sent| (sent.path == "/verify").then(|| page(403, "{}")));
    let diagnosis = diagnosed(&server.url, &[AML, "said-verification"], |_| {}).await;
    assert_eq!(diagnosis.exit_code(), ExitCode::Refused, "{:#?}", diagnosis.findings);
    assert_eq!(found(&diagnosis, "route of aml-screening").0, Standing::Good);
}

#[tokio::test]
async fn a_ledger_that_is_damaged_or_a_folder_that_cannot_be_written_is_exit_code_11() {
    let server = Server::before(quick(), |_| None);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    std::fs::write(&path, "not a database, but long enough to be read as one").unwrap();
    let diagnosis = diagnosed(&server.url, &[AML], |file| file.ledger.path = Some(path.clone())).await;
    assert_eq!(diagnosis.exit_code(), ExitCode::Storage);
    assert_eq!(found(&diagnosis, "ledger").0, Standing::Bad(ExitCode::Storage));
    let file_in_place = folder.path().join("file");
    std::fs::write(&file_in_place, "").unwrap();
    assert_eq!(found(&diagnosis, "disk").0, Standing::Good, "{:#?}", diagnosis.findings);
}

#[tokio::test]
async fn a_charge_or_another_mode_in_a_sandbox_reply_is_found_and_nothing_more_is_sent() {
    for (body, code, cause) in [
        (r#"{"results": {"match": []}, "creditsUsed": 3}"#, ExitCode::Budget, "states a charge"),
        (r#"{"data": {"match": []}, "meta": {"credits_spent": "1"}}"#, ExitCode::Budget, "states a charge"),
        (r#"{"results": {"match": []}, "mode": "production"}"#, ExitCode::Usage, "in the mode `production`"),
    ] {
        let server = Server::before(quick(), move |sent| sent.path.starts_with("/aml").then(|| page(200, body)));
        let diagnosis = diagnosed(&server.url, &[AML, "said-verification"], |_| {}).await;
        assert_eq!(diagnosis.exit_code(), code, "{:#?}", diagnosis.findings);
        assert!(found(&diagnosis, "sandbox").1.contains(cause), "{:#?}", diagnosis.findings);
        assert_eq!(server.posts().len(), 1, "{body}");
    }
}

#[tokio::test]
async fn odd_names_in_a_reply_break_neither_the_table_nor_the_lines() {
    let body = r#"{"left\n\u001b[2J\" ' \u202e": 5}"#;
    let server = Server::before(quick(), move |sent| (sent.path == "/my_credits").then(|| page(200, body)));
    let diagnosis = diagnosed(&server.url, &[AML], |_| {}).await;
    let shown = found(&diagnosis, "balance").1.to_owned() + &diagnosis.recommended.lines().concat();
    assert!(!shown.contains(['\n', '\u{1b}', '\u{202e}']), "{shown:?}");
    let file = rescreen::pipeline::campaign::parse(&diagnosis.recommended.lines().join("\n")).unwrap();
    assert_eq!(file.service.balance_pointer.as_deref(), Some("/left\n\u{1b}[2J\" ' \u{202e}"));
}

/// How long it waits.
mod timed {
    use super::*;

    #[tokio::test]
    #[ignore = "timed: make gauntlet"]
    async fn a_long_retry_after_is_not_waited_for() {
        for (path, wait) in [("/my_credits", "19"), ("/aml-screening", "19"), ("/aml-screening", "3600")] {
            let server = Server::before(quick(), move |sent| {
                let mut response = page(429, "{}");
                response.headers_mut().insert("retry-after", wait.parse().unwrap());
                (sent.path == path).then_some(response)
            });
            let begun = std::time::Instant::now();
            let diagnosis = diagnosed(&server.url, &[AML], |_| {}).await;
            assert!(begun.elapsed() < Duration::from_secs(9), "{path}: {:?}", begun.elapsed());
            assert!(found(&diagnosis, "wait").1.contains(&format!("wait {wait} s")), "{:#?}", diagnosis.findings);
        }
    }
}
