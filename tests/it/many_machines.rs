//! Several workers, as on several machines, that share one account through the charge book. The real program, a real
//! PostgreSQL server, and the simulator in a process of its own as the witness of what was sent and charged.

mod book;
mod conformance;
mod credits;
mod filter;
mod halts;
mod outages;
mod partitions;
mod rate;

use crate::support::{
    folder::Folder,
    postgres::Postgres,
    program::{Said, UnderWay, rescreen, wait_until},
    simulator_process::SimulatorProcess,
};
use std::{fs, process::Command};

/// Workers with a folder each, one book and one service.
struct Machines {
    postgres: Postgres,
    service: SimulatorProcess,
    folder: Folder,
}

/// What a worker runs.
#[derive(Clone, Copy)]
struct Job<'a> {
    campaign: &'a str,
    rows: usize,
    max_credits: u64,
    keep_balance: u64,
    per_minute: u32,
    /// Whose rows are in the input; by default those of the worker alone.
    people: Option<&'a str>,
}

impl Default for Job<'_> {
    fn default() -> Self {
        Job { campaign: "t", rows: 60, max_credits: 100_000, keep_balance: 0, per_minute: 6_000, people: None }
    }
}

impl Machines {
    /// `None` if PostgreSQL is not installed.
    fn new(flags: &[&str]) -> Option<Machines> {
        Machines::with_rate(Job::default().per_minute, flags)
    }

    /// With a service that allows this many requests a minute.
    fn with_rate(per_minute: u32, flags: &[&str]) -> Option<Machines> {
        let postgres = Postgres::with_book()?;
        let (steady, most) = (per_minute.to_string(), (2 * per_minute).to_string());
        let mut all = vec!["--per-minute", &steady, "--per-minute-max", &most, "--fallback", "0"];
        all.extend(flags);
        Some(Machines { postgres, service: SimulatorProcess::start(&all), folder: Folder::new() })
    }

    /// Writes the campaign file and the input of a worker.
    fn prepare(&self, worker: &str, job: &Job<'_>) {
        let Job { campaign, rows, max_credits, keep_balance, per_minute, people } = job;
        let people = people.unwrap_or(worker);
        let folder = self.folder.path().join(worker);
        fs::create_dir(&folder).unwrap();
        let (url, most) = (self.service.url(), 2 * per_minute);
        let file = format!(
            "campaign = \"{campaign}\"\nmode = \"production\"\n\
             [budget]\nmax_credits = {max_credits}\nkeep_balance = {keep_balance}\nprices = {{ aml-screening = 1 }}\n\
             [service]\nurl = \"{url}\"\nper_minute = {per_minute}\nper_minute_max = {most}\n\
             [ledger]\nbook = {{ env = \"RESCREEN_BOOK\" }}\n[input]\npaths = [\"in.csv\"]\nid = \"id\"\n\
             [output]\nformat = \"jsonl\"\n[[check]]\nuse = \"aml-screening\"\nfields.name = \"name\"\n\
             fields.entity = {{ value = 0 }}\nfields.country = {{ value = \"za\" }}\n"
        );
        fs::write(folder.join("rescreen.toml"), file).unwrap();
        let names = (0..*rows).map(|row| format!("{worker}-{row},Naledi {people} {row}\n"));
        fs::write(folder.join("in.csv"), format!("id,name\n{}", names.collect::<String>())).unwrap();
    }

    /// A command of a worker. A run is for the partition that has the name of the worker.
    fn command(&self, worker: &str, arguments: &[&str]) -> Command {
        let mut command = self.command_of(worker, arguments);
        if arguments.first() == Some(&"run") {
            command.args(["--partition", worker]);
        }
        command
    }

    /// A command that names no partition.
    fn command_of(&self, worker: &str, arguments: &[&str]) -> Command {
        let mut command = rescreen(&self.folder.path().join(worker), arguments);
        command.env("RESCREEN_BOOK", self.postgres.url("etl"));
        command
    }

    fn start(&self, worker: &str, job: &Job<'_>) -> UnderWay {
        self.prepare(worker, job);
        UnderWay::start(&mut self.command(worker, &["run", "--yes"]))
    }

    fn run(&self, worker: &str) -> Said {
        Said::of(&mut self.command(worker, &["run", "--yes"]))
    }

    /// Waits until so many workers have taken a slot.
    fn wait_for_workers(&self, count: &str) {
        wait_until("workers", || self.postgres.sql("SELECT count(*) FROM rescreen.worker") == count);
    }

    /// What the service charged.
    fn charged(&self) -> u64 {
        self.service.stats().credits_charged
    }

    /// The sums of what the partitions have told: charged, and held.
    fn told(&self) -> (u64, u64) {
        let sums = |table: &str| {
            let sql = format!("SELECT coalesce(sum(charged), 0), coalesce(sum(held), 0) FROM rescreen.{table}");
            self.postgres.sql(&sql)
        };
        let row = sums("partition");
        assert_eq!(row, sums("request"), "the sums of the partitions are those of their requests");
        let (charged, held) = row.split_once('|').unwrap();
        (charged.parse().unwrap(), held.parse().unwrap())
    }
}
