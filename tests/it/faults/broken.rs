//! One broken run and the runs after it: a small book with duplicates and a torn row, the service in the test's process,
//! and three witnesses: the service's book, the ledger, and the outputs.

use crate::support::{
    book,
    onlooker::{Onlooker, ids, result_files},
    program::{Said, UnderWay, rescreen},
    service::{Service, lifted},
    tables,
};
use rescreen::{
    ledger::Reading,
    simulator::Settings,
    sink::{DatasetKind, Manifest},
};
use std::{collections::BTreeMap, fs::File, io::Write, path::PathBuf, time::Duration};
use tempfile::TempDir;

/// Customers; every person but the last two is there once.
const CUSTOMERS: u64 = 12;
pub const PERSONS: u64 = 10;
/// With a torn one.
const ROWS: u64 = CUSTOMERS + 1;

/// What is in doubt after the fault is settled by the next run; more are a sign of trouble.
const LATER_RUNS_MAX: u32 = 3;

/// A fault as `RESCREEN_FAULT` spells it.
pub struct Case(pub String);

/// What came of a case.
pub struct Broken {
    /// The run came to the point that was to fail.
    pub met: bool,
    pub code: i32,
    /// Submissions the service received until it stopped.
    pub sent: u64,
    pub violations: Vec<String>,
}

struct Desk {
    folder: TempDir,
    service: Service,
}

/// How often a run without a fault passes each point.
pub fn counts() -> BTreeMap<String, u64> {
    let desk = Desk::new(lifted());
    let said = desk.run(Some("count")).exits(3);
    let counts = passed(&said).into_iter().filter(|(point, _)| point != "failed").collect();
    assert_eq!(desk.at_the_end(), Vec::<String>::new());
    counts
}

impl Broken {
    /// Runs into the fault, then runs on without it, and compares what the witnesses say.
    pub fn tried(case: &Case) -> Broken {
        Broken::at(&Desk::new(lifted()), case)
    }

    /// The same while answers come slowly.
    pub fn tried_slowly(case: &Case, latency: Duration) -> Broken {
        Broken::at(&Desk::new(Settings { latency, ..lifted() }), case)
    }

    fn at(desk: &Desk, case: &Case) -> Broken {
        let mut violations = Vec::new();
        let mut onlooker = Onlooker::of(&desk.out());
        let said = desk.run(Some(&case.0));
        let met = passed(&said).get("failed").is_some_and(|failed| *failed > 0);
        let expected = if met { 11 } else { 3 };
        if said.code != expected {
            violations.push(format!("exit code {}, expected {expected}:\n{}", said.code, said.stderr));
        }
        let sent = desk.sent();
        violations.extend(desk.sent_beyond_the_ledger(sent));
        violations.extend(onlooker.look());
        let code = said.code;
        let mut last = said;
        for _ in 0..LATER_RUNS_MAX {
            last = desk.run(None);
            violations.extend(onlooker.look());
            if last.code == 3 {
                break;
            }
        }
        if last.code != 3 {
            violations.push(format!("the last run ended with {}:\n{}", last.code, last.stderr));
        }
        violations.extend(desk.at_the_end());
        let violations = violations.into_iter().map(|fault| format!("RESCREEN_FAULT_CASE={}: {fault}", case.0));
        Broken { met, code, sent, violations: violations.collect() }
    }
}

impl Desk {
    fn new(settings: Settings) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let mut file = File::create(folder.path().join("book.csv")).unwrap();
        book::write(&mut file, 1..1 + CUSTOMERS, |number| number % PERSONS).unwrap();
        writeln!(file, "00000013,torn").unwrap();
        Desk { folder, service: Service::start(settings) }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out/faults")
    }

    fn run(&self, fault: Option<&str>) -> Said {
        let words = "run book.csv --check aml-screening --set entity=0 --set country=za --campaign faults \
            --mode production --id customer_no --per-minute 600000 --per-minute-max 900000 --in-flight 2 \
            --max-credits 10 --price aml-screening=1 --max-errors 50% --yes --service";
        let words: Vec<&str> = words.split_whitespace().chain([self.service.url.as_str()]).collect();
        let mut command = rescreen(self.folder.path(), &words);
        command.args(["--map", "name={{ first_name }} {{ surname }}"]);
        command.envs(fault.map(|fault| ("RESCREEN_FAULT", fault)));
        UnderWay::start(&mut command).wait()
    }

    fn sent(&self) -> u64 {
        let stats = self.service.simulator.stats();
        stats.by_route.iter().filter(|(route, _)| route.starts_with("POST")).map(|(_, count)| count).sum()
    }

    /// Nothing was sent whose arming is not in the ledger: a failed commit is followed by no send.
    fn sent_beyond_the_ledger(&self, sent: u64) -> Vec<String> {
        let stats = self.service.simulator.stats();
        let sums = Reading::open(&self.out().join("ledger.sqlite")).and_then(|reading| reading.sums());
        let sums = sums.unwrap_or_default();
        let account = &sums.account;
        let mut faults = Vec::new();
        if sent > sums.attempts {
            faults.push(format!("the service received {sent} submissions, {} are in the ledger", sums.attempts));
        }
        if stats.credits_charged > account.charged.0 + account.held.0 {
            faults.push(format!("the service charged {}, in the ledger {account:?}", stats.credits_charged));
        }
        faults
    }

    /// Everything is answered, paid once, published once, and accounted for.
    fn at_the_end(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut expect = |what: &str, expected: u64, found: u64| {
            if expected != found {
                faults.push(format!("{what}: expected {expected}, found {found}"));
            }
        };
        let stats = self.service.simulator.stats();
        expect("charges", PERSONS, stats.charges);
        expect("double charges", 0, stats.double_charges);
        expect("keys the service saw", PERSONS, stats.distinct_keys);
        let results: Result<Vec<_>, _> = result_files(&self.out()).iter().map(|part| ids(part)).collect();
        expect("result rows by pattern", CUSTOMERS, results.map_or(0, |parts| parts.concat().len() as u64));
        match Manifest::read(&self.out()).ok().flatten() {
            None => expect("manifests", 1, 0),
            Some(manifest) => {
                expect("complete", 1, u64::from(manifest.complete));
                expect("rows in the manifest", ROWS, manifest.input.rows);
                let named = |kind| tables::lines(&self.out(), kind).len() as u64;
                expect("results the manifest names", CUSTOMERS, named(DatasetKind::Results));
                expect("failures the manifest names", ROWS - CUSTOMERS, named(DatasetKind::Failures));
                expect("asks pending", 0, named(DatasetKind::Pending));
            }
        }
        let hidden = |path: &PathBuf| path.to_string_lossy().ends_with(".tmp");
        expect("temporary files", 0, tables::files(&self.out(), "").iter().filter(|path| hidden(path)).count() as u64);
        faults
    }
}

/// What the program says it passed.
fn passed(said: &Said) -> BTreeMap<String, u64> {
    let line = said.stderr.lines().find_map(|line| line.strip_prefix("fault points: ")).unwrap_or_default();
    let pair = |word: &str| word.split_once('=').map(|(name, count)| (name.to_owned(), count.parse().unwrap()));
    line.split_whitespace().filter_map(pair).collect()
}
