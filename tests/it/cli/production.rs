//! Production is never started by accident, and what a run prints is what it did.

use super::{Said, Workspace};
use crate::support::{program::rescreen, tables::manifest};

#[test]
fn production_requires_yes_without_a_terminal() {
    let workspace = Workspace::new(3);
    let said = Said::of(&mut workspace.production("run", &[])).exits(2).without_data();
    let said = said.says("PRODUCTION · ").says("a production run needs confirmation");
    assert!(!said.stderr.contains("results"), "{}", said.stderr);
    assert_eq!(workspace.service.simulator.stats().requests, 0);
    workspace.run(&[]).exits(0);
}

#[test]
fn a_run_prints_its_service_its_mapping_and_its_result() {
    let workspace = Workspace::new(3);
    workspace.write("book.csv", "no,name\n1,P00001 Vexford\n2,P00002 Vexford\n3,P00001 Vexford\n4\n");
    let said = workspace.run(&[]).exits(3).without_data();
    insta::assert_snapshot!(workspace.filtered(&said.stderr), @r#"
    PRODUCTION · [host] · key …4c1 · campaign 2026-11
      aml-screening.name ← column `name` (by name)
      aml-screening.entity ← constant 0
      aml-screening.country ← constant "za"
      aml-screening.dataset ← default "all"
    4 rows: 3 results (3 clear), 1 failure, 0 pending, 0 skipped
    2 requests, 1 free duplicate, 2 credits charged
    the answers are INVENTED by the simulator: they are not real verifications
    1 of 4 asks failed (1 ragged_row); see out/2026-11/failures.csv
    outputs: out/2026-11
    its state: rescreen status out/2026-11
    its results: rescreen show out/2026-11
    as a workbook: rescreen export out/2026-11 --to 2026-11-results.xlsx
    in DuckDB: SELECT check_name, verdict, finding, count(*) FROM read_parquet('out/2026-11/results/**/*.parquet', union_by_name = true) GROUP BY ALL
    "#);
    let again = workspace.run(&[]).exits(3).without_data();
    insta::assert_snapshot!(workspace.filtered(&again.stderr), @r#"
    PRODUCTION · [host] · key …4c1 · campaign 2026-11
      aml-screening.name ← column `name` (by name)
      aml-screening.entity ← constant 0
      aml-screening.country ← constant "za"
      aml-screening.dataset ← default "all"
    complete since [time], nothing sent; for a new round, use a new --campaign
    4 rows: 3 results (3 clear), 1 failure, 0 pending, 0 skipped
    2 requests, 1 free duplicate, 2 credits charged
    the answers are INVENTED by the simulator: they are not real verifications
    1 of 4 asks failed (1 ragged_row); see out/2026-11/failures.csv
    outputs: out/2026-11
    its state: rescreen status out/2026-11
    its results: rescreen show out/2026-11
    as a workbook: rescreen export out/2026-11 --to 2026-11-results.xlsx
    in DuckDB: SELECT check_name, verdict, finding, count(*) FROM read_parquet('out/2026-11/results/**/*.parquet', union_by_name = true) GROUP BY ALL
    "#);
}

#[test]
fn quiet_prints_nothing_when_nothing_went_wrong() {
    let workspace = Workspace::new(3);
    let said = workspace.run(&["--quiet"]).exits(0).without_data();
    assert_eq!(said.stderr, "");
}

#[test]
fn the_log_in_json_is_json() {
    let workspace = Workspace::new(1);
    let said = workspace.run(&["-vv", "--log-format", "json", "--quiet"]).exits(0).without_data();
    for line in said.stderr.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}

#[test]
fn a_dash_means_standard_input() {
    let workspace = Workspace::new(0);
    let words = |more: &str| {
        let url = workspace.service.url.clone();
        format!("run - --check aml-screening --set entity=0 --set country=za --service {url} --per-minute 60000 {more}")
    };
    let piped = |text: &str| {
        let words = words("");
        let path = workspace.path().join("piped");
        std::fs::write(&path, text).unwrap();
        let mut command = rescreen(workspace.path(), &words.split_whitespace().collect::<Vec<_>>());
        Said::of(command.stdin(std::fs::File::open(path).unwrap()))
    };
    let text = crate::support::world::book(1..=5);
    piped(&text).exits(0).without_data();
    let out = workspace.path().join("out/trial.sandbox");
    let totals = |count| assert_eq!((manifest(&out).complete, manifest(&out).input.rows), (true, count));
    totals(5);
    piped("").exits(0).says("nothing sent");
    totals(5);
    piped(&(text + &crate::support::world::people(6..=7))).exits(0);
    totals(7);
    piped("no,name,status\n9,P00009 Vexford,active\n").exits(2);
}

#[test]
fn the_format_and_the_folder_are_chosen_by_flags() {
    let workspace = Workspace::new(3);
    workspace.run(&["--format", "jsonl", "--out", "elsewhere", "--carry", "name,status"]).exits(0);
    let out = workspace.path().join("elsewhere");
    let lines = crate::support::tables::lines(&out, rescreen::sink::DatasetKind::Results);
    assert_eq!((lines.len(), lines[0]["status"].as_str()), (3, Some("active")));
    assert!(!workspace.path().join("out").exists());
}

#[test]
fn a_rehearsal_needs_no_service_no_key_and_no_yes() {
    let workspace = Workspace::new(30);
    let words = "run book.csv --check aml-screening --set entity=0 --set country=za --campaign r --mode production --id no \
        --max-credits 30 --price aml-screening=1 --per-minute 60000 --simulate";
    let mut command = rescreen(workspace.path(), &words.split_whitespace().collect::<Vec<_>>());
    Said::of(command.env_remove("RESCREEN_API_KEY")).exits(0).says("PRODUCTION · simulator").without_data();
    assert_eq!(manifest(&workspace.path().join("out/rehearsals/r")).totals[0].credits, 30);
    assert_eq!(workspace.service.simulator.stats().requests, 0);
}

/// Does something beside a run, which then ends well.
fn beside_a_run(act: impl FnOnce(&Workspace)) {
    let workspace = Workspace::that_answers_only(2, 50);
    let first = workspace.under_way(4, 6, &[]);
    act(&workspace);
    workspace.service.answers_all();
    first.ends().exits(0);
    assert_eq!(
        (workspace.service.simulator.stats().charges, workspace.service.simulator.stats().double_charges),
        (50, 0)
    );
}

#[test]
fn a_second_process_on_the_same_ledger_is_refused_at_once() {
    beside_a_run(|workspace| {
        let before = workspace.service.simulator.stats().requests;
        workspace.run(&[]).exits(2).says("in use by another process");
        assert_eq!(workspace.service.simulator.stats().requests, before, "no request of the second process arrived");
        workspace.say(&["status"]).exits(0);
    });
}

/// How soon it happens.
mod timed {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_second_process_on_the_same_ledger_is_refused_within_a_second() {
        beside_a_run(|workspace| {
            let begun = Instant::now();
            workspace.run(&[]).exits(2).says("in use by another process");
            assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        });
    }
}
