//! The promise: a round pays only for what changed since an earlier one, its outputs are whole, and each answer says which round
//! has paid for it.

use crate::support::{
    door::{Act, Door, Step},
    folder::{AML_AND_VIN, Folder},
    program::{Said, rescreen},
    schema::valid,
    service::{Service, lifted},
    simulator_process::SimulatorProcess,
    tables::{self, Line},
};
use rescreen::{simulator::Settings, sink::DatasetKind};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

struct Desk {
    folder: Folder,
    service: Service,
}

/// A VIN of a market without check digits.
fn vin(number: usize) -> String {
    format!("AAVZZZ6SZEU{number:06}")
}

impl Desk {
    /// A desk at a service with the list of this day.
    fn new(day: &str) -> Desk {
        Desk { folder: Folder::with("rescreen.toml", AML_AND_VIN), service: of_day(day) }
    }

    /// The customers of these numbers; those that `changed` names have another name. Every fifth has a vehicle.
    fn book(&self, numbers: std::ops::Range<usize>, changed: impl Fn(usize) -> bool) {
        let mut text = "no,name,vehicle,vin\n".to_owned();
        for number in numbers {
            let name = if changed(number) { format!("P{number:05} Quist") } else { format!("P{number:05} Vexford") };
            let vehicle = if number % 5 == 0 { "yes" } else { "no" };
            writeln!(text, "C-{number},{name},{vehicle},{}", vin(number)).unwrap();
        }
        self.write("book.csv", text);
    }

    fn run(&self, campaign: &str, more: &[&str]) -> Said {
        self.say(&[&["run", "--yes", "--campaign", campaign, "--service", &self.service.url], more].concat())
    }

    fn plan(&self, campaign: &str, more: &[&str]) -> Value {
        let service = ["--service", &self.service.url, "--json"];
        valid(&self.say(&[&["plan", "--campaign", campaign], &service[..], more].concat()).exits(0).stdout)
    }

    fn results(&self, campaign: &str) -> Vec<Line> {
        tables::lines(&self.path().join("out").join(campaign), DatasetKind::Results)
    }
}

impl Deref for Desk {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

fn of_day(day: &str) -> Service {
    Service::start(Settings { dataset: Some(day.parse().unwrap()), ..lifted() })
}

/// Results by where their answers come from: how many, and their credits.
fn sources(results: &[Line]) -> BTreeMap<(String, String), (u64, i64)> {
    let mut found: BTreeMap<(String, String), (u64, i64)> = BTreeMap::new();
    for line in results {
        let text = |column: &str| line[column].as_str().unwrap_or("-").to_owned();
        let entry = found.entry((text("answer_source"), text("reused_from"))).or_default();
        entry.0 += 1;
        entry.1 += line["credits"].as_i64().unwrap();
    }
    found
}

fn of(source: &str, campaign: &str) -> (String, String) {
    (source.to_owned(), campaign.to_owned())
}

#[test]
fn a_round_pays_only_for_what_changed_and_its_outputs_are_whole() {
    let desk = Desk::new("2026-10-01");
    desk.book(0..500, |_| false);
    desk.run("2026-10", &[]).exits(0);
    assert_eq!(desk.service.checks_arrived(), 600);
    // 20 left, 30 joined, 9 have another name.
    let changed = |number: usize| number % 50 == 7;
    desk.book(20..530, changed);
    let since = ["--changed-since", "2026-10"];
    let plan = desk.plan("2026-11", &since);
    let asks = &plan["asks"];
    assert_eq!((&asks["reused"], &asks["to_send"]), (&json!(471 + 96), &json!(9 + 30 + 6)), "{plan}");
    let said = desk.run("2026-11", &since).exits(0);
    // If the first rows that were read had not changed, one of them was asked, to learn which list there is.
    let sent = desk.service.checks_arrived() - 600;
    assert!((45..=46).contains(&sent), "{sent}");
    let reused = 612 - sent;
    said.says(&format!("612 requests, 0 free duplicates, {reused} reused answers, {sent} credits charged"));
    let (old, new) = (desk.results("2026-10"), desk.results("2026-11"));
    let expected = [(of("reused", "2026-10"), (reused, 0)), (of("sent", "-"), (sent, sent as i64))];
    assert_eq!(sources(&new), expected.into());
    // What was used again is what was answered, with its time, and was not sent.
    let key = |line: &Line| (line["subject"].to_string(), line["check_name"].to_string());
    let before: BTreeMap<_, _> = old.iter().map(|line| (key(line), line)).collect();
    for line in new.iter().filter(|line| line["answer_source"] == "reused") {
        let known = before[&key(line)];
        for column in ["verdict", "finding", "answer", "answer_digest", "completed_at", "request_id", "sent"] {
            assert_eq!(line[column], known[column], "{column}");
        }
        assert_eq!((&line["attempts"], &line["credits"]), (&json!(0), &json!(0)));
        assert_ne!(line["idempotency_key"], known["idempotency_key"], "the key of this campaign");
    }
    let status = desk.say(&["status", "2026-11"]).exits(0).stdout;
    assert!(status.contains(&format!("attempts                  {sent}")), "{status}");
    desk.say(&["report", "2026-11"]).exits(0);
    desk.say(&["export", "2026-11", "--to", "exported", "--format", "jsonl", "--single"]).exits(0);

    // A third round cites the round that has paid. Running it again sends nothing.
    desk.run("2026-12", &["--changed-since", "out/2026-11"]).exits(0);
    let third = sources(&desk.results("2026-12"));
    assert_eq!(third.values().map(|(count, _)| count).sum::<u64>(), 612);
    assert_eq!(third[&of("sent", "-")], (1, 1));
    assert!(
        third[&of("reused", "2026-10")].0 >= reused - 1 && third[&of("reused", "2026-11")].0 >= sent - 1,
        "{third:?}"
    );
    desk.run("2026-12", &["--changed-since", "out/2026-11"]).exits(0);
    assert_eq!(desk.service.checks_arrived(), 600 + sent + 1);
}

#[test]
fn an_answer_that_was_made_with_another_list_is_not_used() {
    let desk = Desk::new("2026-10-01");
    desk.book(0..100, |_| false);
    let limits = ["--per-minute", "600000", "--per-minute-max", "900000", "--latency", "0ms"];
    let of_list =
        |address: &str, day: &str| SimulatorProcess::start_at(address, &[&limits[..], &["--dataset", day]].concat());
    let run = |service: &SimulatorProcess, campaign: &str, more: &[&str]| {
        let words = ["run", "--yes", "--campaign", campaign, "--service", &service.url()];
        desk.say(&[&words[..], more].concat()).exits(0);
        service.stats().checks()
    };
    let service = of_list("127.0.0.1:0", "2026-10-01");
    assert_eq!(run(&service, "2026-10", &[]), 120);
    let address = service.url().split_once("://").unwrap().1.to_owned();
    drop(service);
    let service = of_list(&address, "2026-11-02");
    let since = ["--changed-since", "2026-10"];
    // The list has changed, and one answer shows it. The vehicles name no list.
    assert_eq!(run(&service, "2026-11", &since), 100);
    assert_eq!(sources(&desk.results("2026-11"))[&of("reused", "2026-10")].0, 20);
    // The user may use the answers nevertheless.
    assert_eq!(run(&service, "2026-12", &[&since[..], &["--even-if-list-changed"]].concat()), 100);
    assert_eq!(sources(&desk.results("2026-12"))[&of("reused", "2026-10")].0, 120);
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_sent() {
    let desk = Desk::new("2026-10-01");
    desk.book(0..20, |_| false);
    desk.run("2026-10", &[]).exits(0);
    let sent = desk.service.checks_arrived();
    for (more, says) in [
        (&["--changed-since", "2026-09"][..], "[reuse] from 2026-09: expected the output folder of an earlier round"),
        (&["--changed-since", "2026-10", "--max-age", "soon"], "max_age: expected a duration"),
        (&["--max-age", "30d"], "[reuse]: expected the earlier round whose answers are used, found none"),
    ] {
        desk.run("2026-11", more).exits(2).says(says);
    }
    let itself = ["plan", "--campaign", "2026-10", "--service", &desk.service.url, "--changed-since", "out/2026-10"];
    let itself = desk.say(&itself).exits(2);
    assert!(itself.stderr.contains("expected an earlier round, found this campaign"), "{}", itself.stderr);
    let file = format!("{AML_AND_VIN}\n[keys]\nsecret = {{ env = \"KEY_SECRET\" }}\n");
    desk.write("keyed.toml", file);
    let words = ["run", "-c", "keyed.toml", "--yes", "--campaign", "2026-11", "--service", &desk.service.url];
    let words = [&words[..], &["--changed-since", "2026-10"]].concat();
    let keyed = Said::of(rescreen(desk.path(), &words).env("KEY_SECRET", "a secret of 20 signs")).exits(2);
    assert!(keyed.stderr.contains("expected a round with the same key secret"), "{}", keyed.stderr);
    assert_eq!(desk.service.checks_arrived(), sent);
    // An age of nothing uses nothing, for one check alone.
    let file = format!("{AML_AND_VIN}\n[reuse]\nfrom = \"2026-10\"\n[reuse.checks]\naml-screening = \"0s\"\n");
    desk.write("rescreen.toml", file);
    desk.run("2026-11", &[]).exits(0).says("4 reused answers");
    assert_eq!(desk.service.checks_arrived(), sent + 20);
}

#[test]
fn a_round_that_stops_at_its_limit_goes_on_and_pays_once() {
    let desk = Desk::new("2026-10-01");
    desk.book(0..300, |_| false);
    desk.run("2026-10", &[]).exits(0);
    let sent = desk.service.checks_arrived();
    desk.book(0..300, |number| number % 10 == 3);
    let since = ["--changed-since", "2026-10", "--max-credits"];
    desk.run("2026-11", &[&since[..], &["20"]].concat()).exits(4);
    desk.run("2026-11", &[&since[..], &["1000"]].concat()).exits(0);
    let found = sources(&desk.results("2026-11"));
    let of_sent = found[&of("sent", "-")];
    assert_eq!(desk.service.checks_arrived() - sent, of_sent.0);
    // 30 names changed. Each run may ask one more to learn which list there is.
    assert!((30..=31).contains(&of_sent.0) && of_sent.1 == of_sent.0 as i64, "{found:?}");
    assert_eq!(of_sent.0 + found[&of("reused", "2026-10")].0, 360);
}

#[test]
fn an_outage_does_not_make_the_run_ask_more_than_one() {
    let desk = Desk::new("2026-10-01");
    desk.book(0..200, |_| false);
    let failing = Arc::new(AtomicU64::new(0));
    let of_door = Arc::clone(&failing);
    let door = Door::with(Settings { dataset: Some("2026-10-01".parse().unwrap()), ..lifted() }, move |seen, _| {
        let fails = |left: u64| left.checked_sub(1);
        match seen.step == Step::Check && of_door.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fails).is_ok() {
            true => Act::Answer(503, json!({"error": {"code": "unavailable", "message": "later"}}).to_string()),
            false => Act::Pass,
        }
    });
    let run = |campaign: &str, more: &[&str]| {
        let words = ["run", "--yes", "--campaign", campaign, "--service", &door.url];
        desk.say(&[&words[..], more].concat())
    };
    run("2026-10", &[]).exits(0);
    let words = ["plan", "--campaign", "2026-11", "--service", &door.url, "--json", "--changed-since", "2026-10"];
    let plan = valid(&desk.say(&words).exits(0).stdout);
    assert_eq!((&plan["asks"]["reused"], &plan["credits"]["this_run"]), (&json!(239), &json!(1)), "{plan}");
    failing.store(2, Ordering::Relaxed);
    // What the plan says is enough.
    let said = run("2026-11", &["--changed-since", "2026-10", "--max-credits", "1"]).exits(0);
    said.says("239 reused answers, 1 credit charged");
    assert_eq!(failing.load(Ordering::Relaxed), 0);
}

#[test]
fn a_service_that_names_no_list_any_more_makes_the_run_pay_once_and_not_for_all() {
    let desk = Desk::new("2026-10-01");
    desk.book(0..100, |_| false);
    let names_no_list = Arc::new(AtomicBool::new(false));
    let of_door = Arc::clone(&names_no_list);
    let door = Door::with(Settings { dataset: Some("2026-10-01".parse().unwrap()), ..lifted() }, move |seen, _| {
        let is_screening = seen.step == Step::Check && seen.path.contains("aml");
        if !(is_screening && of_door.load(Ordering::Relaxed)) {
            return Act::Pass;
        }
        Act::Answer(200, json!({"success": true, "results": {"match": []}, "creditsUsed": 1}).to_string())
    });
    let run = |campaign: &str, more: &[&str]| {
        let words = ["run", "--yes", "--campaign", campaign, "--service", &door.url];
        desk.say(&[&words[..], more].concat()).exits(0);
        sources(&desk.results(campaign))
    };
    run("2026-10", &[]);
    names_no_list.store(true, Ordering::Relaxed);
    let found = run("2026-11", &["--changed-since", "2026-10"]);
    assert_eq!(found, [(of("reused", "2026-10"), (119, 0)), (of("sent", "-"), (1, 1))].into());
    // The other way round: answers that name no list may be of any.
    let unnamed = run("2026-12", &[]);
    assert_eq!(unnamed[&of("sent", "-")].0, 120);
    names_no_list.store(false, Ordering::Relaxed);
    let found = run("2027-01", &["--changed-since", "2026-12"]);
    assert_eq!(found, [(of("reused", "2026-12"), (20, 0)), (of("sent", "-"), (100, 100))].into());
    assert_eq!(
        run("2027-02", &["--changed-since", "2026-12", "--even-if-list-changed"])[&of("reused", "2026-12")].0,
        120
    );
}

#[test]
fn another_fixed_field_or_default_is_another_question() {
    let desk = Desk::new("2026-10-01");
    desk.book(0..10, |_| false);
    desk.run("2026-10", &[]).exits(0);
    let declared = desk.say(&["checks", "vin-decode", "--toml"]).exits(0).stdout;
    let added = declared.replacen("[declaration.fixed]", "[declaration.fixed]\nbundle_of = \"another\"", 1);
    let added =
        if added == declared { format!("{declared}\n[declaration.fixed]\nbundle_of = \"another\"\n") } else { added };
    desk.write("rescreen.toml", format!("{AML_AND_VIN}\n{added}"));
    let plan = desk.plan("2026-11", &["--changed-since", "2026-10"]);
    // Ten screenings, of which one is asked, and two vehicles.
    assert_eq!((&plan["asks"]["reused"], &plan["asks"]["to_send"]), (&json!(9), &json!(3)), "{plan}");
}
