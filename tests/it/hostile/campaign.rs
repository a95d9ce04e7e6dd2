//! A campaign of the real binary against a hand-written service, and the audit after every run: no row is charged
//! twice, and the ledger books at least what the service charged.

use super::{ledger::Ledger, server::Service};
use crate::support::program::{Said, UnderWay, rescreen};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};
use tempfile::TempDir;

pub struct Campaign<'a> {
    folder: TempDir,
    service: &'a Service,
    check: &'static str,
    fields: &'static str,
    /// What follows the name in each row.
    more_cells: fn(u32) -> String,
    limit: u64,
    price: u64,
    more: Vec<String>,
    books_agree: bool,
}

impl<'a> Campaign<'a> {
    /// Rows 1 to `rows`, a price of 1 in the table, and no limit that matters.
    pub fn of(service: &'a Service, rows: u32) -> Campaign<'a> {
        let fields = "--set entity=0 --set country=za";
        Campaign::of_check(service, rows, "aml-screening", fields, ("no,name\n", |_| String::new()))
    }

    /// The same of companies with a bank account each, whose requests are answered later as jobs.
    pub fn of_jobs(service: &'a Service, rows: u32) -> Campaign<'a> {
        let fields = "--set bankName=FNB --set bankAccountType=current --set registrationNumber=2015/000001/07";
        let columns: (_, fn(u32) -> String) = ("no,company_name,account_no\n", |row| format!(",{}", account_of(row)));
        Campaign::of_check(service, rows, "business-bank-account", fields, columns).price(7)
    }

    fn of_check(
        service: &'a Service,
        rows: u32,
        check: &'static str,
        fields: &'static str,
        (head, more_cells): (&str, fn(u32) -> String),
    ) -> Campaign<'a> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("book.csv"), head).unwrap();
        let campaign = Campaign {
            folder,
            service,
            check,
            fields,
            more_cells,
            limit: 100_000,
            price: 1,
            more: Vec::new(),
            books_agree: true,
        };
        campaign.append(1..=rows);
        campaign
    }

    pub fn limit(self, limit: u64) -> Campaign<'a> {
        Campaign { limit, ..self }
    }

    /// The price in the table.
    pub fn price(self, price: u64) -> Campaign<'a> {
        Campaign { price, ..self }
    }

    /// Flags of every run, separated by spaces.
    pub fn with(mut self, flags: &str) -> Campaign<'a> {
        self.more.extend(flags.split_whitespace().map(str::to_owned));
        self
    }

    /// A campaign file in its default place.
    pub fn file(self, text: &str) -> Campaign<'a> {
        fs::write(self.path().join("rescreen.toml"), text).unwrap();
        self
    }

    /// The service charges credits that no reply states: the books may differ for as long as that is documented.
    pub fn with_unstated_charges(self) -> Campaign<'a> {
        Campaign { books_agree: false, ..self }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn out(&self) -> PathBuf {
        self.path().join("out/hostile")
    }

    pub fn append(&self, rows: RangeInclusive<u32>) {
        let mut file = fs::OpenOptions::new().append(true).open(self.path().join("book.csv")).unwrap();
        for row in rows {
            writeln!(file, "{row},R{row:05} Quist{}", (self.more_cells)(row)).unwrap();
        }
    }

    /// `run` with these additional flags. It ends after a minute unless they say otherwise.
    pub fn command(&self, flags: &str) -> Command {
        let words = format!(
            "run book.csv --check {} {} --campaign hostile --mode production --id no --format jsonl --yes \
             --per-minute 600000 --per-minute-max 600000",
            self.check, self.fields
        );
        let mut words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        words.extend(["--service".to_owned(), self.service.url.clone()]);
        if !flags.contains("--price") {
            words.extend(["--price".to_owned(), format!("{}={}", self.check, self.price)]);
        }
        words.extend(self.more.iter().cloned());
        words.extend(flags.split_whitespace().map(str::to_owned));
        let limit = self.limit.to_string();
        for (flag, value) in [("--for", "60s"), ("--in-flight", "4"), ("--max-credits", &limit)] {
            if !words.iter().any(|word| word == flag) {
                words.extend([flag.to_owned(), value.to_owned()]);
            }
        }
        self.program(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The program with these arguments and its own state files.
    pub fn program(&self, words: &[&str]) -> Command {
        let mut command = rescreen(self.path(), words);
        command.env("XDG_STATE_HOME", self.path().join("state"));
        command
    }

    /// The program with these flags and under a limit of the shell, like `ulimit -f 400`.
    pub fn under(&self, limit: &str, flags: &str) -> Command {
        let program = self.command(flags);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")]).arg(program.get_program());
        limited.args(program.get_args()).current_dir(self.path()).env_clear();
        limited.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
        limited
    }

    #[track_caller]
    pub fn run(&self) -> Said {
        self.run_with("")
    }

    #[track_caller]
    pub fn run_with(&self, flags: &str) -> Said {
        self.audited(Said::of(&mut self.command(flags)))
    }

    /// A run that gets SIGTERM as soon as these rows were requested, unless it ends before.
    #[track_caller]
    pub fn run_until_asked(&self, rows: impl IntoIterator<Item = u32>) -> Said {
        let mut command = self.command("");
        self.until_asked(&mut command, rows)
    }

    /// The same with a command prepared for it.
    #[track_caller]
    pub fn until_asked(&self, command: &mut Command, rows: impl IntoIterator<Item = u32>) -> Said {
        let rows: BTreeSet<u32> = rows.into_iter().collect();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let from = self.service.book().entries.len();
        let asked = || self.service.book().entries[from..].iter().map(|entry| entry.row).collect::<BTreeSet<u32>>();
        while child.try_wait().unwrap().is_none() && !rows.is_subset(&asked()) {
            thread::sleep(Duration::from_millis(10));
        }
        drop(Command::new("kill").args(["-TERM", &child.id().to_string()]).stderr(Stdio::null()).status());
        self.audited(Said::from(child.wait_with_output().unwrap()))
    }

    /// A command other than `run`, with arguments separated by spaces.
    #[track_caller]
    pub fn say(&self, words: &str) -> Said {
        self.audited(Said::of(&mut self.program(&words.split_whitespace().collect::<Vec<_>>())))
    }

    pub fn start(&self, flags: &str) -> UnderWay {
        UnderWay::start(&mut self.command(flags))
    }

    #[track_caller]
    pub fn audited(&self, said: Said) -> Said {
        self.audit(&format!("exit {}\n{}", said.code, said.stderr));
        said
    }

    #[track_caller]
    fn audit(&self, said: &str) {
        let (credits, twice) = {
            let book = self.service.book();
            (book.credits(), book.charged_twice())
        };
        assert!(twice.is_empty(), "rows {twice:?} were charged twice; {said}");
        if self.books_agree && self.out().join("ledger.sqlite").exists() {
            let ledger = self.ledger();
            let (charged, held) = (ledger.charged(), ledger.held());
            let booked = (charged + held) as f64;
            assert!(
                booked >= credits,
                "the service charged {credits}, the ledger books {charged} + {held} held; {said}"
            );
        }
    }

    #[track_caller]
    pub fn ledger(&self) -> Ledger {
        Ledger::read(&self.out().join("ledger.sqlite"))
    }

    /// The rows of a dataset, through the manifest.
    #[track_caller]
    pub fn dataset(&self, kind: &str) -> Vec<Value> {
        let manifest = self.manifest();
        let datasets = manifest["datasets"].as_array().unwrap().iter().filter(|dataset| dataset["kind"] == kind);
        let parts = datasets.flat_map(|dataset| dataset["parts"].as_array().unwrap().clone());
        let texts = parts.map(|part| fs::read_to_string(self.out().join(part["path"].as_str().unwrap())).unwrap());
        texts
            .flat_map(|text| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>())
            .collect()
    }

    #[track_caller]
    pub fn manifest(&self) -> Value {
        serde_json::from_slice(&fs::read(self.out().join("manifest.json")).unwrap()).unwrap()
    }

    /// The published row of a dataset for this row of the input.
    #[track_caller]
    pub fn published(&self, kind: &str, row: u32) -> Value {
        let rows = self.dataset(kind);
        let subject = row.to_string();
        let found = rows.iter().find(|one| one["subject"].as_str() == Some(&subject));
        found.unwrap_or_else(|| panic!("row {row} is not among the {} {kind}", rows.len())).clone()
    }
}

/// The bank account of a row.
pub fn account_of(row: u32) -> u64 {
    6_200_000_000 + u64::from(row)
}
