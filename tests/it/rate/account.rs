//! One account on one machine: the service in its own process, and campaigns that send to it, each in its own process.

use crate::support::{
    program::{Said, UnderWay, rescreen},
    simulator_process::SimulatorProcess,
    world::book,
};
use rusqlite::Connection;
use std::{cell::Cell, fs, path::PathBuf};
use tempfile::TempDir;

/// The rate limits of an account.
#[derive(Clone, Copy)]
pub struct Limits {
    pub per_minute: u32,
    pub per_minute_max: u32,
}

pub struct Account {
    folder: TempDir,
    simulator: SimulatorProcess,
    limits: Limits,
    /// People in the books so far. No two campaigns contain the same person.
    people: Cell<usize>,
}

/// What the service and the ledgers say about the account at the end.
pub struct Judged {
    /// Messages between the first and the last, relative to what the sustained rate allows in that time.
    pub used: f64,
    pub refused: u64,
    pub most_in_a_minute: u64,
}

impl Account {
    /// The same two limits on both sides. The service states its charges, because otherwise two campaigns at once
    /// mistake each other's spending for a risen price.
    pub fn new(limits: Limits) -> Account {
        let Limits { per_minute, per_minute_max } = limits;
        let flags = [format!("--per-minute={per_minute}"), format!("--per-minute-max={per_minute_max}")];
        let simulator = SimulatorProcess::start(&[&flags[0], &flags[1], "--charge-stated=used"]);
        let folder = tempfile::tempdir().unwrap();
        Account { folder, simulator, limits, people: Cell::new(0) }
    }

    /// A campaign with this many rows and its own ledger.
    pub fn campaign(&self, name: &str, rows: usize) {
        let (Limits { per_minute, per_minute_max }, url) = (self.limits, self.simulator.url());
        let people = self.people.get();
        self.people.set(people + rows);
        fs::write(self.folder.path().join(format!("{name}.csv")), book(people + 1..=people + rows)).unwrap();
        let text = format!(
            r#"campaign = "{name}"
mode = "production"
[service]
url = "{url}"
per_minute = {per_minute}
per_minute_max = {per_minute_max}
[input]
paths = ["{name}.csv"]
id = "no"
[budget]
max_credits = 1_000_000
prices = {{ aml-screening = 1 }}
[[check]]
use = "aml-screening"
fields.name = "name"
fields.entity = {{ value = 0 }}
fields.country = {{ value = "za" }}
"#
        );
        fs::write(self.folder.path().join(format!("{name}.toml")), text).unwrap();
    }

    fn command(&self, name: &str) -> std::process::Command {
        rescreen(self.folder.path(), &["run", "-c", &format!("{name}.toml"), "--yes"])
    }

    pub fn start(&self, name: &str) -> UnderWay {
        UnderWay::start(&mut self.command(name))
    }

    pub fn run(&self, name: &str) {
        Said::of(&mut self.command(name)).exits(0);
    }

    pub fn ledger(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name).join("ledger.sqlite")
    }

    /// When each attempt of a campaign was armed, in microseconds.
    fn armed(&self, name: &str) -> Vec<i64> {
        let ledger = Connection::open(self.ledger(name)).unwrap();
        let mut select = ledger.prepare("SELECT armed_at FROM attempt").unwrap();
        let found = select.query_map([], |row| row.get(0)).unwrap();
        found.map(Result::unwrap).collect()
    }

    /// Prints the result of these campaigns, and asserts what always holds.
    #[track_caller]
    pub fn judge(&self, story: &str, names: &[&str]) -> Judged {
        let mut armed: Vec<i64> = names.iter().flat_map(|name| self.armed(name)).collect();
        armed.sort_unstable();
        let minutes = (armed[armed.len() - 1] - armed[0]) as f64 / 60e6;
        let stats = self.simulator.stats();
        // Each campaign starts with a balance query. That of the first comes before the first attempt.
        let messages = armed.len() + names.len() - 1;
        let judged = Judged {
            used: (messages - 1) as f64 / minutes / f64::from(self.limits.per_minute),
            refused: stats.by_status.get(&429).copied().unwrap_or(0),
            most_in_a_minute: stats.max_in_any_minute,
        };
        println!(
            "{:>6}/{:<6} {story}: used {:.4}, {} refused, at most {} in a minute, {} messages in {:.1} s",
            self.limits.per_minute,
            self.limits.per_minute_max,
            judged.used,
            judged.refused,
            judged.most_in_a_minute,
            stats.requests,
            minutes * 60.0,
        );
        assert_eq!(stats.double_charges, 0);
        judged
    }
}

impl Judged {
    #[track_caller]
    pub fn is_within(&self, per_minute_max: u64) -> &Judged {
        assert_eq!(self.refused, 0, "refused");
        assert!(self.most_in_a_minute <= per_minute_max, "{} in a minute", self.most_in_a_minute);
        self
    }

    #[track_caller]
    pub fn is_used(&self) -> &Judged {
        assert!(self.used >= 0.99, "{}", self.used);
        self
    }
}
