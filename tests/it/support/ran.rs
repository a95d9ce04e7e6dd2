//! The result of a run: its exit code, its outputs, and what the service says about it. A failed expectation shows what
//! was found. Every expectation returns the run, so that they can be chained.

use super::tables::{self, Line, number, text};
use rescreen::{
    Error,
    model::{ExitCode, Stop, state::State},
    pipeline::RunReport,
    simulator::Stats,
    sink::{DatasetKind, Manifest},
};
use rusqlite::Connection;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;

/// A finished run.
pub struct Ran {
    pub result: Result<RunReport, Error>,
    pub stats: Stats,
    pub out: PathBuf,
    pub elapsed: Duration,
    /// The outputs as this run left them, because the next run changes them.
    pub(super) outputs: Option<Outputs>,
    pub(super) _folder: Arc<TempDir>,
}

/// What a run published.
pub(super) struct Outputs {
    manifest: Manifest,
    lines: BTreeMap<DatasetKind, Vec<Line>>,
}

impl Outputs {
    /// The outputs in a folder, if any.
    pub(super) fn read(out: &Path) -> Option<Outputs> {
        let manifest = Manifest::read(out).unwrap()?;
        let kinds = [DatasetKind::Results, DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped];
        let lines = kinds.into_iter().map(|kind| (kind, tables::lines(out, kind))).collect();
        Some(Outputs { manifest, lines })
    }
}

/// The number of lines in each output: `results(4).failures(1)`. An output that is not named has 0.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    results: usize,
    failures: usize,
    pending: usize,
    skipped: usize,
}

pub fn results(results: usize) -> Counts {
    Counts { results, ..Counts::default() }
}

impl Counts {
    pub fn failures(self, failures: usize) -> Counts {
        Counts { failures, ..self }
    }

    pub fn pending(self, pending: usize) -> Counts {
        Counts { pending, ..self }
    }

    pub fn skipped(self, skipped: usize) -> Counts {
        Counts { skipped, ..self }
    }
}

/// One HTTP exchange as the ledger has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    pub request: i64,
    pub number: i64,
    pub armed_at_us: i64,
    pub outcome: String,
}

impl Ran {
    #[track_caller]
    pub fn exits(self, code: ExitCode) -> Ran {
        let found = match &self.result {
            Ok(report) => report.exit_code,
            Err(error) => error.exit_code(),
        };
        assert_eq!(found, code, "{:#?}", self.result.as_ref().map(RunReport::lines));
        self
    }

    /// Service, ledger and the `credits` column agree on the charge, and nothing was charged twice.
    #[track_caller]
    pub fn charged(self, credits: u64) -> Ran {
        assert_eq!(self.stats.double_charges, 0);
        assert_eq!(self.stats.credits_charged, credits, "by the service's book");
        assert_eq!(self.report().sums.account.charged.0, credits, "by the ledger");
        let column: i64 = self.results().iter().map(|line| number(line, "credits")).sum();
        assert_eq!(column as u64, credits, "by the column `credits`");
        self
    }

    #[track_caller]
    pub fn counts(self, expected: Counts) -> Ran {
        let lines = |kind| self.lines(kind).len();
        let found = results(lines(DatasetKind::Results))
            .failures(lines(DatasetKind::Failures))
            .pending(lines(DatasetKind::Pending))
            .skipped(lines(DatasetKind::Skipped));
        assert_eq!(found, expected);
        self
    }

    /// The totals of the manifest add up to its input, and the parts hold what the totals say.
    #[track_caller]
    pub fn adds_up(self, complete: bool) -> Ran {
        let manifest = self.manifest();
        manifest.accounts().unwrap();
        assert_eq!(manifest.complete, complete);
        for totals in &manifest.totals {
            assert_eq!(totals.asks + manifest.input.unreadable_rows, manifest.input.rows, "{}", totals.check);
            assert_eq!(self.results_of(&totals.check).len() as u64, totals.results, "{}", totals.check);
        }
        let failures: u64 = manifest.totals.iter().map(|totals| totals.failures).sum();
        let lines = self.lines(DatasetKind::Failures);
        assert_eq!(lines.len() as u64, failures + manifest.input.unreadable_rows);
        self
    }

    #[track_caller]
    pub fn stops_with(self, is_it: impl Fn(&Stop) -> bool) -> Ran {
        assert!(self.report().sent.stops.iter().any(is_it), "{:?}", self.report().sent.stops);
        self
    }

    #[track_caller]
    pub fn in_state(self, state: State, count: u64) -> Ran {
        assert_eq!(self.report().sums.in_state(state), count, "{:?}", self.report().sums.requests);
        self
    }

    #[track_caller]
    pub fn report(&self) -> &RunReport {
        self.result.as_ref().unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    pub fn error(&self) -> String {
        self.result.as_ref().map(RunReport::lines).expect_err("the run did not stop").to_string()
    }

    #[track_caller]
    fn outputs(&self) -> &Outputs {
        self.outputs.as_ref().unwrap_or_else(|| panic!("nothing was published: {:?}", self.result))
    }

    #[track_caller]
    pub fn manifest(&self) -> &Manifest {
        &self.outputs().manifest
    }

    #[track_caller]
    pub fn lines(&self, kind: DatasetKind) -> &[Line] {
        &self.outputs().lines[&kind]
    }

    #[track_caller]
    pub fn results(&self) -> &[Line] {
        self.lines(DatasetKind::Results)
    }

    #[track_caller]
    pub fn failures(&self) -> &[Line] {
        self.lines(DatasetKind::Failures)
    }

    #[track_caller]
    pub fn results_of(&self, check: &str) -> Vec<&Line> {
        self.results().iter().filter(|line| text(line, "check_name") == check).collect()
    }

    /// The result of a row of the first source.
    #[track_caller]
    pub fn result_of(&self, row: i64) -> &Line {
        self.results().iter().find(|line| number(line, "row_number") == row).expect("the row has a result")
    }

    /// Failures by code.
    pub fn failure_codes(&self) -> BTreeMap<String, usize> {
        let mut codes = BTreeMap::new();
        for line in self.failures() {
            *codes.entry(text(line, "code").to_owned()).or_default() += 1;
        }
        codes
    }

    /// Every exchange of the campaign, in the order of arming.
    pub fn attempts(&self) -> Vec<Attempt> {
        attempts(&self.out)
    }

    /// HTTP messages to checks that the service received.
    pub fn posts(&self) -> u64 {
        self.stats.checks()
    }

    pub fn replies(&self, status: u16) -> u64 {
        self.stats.by_status.get(&status).copied().unwrap_or(0)
    }
}

fn attempts(out: &Path) -> Vec<Attempt> {
    let ledger = Connection::open(out.join("ledger.sqlite")).unwrap();
    let sql = "SELECT request, number, armed_at, coalesce(outcome, '') FROM attempt ORDER BY armed_at, request, number";
    let mut select = ledger.prepare(sql).unwrap();
    let found = select.query_map([], |row| {
        Ok(Attempt { request: row.get(0)?, number: row.get(1)?, armed_at_us: row.get(2)?, outcome: row.get(3)? })
    });
    found.unwrap().map(Result::unwrap).collect()
}
