//! Values that look equal are one subject. Invisible characters, the formulas of a spreadsheet and the two forms of Unicode
//! make no second request, and no subject contains them.

use crate::support::{
    ran::results,
    tables::text,
    world::{SAID, World},
};
use rescreen::{
    model::ExitCode,
    pipeline::{campaign::file::CheckTable, report::RunReport},
};

/// Five spellings of one name, and five of one `id`.
const NAMES: &str = "no,name\n\
    =\"007\",Zo\u{eb} Palomar\n\
    007,\"=\"\"Zo\u{eb} Palomar\"\"\"\n\
    \u{feff}007,Zoe\u{308} Palomar\n\
    0\u{200b}07,Zo\u{eb}\u{200b} Palomar\u{ad}\n\
    007\u{2060},\u{202a}Zo\u{eb}\u{a0}Palomar\u{202c}\n";

fn has_note(report: &RunReport, count: u64, note: &str) -> bool {
    let line = |line: &String| line.starts_with(&format!("{count} value")) && line.contains(note);
    report.lines().iter().any(line)
}

#[tokio::test]
async fn spellings_of_a_name_that_look_equal_are_one_request_with_clean_subjects() {
    let mut world = World::new().csv(NAMES);
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(5)).adds_up(true);
    assert_eq!(ran.stats.credits_charged, 1);
    for line in ran.results() {
        assert_eq!(text(line, "subject"), "007");
        assert!(text(line, "sent").contains("\"Zo\u{eb} Palomar\""), "{}", text(line, "sent"));
    }
    let report = ran.report();
    for (count, note) in [(5, "invisible characters"), (2, "as a formula"), (1, "no-break"), (1, "Unicode form NFC")] {
        assert!(has_note(report, count, note), "{count} {note}: {:#?}", report.lines());
    }
}

#[tokio::test]
async fn spellings_of_an_identifier_that_look_equal_are_one_request() {
    let csv = "no,id_number\n1,8001015009087\n2,=\"8001015009087\"\n3,\u{200b}8001015009087\u{feff}\n\
               4,800101\u{202f}5009\u{2011}087\n5,\u{202a}'8001015009087\n";
    let check = CheckTable { fields: [("idNumber".to_owned(), "id_number".into())].into(), ..CheckTable::of(SAID) };
    let mut world = World::new().csv(csv).campaign(|file| file.checks = vec![check]);
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(5)).adds_up(true);
    assert_eq!(ran.stats.credits_charged, 1);
}

#[tokio::test]
async fn rows_of_empty_cells_are_neither_failures_nor_errors() {
    let csv =
        "no,name,status\n1,P00001 Vexford,active\n".to_owned() + &",,\n".repeat(120) + "2,P00002 Vexford,active\n";
    let mut world = World::new().csv(&csv);
    let ran = world.run().await.exits(ExitCode::Complete).charged(2).counts(results(2)).adds_up(true);
    assert_eq!(ran.manifest().input.rows, 2);
    world.run().await.exits(ExitCode::Complete).charged(2).counts(results(2));
}
