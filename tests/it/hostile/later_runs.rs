//! What one run leaves behind, the next one obeys: a stop that a person must decide about, a time before which a
//! request may not be repeated, and a missing input.

use super::{Campaign, Hostile, Reply, Service, json};
use crate::support::program::Said;
use std::{fs, time::Duration};

/// The run of a campaign with 60 rows stops with this code. The same command sends nothing and ends with the same code.
/// With these flags the run continues.
#[track_caller]
fn is_remembered_until(service: &Service, code: i32, flags: &str) {
    let campaign = Campaign::of(service, 60).with_unstated_charges();
    campaign.run().exits(code);
    let sent = service.book().entries.len();
    for _ in 0..2 {
        let said = campaign.run().exits(code);
        assert!(said.stderr.contains("nothing was sent"), "{}", said.stderr);
    }
    assert_eq!(service.book().entries.len(), sent, "the same command sends nothing");
    let said = campaign.run_with(flags);
    assert!(service.book().entries.len() > sent, "`{flags}` continues: {}", said.stderr);
}

fn strange() -> Service {
    Hostile::new().on_all(Reply::answer(json!({ "success": true, "results": { "outcome": 7 } }))).start()
}

#[test]
#[ignore = "make hostile"]
fn a_remembered_stop_is_lifted_by_another_limit() {
    is_remembered_until(&strange(), 6, "--max-credits 90000");
}

#[test]
#[ignore = "make hostile"]
fn a_remembered_stop_is_lifted_by_another_mapping() {
    is_remembered_until(&strange(), 6, "--map name={{name|upper}}");
}

#[test]
#[ignore = "make hostile"]
fn a_stop_for_an_amount_that_cannot_be_read_is_remembered() {
    let service =
        Hostile::new().states_with(|body, _, _| drop(body.insert("creditsUsed".to_owned(), json!("many")))).start();
    is_remembered_until(&service, 4, "--continue-anyway");
}

#[test]
#[ignore = "make hostile"]
fn a_stop_for_an_answer_of_another_mode_is_remembered() {
    let sandbox = json!({ "success": true, "mode": "sandbox", "results": { "match": [] } });
    let service = Hostile::new().on_all(Reply::answer(sandbox)).start();
    is_remembered_until(&service, 2, "--continue-anyway");
}

#[test]
#[ignore = "make hostile"]
fn a_pending_reply_is_not_repeated_by_the_next_run_before_its_retry_after() {
    let pending = |asked: &super::Asked| {
        let reply = Reply::error(202, json!({ "success": true, "status": "pending" })).cost(1.0);
        (asked.row == 2 && asked.nth == 1).then(|| reply.header("retry-after", "7"))
    };
    let service = Hostile::new().script(pending).start();
    let campaign = Campaign::of(&service, 5);
    campaign.run_until_asked(1..=5);
    campaign.run().exits(0);
    let book = service.book();
    let times: Vec<_> = book.messages_of(2).iter().map(|entry| entry.at).collect();
    assert_eq!(times.len(), 2);
    let waited = times[1] - times[0];
    assert!(waited >= Duration::from_secs(7), "repeated after {waited:?}");
}

#[test]
#[ignore = "make hostile"]
fn an_unwritable_state_folder_is_reported_and_stops_nothing() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 5);
    fs::write(campaign.path().join("state"), "a file where a folder is wanted").unwrap();
    let said = campaign.run().exits(0);
    assert!(said.stderr.contains("the rate is not shared with other runs"), "{}", said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn a_quiet_run_says_why_it_stopped_for_a_guard_the_time_and_the_storage() {
    let service = strange();
    let campaign = Campaign::of(&service, 60);
    let said = campaign.run_with("-q").exits(6);
    assert!(said.stderr.contains("stopped: ") && said.next_command().contains("run book.csv"), "{}", said.stderr);

    let service = Hostile::new().on_all(Reply::clear().after(Duration::from_millis(300))).start();
    let campaign = Campaign::of(&service, 200);
    let said = campaign.run_with("-q --for 2s").exits(9);
    assert!(said.stderr.contains("--for is up") && said.next_command().contains("run book.csv"), "{}", said.stderr);
    fs::write(campaign.out().join("ledger.sqlite-wal"), "").unwrap();
    fs::write(campaign.out().join("ledger.sqlite"), "no database".repeat(99)).unwrap();
    let said = Said::of(&mut campaign.command("-q")).exits(11);
    assert!(said.stderr.contains("is damaged") && said.stderr.contains("from a backup"), "{}", said.stderr);
    assert_eq!(said.stdout, "");
}

#[test]
#[ignore = "make hostile"]
fn a_check_with_a_wrong_route_is_named_and_other_checks_keep_their_answers() {
    let of_media = |asked: &super::Asked| asked.body.get("country").is_none();
    let wrong = move |asked: &super::Asked| (of_media(asked) && !asked.is_healed).then(|| Reply::status(404));
    let media = json!({ "success": true, "results": { "articles": [] } });
    let service =
        Hostile::new().script(wrong).script(move |asked| of_media(asked).then(|| Reply::answer(media.clone()))).start();
    let campaign = Campaign::of(&service, 12).file(&format!(
        "campaign = \"hostile\"\nmode = \"production\"\n[service]\nurl = \"{}\"\nper_minute = 600000\n\
         per_minute_max = 600000\n[input]\npaths = [\"book.csv\"]\nid = \"no\"\n[budget]\nmax_credits = 100\n\
         prices = {{ aml-screening = 1, adverse-media = 1 }}\n\
         [[check]]\nuse = \"aml-screening\"\nfields.name = \"name\"\nfields.country = {{ value = \"za\" }}\n\
         fields.entity = {{ value = 0 }}\n\
         [[check]]\nuse = \"adverse-media\"\nfields.name = \"name\"\nfields.entity = {{ value = 0 }}\n",
        service.url
    ));
    // One row has two requests here, so the audit by row does not apply: the keys are counted.
    let run = || Said::of(&mut campaign.program(&["run", "--yes", "--for", "60s"]));
    let said = run();
    assert!([3, 8, 10].contains(&said.code), "exit {}: {}", said.code, said.stderr);
    assert!(said.stderr.contains("/adverse-media"), "the wrong route is named: {}", said.stderr);
    service.heal();
    let said = run();
    assert!([0, 3].contains(&said.code), "exit {}: {}", said.code, said.stderr);
    let book = service.book();
    let mut charged: Vec<_> = book.entries.iter().filter(|one| one.credits > 0.0).map(|one| &one.key).collect();
    let charges = charged.len();
    charged.sort_unstable();
    charged.dedup();
    assert_eq!((charges, charged.len()), (24, 24), "each request is charged once: {}", said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn a_run_whose_input_is_missing_suggests_collect() {
    let service = Hostile::new().script(|asked| (asked.row == 2 && !asked.is_healed).then(Reply::lost)).start();
    let campaign = Campaign::of(&service, 3000).with("--in-flight 8");
    campaign.run_until_asked(1..=10);
    service.heal();
    let sent: Vec<u32> = service.book().entries.iter().map(|entry| entry.row).collect();
    fs::remove_file(campaign.path().join("book.csv")).unwrap();
    let said = campaign.run();
    if said.code == 2 {
        assert!(said.stderr.contains("`rescreen collect out/hostile`"), "{}", said.stderr);
        campaign.say("collect out/hostile");
        let book = service.book();
        assert!(book.entries[sent.len()..].iter().all(|entry| sent.contains(&entry.row)), "it sends nothing new");
    } else {
        // The input was read to its end, so it is not needed again.
        said.exits(0);
    }
    assert_eq!(campaign.ledger().in_state("in_doubt"), 0);
}

#[test]
#[ignore = "make hostile"]
fn repeats_take_at_most_a_quarter_of_the_slots_while_new_rows_wait() {
    const REPLY: Duration = Duration::from_millis(200);
    let kept =
        |asked: &super::Asked| Some(if asked.row <= 20 { Reply::status(500) } else { Reply::clear() }.after(REPLY));
    let service = Hostile::new().script(kept).start();
    let campaign = Campaign::of(&service, 20);
    campaign.run_until_asked(1..=20);
    campaign.append(21..=80);
    let from = service.book().entries.len();
    campaign.run_until_asked(21..=80);
    let book = service.book();
    let entries = &book.entries[from..];
    let last_new = entries.iter().rposition(|entry| entry.row > 20).unwrap();
    let first_new = entries.iter().position(|entry| entry.row > 20).unwrap();
    let under_way = |at: usize| {
        let begun = entries[at].at;
        // Before the first new row was read, repeats may have had every slot.
        let since = &entries[first_new..=at];
        let others = since.iter().filter(|one| one.row <= 20 && begun - one.at < REPLY * 9 / 10);
        others.count()
    };
    // A repeat that was sent after the last new row may arrive before it.
    let before_the_last = |at: &usize| entries[*at].at + REPLY / 2 < entries[last_new].at;
    let most = (first_new..last_new).filter(before_the_last).map(under_way).max().unwrap();
    assert!(most <= 1, "{most} of 4 slots had repeats while new rows waited");
}
