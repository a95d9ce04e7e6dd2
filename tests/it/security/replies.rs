//! Replies of a broken or malicious service: redirects, endless and wrong bodies, cut connections.

use super::{
    outcomes,
    wire::{Answer, Wire, clear, json},
    world,
};
use crate::support::ran::results;
use rescreen::model::{ExitCode, Stop, state::State};

/// A service whose first reply is this one and whose other replies are normal.
fn once(first: impl Fn() -> Answer + Send + Sync + 'static) -> Wire {
    Wire::new(move |nth, _| if nth == 1 { first() } else { Answer::Bytes(clear()) })
}

/// The first reply proves nothing: the same message is sent again, byte for byte under the same key, and is answered.
async fn is_in_doubt_and_then_settled(wire: &Wire) {
    is_settled_after("unknown", wire).await;
}

/// The same after this outcome.
async fn is_settled_after(first: &str, wire: &Wire) {
    let ran = world(1, wire).run().await.exits(ExitCode::Complete).counts(results(1));
    assert_eq!(outcomes(&ran), [first, "answered"]);
    assert_eq!(ran.report().sums.account.charged.0, 1);
    let [first, second] = &wire.checks()[..] else { panic!("{:?}", wire.checks().len()) };
    assert_eq!(first.header("idempotency-key"), second.header("idempotency-key"));
    assert!(first.header("idempotency-key").is_some_and(|key| key.len() == 36) && first.body == second.body);
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_key_and_body_go_nowhere_else() {
    let elsewhere = Wire::new(|_, _| Answer::Bytes(clear()));
    for status in ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent"] {
        let reply = format!("HTTP/1.1 {status}\r\nlocation: {}/stolen\r\ncontent-length: 0\r\n\r\n", elsewhere.url);
        let wire = Wire::new(move |_, _| Answer::Bytes(reply.clone().into()));
        let ran = world(3, &wire).run().await.exits(ExitCode::Service).in_state(State::InDoubt, 3);
        let ran = ran.stops_with(|stop| matches!(stop, Stop::Misrouted { .. }));
        // Each request is sent twice, and then the route is at fault.
        assert_eq!((wire.checks().len(), ran.report().sums.account.held.0), (6, 3), "{status}");
    }
    assert!(elsewhere.messages().is_empty(), "{:?}", elsewhere.messages());
}

#[tokio::test]
async fn no_cell_and_no_column_changes_the_destination_or_the_headers_of_a_message() {
    let elsewhere = Wire::new(|_, _| Answer::Bytes(clear()));
    let wire = Wire::new(|_, _| Answer::Bytes(clear()));
    let there = elsewhere.url.trim_start_matches("http://").to_owned();
    let cells = [
        format!("{}/verify", elsewhere.url),
        format!("@{there}/"),
        format!("..//{there}"),
        format!("\"x\r\nHost: {there}\r\nx-api-key: stolen\r\n\r\n\""),
        "{{ service.url }}".to_owned(),
    ];
    let rows: String =
        cells.iter().enumerate().map(|(at, cell)| format!("{at},{cell},active,{there},{there},/stolen\n")).collect();
    let csv = format!("no,name,status,url,host,path\n{rows}");
    world(1, &wire).csv(&csv).run().await.exits(ExitCode::Complete).counts(results(5));
    let here = wire.url.trim_start_matches("http://");
    for message in wire.messages() {
        let begins = if message.is_check() { "POST /aml-screening HTTP/1.1" } else { "GET /my_credits HTTP/1.1" };
        assert!(message.head.starts_with(begins), "{}", message.head);
        assert_eq!(message.header("host"), Some(here));
        assert!(message.head.matches("x-api-key").count() == 1 && !message.head.contains("stolen"), "{}", message.head);
    }
    assert_eq!((wire.checks().len(), elsewhere.messages().len()), (5, 0));
}

#[tokio::test]
async fn a_reply_of_100_mebibytes_is_cut_at_the_limit_and_the_request_is_in_doubt() {
    for head in ["content-length: 104857600\r\n\r\n", "connection: close\r\n\r\n"] {
        let wire = once(move || Answer::ThenZeros(format!("HTTP/1.1 200 OK\r\n{head}").into(), 100));
        is_in_doubt_and_then_settled(&wire).await;
        // Bytes in the buffers of the two sockets count as received.
        assert!((31..64).contains(&wire.mebibytes_taken()), "{} MiB were received", wire.mebibytes_taken());
    }
}

#[tokio::test]
async fn a_new_key_that_is_refused_for_its_content_passes_the_trial_to_another() {
    // The service keeps a 402 under the first two keys it sees, and refuses the third.
    let keys = std::sync::Mutex::new(Vec::new());
    let wire = Wire::new(move |_, message| {
        let (mut keys, key) = (keys.lock().unwrap(), message.header("idempotency-key").map(str::to_owned));
        let place = keys.iter().position(|known| *known == key).unwrap_or(keys.len());
        if place == keys.len() {
            keys.push(key);
        }
        Answer::Bytes(match place {
            0 | 1 => json("402 Payment Required", r#"{"error": "not enough credits"}"#),
            2 => json("400 Bad Request", r#"{"error": "no"}"#),
            _ => clear(),
        })
    });
    let ran = world(2, &wire).run().await.exits(ExitCode::Failures).counts(results(1).failures(1));
    assert_eq!(ran.report().sums.account.charged.0, 1);
}

#[tokio::test]
async fn a_reply_shorter_than_it_says_proves_nothing() {
    let text = String::from_utf8(clear()).unwrap().replace("content-length: ", "content-length: 9");
    is_in_doubt_and_then_settled(&once(move || Answer::ThenClose(text.clone().into()))).await;
}

#[tokio::test]
async fn a_reply_longer_than_it_says_proves_nothing_and_the_rest_answers_no_other_request() {
    let body = r#"{"success":true,"creditsUsed":1,"results":{"match":[]}}"#;
    let wire = once(move || Answer::Bytes(format!("HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{body}").into()));
    is_settled_after("unreadable", &wire).await;
}

#[tokio::test]
async fn a_connection_that_ends_in_the_headers_or_in_the_body_proves_nothing() {
    for part in [12, 40, 90] {
        let cut = clear()[..part].to_vec();
        is_in_doubt_and_then_settled(&once(move || Answer::ThenClose(cut.clone()))).await;
    }
}

#[tokio::test]
async fn a_reset_connection_proves_nothing() {
    is_in_doubt_and_then_settled(&once(|| Answer::Reset)).await;
}

#[tokio::test]
async fn a_reply_that_is_not_http_proves_nothing() {
    is_in_doubt_and_then_settled(&once(|| Answer::ThenClose(b"SSH-2.0-OpenSSH\r\n".to_vec()))).await;
}

#[tokio::test]
async fn with_resets_the_messages_on_the_wire_are_the_attempts_in_the_ledger() {
    // Every third message gets a reset, on a connection that was used before.
    let wire = Wire::new(|nth, _| if nth % 3 == 2 { Answer::Reset } else { Answer::Bytes(clear()) });
    let mut world = world(8, &wire).in_flight(4);
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(8));
    assert!(ran.attempts().len() > 8);
    assert_eq!(wire.checks().len(), ran.attempts().len(), "nothing is sent without the ledger");
}

#[tokio::test]
async fn on_silently_closed_connections_no_more_messages_are_seen_than_attempts() {
    let wire = Wire::new(|_, _| Answer::ThenClose(clear()));
    let mut world =
        world(12, &wire).in_flight(4).may_lose_checks("a connection is closed while the next check is written");
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(12));
    assert!(wire.checks().len() <= ran.attempts().len());
    assert_eq!(ran.report().sums.account.charged.0, 12);
}
