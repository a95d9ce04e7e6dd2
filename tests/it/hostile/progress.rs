//! While the service answers other requests, every run makes progress: nothing that one row causes stops the others,
//! and a misbehaviour of one row ends as that row's failure.

use super::{Campaign, Hostile, Reply, at_once, json};
use std::time::Duration;

const ROWS: u32 = 30;

/// Each odd row always gets its reply, and fails as refused. The flag says whether it may have been charged. All other rows
/// are answered in the first run.
#[track_caller]
fn fail_alone(odd: &[(u32, Reply, bool)]) {
    let replies = odd.to_vec();
    let script = move |asked: &super::Asked| replies.iter().find(|odd| odd.0 == asked.row).map(|odd| odd.1.clone());
    let service = Hostile::new().script(script).start();
    let campaign = Campaign::of(&service, ROWS);
    let said = campaign.run();
    let ledger = campaign.ledger();
    let good = ROWS as usize - odd.len();
    assert_eq!(ledger.in_state("answered"), good, "{}", said.stderr);
    for (row, reply, possibly_charged) in odd {
        let (fate, status) = (ledger.row(*row), reply.status);
        assert_eq!((fate.state, fate.code.as_str()), ("failed", "refused"), "{fate:?}; {}", said.stderr);
        assert!(fate.message.contains(&status.to_string()), "{}", fate.message);
        assert_eq!(fate.possibly_charged, *possibly_charged, "HTTP {status}: {fate:?}");
    }
    assert_eq!(said.code, 3, "{}", said.stderr);
    campaign.append(ROWS + 1..=ROWS + 5);
    campaign.run().exits(3);
    assert_eq!(campaign.ledger().in_state("answered"), good + 5, "the next run makes progress, too");
}

#[test]
#[ignore = "make hostile"]
fn the_first_row_fails_alone_whatever_refuses_it() {
    at_once([(404, true), (401, false), (402, false)], |(status, possibly)| {
        fail_alone(&[(1, Reply::status(status), possibly)]);
    });
}

#[test]
#[ignore = "make hostile"]
fn one_row_of_each_refusal_fails_and_the_others_are_answered() {
    let refusals = [(5, 404, true), (10, 405, true), (15, 401, false), (20, 402, false), (30, 403, false)];
    fail_alone(&refusals.map(|(row, status, possibly)| (row, Reply::status(status), possibly)));
}

#[test]
#[ignore = "make hostile"]
fn redirected_rows_fail_no_row_and_are_not_followed() {
    let trap = Hostile::new().start();
    let target = format!("{}/aml-screening", trap.url);
    let redirected = move |asked: &super::Asked| {
        let status = [301, 302, 303, 307, 308].get(asked.row as usize / 5).filter(|_| asked.row.is_multiple_of(5));
        status.map(|status| Reply::status(*status).header("location", &target))
    };
    let service = Hostile::new().script(redirected).start();
    let campaign = Campaign::of(&service, ROWS);
    campaign.run_until_asked(1..=ROWS);
    let ledger = campaign.ledger();
    assert_eq!(
        (ledger.in_state("failed"), ledger.in_state("in_doubt") as u32),
        (0, ROWS - ledger.in_state("answered") as u32)
    );
    assert!(ledger.in_state("answered") >= 25 && trap.book().entries.is_empty(), "one was followed: {ledger:?}");
}

#[test]
#[ignore = "make hostile"]
fn a_route_that_is_unknown_for_every_row_stops_the_run() {
    for (status, code) in [(404, 10), (405, 10), (401, 7), (403, 7)] {
        let service = Hostile::new().on_all(Reply::status(status)).start();
        let campaign = Campaign::of(&service, 200);
        let said = campaign.run().exits(code);
        assert!(service.book().entries.len() <= 12, "HTTP {status}: {} messages", service.book().entries.len());
        assert!(campaign.ledger().settled() <= 5, "{} rows are settled: {}", campaign.ledger().settled(), said.stderr);
    }
}

#[test]
#[ignore = "make hostile"]
fn a_route_that_is_lost_in_the_middle_of_a_run_stops_it() {
    for (status, code) in [(404, 10), (401, 7)] {
        let gone = move |asked: &super::Asked| (asked.before >= 20).then(|| Reply::status(status));
        let service = Hostile::new()
            .script(gone)
            .balance_script(move |nth, balance| match nth {
                0 => Reply::error(200, json!({ "available_credits": balance })),
                _ => Reply::status(status),
            })
            .start();
        let campaign = Campaign::of(&service, 200);
        campaign.run().exits(code);
        assert!(service.book().entries.len() <= 32, "HTTP {status}: {} messages", service.book().entries.len());
        assert!(campaign.ledger().in_state("failed") <= 5, "{:?}", campaign.ledger().in_state("failed"));
    }
}

#[test]
#[ignore = "make hostile"]
fn kept_server_errors_of_many_rows_do_not_stop_new_rows() {
    let kept = |asked: &super::Asked| (asked.row <= 45).then(|| Reply::status(500));
    let service = Hostile::new().script(kept).start();
    let campaign = Campaign::of(&service, 45);
    campaign.run_until_asked(1..=45);
    for round in 1..=2_u32 {
        campaign.append(round * 75 - 29..=round * 75 + 45);
        let said = campaign.run_until_asked(round * 75 - 29..=round * 75 + 45);
        let ledger = campaign.ledger();
        assert_eq!(ledger.in_state("answered") as u32, round * 75, "run {round}: exit {}: {}", said.code, said.stderr);
        assert!(ledger.in_state("in_doubt") + ledger.in_state("failed") == 45, "{ledger:?}");
    }
    let (old, new): (Vec<_>, Vec<_>) = service.book().entries.iter().map(|entry| entry.row).partition(|row| *row <= 45);
    assert!(old.len() <= 45 * 6 * 3 && new.len() == 150, "{} messages of old rows", old.len());
}

#[test]
#[ignore = "make hostile"]
fn a_conflict_for_every_row_stops_the_run_and_is_named() {
    let service = Hostile::new().on_all(Reply::status(409)).start();
    let campaign = Campaign::of(&service, 300);
    let said = campaign.run().exits(6);
    assert!(said.stderr.contains("409"), "{}", said.stderr);
    assert!(said.stderr.contains("key"), "it says what a conflict is about: {}", said.stderr);
    assert!(service.book().entries.len() <= 16, "{} messages", service.book().entries.len());
}

#[test]
#[ignore = "make hostile"]
fn a_conflict_for_one_row_stops_no_other_row() {
    let service = Hostile::new().on_row(7, Reply::status(409)).start();
    let campaign = Campaign::of(&service, ROWS);
    let said = campaign.run_until_asked(1..=ROWS);
    assert_eq!(campaign.ledger().in_state("answered") as u32, ROWS - 1, "{}", said.stderr);
    assert!(service.book().messages_of(7).len() <= 6 && service.book().keys_of(7) == 1);
    campaign.append(31..=40);
    campaign.run_until_asked(31..=40);
    assert_eq!(campaign.ledger().in_state("answered"), 39);
}

#[test]
#[ignore = "make hostile"]
fn a_pending_reply_is_not_repeated_before_its_retry_after() {
    let pending = |asked: &super::Asked| {
        let reply = Reply::error(202, json!({ "success": true, "status": "pending" })).cost(1.0);
        (asked.row == 3 && asked.nth <= 2).then(|| reply.header("retry-after", if asked.nth == 1 { "6" } else { "1" }))
    };
    let service = Hostile::new().script(pending).start();
    let campaign = Campaign::of(&service, ROWS);
    campaign.run().exits(0);
    let book = service.book();
    let times: Vec<_> = book.messages_of(3).iter().map(|entry| entry.at).collect();
    let waited = times[1] - times[0];
    assert!(waited.as_secs_f64() >= 6.0, "repeated after {waited:?}");
    let others = book.entries.iter().filter(|entry| entry.row != 3 && entry.at < times[1]).count();
    assert_eq!(others as u32, ROWS - 1, "a pending row holds up no other");
}

#[test]
#[ignore = "make hostile"]
fn the_longest_of_several_retry_after_headers_is_waited_for_and_a_fraction_rounds_up() {
    let pending = Reply::error(202, json!({ "success": true, "status": "pending" })).cost(1.0);
    let pending = ["5", "soon", "6.5", "6"].iter().fold(pending, |reply, wait| reply.header("retry-after", wait));
    let service =
        Hostile::new().script(move |asked| (asked.row == 3 && asked.nth == 1).then(|| pending.clone())).start();
    Campaign::of(&service, 4).run().exits(0);
    let times: Vec<_> = service.book().messages_of(3).iter().map(|entry| entry.at).collect();
    let waited = (times[1] - times[0]).as_secs_f64();
    // The first header, and none, would make it wait for 5 seconds.
    assert!((7.0..9.0).contains(&waited), "repeated after {waited} s");
}

#[test]
#[ignore = "make hostile"]
fn a_row_that_is_pending_forever_stops_no_other_row() {
    let pending = Reply::error(202, json!({ "success": true, "status": "pending" })).cost(1.0);
    let service = Hostile::new().on_row(3, pending).start();
    let campaign = Campaign::of(&service, ROWS);
    let said = campaign.run_until_asked(1..=ROWS);
    assert_eq!(campaign.ledger().in_state("answered") as u32, ROWS - 1, "exit {}: {}", said.code, said.stderr);
    campaign.append(31..=40);
    campaign.run_until_asked(31..=40);
    assert_eq!((campaign.ledger().in_state("answered"), service.book().keys_of(3)), (39, 1));
}

#[test]
#[ignore = "make hostile"]
fn a_202_with_a_job_for_one_row_stops_no_other_row() {
    let job = Reply::error(202, json!({ "success": true, "jobId": "job-1", "status": "pending" })).cost(1.0);
    let service = Hostile::new().script(move |asked| (asked.row <= 3).then(|| job.clone())).start();
    let campaign = Campaign::of(&service, ROWS);
    for round in 0..2 {
        let said = campaign.run_until_asked(if round == 0 { 1..=ROWS } else { 31..=35 });
        assert_ne!(said.code, 10, "{}", said.stderr);
        assert_eq!(campaign.ledger().in_state("answered") as u32, ROWS - 3 + 5 * round, "{}", said.stderr);
        campaign.append(31..=35);
    }
}

#[test]
#[ignore = "make hostile"]
fn a_429_for_one_row_stops_no_other_row() {
    let service = Hostile::new().on_row(3, Reply::status(429).header("retry-after", "1")).start();
    let campaign = Campaign::of(&service, ROWS);
    let said = campaign.run_until_asked(1..=ROWS);
    assert_eq!(campaign.ledger().in_state("answered") as u32, ROWS - 1, "exit {}: {}", said.code, said.stderr);
    campaign.append(31..=40);
    campaign.run_until_asked(31..=40);
    assert_eq!(campaign.ledger().in_state("answered"), 39);
    assert!(service.book().keys_of(3) <= 4, "three new keys at most");
}

#[test]
#[ignore = "make hostile"]
fn an_undocumented_status_for_one_row_stops_no_other_row() {
    at_once([410, 418, 451, 501, 599], |status| {
        let service = Hostile::new().on_row(15, Reply::status(status)).start();
        let campaign = Campaign::of(&service, ROWS);
        let said = campaign.run_until_asked(1..=ROWS);
        let ledger = campaign.ledger();
        assert_eq!(ledger.in_state("answered") as u32, ROWS - 1, "HTTP {status}: {}", said.stderr);
        assert!(["in_doubt", "failed"].contains(&ledger.row(15).state), "HTTP {status}: {:?}", ledger.row(15));
    });
}

#[test]
#[ignore = "make hostile"]
fn one_row_of_each_misbehaviour_stops_no_other_row() {
    let odd = |asked: &super::Asked| {
        Some(match asked.row {
            1 => Reply::status(404),
            2 => Reply::status(401),
            3 => Reply::bytes("<html>blocked</html>"),
            4 => Reply::status(500),
            5 => Reply::status(409),
            6 => Reply::status(402),
            7 => Reply::lost(),
            8 => Reply::error(202, json!({ "status": "pending" })).cost(1.0),
            9 => Reply::bytes(""),
            10 => Reply::status(307).header("location", "/elsewhere"),
            11 => Reply::error(503, json!({ "creditsUsed": 0 })),
            12 => Reply::error(422, json!({ "error": { "code": "X" }, "creditsUsed": 1 })).cost(1.0),
            13 => Reply::answer(json!({ "success": false, "error": { "code": "UPSTREAM" }, "results": {} })),
            14 => Reply::bytes("[]"),
            15 => Reply::clear().travels(super::reply::Travel::CutAfter(30)),
            _ => return None,
        })
    };
    let service = Hostile::new().script(odd).start();
    let campaign = Campaign::of(&service, 60).with("--max-errors 100%");
    for round in 0..3_u32 {
        let said = campaign.run_until_asked(if round == 0 { 16..=60 } else { 51 + 10 * round..=60 + 10 * round });
        let ledger = campaign.ledger();
        let good = ledger.rows.iter().filter(|(row, fate)| **row > 15 && fate.state == "answered").count() as u32;
        assert_eq!(good, 45 + 10 * round, "run {round}: exit {}: {}", said.code, said.stderr);
        assert!([3, 8, 10, 143].contains(&said.code), "run {round}: exit {}: {}", said.code, said.stderr);
        campaign.append(61 + 10 * round..=70 + 10 * round);
    }
}

/// A message written on a connection that the service is about to close is lost, and it is unknown whether it arrived.
#[test]
#[ignore = "make hostile"]
fn a_connection_that_was_idle_for_five_seconds_is_not_reused() {
    let pause = Reply::status(429).header("retry-after", "6");
    let service = Hostile::new().closes_idle(Duration::from_secs(5));
    let service = service.script(move |asked| (asked.row == 15 && asked.nth == 1).then(|| pause.clone())).start();
    let campaign = Campaign::of(&service, ROWS);
    campaign.run().exits(0);
    assert_eq!(service.book().lost, 0);
}
