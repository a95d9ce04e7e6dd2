//! The promise: a statement of the service and the ledgers are compared charge by charge. The statement here is the record of the
//! service itself.

use crate::support::{
    door::{Act, Door, Step},
    folder::Folder,
    program::{UnderWay, rescreen, wait_until},
    schema::valid,
    service::{Service, lifted},
};
use rescreen::simulator::Simulator;
use serde_json::{Value, json};
use std::fmt::Write;

const CAMPAIGN: &str = r#"
    mode = "production"
    [service]
    api_key = { env = "RESCREEN_API_KEY" }
    per_minute = 600_000
    per_minute_max = 900_000
    in_flight = 1
    [input]
    paths = ["book.csv"]
    id = "no"
    [budget]
    max_credits = 100_000
    prices = { aml-screening = 1 }
    [[check]]
    use = "aml-screening"
    fields.name = "name"
    fields.entity = { value = 0 }
    fields.country = { value = "za" }
"#;

/// A desk with a book of 50 customers, of whom two are the same.
fn desk() -> Folder {
    let folder = Folder::with("rescreen.toml", CAMPAIGN);
    let mut text = "no,name\n".to_owned();
    (0..50).for_each(|number| writeln!(text, "C-{number},P{:05} Vexford", number % 49).unwrap());
    folder.write("book.csv", text);
    folder
}

fn run(folder: &Folder, campaign: &str, url: &str) {
    folder.say(&["run", "--yes", "--campaign", campaign, "--service", url]).exits(0);
}

/// The keys that the service has charged.
fn charged(service: &Simulator) -> Vec<(String, u64)> {
    service.charges().into_iter().filter(|(_, credits)| *credits > 0).collect()
}

fn statement(lines: &[(String, u64)]) -> String {
    let mut text = "Date,Idempotency Key,Product,Credits\n".to_owned();
    lines.iter().for_each(|(key, credits)| writeln!(text, "2026-11-03,{key},AML,{credits}").unwrap());
    text
}

fn compared(folder: &Folder, more: &[&str]) -> Value {
    let words = ["reconcile", "2026-11", "--statement", "statement.csv", "--json"];
    valid(&folder.say(&[&words[..], more].concat()).exits(0).stdout)
}

fn tally(count: u64, ledger: u64, stated: i64) -> Value {
    json!({ "count": count, "ledger_credits": ledger, "statement_credits": stated })
}

#[test]
fn the_record_of_the_service_agrees_with_the_ledger_in_every_form_that_a_statement_has() {
    let (folder, service) = (desk(), Service::start(lifted()));
    run(&folder, "2026-11", &service.url);
    let charges = charged(&service.simulator);
    assert_eq!(charges.len(), 49);
    let text = statement(&charges);
    let json_lines: String =
        charges.iter().map(|(key, credits)| format!("{}\n", json!({ "requestId": key, "charge": credits }))).collect();
    let refunded = text.clone() + &format!("2026-11-04,{},AML,2\n2026-11-05,{0},refund,-2\n", charges[0].0);
    for (name, text, more) in [
        ("november.csv", text.clone(), &[][..]),
        (
            "upper.csv",
            text.to_uppercase()
                .replace(",AML,1", ";1;AML")
                .replace("KEY,PRODUCT,CREDITS", "KEY;CREDITS;PRODUCT")
                .replace(',', ";"),
            &[],
        ),
        ("braces.csv", text.replace("2026-11-03,", "2026-11-03,{").replace(",AML", "},AML"), &[]),
        (
            "negative.csv",
            text.replace(",AML,1", ",AML,-1.00") + "2026-11-30,,Top-up,R 500\n",
            &["--charges", "negative"],
        ),
        ("november.jsonl", json_lines, &[]),
        ("refunded.csv", refunded.clone(), &["--charges", "positive"]),
    ] {
        folder.write(name, text);
        let words = ["reconcile", "2026-11", "--exit-code", "--statement", name];
        let said = folder.say(&[&words[..], more].concat()).exits(0);
        said.shows("equal: 49 charged requests, 49 credits").shows("nothing differs");
    }
    let said = folder.say(&["reconcile", "2026-11", "--statement", "refunded.csv"]).exits(2);
    said.says("some amounts are negative");
    let words = ["reconcile", "2026-11", "--statement", "negative.csv"];
    folder.say(&words).exits(2).says("say whether these are charges (--charges negative) or refunds");
    let said = folder.say(&[&words[..], &["--charges", "negative"]].concat()).exits(0);
    said.shows("identity: Idempotency Key; charge: Credits, negative").shows("1 line without an identity");
    // A statement that has only refunds has no charges.
    let said = folder.say(&[&words[..], &["--charges", "positive"]].concat()).exits(0);
    said.shows("statement: -49 credits; ledgers: 49 credits")
        .shows("another amount: 49 requests, 49 in the ledger, -49 credits");
}

#[test]
fn what_only_one_has_and_other_amounts_are_found_with_the_row_and_the_line() {
    let (folder, service) = (desk(), Service::start(lifted()));
    run(&folder, "2026-11", &service.url);
    let mut charges = charged(&service.simulator);
    // The service charges one twice, omits one, and has one of another client.
    let (twice, missing) = (charges[3].clone(), charges.remove(10));
    charges.push((twice.0.clone(), 1));
    charges.push(("another-client".to_owned(), 7));
    folder.write("statement.csv", statement(&charges));
    let object = compared(&folder, &["--to", "differences.jsonl"]);
    assert_eq!((&object["lines"], &object["agree"]), (&50.into(), &tally(47, 47, 47)));
    assert_eq!(
        object["differences"],
        json!({ "other_amount": tally(1, 1, 2), "unsettled": tally(0, 0, 0), "only_ledger": tally(1, 1, 0),
                "only_statement": tally(1, 0, 7) })
    );
    let text = std::fs::read_to_string(folder.path().join("differences.jsonl")).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| rows.iter().find(|row| row["difference"] == kind).unwrap();
    assert_eq!(
        (&of("other_amount")["idempotency_key"], &of("other_amount")["statement_line"]),
        (&twice.0.into(), &5.into())
    );
    assert_eq!(
        (&of("only_ledger")["idempotency_key"], &of("only_ledger")["statement_credits"]),
        (&missing.0.into(), &Value::Null)
    );
    assert_eq!(
        (&of("only_statement")["statement_id"], &of("only_statement")["statement_line"]),
        (&"another-client".into(), &51.into())
    );
    // The position is that of the row which carries the credits.
    let row = of("only_ledger")["row_number"].as_u64().unwrap();
    assert!((1..=49).contains(&row) && of("only_ledger")["source"] == "book.csv");
    assert!(!text.contains("Vexford") && !text.contains("C-"), "{text}");

    let said =
        folder.say(&["reconcile", "2026-11", "--statement", "statement.csv", "--exit-code", "--limit", "2"]).exits(1);
    let shown = said.shows("another amount: 1 request, 1 in the ledger, 2 credits in the statement");
    let shown =
        shown.shows("only in the ledger: 1 request, 1 credit").shows("only in the statement: 1 line, 7 credits");
    shown.shows("… and 1 more; --limit N lists more, --to FILE writes all");
    folder.say(&["reconcile", "2026-11", "--statement", "statement.csv", "--to", "differences.jsonl"]).exits(2);
    folder
        .say(&["reconcile", "2026-11", "--statement", "book.csv"])
        .exits(2)
        .says("found `no`, `name`; the first line must have the names of the columns; name it with --id COLUMN");
}

#[test]
fn a_statement_about_two_campaigns_needs_both() {
    let (folder, service) = (desk(), Service::start(lifted()));
    run(&folder, "2026-11", &service.url);
    run(&folder, "2026-12", &service.url);
    folder.write("statement.csv", statement(&charged(&service.simulator)));
    let one = compared(&folder, &[]);
    assert_eq!((&one["agree"], &one["differences"]["only_statement"]), (&tally(49, 49, 49), &tally(49, 0, 49)));
    let both = compared(&folder, &["2026-12"]);
    assert_eq!((&both["agree"], &both["differing"]), (&tally(98, 98, 98), &0.into()));
    assert_eq!(both["campaigns"], json!(["2026-11", "2026-12"]));
    // A ledger counts once, also as a copy.
    std::fs::create_dir(folder.path().join("copy")).unwrap();
    folder.copy(&folder.path().join("out/2026-11/ledger.sqlite"), "copy/ledger.sqlite");
    for again in ["out/2026-11", "copy"] {
        let words = ["reconcile", "2026-11", again, "--statement", "statement.csv"];
        folder.say(&words).exits(2).says(&format!("{again}: expected each ledger once"));
    }
}

#[test]
fn a_reused_answer_is_not_charged_again_and_rehearsals_are_refused() {
    let (folder, service) = (desk(), Service::start(lifted()));
    run(&folder, "2026-11", &service.url);
    let words = ["run", "--yes", "--campaign", "2026-12", "--service", &service.url, "--changed-since", "2026-11"];
    folder.say(&[&words[..], &["--even-if-list-changed"]].concat()).exits(0);
    folder.write("statement.csv", statement(&charged(&service.simulator)));
    let words = ["reconcile", "2026-12", "--statement", "statement.csv", "--json"];
    let object = valid(&folder.say(&words).exits(0).stdout);
    assert_eq!((&object["agree"], &object["differences"]["only_statement"]), (&tally(0, 0, 0), &tally(49, 0, 49)));
    folder.say(&["run", "--simulate", "--campaign", "2026-11"]).exits(0);
    let words = ["reconcile", "out/rehearsals/2026-11", "--statement", "statement.csv"];
    folder.say(&words).exits(2).says("found a rehearsal or one in sandbox mode");
}

#[test]
fn identities_that_disagree_and_a_file_without_lines_are_refused() {
    let (folder, service) = (desk(), Service::start(lifted()));
    run(&folder, "2026-11", &service.url);
    let charges = charged(&service.simulator);
    let text = format!("idempotency_key,request_id,credits\n{},{},1\n", charges[0].0, charges[1].0);
    folder.write("statement.csv", text);
    let words = ["reconcile", "2026-11", "--statement", "statement.csv"];
    folder
        .say(&words)
        .exits(2)
        .says("line 2: its columns identify two requests; name the right column with --id COLUMN");
    assert_eq!(compared(&folder, &["--id", "request_id"])["agree"], tally(1, 1, 1));
    folder.write("statement.csv", "foo,bar\n");
    folder.say(&words).exits(2).says("expected a column that identifies a request");
}

#[test]
fn a_request_in_doubt_is_compared_with_what_the_service_did() {
    let folder = desk();
    let door = Door::open(|seen, before| match seen.step {
        Step::Check if before == 20 => Act::StallAfter,
        _ => Act::Pass,
    });
    let words = ["run", "--yes", "--campaign", "2026-11", "--service", &door.url];
    let under_way = UnderWay::start(&mut rescreen(folder.path(), &words));
    wait_until("the service has acted", || door.has_acted(Step::Check));
    under_way.signal("KILL");
    under_way.ends();
    let charges = charged(&door.simulator);
    assert_eq!(charges.len(), 21);
    folder.write("statement.csv", statement(&charges));
    let object = compared(&folder, &[]);
    assert_eq!((&object["agree"], &object["differences"]["unsettled"]), (&tally(20, 20, 20), &tally(1, 0, 1)));
    let said = folder.say(&["reconcile", "2026-11", "--statement", "statement.csv"]).exits(0);
    said.shows("not settled in the ledger, and charged by the statement: 1 request, 1 credit");

    let doubt = door.seen(Step::Check)[20].header("idempotency-key").unwrap().to_owned();
    let settled: Vec<_> = charges.into_iter().filter(|(key, _)| *key != doubt).collect();
    folder.write("statement.csv", statement(&settled));
    let object = compared(&folder, &[]);
    assert_eq!((&object["unsettled"], &object["differing"]), (&1.into(), &0.into()));
}
