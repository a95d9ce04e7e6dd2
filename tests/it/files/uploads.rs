//! The upload of large documents: what is sent where, a crash at every step, references that expire, and replies that
//! lead elsewhere.

use super::sample::{addresses, pdf};
use crate::support::{
    door::{Act, Door, Seen, Step},
    program::{UnderWay, rescreen, wait_until},
    ran::results,
    world::World,
};
use rescreen::{
    mapping::FieldSource,
    model::{ExitCode, Stop, state::State},
};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const LARGE: usize = 4 * 1024 * 1024 + 1;

/// A world that sends these documents through a door.
fn through(door: &Door, documents: &[&[u8]]) -> World {
    addresses(documents).sending_to(&door.url, door.arrivals())
}

/// Makes the recorded upload older.
fn age_uploads(world: &World, minutes: i64) {
    let ledger = Connection::open(world.path("out/ledger.sqlite")).unwrap();
    let changed = ledger.execute("UPDATE upload SET made_at = made_at - ?1", [minutes * 60_000_000]).unwrap();
    assert_eq!(changed, 1);
}

fn references(door: &Door) -> Vec<String> {
    let reference = |body: Value| body["document_reference"].as_str().unwrap_or_default().to_owned();
    door.seen(Step::Check).iter().map(|seen| reference(seen.json())).collect()
}

fn keys(door: &Door) -> BTreeSet<String> {
    door.seen(Step::Check).iter().map(|seen| seen.header("idempotency-key").unwrap().to_owned()).collect()
}

#[tokio::test]
async fn each_step_carries_what_the_description_says() {
    let door = Door::open(|_, _| Act::Pass);
    let document = pdf(1, LARGE);
    through(&door, &[&document]).run().await.exits(ExitCode::Complete).counts(results(1));
    let [announce] = &door.seen(Step::Announce)[..] else { panic!("one announcement") };
    let wanted = json!({"action": "upload", "mode": "production", "filename": "document.pdf", "size": LARGE,
        "content_type": "application/pdf"});
    assert_eq!(announce.json(), wanted);
    let [put] = &door.seen(Step::Put)[..] else { panic!("one document") };
    assert!(put.body == document, "the document is sent as it is");
    assert_eq!(put.header("content-type"), Some("application/pdf"));
    for secret in ["x-api-key", "authorization", "idempotency-key", "cookie"] {
        assert_eq!(put.header(secret), None, "{secret}");
    }
    let [check] = &door.seen(Step::Check)[..] else { panic!("one request") };
    let reference = check.json()["document_reference"].clone();
    assert_eq!(check.json(), json!({"mode": "production", "document_reference": reference}));
    assert_eq!(check.header("content-type"), Some("application/json"));
    assert_ne!(check.header("idempotency-key"), announce.header("idempotency-key"), "a key has one body");
    assert!(announce.header("idempotency-key").is_some() && check.header("x-api-key").is_some());
    assert_eq!(door.simulator.stats().credits_charged, 3);
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_is_repeated_with_the_same_reference_even_after_it_expired() {
    let mut world = addresses(&[&pdf(1, LARGE)]).fault("drop_after@3").under_paused_time();
    // The balance, the announcement and the request are counted.
    let ran = world.run_until("a charge", |stats| stats.charges == 1).await;
    assert_eq!(ran.report().sums.in_state(State::InDoubt), 1, "{:?}", ran.report().sums.requests);
    age_uploads(&world, 60);
    let ran = world.run().await.exits(ExitCode::Complete).charged(3).counts(results(1));
    assert_eq!(ran.stats.by_route["upload /proof-of-address"], 1, "no second upload");
    assert_eq!((ran.stats.conflicts, ran.stats.replays), (0, 1));
}

#[tokio::test]
async fn an_upload_that_expired_before_its_request_was_answered_is_made_anew_under_a_new_key() {
    let refused = r#"{"error": {"code": "insufficient_credits", "message": "not enough"}}"#;
    let door = Door::open(move |seen, before| match (seen.step, before) {
        (Step::Check, 0) => Act::Answer(402, refused.to_owned()),
        (Step::Balance, 1) => Act::Answer(200, r#"{"available_credits": 0}"#.to_owned()),
        _ => Act::Pass,
    });
    let mut world = through(&door, &[&pdf(1, LARGE)]);
    world.run().await.exits(ExitCode::Budget);
    age_uploads(&world, 15);
    world.run().await.exits(ExitCode::Complete).counts(results(1));
    let found = references(&door);
    assert_eq!(found.len(), 2);
    assert_ne!(found[0], found[1]);
    assert_eq!(keys(&door).len(), 2, "one key has one body");
    let stats = door.simulator.stats();
    assert_eq!((stats.credits_charged, stats.double_charges, stats.conflicts), (3, 0, 0));
}

/// A refusal may be about an expired reference. A new upload means a new key, so it needs the user's word: a retry reads
/// the account first, which shows whether the refusal was charged in silence.
#[tokio::test]
async fn a_refused_request_gets_a_new_upload_only_by_a_retry() {
    let expired = r#"{"error": {"code": "expired", "message": "the reference has expired"}}"#;
    let door = Door::open(move |seen, before| match (seen.step, before) {
        (Step::Check, 0) => Act::Answer(400, expired.to_owned()),
        _ => Act::Pass,
    });
    let mut world = through(&door, &[&pdf(1, LARGE)]);
    let ran = world.run().await.exits(ExitCode::Failures);
    assert_eq!(ran.failure_codes(), [("refused".to_owned(), 1)].into());
    assert_eq!(door.seen(Step::Check).len(), 1);
    world.retry().await.exits(ExitCode::Complete).counts(results(1));
    let found = references(&door);
    assert_eq!(found.len(), 2);
    assert_ne!(found[0], found[1]);
    assert_eq!(door.simulator.stats().credits_charged, 3);
}

#[tokio::test]
async fn a_charge_for_an_upload_is_booked_and_stops_every_run_until_the_user_decides() {
    let charges =
        [json!({"creditsUsed": 2}), json!({"data": {"credits_used": "2"}}), json!({"meta": {"creditsUsed": 2}})];
    let unreadable = json!({"creditsUsed": "many"});
    let steps = [(Step::Announce, 500), (Step::Announce, 200), (Step::Put, 200), (Step::Put, 403)];
    // The price of the check is booked for a charge that cannot be read.
    let all = charges.iter().map(|body| (body, 2)).chain([(&unreadable, 3)]);
    for ((step, status), (body, booked)) in steps.into_iter().cycle().zip(all.cycle()).take(8) {
        let body = body.to_string();
        let said = body.clone();
        let door = Door::open(move |seen, _| match seen.step {
            _ if seen.step == step => Act::Answer(status, said.clone()),
            _ => Act::Pass,
        });
        let mut world =
            through(&door, &[&pdf(1, LARGE), &pdf(2, LARGE)]).campaign(|file| file.service.in_flight = Some(1));
        let ran = world.run().await.exits(ExitCode::Budget);
        let message = ran.report().sent.stops.iter().map(ToString::to_string).collect::<String>();
        assert!(message.contains(&format!("{booked} credits are booked")), "{step:?} {body}: {message}");
        assert_eq!(ran.report().sums.account.charged.0, booked, "{step:?} {body}");
        world.run().await.exits(ExitCode::Budget).stops_with(|stop| matches!(stop, Stop::Kept { .. }));
        assert_eq!(door.seen(step).len(), 1, "{step:?}: no other document is uploaded");
        assert_eq!(door.seen(Step::Check).len(), 0);
    }
}

/// Announcements of a document of this length get a reply that cannot be followed; `None` for all lengths.
fn odd(length: Option<usize>) -> Door {
    Door::open(move |seen, _| match seen.step {
        Step::Announce if length.is_none_or(|length| seen.json()["size"] == length) => {
            Act::Answer(200, json!({"uploadUrl": "gopher://elsewhere/", "reference": "r"}).to_string())
        }
        _ => Act::Pass,
    })
}

fn announced(door: &Door, length: usize) -> usize {
    door.seen(Step::Announce).iter().filter(|seen| seen.json()["size"] == length).count()
}

#[tokio::test]
async fn an_odd_reply_to_one_upload_is_the_failure_of_one_row() {
    let door = odd(Some(LARGE + 1));
    let documents = [pdf(1, LARGE), pdf(2, LARGE + 1), pdf(3, LARGE), pdf(4, LARGE)];
    let documents: Vec<&[u8]> = documents.iter().map(Vec::as_slice).collect();
    let mut world = through(&door, &documents).campaign(|file| file.service.in_flight = Some(1));
    let ran = world.run().await.exits(ExitCode::Failures).counts(results(3).failures(1));
    assert_eq!((ran.failure_codes(), announced(&door, LARGE + 1)), ([("refused".to_owned(), 1)].into(), 3));
    let message = crate::support::tables::text(&ran.failures()[0], "message");
    assert!(message.contains("with https; nothing was sent or charged"), "{message}");
    assert_eq!(door.simulator.stats().credits_charged, 9);
}

#[tokio::test]
async fn odd_replies_to_several_uploads_in_a_row_stop_the_check() {
    let door = odd(None);
    let documents: Vec<Vec<u8>> = (0..8).map(|number| pdf(number, LARGE)).collect();
    let documents: Vec<&[u8]> = documents.iter().map(Vec::as_slice).collect();
    let mut world = through(&door, &documents).campaign(|file| file.service.in_flight = Some(1));
    let ran = world.run().await.exits(ExitCode::Service).counts(results(0).pending(8));
    assert!(ran.report().sent.stops.iter().any(|stop| matches!(stop, Stop::UploadUnusable { .. })));
    assert!((3..=8).contains(&announced(&door, LARGE)), "{}", announced(&door, LARGE));
}

#[tokio::test]
async fn a_document_is_not_uploaded_if_the_budget_has_no_room_for_its_request() {
    for (credits, requests) in [(2, 0), (3, 1), (7, 2)] {
        let door = Door::open(|_, _| Act::Pass);
        let documents: Vec<Vec<u8>> = (0..5).map(|number| pdf(number, LARGE)).collect();
        let documents: Vec<&[u8]> = documents.iter().map(Vec::as_slice).collect();
        let mut world = through(&door, &documents).max_credits(credits);
        world.run().await.exits(ExitCode::Budget).counts(results(requests).pending(5 - requests));
        assert_eq!(
            (announced(&door, LARGE) as u64, door.seen(Step::Put).len() as u64),
            (requests as u64, requests as u64)
        );
    }
}

/// A place for any document, under this reference.
fn place(seen: &Seen, reference: &str) -> Act {
    let url = format!("http://{}/put", seen.header("host").unwrap());
    Act::Answer(200, json!({"uploadUrl": url, "headers": {}, "reference": reference}).to_string())
}

#[tokio::test]
async fn two_documents_never_share_a_reference() {
    let door = Door::open(move |seen, _| match seen.step {
        Step::Announce => place(seen, "ref-1"),
        Step::Put => Act::Answer(200, "{}".to_owned()),
        _ => Act::Pass,
    });
    let mut world = through(&door, &[&pdf(1, LARGE), &pdf(2, LARGE)]).campaign(|file| file.service.in_flight = Some(1));
    let ran = world.run().await.exits(ExitCode::Failures);
    let failures = ran.failures().iter().map(|line| crate::support::tables::text(line, "message"));
    let found = failures.filter(|message| message.contains("the reference of another document")).count();
    assert_eq!(found, 1, "{:?}", ran.failures());
    assert!(door.seen(Step::Check).len() <= 1, "both would get the result of one document");
    let sent: BTreeSet<Vec<u8>> = door.seen(Step::Put).into_iter().map(|seen| seen.body).collect();
    assert_eq!(sent.len(), 1, "the first document is not replaced by the second");
}

#[tokio::test]
async fn the_same_document_in_two_rows_may_have_one_reference() {
    let door = Door::open(move |seen, _| match seen.step {
        Step::Announce => place(seen, "sha256-of-it"),
        Step::Put => Act::Answer(200, "{}".to_owned()),
        Step::Check => {
            Act::Answer(200, json!({"success": true, "creditsUsed": 3, "data": {"status": "Approved"}}).to_string())
        }
        Step::Balance => Act::Pass,
    });
    let same = pdf(1, LARGE);
    let mut world = through(&door, &[&same, &same])
        .csv("no,file,name\n1,d0.pdf,Thandi\n2,d1.pdf,Sipho\n")
        .campaign(|file| _ = file.checks[0].fields.insert("expected_first_name".to_owned(), FieldSource::from("name")));
    world.run().await.counts(results(2));
    assert_eq!(references(&door), ["sha256-of-it", "sha256-of-it"]);
}

#[tokio::test]
async fn a_reply_that_leads_elsewhere_is_not_followed() {
    for (url, headers, wanted) in [
        ("https://evil.example/put", json!({}), "another host, evil.example"),
        ("http://169.254.169.254/latest", json!({}), "with https"),
        ("https://user:word@evil.example/", json!({}), "without user, password"),
        ("/relative", json!({}), "expected an URL"),
        ("SELF", json!({"x-api-key": "stolen"}), "the header `x-api-key`"),
        ("SELF", json!({"host": "evil.example"}), "the header `host`"),
        ("SELF", json!({"x-a": "b\r\nc: d"}), "visible ASCII"),
    ] {
        let (text, given) = (url.to_owned(), headers.clone());
        let door = Door::open(move |seen, _| match seen.step {
            Step::Announce => {
                let own = format!("http://{}/put", seen.header("host").unwrap());
                let url = if text == "SELF" { own } else { text.clone() };
                Act::Answer(200, json!({"uploadUrl": url, "headers": given, "reference": "r"}).to_string())
            }
            _ => Act::Pass,
        });
        let ran = through(&door, &[&pdf(1, LARGE), &pdf(2, 500)]).run().await.exits(ExitCode::Service);
        assert!(ran.report().sent.stops.iter().any(|stop| matches!(stop, Stop::UploadUnusable { .. })), "{url}");
        let message = ran.report().sent.stops.iter().map(ToString::to_string).collect::<String>();
        assert!(message.contains(wanted), "{url}: {message}");
        assert_eq!(door.seen(Step::Put).len(), 0, "{url}");
        assert!(references(&door).iter().all(String::is_empty), "{url}: nothing names an upload");
    }
}

#[tokio::test]
async fn failed_steps_are_repeated_and_cost_nothing() {
    for (step, status) in [(Step::Announce, 500), (Step::Announce, 404), (Step::Put, 403), (Step::Put, 503)] {
        let door = Door::open(move |seen, before| match before {
            0 if seen.step == step => Act::Answer(status, "{}".to_owned()),
            _ => Act::Pass,
        });
        let ran = through(&door, &[&pdf(1, LARGE)]).run().await.exits(ExitCode::Complete).counts(results(1));
        let unwritten = ran.attempts().iter().filter(|one| one.outcome == "not_written").count();
        // A storage that refuses the document has answered: it is no outage.
        assert_eq!(unwritten, usize::from((step, status) != (Step::Put, 403)), "{step:?} {status}");
        assert_eq!(door.seen(Step::Check).len(), 1, "{step:?} {status}");
        assert_eq!(door.simulator.stats().credits_charged, 3, "{step:?} {status}");
    }
    // What refuses the account or the document refuses the request.
    let door = Door::open(|seen, _| match seen.step {
        Step::Announce => Act::Answer(415, r#"{"error": {"code": "unsupported", "message": "no"}}"#.to_owned()),
        _ => Act::Pass,
    });
    let mut world = through(&door, &[&pdf(1, LARGE), &pdf(2, 500)]).may_lose_checks("a refused announcement");
    world.run().await.exits(ExitCode::Failures).counts(results(1).failures(1));
}

/// Replies that are not about the document: pages of something between here and the service, and replies that were cut off.
#[tokio::test]
async fn a_page_in_answer_to_a_step_proves_nothing_and_the_next_run_uploads_again() {
    let page = "<!DOCTYPE html><html><title>Sign in</title></html>";
    for (step, status, body) in [
        (Step::Announce, 200, page),
        (Step::Announce, 200, ""),
        (Step::Announce, 200, r#"{"error": "login_required", "login_url": "https://wifi.example/"}"#),
        (Step::Announce, 400, page),
        (Step::Announce, 408, page),
        (Step::Announce, 401, page),
        (Step::Announce, 402, page),
        (Step::Announce, 403, page),
        (Step::Announce, 403, r#"{"message": "Forbidden"}"#),
        (Step::Announce, 413, ""),
        (Step::Announce, 415, page),
        (Step::Announce, 422, r#"{"message": "blocked"}"#),
        (Step::Announce, 400, r#"{"error": {"code": "#),
        (Step::Put, 200, page),
    ] {
        let door = Door::open(move |seen, before| match before {
            0 | 1 if seen.step == step => Act::Answer(status, body.to_owned()),
            _ => Act::Pass,
        });
        let mut world = through(&door, &[&pdf(1, LARGE), &pdf(2, LARGE), &pdf(3, 500)])
            .campaign(|file| file.service.in_flight = Some(1))
            .may_lose_checks("an announcement is an attempt");
        let mut ran = world.run().await;
        for _ in 0..3 {
            assert!(ran.failures().is_empty(), "{step:?} {status} {body}: {:?}", ran.failures());
            ran = world.run().await;
        }
        let ran = ran.exits(ExitCode::Complete).counts(results(3));
        assert_eq!(door.simulator.stats().credits_charged, 9, "{step:?} {status} {body}");
        assert_eq!(ran.report().sums.account.charged.0, 9, "{step:?} {status} {body}");
    }
}

#[test]
fn a_run_that_is_killed_at_any_step_pays_once() {
    for (step, acts) in [(Step::Announce, false), (Step::Announce, true), (Step::Put, false), (Step::Put, true)]
        .into_iter()
        .chain([(Step::Check, false), (Step::Check, true)])
    {
        let door = Door::open(move |seen, before| match (seen.step == step && before == 0, acts) {
            (true, true) => Act::StallAfter,
            (true, false) => Act::Stall,
            _ => Act::Pass,
        });
        let world = addresses(&[&pdf(1, LARGE)]);
        let words = "run book.csv --check proof-of-address --map document=file --files-root files --mode production \
                     --campaign c --id no --max-credits 100 --per-minute 6000 --yes --format jsonl --out out --service";
        let words: Vec<&str> = words.split_whitespace().chain([door.url.as_str()]).collect();
        let killed = UnderWay::start(&mut rescreen(&world.path(""), &words));
        wait_until("the step", || if acts { door.has_acted(step) } else { !door.seen(step).is_empty() });
        killed.signal("KILL");
        drop(killed.wait());
        crate::support::program::Said::of(&mut rescreen(&world.path(""), &words)).exits(0);
        let stats = door.simulator.stats();
        assert_eq!((stats.charges, stats.credits_charged, stats.double_charges), (1, 3, 0), "{step:?} {acts}");
        assert_eq!(stats.conflicts, 0, "{step:?} {acts}");
        assert_eq!(keys(&door).len(), 1, "{step:?} {acts}: nothing needs a new key");
        let named: BTreeSet<String> = references(&door).into_iter().collect();
        assert_eq!(named.len(), 1, "{step:?} {acts}: a repeat has the same reference");
    }
}

#[tokio::test]
async fn a_document_between_the_two_readings_of_four_megabytes_is_uploaded() {
    for (bytes, uploads) in [(4_000_000, 0), (4_000_001, 1), (4 * 1024 * 1024, 1)] {
        let door = Door::open(|_, _| Act::Pass);
        through(&door, &[&pdf(1, bytes)]).run().await.exits(ExitCode::Complete).counts(results(1));
        assert_eq!(door.seen(Step::Put).len(), uploads, "{bytes}");
    }
}

#[tokio::test]
async fn a_document_that_is_refused_at_its_place_is_named_with_the_status() {
    let door = Door::open(|seen, _| match seen.step {
        Step::Put => Act::Answer(403, "<Error><Code>SignatureDoesNotMatch</Code></Error>".to_owned()),
        _ => Act::Pass,
    });
    let ran = through(&door, &[&pdf(1, LARGE)]).run().await.exits(ExitCode::Service).charged(0);
    let said = ran.report().reasons().join("\n");
    assert!(said.contains("HTTP 403") && said.contains("upload") && said.contains("proof-of-address"), "{said}");
    assert!(!said.contains("does not answer"), "{said}");
    assert!(door.seen(Step::Check).is_empty());
}
