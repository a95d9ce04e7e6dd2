//! The promise: a person corrects the rows that failed and hands them in. They take the place of theirs in the same
//! campaign, and the row that was read, the reason and the correction are all kept. Nothing that may have been charged is
//! corrected.

use crate::support::{
    ran::{Ran, results},
    tables::text,
    world::{World, book, people},
};
use rescreen::{
    model::ExitCode,
    pipeline::{
        Campaign, CorrectionCounts, Corrections, Plan, PlanOptions, RunOptions, campaign::file::CheckTable, plan,
    },
};
use rusqlite::Connection;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Writes a file of corrections: `failures.csv` of a run with these texts replaced.
fn edited(world: &World, ran: &Ran, changes: &[(&str, &str)]) -> PathBuf {
    let mut text = fs::read_to_string(ran.out.join("failures.csv")).unwrap();
    for (before, after) in changes {
        assert!(text.contains(before), "{before} in {text}");
        text = text.replace(before, after);
    }
    world.write("corrected.csv", &text);
    world.path("corrected.csv")
}

fn corrections(file: &Path) -> Corrections {
    Corrections { path: file.to_path_buf(), change_ids: false }
}

async fn run_with(world: &mut World, file: &Path) -> Ran {
    world.run_with(RunOptions { corrections: Some(corrections(file)), ..RunOptions::default() }).await
}

fn plan_with(world: &World, file: &Path) -> Plan {
    let campaign = Campaign::new(world.file.clone(), &world.path("")).unwrap();
    let options = PlanOptions { corrections: Some(corrections(file)), ..PlanOptions::default() };
    plan(&campaign, &options).unwrap()
}

fn planned(world: &World, file: &Path) -> CorrectionCounts {
    plan_with(world, file).corrections.unwrap()
}

#[tokio::test]
async fn corrected_rows_take_the_place_of_theirs_and_both_are_kept() {
    // Row 4 has no name, row 5 too few cells, and row 6 no name, which nobody corrects.
    let csv = book(1..=3) + "4,,active\n5\n6,,active\n";
    let mut world = World::new().csv(&csv).campaign(|file| file.output.carry = vec!["name".into()]);
    let ran = world.run().await.exits(ExitCode::Failures).counts(results(3).failures(3)).adds_up(true);
    let file = edited(&world, &ran, &[("4,,active", "4,Jo Vexford,active"), ("5,,,", "5,'+Ann,active,")]);

    let counts = planned(&world, &file);
    let changed_columns = [("name", 2), ("status", 1)].map(|(column, rows)| (column.to_owned(), rows)).into();
    let expected =
        CorrectionCounts { corrected: 2, unchanged: 1, mapped: 2, changed_columns, ..CorrectionCounts::default() };
    assert_eq!(counts, expected);
    assert_eq!(ran.posts(), 3, "a plan sends nothing");
    let money = plan_with(&world, &file).money;
    assert_eq!(money.checks.iter().map(|cost| cost.requests).sum::<u64>(), 2, "the corrected rows cost two requests");

    let ran = run_with(&mut world, &file).await;
    let ran = ran.exits(ExitCode::Failures).charged(5).counts(results(5).failures(1)).adds_up(true);
    for (row, name) in [(4, "Jo Vexford"), (5, "+Ann")] {
        let line = ran.result_of(row);
        assert_eq!((text(line, "name"), text(line, "source")), (name, "book.csv"));
        assert_eq!(text(line, "subject"), row.to_string());
        assert!(text(line, "sent").contains(name), "{line:?}");
    }
    let ledger = Connection::open(ran.out.join("ledger.sqlite")).unwrap();
    let sql =
        "SELECT failure ->> '$.code', row ->> '$.r.name', length(file), corrected_by <> '' FROM correction ORDER BY id";
    let mut select = ledger.prepare(sql).unwrap();
    let kept: Vec<(String, String, i64, bool)> = select
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let kept_of = |code: &str, name: &str| (code.to_owned(), name.to_owned(), 64, true);
    assert_eq!(kept, [kept_of("missing_value", "Jo Vexford"), kept_of("ragged_row", "+Ann")]);
    drop(select);
    drop(ledger);

    // The same file again corrects nothing and pays nothing.
    assert_eq!(planned(&world, &file), CorrectionCounts { unchanged: 3, ..CorrectionCounts::default() });
    let again = run_with(&mut world, &file).await.exits(ExitCode::Failures).charged(5).adds_up(true);
    assert_eq!(again.posts(), 5);
    // Parts that are gone are written again with the corrected rows.
    let part = ran.out.join("results/aml-screening/part-000002.parquet");
    let before = fs::read(&part).unwrap();
    fs::remove_file(&part).unwrap();
    world.run().await.exits(ExitCode::Failures).counts(results(5).failures(1)).adds_up(true);
    assert_eq!(fs::read(&part).unwrap(), before);
}

#[tokio::test]
async fn a_row_that_is_answered_unknown_or_corrected_in_two_ways_is_refused_by_name() {
    let csv = book(1..=2) + "3,,active\n";
    let mut world = World::new().csv(&csv).campaign(|file| {
        let again = CheckTable { name: Some("again".into()), ..file.checks[0].clone() };
        file.checks.push(again);
    });
    let ran = world.run().await.exits(ExitCode::Failures);
    let good = edited(&world, &ran, &[]);
    let text = fs::read_to_string(&good).unwrap();
    let line = |no: &str, name: &str, row: u64| format!("{no},{name},active,book.csv,{row},,,\n");
    let header = text.lines().next().unwrap().to_owned() + "\n";
    let rows = [line("1", "Other Name", 1), line("9", "Nobody", 9), line("3", "Jo", 3), line("3", "Jane", 3)];
    world.write("corrected.csv", &(header.clone() + &rows.concat()));
    let counts = planned(&world, &good);
    assert_eq!((counts.corrected, counts.refused), (0, 3), "{counts:?}");
    let said = counts.lines().join("\n");
    for part in [
        "row 1 of book.csv is not corrected: it is answered",
        "row 9 of book.csv is not corrected: no such row was read",
        "row 3 of book.csv is not corrected: lines 4, 5 of the file correct it differently",
    ] {
        assert!(said.contains(part), "expected `{part}` in:\n{said}");
    }
    let ran = run_with(&mut world, &good).await.exits(ExitCode::Failures);
    assert_eq!(ran.failures().len(), 2, "a refused row stops nothing");
    // Corrected once, it counts for each check that it failed for.
    world.write("corrected.csv", &(header + &rows[2]));
    let ran = run_with(&mut world, &good).await.exits(ExitCode::Complete).adds_up(true);
    assert_eq!(ran.results().iter().filter(|line| line["row_number"] == 3).count(), 2);
}

#[tokio::test]
async fn a_correction_that_fails_again_can_be_corrected_again() {
    let mut world = World::new().csv(&(book(1..=2) + "3,,active\n")).campaign(|file| {
        file.checks[0].fields.insert("country".into(), rescreen::mapping::FieldSource::Column("status".into()));
    });
    world.write("book.csv", "no,name,status\n1,A,za\n2,B,nowhere\n");
    let ran = world.run().await.exits(ExitCode::Failures).counts(results(1).failures(1));
    let file = edited(&world, &ran, &[("2,B,nowhere", "2,B,neither")]);
    assert_eq!(planned(&world, &file).failing, 1);
    let ran = run_with(&mut world, &file).await.exits(ExitCode::Failures).counts(results(1).failures(1)).adds_up(true);
    assert!(text(&ran.failures()[0], "input").contains("neither"), "the corrected row failed");
    let file = edited(&world, &ran, &[("2,B,neither", "2,B,nl")]);
    run_with(&mut world, &file).await.exits(ExitCode::Complete).charged(2).counts(results(2)).adds_up(true);
}

#[tokio::test]
async fn a_file_that_is_not_made_from_failures_is_refused() {
    let mut world = World::new().csv(&(book(1..=1) + "2,,active\n"));
    world.run().await.exits(ExitCode::Failures);
    for (content, says) in [
        ("no,name\n2,Jo\n", "whose column `_source` names the input of each row; found none"),
        ("no,name,_source,_row_number\n2,Jo,book.csv,x\n", "line 2: expected a file made from failures.csv"),
    ] {
        world.write("other.csv", content);
        let file = world.path("other.csv");
        let error = run_with(&mut world, &file).await.error();
        assert!(error.contains(says) && error.contains("other.csv"), "{error}");
    }
    let file = world.path("missing.csv");
    let error = run_with(&mut world, &file).await.error();
    assert!(error.contains("missing.csv"), "{error}");
}

#[tokio::test]
async fn a_refused_row_is_sent_with_its_correction_and_its_old_request_is_not_sent_again() {
    let mut world = World::new().rows(3).in_flight(1).fault("error400@2");
    let ran = world.run().await.exits(ExitCode::Failures).charged(2).counts(results(2).failures(1)).adds_up(true);
    assert_eq!(text(&ran.failures()[0], "code"), "refused");
    let before = text(&ran.failures()[0], "input").to_owned();
    let file = edited(&world, &ran, &[(" Vexford", " Corrected")]);
    let ran = run_with(&mut world, &file).await.exits(ExitCode::Complete).charged(3).adds_up(true);
    let corrected: Vec<_> = ran.results().iter().filter(|line| text(line, "sent").contains("Corrected")).collect();
    assert_eq!(corrected.len(), 1, "{before}");
    let lines = ran.report().lines().join("\n");
    assert!(lines.contains("4 requests, 0 free duplicates, 3 credits charged"), "{lines}");
    let posts = ran.posts();
    let ran = world.retry().await.exits(ExitCode::Complete).charged(3).counts(results(3)).adds_up(true);
    assert_eq!(ran.posts(), posts, "no row needs the old request any more");
}

#[tokio::test]
async fn an_equal_row_carries_the_credits_after_the_first_row_of_its_request_was_corrected() {
    let csv = format!("{}2,P00001 Vexford,active\n{}", book(1..=1), people(3..=3));
    let mut world = World::new().csv(&csv).in_flight(1).fault("error400@2");
    let ran = world.run().await.exits(ExitCode::Failures).charged(1).counts(results(1).failures(2));
    let file = edited(&world, &ran, &[("\n1,P00001", "\n1,Corrected")]);
    run_with(&mut world, &file).await.exits(ExitCode::Failures).charged(2).counts(results(2).failures(1));
    // The service's charges, the ledger and the column `credits` have the same sum.
    world.retry().await.exits(ExitCode::Complete).charged(3).counts(results(3)).adds_up(true);
}

/// Earlier releases recorded a charge that a person named without a mark that the request may have been charged.
#[tokio::test]
async fn a_failed_request_with_a_recorded_charge_is_neither_corrected_nor_sent_again_for_any_of_its_rows() {
    let csv = format!("{}2,P00001 Vexford,active\n{}", book(1..=1), people(3..=3));
    let mut world = World::new().csv(&csv).in_flight(1).fault("error400@2");
    let ran = world.run().await.exits(ExitCode::Failures).charged(1).counts(results(1).failures(2));
    let ledger = Connection::open(ran.out.join("ledger.sqlite")).unwrap();
    assert_eq!(ledger.execute("UPDATE request SET charged = 2 WHERE state = 11", []).unwrap(), 1);
    drop(ledger);
    let file = edited(&world, &ran, &[("\n1,P00001", "\n1,Corrected"), ("\n2,P00001", "\n2,Corrected")]);
    let counts = planned(&world, &file);
    assert_eq!((counts.corrected, counts.refused), (0, 2), "{counts:?}");
    let again = run_with(&mut world, &file).await.exits(ExitCode::Failures);
    let retried = world.retry().await.exits(ExitCode::Failures);
    assert_eq!((again.posts(), retried.posts()), (ran.posts(), ran.posts()));
}

#[tokio::test]
async fn a_plan_has_something_left_to_do_for_a_correction_that_costs_nothing() {
    let csv = format!("{}2,,active\n", book(1..=1));
    let mut world = World::new().csv(&csv);
    let ran = world.run().await.exits(ExitCode::Failures).charged(1);
    let file = edited(&world, &ran, &[("2,,active", "2,P00001 Vexford,active")]);
    let plan = plan_with(&world, &file);
    assert_eq!((plan.money.requests(), plan.is_settled(), plan.corrected_asks()), (0, false, 1));
    run_with(&mut world, &file).await.exits(ExitCode::Complete).charged(1).counts(results(2)).adds_up(true);
    assert!(plan_with(&world, &file).is_settled());
}
