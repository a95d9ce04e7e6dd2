//! Replies that are not the service's: pages of a firewall, a proxy or a sign-in page, with any status. They fail no row, and
//! the same command finishes once they are gone.

use crate::support::{
    paused,
    ran::{Ran, results},
    world::{World, people},
};
use axum::{
    body::Body,
    http::{HeaderValue, Response},
};
use rescreen::{
    model::{ExitCode, Stop, state::State},
    pipeline::RunOptions,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

const PAGE: &str =
    "<!DOCTYPE html>\n<html><head><title>Attention Required!</title></head><body>P00004 Vexford</body></html>";

/// What may stand between us and the service: the status and the body, and whether its words are shown.
const REPLIES: [(u16, &str); 33] = [
    (200, PAGE),
    (200, "please sign in"),
    (200, ""),
    (202, PAGE),
    (204, ""),
    (302, ""),
    (307, PAGE),
    (400, PAGE),
    (400, ""),
    (401, PAGE),
    (402, PAGE),
    (403, PAGE),
    (403, "RBAC: access denied"),
    (403, ""),
    (403, r#"{"message":"Forbidden"}"#),
    (404, PAGE),
    (405, PAGE),
    (407, r#"{"error":{"code":"PROXY_AUTH","message":"Proxy authentication required"}}"#),
    (409, PAGE),
    (413, PAGE),
    (418, "no tea"),
    (451, "<?xml version=\"1.0\"?><Error><Code>Blocked</Code></Error>"),
    (502, PAGE),
    (503, "upstream connect error"),
    (511, PAGE),
    // What gateways and portals say in JSON.
    (200, r#"{"error":"login_required","login_url":"https://wifi.example/"}"#),
    (200, r#"{"message":"Please sign in"}"#),
    (400, r#"{"message":"Request body is invalid"}"#),
    (400, "[policy 7] blocked by the gateway"),
    (404, r#"{"message":"no Route matched with those values","request_id":"8a"}"#),
    (405, r#"{"message":"Method Not Allowed"}"#),
    (413, r#"{"fault":{"faultstring":"Body buffer overflow"}}"#),
    (422, r#"{"statusCode":422,"message":"Unprocessable"}"#),
];

fn reply(status: u16, body: &str) -> Response<Body> {
    let mut reply = paused::reply(status, body.to_owned());
    if status < 400 {
        reply.headers_mut().insert("location", HeaderValue::from_static("https://sign-in.example.net/?a=1"));
    }
    reply
}

/// A campaign of this many rows. Something replies for all messages about rows from `first` to `last`.
async fn intercepted(
    rows: usize,
    blocked: std::ops::RangeInclusive<usize>,
    status: u16,
    body: &'static str,
) -> (World, Ran) {
    let mut world = World::new().rows(rows).in_flight(1).under_paused_time();
    world.paused().stands_between(move |_, sent| {
        let is_blocked = blocked.clone().any(|row| sent.contains(&format!("P{row:05} ")));
        is_blocked.then(|| reply(status, body))
    });
    let ran = world.run().await;
    (world, ran)
}

/// The run failed no row and said that the service did not reply. Without the page, the same command completes it.
async fn finishes_later(mut world: World, ran: Ran, rows: usize, answered: u64, what: &str) {
    let stops = format!("{:?}", ran.report().sent.stops);
    assert_eq!(ran.report().exit_code, ExitCode::Service, "{what}: {stops}");
    assert!(!ran.report().lines().join("\n").contains("Vexford"), "{what}: {stops}");
    let ran = ran.in_state(State::Failed, 0).in_state(State::Answered, answered);
    assert_eq!((ran.stats.charges, ran.failures().len()), (answered, 0), "{what}");
    world.paused().works_again();
    let ran = world.run().await.exits(ExitCode::Complete).charged(rows as u64).counts(results(rows));
    assert_eq!(ran.stats.distinct_keys as usize, rows, "{what}");
}

/// Each of the replies, for the rows of a campaign from the fourth to `last`. The others are answered.
async fn each_fails_no_row(rows: usize, last: usize, answered: u64) {
    for (status, body) in REPLIES {
        let what = format!("HTTP {status} {body}");
        let (world, ran) = intercepted(rows, 4..=last, status, body).await;
        finishes_later(world, ran, rows, answered, &what).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_for_one_row_fails_no_row_whatever_its_status() {
    each_fails_no_row(6, 4, 5).await;
}

#[tokio::test(start_paused = true)]
async fn a_page_from_the_fourth_row_on_fails_no_row_whatever_its_status() {
    each_fails_no_row(12, 12, 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_page_for_every_message_of_one_campaign_fails_no_row_in_sandbox_either() {
    // What is refused in JSON on the account, too, is the API key.
    for (status, body) in REPLIES.into_iter().filter(|(status, body)| *status != 403 || !body.starts_with('{')) {
        let mut world = World::new().sandbox().rows(2).in_flight(1).under_paused_time();
        world.paused().stands_between(move |_, _| Some(reply(status, body)));
        let ran = world.run().await.in_state(State::Failed, 0);
        let code = ran.report().exit_code;
        assert_eq!(code, ExitCode::Service, "HTTP {status} {body}: {:?}", ran.report().sent.stops);
        world.paused().works_again();
        world.run().await.exits(ExitCode::Complete).counts(results(2));
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_cannot_be_decoded_stop_the_run_before_the_budget_is_spent() {
    let mut world = World::new().rows(60).max_credits(60).under_paused_time();
    world.paused().stands_between(|path, _| {
        let mut reply = reply(200, "not brotli");
        reply.headers_mut().insert("content-encoding", HeaderValue::from_static("br"));
        (path != "/my_credits").then_some(reply)
    });
    let ran = world.run().await.exits(ExitCode::Service);
    let ran = ran.stops_with(|stop| matches!(stop, Stop::NotTheService { .. }));
    let held = ran.report().sums.account.held.0;
    assert!((6..12).contains(&held), "{held}");
    // They may have been paid for, so no new one is sent before one of them is answered.
    let again = world.run().await.exits(ExitCode::Service);
    assert_eq!(again.report().sums.account.held.0, held);
    world.paused().works_again();
    world.run().await.exits(ExitCode::Complete).charged(60);
}

#[tokio::test(start_paused = true)]
async fn the_stop_line_shows_what_the_pages_have_in_common() {
    let (_, ran) = intercepted(12, 4..=12, 403, PAGE).await;
    ran.stops_with(
        |stop| matches!(stop, Stop::NotTheService { found } if found == "HTTP 403: \"Attention Required!\""),
    );
    let (_, ran) = intercepted(9, 4..=5, 403, PAGE).await;
    let found = "HTTP 403: \"Attention Required!\"";
    ran.stops_with(|stop| *stop == Stop::Intercepted { requests: 2, found: found.to_owned() });
    let (_, ran) = intercepted(9, 4..=4, 403, PAGE).await;
    ran.stops_with(|stop| *stop == Stop::Intercepted { requests: 1, found: "HTTP 403".to_owned() });
}

#[tokio::test(start_paused = true)]
async fn the_stop_line_of_equal_refusals_shows_the_words_that_they_have_in_common() {
    let mut world = World::new().rows(12).in_flight(1).under_paused_time();
    world.paused().stands_between(|_, sent| {
        let row = sent.split("\"P").nth(1)?.split(' ').next()?.to_owned();
        let body = format!(r#"{{"error":{{"message":"Your credit balance is too low for P{row} Vexford"}}}}"#);
        Some(reply(400, &body))
    });
    let ran = world.run().await.exits(ExitCode::Guard);
    let said = ran.report().lines().join("\n");
    assert!(said.contains("(HTTP 400 no code: Your credit balance is too low for …)"), "{said}");
}

/// The service answers and charges, but its answers are damaged on the way.
fn spoils_answers(world: &World, is_spoilt: impl Fn() -> bool + Send + 'static) {
    world.paused().changes_answers(move |answer| is_spoilt().then(|| format!("\u{1}{}", answer.replace('{', "("))));
}

#[tokio::test(start_paused = true)]
async fn running_again_after_unreadable_answers_buys_no_new_ones_before_one_is_read() {
    let mut world = World::new().rows(40).in_flight(1).under_paused_time();
    let spoilt = Arc::new(AtomicBool::new(true));
    let is_spoilt = Arc::clone(&spoilt);
    spoils_answers(&world, move || is_spoilt.load(Ordering::Relaxed));
    let first = world.run().await.exits(ExitCode::Service);
    let bought = first.stats.charges;
    assert!((1..=6).contains(&bought), "{bought}");
    for _ in 0..3 {
        let again = world.run().await.exits(ExitCode::Service).in_state(State::Planned, 40 - bought);
        let again = again.stops_with(|stop| *stop == Stop::NewWait);
        assert_eq!((again.stats.charges, again.stats.distinct_keys), (bought, bought), "nothing new");
    }
    spoilt.store(false, Ordering::Relaxed);
    world.run().await.exits(ExitCode::Complete).charged(40).counts(results(40));
}

#[tokio::test(start_paused = true)]
async fn with_continue_anyway_new_requests_are_sent_although_no_answer_could_be_read() {
    let mut world = World::new().rows(40).in_flight(1).under_paused_time();
    spoils_answers(&world, || true);
    let bought = world.run().await.exits(ExitCode::Service).stats.charges;
    let anyway = RunOptions { continue_anyway: true, ..RunOptions::default() };
    let again = world.run_with(anyway).await.exits(ExitCode::Service);
    assert!(again.stats.charges > bought);
}

#[tokio::test(start_paused = true)]
async fn requests_in_doubt_that_were_refused_meanwhile_are_still_sent_before_new_ones() {
    let mut world = World::new().rows(40).in_flight(1).under_paused_time();
    spoils_answers(&world, || true);
    let bought = world.run().await.exits(ExitCode::Service).stats.charges;
    world.paused().turns_away(402);
    world.run().await.in_state(State::Planned, 40 - bought);
    world.paused().works_again();
    world.run().await.exits(ExitCode::Complete).charged(40).counts(results(40));
}

#[tokio::test(start_paused = true)]
async fn pages_for_some_rows_do_not_keep_new_rows_from_being_sent() {
    let mut world = World::new().rows(30).in_flight(1).under_paused_time();
    world.paused().stands_between(|_, sent| {
        let is_blocked = (4..=30).step_by(4).any(|row| sent.contains(&format!("P{row:05} ")));
        is_blocked.then(|| reply(200, PAGE))
    });
    world.run().await.exits(ExitCode::Service).in_state(State::Answered, 23);
    world.append("book.csv", &people(31..=35));
    let ran = world.run().await.exits(ExitCode::Service).in_state(State::Answered, 28);
    assert!(!ran.report().sent.stops.contains(&Stop::NewWait), "{:?}", ran.report().sent.stops);
}

/// The reply to the request of row 4.
async fn to_row_4(status: u16, body: &'static str) -> Ran {
    let mut world = World::new().rows(6).in_flight(1).under_paused_time();
    world.paused().stands_between(move |_, sent| sent.contains("P00004 ").then(|| reply(status, body)));
    world.run().await
}

#[tokio::test(start_paused = true)]
async fn a_complete_answer_in_a_202_is_an_answer_and_an_open_one_is_pending() {
    let found = r#"{"success":true,"requestId":"r","results":{"match":[],"totalHits":0}}"#;
    let ran = to_row_4(202, found).await.exits(ExitCode::Complete).counts(results(6));
    assert_eq!(crate::support::tables::text(&ran.results()[3], "verdict"), "clear");
    for (status, body) in [
        (202, r#"{"success":true,"requestId":"r"}"#),
        (202, r#"{"success":true,"results":{"estimatedSeconds":30}}"#),
        (200, r#"{"success":true,"status":"processing","requestId":"r"}"#),
        (200, r#"{"success":true,"status":"In Progress","requestId":"r"}"#),
        (200, r#"{"status":"PENDING","requestId":"r"}"#),
    ] {
        let ran = to_row_4(status, body).await.counts(results(5).pending(1));
        assert_eq!(ran.report().sums.in_state(State::Repeating), 1, "{status} {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_called_pending_for_a_whole_run_is_for_review() {
    for (status, word) in [(200, "pending"), (200, "Pending"), (202, "pending"), (202, "queued"), (202, "In Progress")]
    {
        let body = format!(r#"{{"success":true,"status":"{word}","results":{{"match":[],"totalHits":0}}}}"#);
        let ran = to_row_4(status, body.leak()).await.exits(ExitCode::Complete).counts(results(6));
        let results = ran.results();
        let row = results.last().unwrap();
        let found = ["verdict", "finding", "attempts"].map(|name| row[name].to_string());
        assert_eq!(found, [r#""review""#, r#""contradictory_answer""#, "40"], "{status} {word}");
    }
}
