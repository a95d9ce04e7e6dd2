//! The promise: standard output is data, standard error is messages, every stop has its exit code and prints the
//! command that continues, and no secret and no subject is ever printed.

mod afterwards;
mod changed_input;
mod checks;
mod chosen;
mod export;
mod filter;
mod first_hour;
mod help;
mod json;
mod last_run;
mod mistakes;
mod next_command;
mod production;
mod quiet;
mod reading_commands;
mod row_shapes;
mod secrets;
mod shell_files;
mod signals;
mod simulate;
mod standard_output;

use crate::support::{
    program::{Said, UnderWay, rescreen},
    service::{Service, lifted},
    tables::files,
    wire_tap::noted,
    world::book,
};
use rescreen::simulator::{ChargeStated, Settings};
use std::{fs, path::Path, process::Command};
use tempfile::TempDir;

/// A folder with a book, and a service to send it to.
pub(crate) struct Workspace {
    folder: TempDir,
    pub(crate) service: Service,
    /// A ledger is removed for good: its attempts cannot be counted.
    pub(crate) loses_a_ledger: bool,
}

impl Drop for Workspace {
    /// Nothing was sent that is not recorded in one of the ledgers here, however the runs ended.
    fn drop(&mut self) {
        if std::thread::panicking() || self.loses_a_ledger {
            return;
        }
        let ledgers = files(self.path(), "").into_iter().filter(|file| file.ends_with("ledger.sqlite"));
        let noted: u64 = ledgers.map(|ledger| noted(&self.path().join(ledger))).sum();
        let arrived = self.service.checks_arrived();
        assert!(arrived <= noted, "{arrived} checks arrived, {noted} attempts are in the ledgers");
    }
}

impl Workspace {
    pub(crate) fn new(rows: usize) -> Workspace {
        Workspace::with(rows, lifted())
    }

    pub(crate) fn with(rows: usize, settings: Settings) -> Workspace {
        Workspace::beside(rows, Service::start(settings))
    }

    /// With a service that replies to this many checks, and holds back the replies to all others until it is told. Its
    /// replies state their charge, so that no run waits for a balance to show it.
    pub(crate) fn that_answers_only(checks: u64, rows: usize) -> Workspace {
        let charge_stated = Some(ChargeStated::Used);
        Workspace::that_answers_only_with(checks, rows, Settings { charge_stated, ..lifted() })
    }

    pub(crate) fn that_answers_only_with(checks: u64, rows: usize, settings: Settings) -> Workspace {
        Workspace::beside(rows, Service::that_answers_only(checks, settings))
    }

    /// A campaign of which every request but the first is in doubt, and stays so, because its replies are lost.
    pub(crate) fn with_doubts(rows: usize) -> Workspace {
        let workspace = Workspace::that_answers_only(1, rows);
        let run = workspace.under_way(rows as u64 - 1, rows as u64, &[]);
        run.signal("KILL");
        assert_eq!(run.ends().code, -9);
        workspace.service.simulator.set_faults("drop_after:1".parse().unwrap());
        workspace.service.answers_all();
        workspace
    }

    fn beside(rows: usize, service: Service) -> Workspace {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("book.csv"), book(1..=rows)).unwrap();
        Workspace { folder, service, loses_a_ledger: false }
    }

    /// The production campaign under way, with this many requests in flight: as many replies are held back.
    pub(crate) fn under_way(&self, in_flight: u64, checks: u64, more: &[&str]) -> UnderWay {
        let in_flight = in_flight.to_string();
        let flags = [&["--yes", "--in-flight", &in_flight], more].concat();
        let run = UnderWay::start(&mut self.production("run", &flags));
        self.service.wait_for_work(checks);
        run
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// The usual production campaign, with more arguments appended.
    pub(crate) fn production(&self, command: &str, more: &[&str]) -> Command {
        let url = self.service.url.as_str();
        let words = "book.csv --check aml-screening --set entity=0 --set country=za --campaign 2026-11 --mode production \
            --id no --per-minute 600000 --per-minute-max 900000 --service";
        let words: Vec<&str> = [command].into_iter().chain(words.split_whitespace()).chain([url]).collect();
        let money = if more.iter().any(|word| word.starts_with("--max-credits") || word.starts_with("--price")) {
            vec![]
        } else {
            vec!["--max-credits", "1000", "--price", "aml-screening=1"]
        };
        rescreen(self.path(), &[words, money, more.to_vec()].concat())
    }

    pub(crate) fn run(&self, more: &[&str]) -> Said {
        Said::of(&mut self.production("run", &[more, &["--yes"]].concat()))
    }

    pub(crate) fn say(&self, arguments: &[&str]) -> Said {
        Said::of(&mut rescreen(self.path(), arguments))
    }

    /// What `rescreen status --json` prints.
    #[track_caller]
    pub(crate) fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.say(&["status", "--json"]).exits(0).stdout).unwrap()
    }

    /// The number of requests in these states.
    #[track_caller]
    pub(crate) fn requests_in(&self, states: &[&str]) -> u64 {
        let requests = &self.status()["requests"];
        states.iter().map(|state| requests[state].as_u64().unwrap()).sum()
    }

    /// The output, without what differs from run to run.
    pub(crate) fn filtered(&self, text: &str) -> String {
        let host = self.service.url.trim_start_matches("http://");
        let text = text.replace(&self.service.url, "[url]").replace(host, "[host]");
        let until = |line: &str| match line.split_once(", until ") {
            Some((before, _)) => format!("{before}, until [time]"),
            None => match line.split_once("   read ") {
                Some((before, _)) => format!("{before}   read [time]"),
                None => match line.split_once("complete since ") {
                    Some((before, after)) if after.contains(", nothing") => {
                        format!("{before}complete since [time], nothing{}", after.split_once(", nothing").unwrap().1)
                    }
                    Some((before, _)) => format!("{before}complete since [time]"),
                    None => line.to_owned(),
                },
            },
        };
        let ended = |line: String| match (line.split_once("ped "), line.split_once(", exit code")) {
            (Some((before, _)), Some((_, after))) if line.starts_with("last run") => {
                format!("{before}ped [time], exit code{after}")
            }
            _ => line,
        };
        text.lines().map(until).map(ended).collect::<Vec<_>>().join("\n")
    }
}
