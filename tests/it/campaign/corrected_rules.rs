//! The promise: what an answer means can be corrected after it was paid for. Names and types of the result columns stay;
//! pointers and verdict rules may change in the same campaign. Nothing is sent for it, and published rows stay as they are.

use crate::support::{
    ran::{Ran, results},
    tables::{self, number, text},
    world::{AML, World, book, people},
};
use jiff::{Timestamp, tz::TimeZone};
use rescreen::{
    catalogue::{Catalogue, ColumnKind, Declaration},
    model::{ExitCode, Stop, Verdict},
    pipeline::campaign::file::Share,
    pipeline::{
        CollectOptions, Collection, ExportFormat, ExportOrder, NamedService, Progress, RunOptions, Signal, export,
        status,
    },
    sink::{DatasetKind, FileFormat},
};
use rusqlite::Connection;
use std::{collections::BTreeMap, fs, path::Path, time::Duration};
use tokio::sync::{mpsc, watch};

/// A campaign whose declaration looks for the content where it is not.
fn misplaced(rows: usize) -> World {
    World::new().rows(rows).declares(|declaration| declaration.answer.payload = vec!["/elsewhere".into()])
}

fn corrected(world: World) -> World {
    world.campaign(|file| file.declarations.clear())
}

fn built_in() -> Declaration {
    Catalogue::built_in().get(AML).unwrap().clone()
}

/// A declaration that calls every recognised answer a match.
fn strict(declaration: &mut Declaration) {
    declaration.verdict.rules.clear();
    declaration.verdict.otherwise.verdict = Verdict::Review;
    declaration.verdict.otherwise.finding = "strict".into();
}

fn pending(ran: &Ran) -> &[tables::Line] {
    ran.lines(DatasetKind::Pending)
}

fn verdicts(lines: &[tables::Line]) -> BTreeMap<String, usize> {
    let mut verdicts = BTreeMap::new();
    for line in lines {
        *verdicts.entry(text(line, "finding").to_owned()).or_default() += 1;
    }
    verdicts
}

/// Every result file with its bytes.
fn result_bytes(out: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let files = tables::files(out, "results").into_iter();
    files.map(|file| (file.clone(), fs::read(out.join(file)).unwrap())).collect()
}

#[tokio::test]
async fn an_answer_at_an_unknown_place_is_pending_and_becomes_a_result_by_a_corrected_pointer() {
    let mut world = misplaced(12);
    let ran = world.run().await.exits(ExitCode::Doubt).counts(results(0).pending(12)).adds_up(false);
    assert_eq!((ran.stats.credits_charged, ran.report().sums.account.charged.0, ran.posts()), (12, 12, 12));
    for line in pending(&ran) {
        assert_eq!((text(line, "reason"), number(line, "credits")), ("unrecognised", 1));
        assert!(text(line, "answer").contains("results"), "{line:?}");
    }
    let said = ran.report().lines().join("\n");
    assert!(said.contains("12 rows have an answer that no rule recognises"), "{said}");
    assert!(said.contains("--accept-unrecognised"), "{said}");
    let seen = status(&ran.out).unwrap();
    assert_eq!((seen.unrecognised, seen.judged_differently), (12, 0));
    assert_eq!(seen.declared[0].to_string(), "aml-screening (differs in answer)");
    assert_eq!(ran.manifest().declared, seen.declared);

    let again = world.run().await.exits(ExitCode::Doubt).counts(results(0).pending(12));
    assert_eq!(again.posts(), 12, "the same command sends nothing");
    let mut world = corrected(world);
    let ran = world.run().await.exits(ExitCode::Complete).charged(12).counts(results(12)).adds_up(true);
    assert_eq!(ran.posts(), 12, "nothing is sent to judge again");
    assert!(ran.results().iter().all(|line| text(line, "verdict") != "unrecognised"));
    assert_eq!((status(&ran.out).unwrap().unrecognised, ran.manifest().declared.len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_judged_again_days_later_has_the_day_on_which_it_came() {
    let mut world = misplaced(3).under_paused_time();
    world.run().await.exits(ExitCode::Doubt).counts(results(0).pending(3));
    let ledger = Connection::open(world.path("out/ledger.sqlite")).unwrap();
    let came: i64 = ledger.query_row("SELECT max(completed_at) FROM answer", [], |row| row.get(0)).unwrap();
    drop(ledger);
    let day = Timestamp::from_microsecond(came).unwrap().to_zoned(TimeZone::UTC).date();
    tokio::time::advance(Duration::from_secs(5 * 24 * 3_600)).await;
    let mut declaration = built_in();
    declaration.verdict.rules.truncate(1);
    declaration.verdict.rules[0].when = format!("answered_on == '{day}'");
    declaration.verdict.rules[0].finding = "came_that_day".to_owned();
    let mut world = world.campaign(|file| file.declarations = vec![declaration]);
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(3));
    assert_eq!(verdicts(ran.results()), BTreeMap::from([("came_that_day".to_owned(), 3)]));
}

#[tokio::test]
async fn unrecognised_answers_become_results_as_they_are_if_the_user_says_so() {
    let mut world = misplaced(3);
    world.run().await.exits(ExitCode::Doubt);
    let accepting = RunOptions { accept_unrecognised: true, ..RunOptions::default() };
    let ran = world.run_with(accepting).await.exits(ExitCode::Complete).charged(3).counts(results(3)).adds_up(true);
    assert!(ran.results().iter().all(|line| text(line, "verdict") == "unrecognised"));
    let ran = corrected(world).run().await.exits(ExitCode::Complete).counts(results(3));
    assert!(ran.results().iter().all(|line| text(line, "verdict") == "unrecognised"), "a result is final");
    assert_eq!(status(&ran.out).unwrap().judged_differently, 3);
}

#[tokio::test]
async fn published_rows_stay_and_export_publishes_them_as_the_new_rules_judge_them() {
    let mut world = World::new().rows(8);
    let first = world.run().await.exits(ExitCode::Complete).counts(results(8));
    let before = result_bytes(&first.out);
    world.append("book.csv", &people(9..=10));
    let mut world = world.declares(strict);
    let ran = world.run().await.exits(ExitCode::Complete).charged(10).counts(results(10));
    assert_eq!(verdicts(&ran.results()[8..]), BTreeMap::from([("strict".into(), 2)]));
    let after = result_bytes(&ran.out);
    assert!(before.iter().all(|(file, bytes)| after[file] == *bytes), "published files do not change");
    assert_eq!(status(&ran.out).unwrap().judged_differently, 8);
    assert!(ran.report().lines().join("\n").contains("8 results are judged differently"));

    let to = world.path("exported");
    let format = Some(ExportFormat::Files(FileFormat::Jsonl));
    let order = ExportOrder { format, ..ExportOrder::of(&ran.out, &to) };
    let exported = export(&order, &|| None).unwrap();
    let manifest = tables::manifest(&to);
    assert!(manifest.complete && manifest.accounts().is_ok(), "{manifest:?}");
    assert_eq!((manifest.totals, exported.rows), (exported.totals, 10));
    let lines = tables::lines(&to, DatasetKind::Results);
    assert_eq!(verdicts(&lines), BTreeMap::from([("strict".into(), 10)]));
    assert_eq!(lines.iter().map(|line| number(line, "credits")).sum::<i64>(), 10);
    assert_eq!(world.run().await.posts(), 10, "an export changes nothing in the campaign");
    assert!(export(&order, &|| None).unwrap_err().to_string().contains("does not exist"), "nothing is overwritten");
    let other = world.path("other");
    assert!(export(&ExportOrder::of(&ran.out, &other), &|| Some(Stop::Interrupted)).is_err());
    let left = fs::read_dir(world.path("")).unwrap().flatten().map(|entry| entry.file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().contains("export-")), "nothing is left behind");
    assert!(!world.path("other").exists());
}

#[tokio::test]
async fn a_noted_part_is_written_byte_for_byte_by_the_rules_it_was_noted_with() {
    let mut world = World::new().rows(6);
    let ran = world.run().await.exits(ExitCode::Complete);
    let before = result_bytes(&ran.out);
    // As after a crash between noting the part and writing it.
    for file in before.keys() {
        fs::remove_file(ran.out.join(file)).unwrap();
    }
    let ledger = Connection::open(ran.out.join("ledger.sqlite")).unwrap();
    ledger.execute("UPDATE part SET bytes = NULL, sha256 = NULL, verdicts = NULL", []).unwrap();
    drop(ledger);
    let mut world = world.declares(|declaration| {
        strict(declaration);
        declaration.answer.columns.iter_mut().for_each(|column| column.pointers = vec!["/nowhere".into()]);
    });
    let ran = world.run().await.exits(ExitCode::Complete).charged(6);
    assert_eq!(result_bytes(&ran.out), before);
    assert_eq!(status(&ran.out).unwrap().judged_differently, 6);
}

#[tokio::test]
async fn a_late_duplicate_is_judged_by_the_current_rules() {
    let mut world = World::new().rows(4);
    world.run().await.exits(ExitCode::Complete);
    // The same people again: answered already.
    world.append("book.csv", &people(1..=2));
    let mut world = world.declares(strict);
    let ran = world.run().await.exits(ExitCode::Complete).charged(4).counts(results(6));
    assert_eq!(verdicts(&ran.results()[4..]), BTreeMap::from([("strict".into(), 2)]));
    world.append("book.csv", &people(3..=4));
    let mut world = world.declares(|declaration| declaration.answer.payload = vec!["/elsewhere".into()]);
    let ran = world.run().await.exits(ExitCode::Doubt).counts(results(6).pending(2)).adds_up(false);
    assert_eq!((ran.posts(), status(&ran.out).unwrap().unrecognised), (4, 2));
}

#[tokio::test]
async fn an_interrupted_run_judges_nothing_and_the_next_one_does() {
    let mut world = misplaced(5);
    world.run().await.exits(ExitCode::Doubt);
    let mut world = corrected(world);
    let (tell, signals) = mpsc::channel(2);
    tell.send(Signal::Interrupt).await.unwrap();
    let ran = world.run_with_signals(RunOptions::default(), signals).await;
    let ran = ran.exits(ExitCode::Interrupted).counts(results(0).pending(5)).adds_up(false);
    assert_eq!(ran.report().unrecognised, 5);
    world.run().await.exits(ExitCode::Complete).charged(5).counts(results(5));
}

#[tokio::test]
async fn what_was_judged_before_a_crash_is_published_by_the_next_run() {
    let mut world = misplaced(5);
    world.run().await.exits(ExitCode::Doubt);
    let mut world = corrected(world);
    let (tell, signals) = mpsc::channel(2);
    tell.send(Signal::Interrupt).await.unwrap();
    let ran = world.run_with_signals(RunOptions::default(), signals).await.exits(ExitCode::Interrupted);
    // As a run leaves the ledger that judged two answers and died before it noted a part.
    let ledger = Connection::open(ran.out.join("ledger.sqlite")).unwrap();
    for table in ["unjudged", "unrecognised"] {
        ledger.execute(&format!("DELETE FROM {table} WHERE request IN (1, 2)"), []).unwrap();
    }
    drop(ledger);
    let ran = world.run().await.exits(ExitCode::Complete).charged(5).counts(results(5)).adds_up(true);
    assert_eq!(ran.posts(), 5);
}

#[tokio::test]
async fn more_answers_than_one_batch_are_judged_again() {
    let mut world = misplaced(450).campaign(|file| file.guards.max_unrecognised = Some(Share::Percent(100.0)));
    world.run().await.exits(ExitCode::Doubt).counts(results(0).pending(450));
    let ran = corrected(world).run().await.exits(ExitCode::Complete).charged(450).counts(results(450)).adds_up(true);
    assert_eq!(ran.posts(), 450);
}

#[tokio::test]
async fn names_and_types_of_columns_stay_as_the_campaign_began() {
    let mut world = World::new().rows(2);
    world.run().await.exits(ExitCode::Complete);
    let kind = built_in().answer.columns[0].kind;
    let other = if kind == ColumnKind::Text { ColumnKind::Date } else { ColumnKind::Text };
    let name = built_in().answer.columns[0].name.clone();
    let mut world = world.declares(|declaration| declaration.answer.columns[0].kind = other);
    let ran = world.run().await.exits(ExitCode::Usage);
    assert!(ran.error().contains(&format!("the column `{name}` had the type")), "{}", ran.error());
    let mut world = world.declares(|declaration| drop(declaration.answer.columns.remove(0)));
    let ran = world.run().await.exits(ExitCode::Usage);
    assert!(ran.error().contains(&format!("the column `{name}` is missing now")), "{}", ran.error());
}

#[tokio::test]
async fn collecting_with_a_campaign_file_judges_by_its_declarations() {
    let mut world = misplaced(4).csv(&book(1..=4));
    let ran = world.run().await.exits(ExitCode::Doubt);
    let declaration = toml::to_string(&BTreeMap::from([("declaration", vec![built_in()])])).unwrap();
    world.write("corrected.toml", &declaration);
    let collect = async |config: Option<&Path>| {
        let collection = Collection::find(&ran.out, None, config, NamedService::default()).unwrap();
        let (_tell, signals) = mpsc::channel(1);
        let progress = watch::channel(Progress::default()).0;
        collection.collect(CollectOptions::default(), signals, progress).await.unwrap()
    };
    let report = collect(Some(&world.path("corrected.toml"))).await;
    assert_eq!((report.exit_code, report.unrecognised), (ExitCode::Complete, 0), "{:#?}", report.lines());
    assert_eq!(tables::lines(&ran.out, DatasetKind::Results).len(), 4);
    let report = collect(None).await;
    assert_eq!(report.judged_differently, 0, "the corrected rules are still the current ones");
    assert_eq!(world.running_service().simulator.stats().checks(), 4);
}
