//! The exit code of a plan is that of the run, for everything that a plan can see.

use crate::{
    cli::Workspace,
    support::{
        program::{Said, shell},
        service::{Service, lifted},
        world::book,
    },
};
use rescreen::simulator::{ChargeStated, Settings};

fn planned(workspace: &Workspace, more: &[&str]) -> Said {
    Said::of(&mut workspace.production("plan", more))
}

#[test]
fn expected_rows_are_checked_and_written_as_one_number() {
    let workspace = Workspace::new(12);
    for (rows, code) in [("12", 0), ("10..20", 0), ("10", 6), ("13..", 2), ("13..20", 6)] {
        let more = ["--expect-rows", rows];
        let plan = planned(&workspace, &more).exits(code);
        if code == 6 {
            let run = workspace.run(&more).exits(6);
            let expected = if rows == "10" { "expected 10 rows" } else { "expected 13 to 20 rows" };
            plan.shows(&format!("{expected} (--expect-rows), found 12 in the input"));
            assert!(run.stderr.contains(expected), "{}", run.stderr);
        }
    }
    assert_eq!(workspace.service.simulator.stats().charges, 0);
}

#[test]
fn the_guard_on_errors_decides_in_a_plan_as_in_a_run() {
    for (bad, flags, code) in [
        (20, &[][..], 0),
        (21, &[], 6),
        (21, &["--max-errors", "21"], 0),
        (21, &["--max-errors", "20"], 6),
        (21, &["--max-errors", "30%"], 0),
    ] {
        let workspace = Workspace::new(0);
        workspace.write("book.csv", &(book(1..=60) + &"9,,active\n".repeat(bad)));
        let plan = planned(&workspace, flags).exits(code);
        let run = workspace.run(flags).exits(if code == 0 { 3 } else { code });
        if code == 6 {
            plan.shows("21 of 81 cannot be read and mapped, more than --max-errors allows (");
            assert!(run.stderr.contains("stopped: 21 of 81 failed to be read and mapped"), "{}", run.stderr);
            let reason = "  21 times missing_value: field `name` (column `name`): expected a value, found none (first in \
                          lines 62, 63, 64 of book.csv)";
            assert!(run.stderr.contains(reason), "{}", run.stderr);
            assert!(run.stderr.contains("check out/2026-11/failures/"), "{}", run.stderr);
        }
    }
}

#[test]
fn rows_that_fail_at_the_beginning_may_stop_a_run_although_the_rest_is_sound() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", &("no,name,status\n".to_owned() + &"9,,active\n".repeat(1_000) + &people(4_000)));
    let said = planned(&workspace, &["--max-credits", "9000", "--price", "aml-screening=1"]).exits(6);
    said.shows(
        "1,000 of 1,000 cannot be read and mapped among the first 1,000 rows, more than --max-errors allows (25%)",
    );
}

fn people(rows: usize) -> String {
    crate::support::world::people(1..=rows)
}

#[test]
fn a_service_that_refuses_the_key_or_is_down_is_seen_before_a_run() {
    let settings = Settings { api_key: Some("another key".to_owned()), ..lifted() };
    let refusing = Workspace::with(3, settings);
    planned(&refusing, &[]).exits(7).shows("the service refuses the API key (HTTP 401)").shows("this run 3");
    let workspace = Workspace::new(3);
    let plan = |mode: &str| {
        let words = "plan book.csv --check aml-screening --set entity=0 --set country=za --campaign 2026-11 --id no \
                     --service http://127.0.0.1:1 --max-credits 9 --price aml-screening=1 --mode";
        workspace.say(&words.split_whitespace().chain([mode]).collect::<Vec<_>>())
    };
    plan("production").exits(10).shows("the service does not answer").shows("balance unknown").shows("short by 0");
    // In sandbox nothing is asked of it.
    plan("sandbox").exits(0);
}

#[test]
fn one_lost_reply_about_the_balance_is_no_obstacle() {
    let faults = "drop_after@1,html@2".parse().unwrap();
    let workspace = Workspace::with(3, Settings { faults, ..lifted() });
    planned(&workspace, &[]).exits(0).shows("balance 1,000,000");
}

#[test]
fn the_stop_of_the_last_run_is_seen_until_its_cause_is_gone() {
    let prices = [("aml-screening".to_owned(), 3)].into();
    let workspace = Workspace::with(10, Settings { prices, ..lifted() });
    workspace.run(&["--in-flight", "1"]).exits(4);
    let said = planned(&workspace, &["--in-flight", "1"]).exits(4);
    let command = said.next_command();
    assert!(command.starts_with("rescreen run") && command.ends_with("--price aml-screening=3"), "{command}");
    said.shows("its cause has not changed since");
    let charged = workspace.service.simulator.stats().credits_charged;
    workspace.run(&["--in-flight", "1"]).exits(4).says("nothing was sent");
    assert_eq!(workspace.service.simulator.stats().credits_charged, charged);
    let corrected = ["--price", "aml-screening=3", "--max-credits", "1000"];
    let said = planned(&workspace, &corrected).exits(0);
    let command = format!("{} --yes", said.next_command());
    Said::of(&mut shell(workspace.path(), &command)).exits(0);
    assert_eq!(workspace.service.simulator.stats().credits_charged, 30);
}

#[test]
fn a_price_that_was_seen_above_the_table_counts_in_the_plan() {
    let prices = [("aml-screening".to_owned(), 3)].into();
    let charge_stated = Some(ChargeStated::Used);
    let workspace = Workspace::with(10, Settings { prices, charge_stated, ..lifted() });
    workspace.run(&["--in-flight", "1"]).exits(4);
    let said = planned(&workspace, &["--json"]).exits(4);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let sent = json["asks"]["settled"].as_u64().unwrap();
    assert_eq!(json["credits"]["this_run"].as_u64().unwrap(), 3 * (10 - sent), "{json}");
}

#[test]
fn a_changed_input_a_changed_campaign_and_an_input_among_the_outputs_are_refused_like_by_a_run() {
    let workspace = Workspace::new(5);
    workspace.run(&[]).exits(0);
    workspace.write("book.csv", &book(1..=5).replace("P00002", "P00009"));
    let last = |said: &Said| said.stderr.lines().last().unwrap().to_owned();
    let (plan, run) = (planned(&workspace, &[]).exits(2).without_data(), workspace.run(&[]).exits(2));
    assert!(
        last(&plan).contains("row 2 was sent, and has changed") && last(&run).starts_with(&last(&plan)),
        "{}",
        last(&plan)
    );
    let other = |command| {
        let words = "book.csv --check aml-screening --set entity=0 --set country=za --campaign other --out out/2026-11 --service";
        let words: Vec<&str> = [command].into_iter().chain(words.split(' ')).chain([&*workspace.service.url]).collect();
        last(&workspace.say(&words).exits(2))
    };
    assert!(other("plan").contains("2026-11") && other("plan") == other("run"), "{}", other("plan"));
    workspace.write("book.csv", &book(1..=7));
    planned(&workspace, &[]).exits(0).shows("to send 2");
    let more = ["--carry", "status"];
    let (plan, run) = (planned(&workspace, &more).exits(2), workspace.run(&more).exits(2));
    assert!(last(&plan).contains("the carried columns") && last(&plan) == last(&run), "{}", last(&plan));
    // The check has another name now.
    let other = "[[check]]\nuse = \"aml-screening\"\nname = \"screen\"\n\
                 fields = { name = \"name\", entity = { value = 0 }, country = { value = \"za\" } }\n";
    workspace.write("other.toml", other);
    let renamed = |command: &str| {
        let words = format!(
            "{command} book.csv -c other.toml --campaign 2026-11 --mode production --id no --max-credits 1000 \
             --price aml-screening=1 --service"
        );
        let words: Vec<&str> = words.split(' ').chain([workspace.service.url.as_str()]).collect();
        last(&workspace.say(&words).exits(2))
    };
    assert!(
        renamed("plan").contains("without the check `screen`")
            && renamed("run --yes").contains("without the check `screen`"),
        "{}",
        renamed("run --yes")
    );
    #[cfg(unix)]
    {
        let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(workspace.path().join("out/2026-11"), mode(0o777)).unwrap();
        planned(&workspace, &[]).exits(2).says("others can write to the folder");
        std::fs::set_permissions(workspace.path().join("out/2026-11"), mode(0o700)).unwrap();
    }
    workspace.write("out/2026-11/inside.csv", &book(1..=1));
    let words =
        ["plan", "out/2026-11/inside.csv", "--check", "aml-screening", "--set", "entity=0", "--set", "country=za"];
    let more = ["--out", "out/2026-11", "--service", &workspace.service.url];
    workspace.say(&[&words[..], &more].concat()).exits(2).says("lies in the output folder");
}

#[test]
fn nothing_left_to_send_is_no_failure_and_says_why() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", "no,name,status\n");
    let said = planned(&workspace, &[]).exits(0).shows("nothing would be sent: the input has no rows");
    assert!(!said.stdout.contains("continue with"), "{}", said.stdout);
    workspace.write("book.csv", "");
    planned(&workspace, &[]).exits(2).without_data().says("found an empty input");
    workspace.write("book.csv", &book(1..=3));
    workspace.run(&[]).exits(0);
    let said = planned(&workspace, &[]).exits(0).shows("nothing would be sent: everything is settled");
    assert!(!said.stdout.contains("rescreen run"), "{}", said.stdout);
}

#[test]
fn the_service_of_this_test_is_only_asked_for_the_balance() {
    let workspace = Workspace::new(20);
    let service: &Service = &workspace.service;
    planned(&workspace, &["--show", "3"]).exits(0);
    let stats = service.simulator.stats();
    assert_eq!((stats.requests, stats.charges), (1, 0));
    assert!(!workspace.path().join("out").exists());
}

#[test]
fn the_help_has_the_flags_of_a_plan_alone() {
    let help = Workspace::new(0).say(&["plan", "--help"]).exits(0).stdout;
    for line in ["      --show <N>  ", "      --failures <FILE>  ", "      --json  "] {
        assert!(help.contains(line), "expected `{line}` in:\n{help}");
    }
}
