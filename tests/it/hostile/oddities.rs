//! Unusual behaviour of connections and of single replies, which must not cause a second charge or stop other rows:
//! connections that end after each reply, interim replies, nonsensical headers, replies that belong to another row,
//! bodies that are never JSON.

use super::{Campaign, Hostile, Reply, Stated, json, reply::Travel};
use crate::support::program::Said;
use std::time::Duration;

const ROWS: u32 = 30;

/// Three rows always get a complete 200 that cannot be read: they fail as unreadable, their charge is booked, their
/// bytes are kept, and every run settles the other rows.
#[track_caller]
fn always_unreadable(bytes: &[u8]) {
    let reply = Reply::bytes(bytes);
    let service = Hostile::new().script(move |asked| [1, 2, 9].contains(&asked.row).then(|| reply.clone())).start();
    let campaign = Campaign::of(&service, ROWS);
    let said = campaign.run();
    let ledger = campaign.ledger();
    let shown = String::from_utf8_lossy(bytes);
    assert_eq!(ledger.in_state("answered") as u32, ROWS - 3, "{shown}: exit {}: {}", said.code, said.stderr);
    for row in [1, 2, 9] {
        let fate = ledger.row(row);
        assert_eq!((fate.state, fate.code.as_str()), ("failed", "unreadable_answer"), "{shown}: {fate:?}");
        assert_eq!((fate.charged, fate.possibly_charged), (1, true), "{shown}: {fate:?}");
        assert!(service.book().messages_of(row).len() >= 2, "it is repeated before it is final");
    }
    assert!(bytes.is_empty() || ledger.keeps(bytes), "the raw bytes are kept: {shown}");
    assert_eq!(said.code, 3, "{}", said.stderr);
}

/// Three rows always get a complete 200 that is not the service's: they stay in doubt, and the other rows are settled.
#[track_caller]
fn always_of_another(bytes: &[u8]) {
    let reply = Reply::bytes(bytes);
    let service = Hostile::new().script(move |asked| [1, 2, 9].contains(&asked.row).then(|| reply.clone())).start();
    let campaign = Campaign::of(&service, ROWS);
    campaign.run_until_asked(1..=ROWS);
    let ledger = campaign.ledger();
    assert_eq!((ledger.in_state("answered") as u32, ledger.in_state("in_doubt")), (ROWS - 3, 3), "{ledger:?}");
    assert!([1, 2, 9].iter().all(|row| ledger.row(*row).held == 1 && service.book().keys_of(*row) == 1), "{ledger:?}");
    assert!(bytes.is_empty() || ledger.keeps(bytes), "the raw bytes are kept");
}

#[test]
#[ignore = "make hostile"]
fn an_invalid_json_number_is_an_unreadable_answer() {
    always_unreadable(br#"{"success":true,"results":{"match":[],"score":.5}}"#);
}

#[test]
#[ignore = "make hostile"]
fn an_empty_body_fails_no_row() {
    always_of_another(b"");
}

#[test]
#[ignore = "make hostile"]
fn truncated_json_is_an_unreadable_answer() {
    always_unreadable(br#"{"success":true,"results":{"match":["#);
}

#[test]
#[ignore = "make hostile"]
fn a_proxy_page_for_a_few_rows_fails_no_row() {
    always_of_another(b"<html><body>Request blocked. Incident 77.</body></html>");
}

#[test]
#[ignore = "make hostile"]
fn json_that_is_not_an_object_is_kept_and_never_clear() {
    let array = br#"[{"success":true,"results":{"match":[]}}]"#;
    let service = Hostile::new().on_row(2, Reply::bytes(*array)).start();
    let campaign = Campaign::of(&service, ROWS);
    let said = campaign.run();
    let ledger = campaign.ledger();
    let fate = ledger.row(2);
    assert!(fate.is_settled() && fate.verdict != "clear" && fate.charged == 1, "{fate:?}; {}", said.stderr);
    assert!(ledger.keeps(array) && ledger.settled() as u32 == ROWS, "{}", said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn a_proxy_page_for_every_row_stops_the_run_within_twelve_messages() {
    let page = Reply::bytes("<html>Please log in</html>").cost(0.0);
    let service = Hostile::new().on_all(page).start();
    let campaign = Campaign::of(&service, 200);
    campaign.run().exits(10);
    assert!(service.book().entries.len() <= 12, "{} messages", service.book().entries.len());
    assert_eq!(campaign.ledger().settled(), 0, "{:?}", campaign.ledger().settled());
}

#[test]
#[ignore = "make hostile"]
fn a_connection_that_ends_after_each_reply_adds_no_charge() {
    let closes = |travel| Reply::clear().travels(travel).header("connection", "close");
    let without_notice = Reply::clear().travels(Travel::ThenClosed);
    for reply in [closes(Travel::ThenClosed), closes(Travel::Whole), without_notice] {
        let service = Hostile::new().on_all(reply).start();
        let campaign = Campaign::of(&service, 40);
        campaign.run().exits(0);
        assert_eq!((service.book().credits(), campaign.ledger().charged()), (40.0, 40));
    }
}

#[test]
#[ignore = "make hostile"]
fn a_hundred_interim_replies_before_an_answer_change_nothing() {
    let service = Hostile::new().on_row(4, Reply::clear().travels(Travel::AfterContinues(100))).start();
    let campaign = Campaign::of(&service, 12);
    campaign.run().exits(0);
    assert_eq!((service.book().credits(), campaign.ledger().row(4).verdict.as_str()), (12.0, "clear"));
}

#[test]
#[ignore = "make hostile"]
fn a_retry_after_on_an_answer_does_not_stop_the_campaign() {
    let service = Hostile::new().on_row(4, Reply::clear().header("retry-after", "86400")).start();
    let campaign = Campaign::of(&service, 12);
    campaign.run().exits(0);
    campaign.append(13..=15);
    campaign.run().exits(0);
    assert_eq!(campaign.ledger().charged(), 15);
}

#[test]
#[ignore = "make hostile"]
fn a_retry_after_of_a_century_does_not_end_the_campaign() {
    let once = |asked: &super::Asked| {
        let far = Reply::status(429).header("retry-after", "Thu, 21 Nov 2126 00:00:00 GMT");
        (asked.before == 5).then_some(far)
    };
    let service = Hostile::new().script(once).start();
    let campaign = Campaign::of(&service, 12);
    campaign.run().exits(10);
    let sent = service.book().entries.len();
    campaign.run().exits(10);
    assert_eq!(service.book().entries.len(), sent, "a pause is obeyed by the next run");
    campaign.run_with("--lift-pause").exits(0);
    assert_eq!(campaign.ledger().charged(), 12);
}

#[test]
#[ignore = "make hostile"]
fn a_nonsensical_date_header_does_not_stop_a_campaign() {
    for date in ["", "yesterday", "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let service = Hostile::new().date(date).start();
        let campaign = Campaign::of(&service, 12);
        let said = campaign.run();
        assert_eq!(said.code, 0, "Date `{date}`: {}", said.stderr);
        assert_eq!(campaign.ledger().charged(), 12, "Date `{date}`");
    }
}

#[test]
#[ignore = "make hostile"]
fn a_lost_reply_after_one_with_a_wrong_date_is_still_settled() {
    let odd = Reply::clear().header("date", "Fri, 31 Dec 2027 23:59:59 GMT");
    let service =
        Hostile::new().on_row(2, odd).script(|asked| (asked.row == 8 && asked.nth == 1).then(Reply::lost)).start();
    let campaign = Campaign::of(&service, 12).with("--in-flight 1");
    campaign.run().exits(0);
    assert_eq!((campaign.ledger().charged(), service.book().credits()), (12, 12.0));
}

#[test]
#[ignore = "make hostile"]
fn an_api_key_that_the_service_repeats_is_not_printed() {
    let body =
        json!({ "error": { "code": "BAD_KEY", "message": format!("no such key: {}", crate::support::API_KEY) } });
    for status in [401, 422] {
        let service = Hostile::new().on_all(Reply::error(status, body.clone())).start();
        let campaign = Campaign::of(&service, 8);
        let said = campaign.run_with("-vv");
        assert!(!said.stderr.contains(crate::support::API_KEY), "{}", said.stderr);
        assert_ne!(said.code, 0, "{}", said.stderr);
    }
}

#[test]
#[ignore = "make hostile"]
fn equal_rows_are_charged_once_even_if_the_first_reply_is_lost() {
    let service = Hostile::new().script(|asked| (asked.nth == 1 && asked.row == 3).then(Reply::lost)).start();
    let campaign = Campaign::of(&service, 5);
    campaign.append(3..=3);
    campaign.append(3..=3);
    campaign.run().exits(0);
    assert_eq!((service.book().credits(), campaign.dataset("results").len()), (5.0, 7));
}

/// What happens in real time.
mod timed {
    use super::*;

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn slow_answers_of_a_few_rows_do_not_hold_up_the_others() {
        let slow = Reply::clear().after(Duration::from_secs(3));
        let service = Hostile::new().states(Stated::Both);
        let service = service.script(move |asked| (asked.row == 5 || asked.row == 6).then(|| slow.clone())).start();
        let campaign = Campaign::of(&service, 60);
        campaign.run().exits(0);
        let book = service.book();
        let slow_at = book.messages_of(5)[0].at;
        let meanwhile = book.entries.iter().filter(|entry| (entry.at - slow_at).as_secs_f64() < 2.5).count();
        assert!(meanwhile >= 50, "only {meanwhile} messages were sent meanwhile");
    }

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn huge_lists_of_small_numbers_fail_their_rows_and_need_at_most_two_gigabytes() {
        let huge = format!("{{\"success\":true,\"results\":{{\"match\":[{}0]}}}}", "0,".repeat(6_000_000));
        let reply = Reply::bytes(huge);
        let service = Hostile::new().script(move |asked| (asked.row > 8).then(|| reply.clone())).start();
        let campaign = Campaign::of(&service, 20).with("--in-flight 12 --max-errors 100%");
        let said = campaign.audited(Said::of(&mut campaign.under("ulimit -v 2000000", "")));
        let ledger = campaign.ledger();
        assert_eq!(ledger.in_state("answered"), 8, "exit {}: {}", said.code, said.stderr);
        for fate in ledger.rows.values().filter(|fate| fate.state == "failed") {
            assert_eq!((fate.code.as_str(), fate.charged), ("unreadable_answer", 1), "{fate:?}");
        }
        // Six of them in a row may also end the run, because nothing shows that they come from the service.
        assert!(
            ledger.row(1).is_settled() && [3, 8, 9, 10].contains(&said.code),
            "exit {}: {}",
            said.code,
            said.stderr
        );
    }
}
