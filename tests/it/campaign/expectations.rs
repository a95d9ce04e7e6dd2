//! What a row expects of its answer is compared by rescreen itself: a difference is for review, costs nothing and
//! changes no key.

use crate::support::{
    ran::Ran,
    tables::{Line, number, text},
    world::{SAID, World},
};
use rescreen::{
    mapping::FieldSource,
    model::{ExitCode, field::sa_id},
    pipeline::campaign::file::CheckTable,
};
use std::collections::BTreeMap;

/// Numbers of invented people. The register of this service knows most of them.
fn numbers() -> Vec<String> {
    (0..40).map(|n| sa_id::compose(800_101 + n % 20, 5_100 + n, 0)).collect()
}

fn said(expect: &[(&str, &str)]) -> CheckTable {
    let expect = expect.iter().map(|(name, source)| ((*name).to_owned(), FieldSource::from(*source)));
    CheckTable { expect: expect.collect(), ..CheckTable::of(SAID) }
}

async fn asked(csv: &str, check: CheckTable) -> Ran {
    let mut world = World::new().csv(csv).campaign(|file| file.checks = vec![check]);
    world.run().await
}

/// What the register returns for each number: surname, verdict, key.
async fn register() -> BTreeMap<String, [String; 3]> {
    let rows: String = numbers().iter().map(|id| format!("{id},{id}\n")).collect();
    let ran = asked(&format!("no,id_number\n{rows}"), said(&[])).await.exits(ExitCode::Complete);
    let of = |line: &Line| {
        ["last_name", "verdict", "idempotency_key"].map(|name| line[name].as_str().unwrap_or_default().to_owned())
    };
    ran.results().iter().map(|line| (text(line, "subject").to_owned(), of(line))).collect()
}

#[tokio::test]
async fn a_difference_is_for_review_and_changes_no_key() {
    let register = register().await;
    let known: Vec<_> = register.iter().filter(|(_, [_, verdict, _])| verdict == "clear").take(4).collect();
    let surnames = [known[0].1[0].to_uppercase(), "Somebody-Else".into(), String::new(), known[3].1[0].clone()];
    // The number contains the holder's date of birth.
    let birth = |at: usize| format!("1980-01-{}", &known[at].0[4..6]);
    let born = [birth(0), birth(1), birth(2), "1901-02-03".to_owned()];
    let mut csv = "no,id_number,surname,born\n".to_owned();
    for (at, (id, _)) in known.iter().enumerate() {
        csv += &format!("{at},{id},{},{}\n", surnames[at], born[at]);
    }
    let check = said(&[("surname", "surname"), ("date_of_birth", "born")]);
    let ran = asked(&csv, check).await.exits(ExitCode::Complete).charged(4).adds_up(true);
    let found = |row: i64| {
        let line = ran.result_of(row);
        let of = |name: &str| line[name].as_bool();
        (text(line, "verdict"), text(line, "finding"), of("expected_surname_match"), of("expected_date_of_birth_match"))
    };
    assert_eq!(found(1), ("clear", "valid", Some(true), Some(true)));
    assert_eq!(found(2), ("review", "surname_mismatch", Some(false), Some(true)));
    assert_eq!(found(3), ("clear", "valid", None, Some(true)), "an empty cell expects nothing");
    assert_eq!(found(4), ("review", "date_of_birth_mismatch", Some(true), Some(false)));
    for (at, (_, [.., key])) in known.iter().enumerate() {
        assert_eq!(text(ran.result_of(at as i64 + 1), "idempotency_key"), key);
    }
    let verdicts = &ran.manifest().totals[0].by_verdict;
    assert_eq!((verdicts["clear"], verdicts["review"]), (2, 2), "the totals count the rows as they were written");
}

#[tokio::test]
async fn two_rows_with_different_expectations_of_one_answer_share_its_charge() {
    let register = register().await;
    let (id, [surname, ..]) = register.iter().find(|(_, [_, verdict, _])| verdict == "clear").unwrap();
    let csv = format!("no,id_number,surname\n1,{id},{surname}\n2,{id},Somebody-Else\n");
    let ran = asked(&csv, said(&[("surname", "surname")])).await.exits(ExitCode::Complete).charged(1).adds_up(true);
    let of = |row: i64| (text(ran.result_of(row), "verdict"), number(ran.result_of(row), "credits"));
    assert_eq!((of(1), of(2)), (("clear", 1), ("review", 0)));
}

#[tokio::test]
async fn an_answer_that_does_not_state_what_was_expected_is_for_review_unless_it_is_worse() {
    let register = register().await;
    let bad = register.iter().find(|(_, [_, verdict, _])| verdict == "adverse").unwrap();
    let csv = format!("no,id_number,surname\n1,{},Nkosi\n", bad.0);
    let ran = asked(&csv, said(&[("surname", "surname")])).await.exits(ExitCode::Complete);
    let line = ran.result_of(1);
    assert_eq!((text(line, "verdict"), text(line, "finding")), ("adverse", "invalid"));
    assert!(line["expected_surname_match"].is_null());
}

#[tokio::test]
async fn an_expectation_that_cannot_be_read_fails_before_anything_is_paid() {
    let csv = format!("no,id_number,born\n1,{},03/04/1980\n", numbers()[0]);
    let ran = asked(&csv, said(&[("date_of_birth", "born")])).await.exits(ExitCode::Failures).charged(0);
    let message = text(&ran.failures()[0], "message");
    assert!(
        message.starts_with("field `expect.date_of_birth` (column `born`): expected a date YYYY-MM-DD"),
        "{message}"
    );
}

#[tokio::test]
async fn an_unknown_expectation_names_the_nearest() {
    let csv = format!("no,id_number,surname\n1,{},x\n", numbers()[0]);
    let message = asked(&csv, said(&[("surnam", "surname")])).await.error();
    assert!(message.contains("has no expectation `surnam`; did you mean `surname`?"), "{message}");
}
