//! What a finished run says about what to do next.

use super::Workspace;
use crate::support::{
    program::{Said, shell},
    service::lifted,
};
use rescreen::simulator::Settings;

const RUN: &str = "run book.csv --check aml-screening --set entity=0 --set country=za --simulate";

fn last_lines(stderr: &str) -> Vec<&str> {
    stderr.lines().skip_while(|line| !line.starts_with("outputs: ")).skip(1).collect()
}

#[test]
fn a_rehearsal_says_where_its_results_are_and_how_to_get_to_the_real_run() {
    let workspace = Workspace::new(2);
    let said = workspace.say(&RUN.split(' ').collect::<Vec<_>>()).exits(0);
    insta::assert_snapshot!(last_lines(&said.stderr).join("\n"), @"
    its state: rescreen status out/rehearsals/book
    its results: rescreen show out/rehearsals/book
    as a workbook: rescreen export out/rehearsals/book --to book-results.xlsx
    in DuckDB: SELECT check_name, verdict, finding, count(*) FROM read_parquet('out/rehearsals/book/results/**/*.parquet', union_by_name = true) GROUP BY ALL
    the real run: set RESCREEN_API_KEY, then `rescreen plan` with --service URL --id COLUMN --price aml-screening=N --max-credits N --mode production --campaign NAME instead of --simulate
    ");
    let check = "use = \"aml-screening\"\nfields.name = \"name\"\nfields.entity = { value = 0 }\n\
                     fields.country = { value = \"za\" }";
    workspace.write("c.toml", &format!("[input]\npaths = [\"book.csv\"]\n[[check]]\n{check}\n"));
    let said = workspace.say(&["run", "-c", "c.toml", "--simulate", "--campaign", "second"]).exits(0);
    assert_eq!(
        last_lines(&said.stderr)[4],
        "the real run: set [service] url, [input] id, [budget] prices, [budget] max_credits, mode = \"production\" in c.toml, \
         set the API key, then: rescreen plan -c c.toml"
    );
    let quiet = workspace.say(&[&RUN.split(' ').collect::<Vec<_>>()[..], &["-q"]].concat()).exits(0);
    assert_eq!(quiet.stderr.lines().count(), 1, "{}", quiet.stderr);
    quiet.says("nothing sent");
}

#[test]
fn a_retry_of_a_complete_campaign_does_not_say_that_nothing_was_sent() {
    // Two readings of the balance come before the first request, and one before the retry.
    let workspace = Workspace::with(2, Settings { faults: "error400@3".parse().unwrap(), ..lifted() });
    workspace.run(&[]).exits(3);
    workspace.run(&[]).exits(3).says("complete since ").says("nothing sent");
    let sent = workspace.service.simulator.stats().by_route.clone();
    workspace.service.simulator.set_faults("error400@2".parse().unwrap());
    let said = workspace.run(&["--retry"]).exits(3);
    assert_ne!(workspace.service.simulator.stats().by_route, sent, "the failed requests were sent again");
    assert!(!said.stderr.contains("nothing sent"), "{}", said.stderr);
}

#[test]
fn a_run_with_failures_says_so_and_a_run_that_is_not_finished_says_only_how_to_continue() {
    let workspace = Workspace::new(3);
    workspace.write("book.csv", "no,name\n1,P00001 Vexford\n2\n");
    let said = workspace.run(&["--limit", "1"]).exits(9);
    assert!(last_lines(&said.stderr)[0].starts_with("continue with: "), "{}", said.stderr);
    let said = workspace.run(&[]).exits(3).says("1 of 2 asks failed (1 ragged_row); see out/2026-11/failures");
    assert_eq!(last_lines(&said.stderr)[0], "its state: rescreen status out/2026-11");
    assert!(!said.stderr.contains("the real run"), "{}", said.stderr);
    workspace.say(&["collect"]).exits(3).says("its state: rescreen status out/2026-11");
}

#[test]
fn after_a_rehearsal_in_which_most_fails_the_list_comes_before_the_real_run() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", "no,name\n1,P00001 Vexford\n2,\n3,\n");
    let said = workspace.say(&RUN.split(' ').collect::<Vec<_>>()).exits(3);
    let last = last_lines(&said.stderr);
    assert!(last.last().unwrap().starts_with("before the real run, correct the list or its mapping"), "{last:?}");
}

#[test]
fn the_commands_after_a_run_work_when_they_are_copied() {
    let workspace = Workspace::new(2);
    let said = workspace.say(&RUN.split(' ').collect::<Vec<_>>()).exits(0);
    for line in &last_lines(&said.stderr)[..3] {
        let command = line.split_once(": ").unwrap().1;
        Said::of(&mut shell(workspace.path(), command)).exits(0);
    }
    assert!(workspace.path().join("book-results.xlsx").is_file());
}
