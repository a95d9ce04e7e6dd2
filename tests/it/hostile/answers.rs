//! A verdict comes from the answer's fields: a duplicate name, a contradiction, the answer to another request or
//! another mode never becomes `clear`. An answer that was paid for is kept, wherever its content is.

use super::{Campaign, Hostile, Reply, json};

const ROWS: u32 = 12;

/// Row 4 gets this answer; the others get the usual one. It is a result for review, and its content is kept.
#[track_caller]
fn is_for_review(reply: Reply) {
    let shown = format!("{:?}", reply.body);
    let service = Hostile::new().on_row(4, reply).start();
    let campaign = Campaign::of(&service, ROWS);
    let said = campaign.run();
    let ledger = campaign.ledger();
    let fate = ledger.row(4);
    assert_eq!((fate.state, fate.verdict.as_str()), ("answered", "review"), "{shown}: {fate:?}; {}", said.stderr);
    assert_eq!((ledger.in_state("answered") as u32, said.code), (ROWS, 0), "{}", said.stderr);
    assert_eq!(campaign.published("results", 4)["verdict"], "review");
    assert_eq!(campaign.published("results", 5)["verdict"], "clear", "the usual answer stays clear");
}

#[test]
#[ignore = "make hostile"]
fn duplicate_names_in_an_answer_are_for_review() {
    for body in [
        r#"{"success":true,"results":{"match":[{"name":"X","type":"sanction"}]},"results":{"match":[]}}"#,
        r#"{"success":true,"results":{"match":[]},"results":{"match":[{"name":"X","type":"sanction"}]}}"#,
        r#"{"success":true,"results":{"match":[{"name":"X"}],"match":[]}}"#,
        r#"{"success":true,"results":{"match":[{"name":"X"}],"\u006datch":[]}}"#,
    ] {
        is_for_review(Reply::bytes(body));
    }
}

#[test]
#[ignore = "make hostile"]
fn an_error_or_a_failed_status_in_a_clear_answer_is_for_review() {
    for answer in [
        json!({ "success": false, "results": { "match": [] } }),
        json!({ "success": "false", "results": { "match": [] } }),
        json!({ "success": true, "error": "LIST_UNAVAILABLE", "results": { "match": [] } }),
        json!({ "success": true, "results": { "match": [], "error": "LIST_UNAVAILABLE" } }),
        json!({ "success": true, "results": { "match": [], "Status": "Error" } }),
        json!({ "success": true, "results": { "match": [], "status": "failed" } }),
        json!({ "success": true, "status": "failed", "results": { "match": [] } }),
    ] {
        is_for_review(Reply::answer(answer));
    }
}

#[test]
#[ignore = "make hostile"]
fn a_good_status_in_an_answer_is_not_a_contradiction() {
    for answer in [
        json!({ "success": true, "status": "completed", "results": { "match": [], "Status": "Success" } }),
        json!({ "success": true, "status": "ok", "error": null, "results": { "match": [], "error": null } }),
        json!({ "success": true, "status": "success", "results": { "match": [] } }),
    ] {
        let service = Hostile::new().on_all(Reply::answer(answer.clone())).start();
        let campaign = Campaign::of(&service, 3);
        campaign.run().exits(0);
        assert_eq!(campaign.ledger().row(2).verdict, "clear", "{answer}");
    }
}

#[test]
#[ignore = "make hostile"]
fn an_echoed_input_of_another_row_is_for_review() {
    for echo in [
        json!({ "name": "R00099 Quist", "country": "za" }),
        json!({ "name": "R00004 Quist", "country": "us" }),
        json!({ "name": null, "country": "za" }),
    ] {
        is_for_review(Reply::answer(json!({ "success": true, "input": echo, "results": { "match": [] } })));
    }
}

#[test]
#[ignore = "make hostile"]
fn an_echo_that_leaves_fields_out_or_adds_some_is_not_a_difference() {
    for echo in [json!({}), json!({ "name": "R00002 Quist" }), json!({ "name": "R00002 Quist", "caseNumber": 7 })] {
        let answer = json!({ "success": true, "input": echo, "results": { "match": [] } });
        let service = Hostile::new().on_row(2, Reply::answer(answer.clone())).start();
        let campaign = Campaign::of(&service, 3);
        campaign.run().exits(0);
        assert_eq!(campaign.ledger().row(2).verdict, "clear", "{answer}");
    }
}

#[test]
#[ignore = "make hostile"]
fn two_swapped_answers_are_both_for_review() {
    let crossed = |asked: &super::Asked| {
        let other = match asked.row {
            5 => 6,
            6 => 5,
            _ => return None,
        };
        let echo = json!({ "name": format!("R{other:05} Quist"), "country": "za" });
        let id = format!("r-{other}");
        Some(Reply::answer(json!({ "success": true, "requestId": id, "input": echo, "results": { "match": [] } })))
    };
    let service = Hostile::new().script(crossed).start();
    let campaign = Campaign::of(&service, ROWS);
    campaign.run().exits(0);
    let ledger = campaign.ledger();
    assert_eq!((ledger.row(5).verdict.as_str(), ledger.row(6).verdict.as_str()), ("review", "review"));
    assert_eq!(ledger.charged(), u64::from(ROWS));
}

#[test]
#[ignore = "make hostile"]
fn an_answer_that_names_the_key_of_another_row_is_for_review() {
    let keys = std::sync::Mutex::new(std::collections::BTreeMap::new());
    let named = move |asked: &super::Asked| {
        let mut keys = keys.lock().unwrap();
        keys.insert(asked.row, asked.key.clone());
        // The key of the request itself is accepted in any spelling; the key of the row before it is not.
        let id = match asked.row {
            5 => asked.key.to_uppercase(),
            6 => keys.get(&2)?.clone(),
            _ => return None,
        };
        Some(Reply::answer(json!({ "success": true, "requestId": id, "results": { "match": [] } })))
    };
    let service = Hostile::new().script(named).start();
    let campaign = Campaign::of(&service, ROWS).with("--in-flight 1");
    campaign.run().exits(0);
    let ledger = campaign.ledger();
    assert_eq!((ledger.row(5).verdict.as_str(), ledger.row(6).verdict.as_str()), ("clear", "review"));
}

#[test]
#[ignore = "make hostile"]
fn an_answer_of_another_mode_or_environment_stops_the_run() {
    for answer in [
        json!({ "success": true, "mode": "sandbox", "results": { "match": [] } }),
        json!({ "success": true, "results": { "match": [] }, "meta": { "environment": "sandbox" } }),
        json!({ "success": true, "results": { "match": [], "meta": { "environment": "sandbox" } } }),
    ] {
        let service = Hostile::new().on_all(Reply::answer(answer.clone())).start();
        let campaign = Campaign::of(&service, 60);
        let said = campaign.run();
        assert!(![0, 3, 9].contains(&said.code), "{answer}: exit {}: {}", said.code, said.stderr);
        assert!(said.stderr.contains("sandbox"), "{answer}: {}", said.stderr);
        assert!(service.book().entries.len() <= 8, "{answer}: {} messages", service.book().entries.len());
        assert!(!campaign.ledger().rows.values().any(|fate| fate.verdict == "clear"), "{answer}");
    }
}

#[test]
#[ignore = "make hostile"]
fn an_answer_that_says_it_failed_is_requested_again_under_its_key() {
    let timed_out = json!({ "success": false, "error": { "code": "UPSTREAM_TIMEOUT" }, "results": {} });
    let once = move |asked: &super::Asked| (asked.row == 4 && asked.nth == 1).then(|| Reply::answer(timed_out.clone()));
    let service = Hostile::new().script(once).start();
    let campaign = Campaign::of(&service, ROWS);
    campaign.run().exits(0);
    let ledger = campaign.ledger();
    assert_eq!(ledger.row(4).verdict, "clear", "{:?}", ledger.row(4));
    assert_eq!((service.book().keys_of(4), service.book().messages_of(4).len()), (1, 2));
    assert_eq!((service.book().credits(), ledger.charged()), (12.0, 12));
}

#[test]
#[ignore = "make hostile"]
fn an_answer_that_always_says_it_failed_is_final_and_stops_no_other_row() {
    let timed_out = json!({ "success": false, "error": { "code": "UPSTREAM_TIMEOUT" }, "results": {} });
    let service = Hostile::new().on_row(4, Reply::answer(timed_out)).start();
    let campaign = Campaign::of(&service, ROWS);
    let said = campaign.run();
    let ledger = campaign.ledger();
    let fate = ledger.row(4);
    assert!(fate.is_settled() && fate.charged == 1, "{fate:?}; {}", said.stderr);
    assert!(["", "unrecognised", "review"].contains(&fate.verdict.as_str()), "{fate:?}");
    assert!((2..=6).contains(&service.book().messages_of(4).len()), "{}", service.book().messages_of(4).len());
    assert_eq!((ledger.settled() as u32, service.book().keys_of(4)), (ROWS, 1));
}

#[test]
#[ignore = "make hostile"]
fn content_at_the_root_of_a_successful_answer_is_kept() {
    let body = json!({ "success": true, "found": false, "note": "kept-marker" });
    let service = Hostile::new().script(move |asked| (asked.row <= 3).then(|| Reply::exactly(&body))).start();
    let campaign = Campaign::of(&service, ROWS);
    // They wait for a declaration that recognises them.
    let said = campaign.run().exits(8);
    let ledger = campaign.ledger();
    for row in 1..=3 {
        let fate = ledger.row(row);
        assert_eq!(
            (fate.state, fate.verdict.as_str(), fate.charged),
            ("answered", "unrecognised", 1),
            "{}",
            said.stderr
        );
        let waiting = campaign.published("pending", row);
        assert_eq!(waiting["reason"], "unrecognised");
        assert!(waiting["answer"].to_string().contains("kept-marker"), "{waiting:?}");
    }
}

/// Rows 1, 2 and 5 always get these bytes, which are text in the wrong encoding.
#[track_caller]
fn is_read_with_replaced_characters(body: &[u8]) {
    let reply = Reply::bytes(body);
    let service = Hostile::new().script(move |asked| [1, 2, 5].contains(&asked.row).then(|| reply.clone())).start();
    let campaign = Campaign::of(&service, ROWS);
    let said = campaign.run();
    let ledger = campaign.ledger();
    assert_eq!((said.code, ledger.in_state("answered") as u32), (0, ROWS), "{}", said.stderr);
    for row in [1, 2, 5] {
        assert_eq!((ledger.row(row).verdict.as_str(), ledger.row(row).charged), ("review", 1), "{:?}", ledger.row(row));
    }
    assert!(ledger.keeps(body), "the raw bytes are kept");
}

#[test]
#[ignore = "make hostile"]
fn an_answer_in_latin_1_is_for_review() {
    is_read_with_replaced_characters(b"{\"success\":true,\"results\":{\"match\":[],\"note\":\"Andr\xe9\"}}");
}

#[test]
#[ignore = "make hostile"]
fn an_answer_with_half_a_surrogate_pair_is_for_review() {
    is_read_with_replaced_characters(br#"{"success":true,"results":{"match":[],"note":"Li \ud83d"}}"#);
}

#[test]
#[ignore = "make hostile"]
fn unrecognised_answers_stop_the_run_and_the_stop_is_remembered() {
    let strange = json!({ "success": true, "results": { "outcome": 7 } });
    let service = Hostile::new().on_all(Reply::answer(strange)).start();
    let campaign = Campaign::of(&service, 60);
    campaign.run().exits(6);
    let paid = service.book().charges();
    assert!(paid <= 24, "{paid} charges");
    for _ in 0..2 {
        let again = campaign.run().exits(6);
        assert!(again.stderr.contains("aml-screening"), "{}", again.stderr);
    }
    assert_eq!(service.book().charges(), paid, "the same command again pays for nothing");
    campaign.run_with("--continue-anyway");
    assert!(service.book().charges() > paid, "--continue-anyway continues");
}

#[test]
#[ignore = "make hostile"]
fn the_command_that_is_printed_after_a_guard_does_not_spend_again() {
    let strange = json!({ "success": true, "results": { "outcome": 7 } });
    let service = Hostile::new().on_all(Reply::answer(strange)).start();
    let campaign = Campaign::of(&service, 60);
    let said = campaign.run().exits(6);
    let paid = service.book().charges();
    let printed =
        said.stderr.lines().find_map(|line| line.split_once(": rescreen ")).map(|(_, words)| words.to_owned());
    // Where no command is printed, a scheduler repeats the command it has.
    match &printed {
        Some(words) => campaign.say(words),
        None => campaign.run(),
    };
    assert_eq!(service.book().charges(), paid, "`{printed:?}` spent again on what stopped the run");
}

#[test]
#[ignore = "make hostile"]
fn an_answer_at_the_root_is_kept_when_it_repeats_and_a_corrected_declaration_reads_it() {
    let body = json!({ "match": [], "note": "kept-marker" });
    let service = Hostile::new().script(move |asked| (asked.row <= 3).then(|| Reply::exactly(&body))).start();
    let campaign = Campaign::of(&service, ROWS);
    let said = campaign.run().exits(8);
    let ledger = campaign.ledger();
    for row in 1..=3 {
        let fate = ledger.row(row);
        assert_eq!(
            (fate.state, fate.verdict.as_str(), fate.charged),
            ("answered", "unrecognised", 1),
            "{}",
            said.stderr
        );
        let waiting = campaign.published("pending", row);
        assert_eq!(waiting["reason"], "unrecognised");
        assert!(waiting["answer"].to_string().contains("kept-marker"), "{waiting:?}");
        assert_eq!((service.book().keys_of(row), service.book().messages_of(row).len()), (1, 2));
    }
    assert_eq!(service.book().credits(), f64::from(ROWS));
    let text = include_str!("../../../src/catalogue/aml-screening.toml");
    let declaration: toml::Table = text.parse().unwrap();
    let mut declaration = toml::Value::Table(declaration);
    let payload = declaration["answer"]["payload"].as_array_mut().unwrap();
    payload.push("".into());
    let mut file = toml::Table::new();
    file.insert("declaration".to_owned(), toml::Value::Array(vec![declaration]));
    let campaign = campaign.file(&file.to_string());
    campaign.run().exits(0);
    for row in 1..=3 {
        assert_eq!(campaign.published("results", row)["verdict"], "clear");
        assert_eq!(service.book().messages_of(row).len(), 2, "nothing is sent for it");
    }
}
