//! Standard output that ends early: a closed pipe is quiet, and a full disk is exit code 11, for every command.

use super::{Workspace, help::commands};
use crate::support::program::{Said, rescreen};
use std::{
    fs::OpenOptions,
    process::{Command, Stdio},
};

/// What a command writes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prints {
    Data,
    /// All of it goes to standard error or into files.
    Nothing,
}
use Prints::{Data, Nothing};

/// Every command in every way that it prints. They are run in this order, in a folder where `run` was run.
fn table() -> Vec<(&'static str, Prints)> {
    let mut table = vec![
        ("--help", Data),
        ("--version", Data),
        ("help", Data),
        ("help run", Data),
        ("demo --help", Data),
        ("demo --dir demo", Nothing),
        ("init book.csv --check aml-screening --output -", Data),
        ("init book.csv --check aml-screening --output proposal.toml", Nothing),
        ("plan PRODUCTION", Data),
        ("plan PRODUCTION --json", Data),
        ("run PRODUCTION --yes", Nothing),
        ("run PRODUCTION --yes --json", Data),
        ("run OTHER rows --yes --stdout", Data),
        ("filter --help", Data),
        ("collect out/2026-11", Nothing),
        ("collect out/2026-11 --json", Data),
        ("export out/2026-11 --to exported", Nothing),
        ("export out/2026-11 --to exported-again --json", Data),
        ("export out/2026-11 --worklist --to worklist.csv", Nothing),
        ("decide out/2026-11 --from worklist.csv", Nothing),
        ("decide out/2026-11 --from worklist.csv --json", Data),
        ("report out/2026-11", Nothing),
        ("report out/2026-11 --json", Data),
        ("reconcile out/2026-11 --statement statement.csv", Data),
        ("reconcile out/2026-11 --statement statement.csv --json", Data),
        ("purge out/2026-11 --older-than 5y", Nothing),
        ("purge out/2026-11 --older-than 5y --json", Data),
        ("evidence out/2026-11", Nothing),
        ("evidence out/2026-11 --to 2026-11.zip --json", Data),
        ("verify out/2026-11.evidence", Nothing),
        ("verify 2026-11.zip --json", Data),
        ("status out/2026-11", Data),
        ("status out/2026-11 --json", Data),
        ("status", Data),
        ("show out/2026-11", Data),
        ("show out/2026-11 --json", Data),
        ("diff out/2026-11 out/rows", Data),
        ("diff out/2026-11 out/rows --json", Data),
        ("resolve out/2026-11 --list --json", Data),
        ("checks", Data),
        ("checks aml-screening", Data),
        ("checks aml-screening --toml", Data),
        ("checks aml-screening --ddl postgres", Data),
        ("checks --json", Data),
        ("templates", Data),
        ("help templates", Data),
        ("doctor --simulate", Data),
        ("doctor --simulate --json", Data),
        ("credits -c service.toml", Data),
        ("credits -c service.toml --json", Data),
        ("listen --help", Data),
        ("retry-webhook --help", Data),
        ("simulate --help", Data),
        ("completions bash", Data),
        ("man pages", Nothing),
    ];
    if cfg!(feature = "book-postgres") {
        table.push(("book --help", Data));
    }
    table
}

/// A folder where `run` was run. `service.toml` has the rate of that run, so that `credits` does not wait for a slot.
fn prepared() -> Workspace {
    let workspace = Workspace::new(12);
    workspace.run(&[]).exits(0);
    let url = &workspace.service.url;
    let service = format!("url = \"{url}\"\nper_minute = 600000\nper_minute_max = 900000\n");
    workspace.write("statement.csv", "request_id,credits\nr-1,1\n");
    workspace.write("service.toml", &format!("campaign = \"2026-11\"\n[service]\n{service}"));
    workspace
}

fn command(workspace: &Workspace, line: &str) -> Command {
    let url = workspace.service.url.as_str();
    let mut words: Vec<&str> = line.split(' ').collect();
    if words.get(1) == Some(&"PRODUCTION") {
        return workspace.production(words[0], &words[2..]);
    }
    if let Some(at) = words.iter().position(|word| *word == "OTHER") {
        let campaign = "book.csv --check aml-screening --set entity=0 --set country=za --id no --max-credits 1000 --price \
            aml-screening=1 --per-minute 600000 --per-minute-max 900000 --mode production";
        let service = ["--service", url, "--campaign"];
        words.splice(at..=at, campaign.split_whitespace().chain(service));
    }
    rescreen(workspace.path(), &words)
}

fn has_no_full_disk() -> bool {
    let is_missing = !std::path::Path::new("/dev/full").exists();
    if is_missing {
        eprintln!("SKIPPED: this system has no /dev/full");
    }
    is_missing
}

fn with_full_disk(command: &mut Command) -> Said {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    Said::from(command.stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap())
}

fn with_closed_pipe(command: &mut Command) -> Said {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Said::from(command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap())
}

#[test]
fn the_table_has_every_command() {
    let table = table();
    for command in commands() {
        let is_listed = table.iter().any(|(line, _)| line.split(' ').next() == Some(&command));
        assert!(is_listed, "`{command}` is missing: say what it writes to standard output");
    }
}

#[test]
fn a_full_disk_is_said_with_exit_code_11_by_every_command() {
    if has_no_full_disk() {
        return;
    }
    let workspace = prepared();
    let mut faults = Vec::new();
    for (line, prints) in table() {
        let said = with_full_disk(&mut command(&workspace, line));
        let is_said = said.stderr.contains("error: standard output: expected to write all of it, found: No space left");
        // A command that was refused (2) did not get as far as its output.
        let is_right = match prints {
            Data => said.code == 11 && is_said,
            Nothing => ![2, 11].contains(&said.code) && !is_said,
        };
        if !is_right {
            faults.push(format!("{line}: {}\n{}", said.code, said.stderr));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_closed_pipe_is_quiet_for_every_command() {
    let workspace = prepared();
    for (line, _) in table() {
        let said = with_closed_pipe(&mut command(&workspace, line));
        let quiet = !["panicked", "Broken pipe", "standard output"].iter().any(|word| said.stderr.contains(word));
        assert!(quiet && ![1, 2, 11, 101].contains(&said.code), "{line}: {}\n{}", said.code, said.stderr);
    }
}

#[test]
fn rows_that_a_full_disk_loses_are_in_the_output_folder_and_in_no_summary_as_complete() {
    if has_no_full_disk() {
        return;
    }
    let workspace = Workspace::new(12);
    let more = ["--yes", "--stdout", "--summary-json", "summary.json"];
    let said = with_full_disk(&mut workspace.production("run", &more)).exits(11);
    said.says("12 results").says("rows are missing from it. The files in the output folder have every row");
    let summary = std::fs::read_to_string(workspace.path().join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["exit_code"], 11);
    assert_eq!(workspace.service.simulator.stats().charges, 12);
    workspace.run(&[]).exits(0).says("nothing sent");
}
