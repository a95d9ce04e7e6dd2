//! The promise: a file of corrections changes what failed and nothing else. A file of another month, a spreadsheet
//! program that removes zeros, and an edit of a value that was already checked are refused by name.

use crate::support::{
    ran::{Ran, results},
    tables::text,
    world::{AML, SAID, World, book},
};
use rescreen::{
    mapping::FieldSource,
    model::ExitCode,
    pipeline::{Corrections, RunOptions, campaign::file::CheckTable},
};
use std::fs;

fn failures_csv(ran: &Ran) -> String {
    fs::read_to_string(ran.out.join("failures.csv")).unwrap()
}

/// Runs with this file of corrections.
async fn corrected(world: &mut World, text: &str, change_ids: bool) -> Ran {
    world.write("corrected.csv", text);
    let corrections = Some(Corrections { path: world.path("corrected.csv"), change_ids });
    world.run_with(RunOptions { corrections, ..RunOptions::default() }).await
}

/// What a plan says about it.
fn planned(world: &World, text: &str) -> String {
    world.write("corrected.csv", text);
    let corrections = Some(Corrections { path: world.path("corrected.csv"), change_ids: false });
    let options = rescreen::pipeline::PlanOptions { corrections, ..Default::default() };
    let campaign = rescreen::pipeline::Campaign::new(world.file.clone(), &world.path("")).unwrap();
    rescreen::pipeline::plan(&campaign, &options).unwrap().corrections.unwrap().lines().join("\n")
}

#[tokio::test]
async fn the_file_of_another_month_corrects_nothing() {
    let mut october = World::new().csv("no,name,status\n1,,active\n2,Sipho,active\n");
    october.file.campaign = Some("2026-10".into());
    let ran = october.run().await.exits(ExitCode::Failures);
    let of_october = failures_csv(&ran).replace("1,,active", "1,Thandi,active");

    let mut november = World::new().csv("no,name,status\n9,,active\n2,Sipho,active\n");
    november.run().await.exits(ExitCode::Failures).charged(1);
    let says = planned(&november, &of_october);
    assert!(says.contains("line 2 of the file was made from a row of another campaign"), "{says}");
    let ran = corrected(&mut november, &of_october, true).await.exits(ExitCode::Failures).charged(1);
    assert_eq!(text(&ran.failures()[0], "subject"), "9", "the customer of November is still there");
    // Without the column, the id shows it.
    let without: String = of_october.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    let says = planned(&november, &without);
    assert!(says.contains("its `no` is another one"), "{says}");
    corrected(&mut november, &without, false).await.exits(ExitCode::Failures).charged(1);
}

#[tokio::test]
async fn a_subject_changes_only_if_that_is_allowed() {
    let mut world = World::new().csv("no,name,status\n0012,,active\n0013,,active\n");
    let ran = world.run().await.exits(ExitCode::Failures);
    let file = failures_csv(&ran).replace("0012,,active", "12,Thandi,active").replace("0013,,", "14,Sipho,");
    let says = planned(&world, &file);
    assert!(says.contains("row 1 of book.csv is not corrected: its `no` lost its leading zeros"), "{says}");
    assert!(says.contains("row 2 of book.csv is not corrected: its `no` is another one"), "{says}");
    corrected(&mut world, &file, false).await.exits(ExitCode::Failures).charged(0).counts(results(0).failures(2));
    let ran = corrected(&mut world, &file, true).await.exits(ExitCode::Complete).charged(2).adds_up(true);
    assert_eq!((text(ran.result_of(1), "subject"), text(ran.result_of(2), "subject")), ("12", "14"));
}

#[tokio::test]
async fn what_another_check_was_asked_with_is_not_changed() {
    let mut world = World::new().csv("no,name,id\n1,,8001015009087\n").campaign(|file| {
        let mut said = CheckTable { check: SAID.into(), ..file.checks[0].clone() };
        said.fields = [("idNumber".into(), FieldSource::Column("id".into()))].into();
        file.checks.push(said);
    });
    let ran = world.run().await.exits(ExitCode::Failures).charged(1);
    let file = failures_csv(&ran);
    let both = file.replace("1,,8001015009087", "1,Thandi,9202204720083");
    let says = planned(&world, &both);
    assert!(says.contains(&format!("it would change what {SAID} was already asked with")), "{says}");
    corrected(&mut world, &both, false).await.exits(ExitCode::Failures).charged(1);
    let name = file.replace("1,,8001015009087", "1,Thandi,8001015009087");
    let ran = corrected(&mut world, &name, false).await.exits(ExitCode::Complete).charged(2).adds_up(true);
    assert_eq!(ran.results().iter().filter(|line| text(line, "check_name") == AML).count(), 1);
}

#[tokio::test]
async fn a_column_of_notes_is_ignored_and_what_changes_is_counted_by_column() {
    let mut world = World::new().csv(&(book(1..=1) + "2,,active\n3,,active\n"));
    let ran = world.run().await.exits(ExitCode::Failures);
    let noted: Vec<String> = failures_csv(&ran)
        .lines()
        .enumerate()
        .map(|(at, line)| format!("{line},{}\n", if at == 0 { "Notes" } else { "asked the branch" }))
        .collect();
    let file = noted.concat().replace("2,,active", "2,Thandi,active");
    let says = planned(&world, &file);
    assert_eq!(
        says,
        "corrections: 1 row corrected, 1 row unchanged\nwhat changes: `name` in 1 row\n\
         ignored, because the input has no such column: `Notes`"
    );
    corrected(&mut world, &file, false).await.exits(ExitCode::Failures).charged(2).counts(results(2).failures(1));
}

#[tokio::test]
async fn rows_without_an_id_have_no_subject() {
    let ran = World::new().csv("no,name,status\n,Thandi,a\n  ,Sipho,a\n3,Lerato,a\n").run().await.charged(3);
    let subjects: Vec<_> = ran.results().iter().map(|line| line["subject"].clone()).collect();
    assert_eq!(subjects.iter().filter(|subject| subject.is_null()).count(), 2, "{subjects:?}");
}

#[tokio::test]
async fn a_file_in_another_encoding_is_refused_with_what_to_do() {
    let mut world = World::new().csv("no,name,status\n1,,active\n");
    let ran = world.run().await.exits(ExitCode::Failures);
    let text = failures_csv(&ran).trim_start_matches('\u{feff}').replace("1,,active", "1,Zo\u{e9},active");
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    fs::write(world.path("corrected.csv"), latin).unwrap();
    let corrections = Some(Corrections { path: world.path("corrected.csv"), change_ids: false });
    let error = world.run_with(RunOptions { corrections, ..RunOptions::default() }).await.error();
    assert!(error.contains("line 2: expected UTF-8, found other bytes; save the file as `CSV UTF-8`"), "{error}");
}
