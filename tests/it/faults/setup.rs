//! The setup of a case: a small book with duplicates and a torn row, the service in the test's process, and one output
//! folder. Decides what must hold after a broken run and at the end.

use super::{
    case::{Case, Layer, Shape},
    preload::Preload,
};
use crate::files::sample::pdf;
use crate::support::{
    book,
    onlooker::{ids, result_files},
    program::{Said, UnderWay, rescreen},
    service::Service,
    tables,
};
use rescreen::{
    ledger::Reading,
    simulator::Settings,
    sink::{DatasetKind, Manifest},
};
use rusqlite::Connection;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Customers. Every person but the last two occurs once.
const CUSTOMERS: u64 = 12;
pub const PERSONS: u64 = 10;
/// Including a torn one.
const ROWS: u64 = CUSTOMERS + 1;
/// This many requests may be armed when the ledger fails, and be sent after that.
const IN_FLIGHT: u64 = 2;
/// One byte more than the service accepts without an upload.
const LARGE: usize = 4 * 1024 * 1024 + 1;

pub struct Setup<'a> {
    folder: TempDir,
    service: Service,
    shape: Shape,
    /// Where the system calls are made to fail.
    preload: Option<&'a Preload>,
}

/// Every customer has a document, and two customers have the same one twice. Two documents are uploaded first.
fn write_documents(folder: &Path, book: &mut File) {
    writeln!(book, "customer_no,file,branch").unwrap();
    for number in 1..1 + CUSTOMERS {
        let document = number % PERSONS;
        let bytes = if document.is_multiple_of(4) { LARGE } else { 2_000 };
        fs::write(folder.join(format!("{number}.pdf")), pdf(document, bytes)).unwrap();
        writeln!(book, "{number:08},{number}.pdf,1").unwrap();
    }
}

impl Setup<'_> {
    pub fn new(shape: Shape, preload: Option<&Preload>, settings: Settings) -> Setup<'_> {
        let folder = tempfile::tempdir().unwrap();
        let mut file = File::create(folder.path().join("book.csv")).unwrap();
        match shape {
            Shape::Plain | Shape::TwoChecks => {
                book::write(&mut file, 1..1 + CUSTOMERS, |number| number % PERSONS).unwrap();
            }
            Shape::Documents => write_documents(folder.path(), &mut file),
        }
        writeln!(file, "00000013,torn").unwrap();
        let setup = Setup { folder, service: Service::start(settings), shape, preload };
        fs::write(setup.folder.path().join("rescreen.toml"), setup.campaign()).unwrap();
        setup
    }

    fn campaign(&self) -> String {
        let check = |(name, entity): (&str, u8)| {
            format!(
                "[[check]]\nuse = \"aml-screening\"\nname = \"{name}\"\nfields.entity = {{ value = {entity} }}\n\
                 fields.country = {{ value = \"za\" }}\nfields.name = \"{{{{ first_name }}}} {{{{ surname }}}}\"\n"
            )
        };
        let (format, checks) = match self.shape {
            Shape::Plain => ("parquet", check(("aml-screening", 0))),
            Shape::TwoChecks => ("jsonl", [("aml-screening", 0), ("of-companies", 1)].map(check).concat()),
            Shape::Documents => {
                ("parquet", "[[check]]\nuse = \"proof-of-address\"\nfields.document = \"file\"\n".to_owned())
            }
        };
        format!(
            "campaign = \"faults\"\nmode = \"production\"\n[service]\nurl = \"{}\"\nper_minute = 600000\n\
             per_minute_max = 900000\nin_flight = {IN_FLIGHT}\n[input]\npaths = [\"book.csv\"]\nid = \"customer_no\"\n\
             files_root = \".\"\n[budget]\nmax_credits = {}\nprices = {{ aml-screening = 1 }}\n[guards]\nmax_errors = \"50%\"\n\
             [output]\ndir = \"{}\"\nformat = \"{format}\"\n{checks}",
            self.service.url,
            PERSONS * self.credits_of_a_person(),
            self.out().display(),
        )
    }

    fn checks(&self) -> u64 {
        match self.shape {
            Shape::Plain | Shape::Documents => 1,
            Shape::TwoChecks => 2,
        }
    }

    fn credits_of_a_person(&self) -> u64 {
        match self.shape {
            Shape::Plain | Shape::TwoChecks => self.checks(),
            // The documented price.
            Shape::Documents => 3,
        }
    }

    /// In a folder that the program creates.
    pub fn out(&self) -> PathBuf {
        self.folder.path().join("out/faults")
    }

    /// Runs with a fault, or counts the passes that could fail.
    pub fn run_with(&self, layer: Layer, fault: Option<&str>) -> Said {
        let mut command = rescreen(self.folder.path(), &["run", "--yes"]);
        match (layer, self.preload) {
            (Layer::Program, _) => _ = command.env("RESCREEN_FAULT", fault.unwrap_or("count")),
            (Layer::System, None) => panic!("the setup has no library to preload"),
            (Layer::System, Some(preload)) => {
                command.env("LD_PRELOAD", &preload.library);
                command.env("FAILING_STORAGE", self.folder.path().join("out"));
                command.envs(fault.map(|fault| ("FAILING_STORAGE_PLAN", fault)));
            }
        }
        UnderWay::start(&mut command).wait()
    }

    /// Runs without a fault.
    pub fn run(&self) -> Said {
        Said::of(&mut rescreen(self.folder.path(), &["run", "--yes"]))
    }

    pub fn sent(&self) -> u64 {
        self.service.simulator.stats().checks()
    }

    /// Every request that was sent is armed in the ledger, and nothing was armed after the ledger's log could not be
    /// written: after a failed commit nothing is sent.
    pub fn sent_beyond_the_ledger(&self, case: &Case, sent: u64, reported: &LayerReport) -> Vec<String> {
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
        let after = reported.count("sent-after");
        // SQLite itself retries to open a log that cannot be opened.
        let durable = case.is_of_kind("write") || case.is_of_kind("sync");
        if durable && reported.failed_at() == "ledger.sqlite-wal" && after > IN_FLIGHT {
            faults.push(format!("{after} checks were sent after a commit of the ledger had failed"));
        }
        faults
    }

    /// Everything is answered, paid once, published once, and accounted for.
    pub fn at_the_end(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut expect = |what: &str, expected: u64, found: u64| {
            if expected != found {
                faults.push(format!("{what}: expected {expected}, found {found}"));
            }
        };
        let stats = self.service.simulator.stats();
        let (requests, asks) = (PERSONS * self.checks(), CUSTOMERS * self.checks());
        expect("charges", requests, stats.charges);
        expect("double charges", 0, stats.double_charges);
        expect("keys the service saw", requests, stats.distinct_keys);
        let results: Result<Vec<_>, _> = result_files(&self.out()).iter().map(|part| ids(part)).collect();
        expect("result rows by pattern", asks, results.map_or(0, |parts| parts.concat().len() as u64));
        match Manifest::read(&self.out()).ok().flatten() {
            None => expect("manifests", 1, 0),
            Some(manifest) => {
                expect("complete", 1, u64::from(manifest.complete));
                expect("rows in the manifest", ROWS, manifest.input.rows);
                let named = |kind| tables::lines(&self.out(), kind).len() as u64;
                expect("results the manifest names", asks, named(DatasetKind::Results));
                expect("failures the manifest names", ROWS - CUSTOMERS, named(DatasetKind::Failures));
                expect("asks pending", 0, named(DatasetKind::Pending));
            }
        }
        let hidden = |path: &PathBuf| path.to_string_lossy().ends_with(".tmp");
        let ledger = Connection::open(self.out().join("ledger.sqlite")).unwrap();
        let mode: Result<String, _> = ledger.pragma_query_value(None, "journal_mode", |row| row.get(0));
        expect("ledgers with a write-ahead log", 1, u64::from(mode.is_ok_and(|mode| mode == "wal")));
        expect("temporary files", 0, tables::files(&self.out(), "").iter().filter(|path| hidden(path)).count() as u64);
        faults
    }
}

/// Lines of the layer that do not name a kind of call.
const BESIDE_THE_KINDS: [&str; 6] = ["failed", "sent", "sent-after", "sent-unsynced", "renamed-unsynced", "at"];

/// What the layer reports when the program ends: how often each kind was passed, and what failed.
pub struct LayerReport(BTreeMap<String, String>);

impl LayerReport {
    pub fn of(said: &Said) -> LayerReport {
        let reported = |line: &str| {
            ["fault points: ", "storage calls: "].iter().find_map(|begin| line.strip_prefix(begin).map(str::to_owned))
        };
        let line = said.stderr.lines().find_map(reported).unwrap_or_default();
        let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        LayerReport(line.split_whitespace().filter_map(pair).collect())
    }

    pub fn count(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |count| count.parse().unwrap())
    }

    /// The file that failed first, where that is known.
    pub fn failed_at(&self) -> &str {
        self.0.get("at").map_or("-", String::as_str)
    }

    /// How often each kind was passed.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let is_kind = |name: &&String| !BESIDE_THE_KINDS.contains(&name.as_str());
        let kinds = self.0.keys().filter(is_kind);
        kinds.map(|name| (name.clone(), self.count(name))).collect()
    }
}
