//! A whole list: duplicates within and across splits are charged once, a second run is free, and a list with appended
//! rows resumes.

use crate::support::{
    ran::results,
    tables::{number, text},
    world::{AML, SAID, World, book, people},
};
use rescreen::{mapping::FieldSource, model::ExitCode, pipeline::campaign::file::CheckTable, sink::OutputFormat};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// 1,100 rows in two splits: 300 people three times and a hundred of them a fourth time in the first split, and fifty
/// of them twice, next to each other, in the second.
fn crowded() -> String {
    let mut text = book(1..=300) + &people(1..=300).repeat(2) + &people(201..=300);
    for number in 101..=150 {
        text += &people(number..=number).repeat(2);
    }
    text
}

#[tokio::test]
async fn every_row_has_a_result_and_every_distinct_content_one_charge() {
    let mut world = World::new().csv(&crowded());
    let ran = world.run().await.exits(ExitCode::Complete).charged(300).counts(results(1_100)).adds_up(true);
    assert_eq!((ran.posts(), ran.stats.distinct_keys), (300, 300));
    assert!(ran.stats.by_status.keys().all(|status| *status == 200), "{:?}", ran.stats.by_status);

    let results = ran.results();
    let rows: BTreeSet<i64> = results.iter().map(|line| number(line, "row_number")).collect();
    assert_eq!(rows, (1..=1_100).collect());
    let mut by_key: BTreeMap<&str, Vec<(&str, i64, &str)>> = BTreeMap::new();
    for line in results {
        let of_key = by_key.entry(text(line, "idempotency_key")).or_default();
        of_key.push((text(line, "answer_source"), number(line, "credits"), text(line, "verdict")));
    }
    assert_eq!(by_key.len(), 300);
    for asks in by_key.values() {
        assert_eq!((asks[0].0, asks[0].1), ("sent", 1));
        assert!(asks[1..].iter().all(|ask| (ask.0, ask.1) == ("duplicate", 0) && ask.2 == asks[0].2), "{asks:?}");
    }
    let ids: BTreeSet<&str> = results.iter().map(|line| text(line, "result_id")).collect();
    assert_eq!(ids.len(), 1_100);
}

#[tokio::test]
async fn running_a_complete_campaign_again_sends_nothing_and_says_so() {
    let mut world = World::new().rows(20);
    let first = world.run().await.exits(ExitCode::Complete).charged(20);
    assert!(!first.report().remarks.was_complete && first.report().sums.completed_at_us.is_some());
    let again = world.run().await.exits(ExitCode::Complete).charged(20).adds_up(true);
    assert!(again.report().remarks.was_complete);
    assert_eq!(again.stats.requests, first.stats.requests, "not even the balance is read");
    assert_eq!(again.results(), first.results());
    assert_eq!(again.report().sums.completed_at_us, first.report().sums.completed_at_us);
}

#[tokio::test]
async fn rows_appended_to_a_list_are_read_where_the_last_run_ended() {
    let mut world = World::new().csv(&(book(1..=50) + &people(1..=50).repeat(21)));
    let first = world.run().await.exits(ExitCode::Complete).charged(50).counts(results(1_100));
    world.append("book.csv", &people(41..=70));
    let second = world.run().await.exits(ExitCode::Complete).charged(70).counts(results(1_130)).adds_up(true);
    assert_eq!(second.posts() - first.posts(), 20, "ten of the new rows were answered before");
    let late = second.result_of(1_101);
    assert_eq!((text(late, "answer_source"), number(late, "credits")), ("duplicate", 0));
    let parts = [&first, &second].map(|ran| ran.manifest().datasets[0].parts.clone());
    assert_eq!((parts[1].len(), &parts[1][..1]), (2, &parts[0][..]), "a part that was published stays as it is");
}

#[tokio::test]
async fn two_checks_share_a_campaign_and_are_counted_separately() {
    let mut text = "no,name,id_number,country\n".to_owned();
    for (number, id) in ["8001015009087", "9111060123086", "8001015009087", "8001015009088"].into_iter().enumerate() {
        text += &format!("{number},P{number} Vexford,{id},za\n");
    }
    let said = CheckTable::of(SAID);
    let mut world = World::new().csv(&text).campaign(|file| file.checks.push(said));
    let ran = world.run().await.exits(ExitCode::Failures).charged(6).counts(results(7).failures(1)).adds_up(true);
    let totals = &ran.manifest().totals;
    let of = |check: &str| totals.iter().find(|totals| totals.check == check).unwrap();
    assert_eq!((of(AML).results, of(AML).credits), (4, 4));
    assert_eq!((of(SAID).results, of(SAID).failures, of(SAID).credits), (3, 1, 2));
    assert_eq!(ran.stats.by_route["POST /aml-screening"], 4);
    assert_eq!(ran.stats.by_route["POST /verify"], 2);
}

#[tokio::test]
async fn a_check_used_under_two_names_is_paid_once_where_the_content_is_the_same() {
    let named = |name: &str, entity: i64| CheckTable {
        name: Some(name.into()),
        fields: BTreeMap::from([
            ("name".into(), FieldSource::from("name")),
            ("entity".into(), FieldSource::Constant(json!(entity))),
            ("country".into(), FieldSource::Constant(json!("za"))),
        ]),
        ..CheckTable::of(AML)
    };
    let checks = vec![named("person", 0), named("again", 0), named("company", 1)];
    let mut world = World::new().rows(3).campaign(|file| file.checks = checks);
    let ran = world.run().await.exits(ExitCode::Complete).charged(6).counts(results(9)).adds_up(true);
    let credits = |check: &str| ran.results_of(check).into_iter().map(|line| number(line, "credits")).sum::<i64>();
    assert_eq!([credits("person"), credits("again"), credits("company")], [3, 0, 3]);
}

#[tokio::test]
async fn several_inputs_are_one_campaign_and_pay_once_for_what_they_share() {
    let mut world =
        World::new().rows(30).campaign(|file| file.input.paths = vec!["book.csv".into(), "more.csv".into()]);
    world.write("more.csv", &book(21..=50));
    let ran = world.run().await.exits(ExitCode::Complete).charged(50).counts(results(60)).adds_up(true);
    let sources: BTreeSet<(String, i64)> =
        ran.results().iter().map(|line| (text(line, "source").to_owned(), number(line, "row_number"))).collect();
    assert_eq!(sources.len(), 60);
    assert_eq!(sources.iter().filter(|(source, _)| source == "more.csv").count(), 30);
    let inputs = &ran.manifest().input.sources;
    assert_eq!(
        inputs.iter().map(|source| (source.rows, source.complete)).collect::<Vec<_>>(),
        [(30, true), (30, true)]
    );
    world.run().await.exits(ExitCode::Complete).charged(50);
}

#[tokio::test]
async fn json_lines_can_be_read_and_written() {
    let lines: String = (1..=12).map(|n| format!("{{\"no\": {n}, \"name\": \"P{:05} Vexford\"}}\n", n % 10)).collect();
    let mut world = World::new().campaign(|file| {
        file.input.paths = vec!["book.jsonl".into()];
        file.output.format = Some(OutputFormat::Jsonl);
        file.output.carry = vec!["name".into()];
    });
    world.write("book.jsonl", &lines);
    let ran = world.run().await.exits(ExitCode::Complete).charged(10).counts(results(12)).adds_up(true);
    let line = ran.result_of(11);
    assert_eq!((text(line, "subject"), text(line, "name")), ("11", "P00001 Vexford"));
    assert_eq!((text(line, "answer_source"), text(line, "mode")), ("duplicate", "simulated"));
    let files = crate::support::tables::files(&ran.out, "results");
    assert!(files.iter().all(|file| file.extension().is_some_and(|extension| extension == "jsonl")), "{files:?}");
}
