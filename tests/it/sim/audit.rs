//! The checker: what must hold after every life, and at the end. Ledger, outputs, wire log and the service's charge book
//! are four witnesses, and they must say the same.

use super::{
    script::{Life, Script},
    wire::Message,
};
use crate::support::tables::{self, Line, text};
use rescreen::{
    ledger::{Reading, Sums},
    model::state::State,
    simulator::Simulator,
    sink::{DatasetKind, Manifest, OutputMode},
};
use rusqlite::{Connection, types::Value};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

const MINUTE_US: u64 = 60_000_000;
const KINDS: [DatasetKind; 4] =
    [DatasetKind::Results, DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped];

pub struct Audit {
    out: PathBuf,
    production: bool,
    per_minute_max: usize,
    in_flight: u64,
    simulator: Simulator,
    /// Result files that were seen, by name.
    seen: BTreeMap<PathBuf, Vec<u8>>,
    pub faults: Vec<String>,
}

impl Audit {
    pub fn new(folder: &Path, script: &Script, simulator: Simulator) -> Audit {
        Audit {
            out: folder.join("out"),
            production: script.production,
            per_minute_max: script.per_minute_max as usize,
            in_flight: script.in_flight,
            simulator,
            seen: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    pub fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    fn expect(&mut self, what: &str, holds: bool, found: impl std::fmt::Debug) {
        if !holds {
            self.faults.push(format!("{what}: {found:?}"));
        }
    }

    /// What must hold at every moment. `apart` are the clock's steps by life.
    pub fn after_life(&mut self, life: usize, script: &Life, wire: &[Message], apart: &[i64]) {
        let before = self.faults.len();
        let stats = self.simulator.stats();
        self.expect("I1: nothing is charged twice", stats.double_charges == 0, stats.double_charges);
        self.expect("I4: the service saw no key with two contents", stats.conflicts == 0, stats.conflicts);
        self.wire(wire, apart);
        if let Some(sums) = self.sums() {
            let set_aside = sums.account.charged.0 + sums.account.held.0;
            if self.production {
                self.expect("I2: charged and held are within the limit", set_aside <= script.max_credits, sums.account);
            }
            let charged = stats.credits_charged;
            self.expect("I2: what is charged is charged or held here", charged <= set_aside, (charged, &sums.account));
            self.attempts(life, wire);
        } else {
            self.expect("I7: nothing is sent without a ledger", !wire.iter().any(|one| one.submit), wire.len());
        }
        self.outputs();
        for fault in &mut self.faults[before..] {
            *fault = format!("after life {life}: {fault}");
        }
    }

    pub fn at_the_end(&mut self) {
        let stats = self.simulator.stats();
        let Some(sums) = self.sums() else { return self.fault("there is no ledger at the end".to_owned()) };
        let answered = sums.in_state(State::Answered);
        if self.production {
            self.expect("one charge for each answer", stats.charges == answered, (stats.charges, answered));
            let charged = sums.account.charged.0;
            self.expect("both books agree", stats.credits_charged == charged, (stats.credits_charged, charged));
        }
        self.expect("nothing is held at the end", sums.account.held.0 == 0, sums.account);
        self.expect("nothing is open at the end", sums.open() == 0, &sums.requests);
        let Ok(Some(manifest)) = Manifest::read(&self.out) else {
            return self.fault("there is no manifest at the end".to_owned());
        };
        self.expect("the manifest is complete", manifest.complete, &manifest.totals);
        self.expect("no ask is pending", manifest.totals.iter().all(|one| one.pending == 0), &manifest.totals);
        let rows = (manifest.input.rows, sums.rows);
        self.expect("the manifest speaks of all rows", rows.0 == rows.1, rows);
    }

    /// I4, I5, I12.
    fn wire(&mut self, wire: &[Message], apart: &[i64]) {
        let mut contents: HashMap<&str, (&str, &str)> = HashMap::new();
        for one in wire.iter().filter(|one| one.submit) {
            let content = (one.path.as_str(), one.body.as_str());
            let first = *contents.entry(&one.key).or_insert(content);
            self.expect("I4: one key, one path and body", first == content, one);
            self.expect("I4: every submission has a key", !one.key.is_empty(), one);
        }
        for (at, first) in wire.iter().enumerate() {
            let minute = wire[at..].iter().take_while(|one| one.at_us < first.at_us + MINUTE_US).count();
            self.expect("I5: the most in a minute", minute <= self.per_minute_max, (minute, first));
        }
        for refusal in wire.iter().filter(|one| matches!(one.reply, Some((429, _)))) {
            let (Some((_, from)), Some(wait)) = (refusal.reply, refusal.retry_after) else { continue };
            let until = from + wait * 1_000_000;
            // A clock that was set between two lives moves the end of a pause that is kept in the ledger.
            let set = |one: &Message| apart[refusal.life..=one.life].iter().any(|step| *step != apart[refusal.life]);
            let early = wire.iter().find(|one| one.submit && one.at_us > from && one.at_us + 2 < until && !set(one));
            self.expect("I12: nothing before Retry-After", early.is_none(), (refusal, early));
        }
    }

    /// What left is noted, and what is noted left: only a crash can come between the two.
    fn attempts(&mut self, lives: usize, wire: &[Message]) {
        let sql = "SELECT count(*) FROM attempt WHERE outcome IS NULL OR outcome <> 'not_written'";
        let noted: u64 = self.ledger().query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a count").unsigned_abs();
        let sent = wire.iter().filter(|one| one.submit).count() as u64;
        let under_way = (lives as u64 + 1) * self.in_flight;
        self.expect("I7: every message is an attempt", sent <= noted && noted <= sent + under_way, (sent, noted));
    }

    /// I3, I8, I17.
    fn outputs(&mut self) {
        let mut ids = HashSet::new();
        let mut files = BTreeMap::new();
        for file in tables::files(&self.out, "results") {
            let hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            self.expect("I8: no temporary file stays", !hidden, &file);
            for line in tables::read(&self.out.join(&file)) {
                self.line(&line);
                let id = text(&line, "result_id").to_owned();
                self.expect("I8: a result is there once", ids.insert(id), &file);
            }
            files.insert(file.clone(), Sha256::digest(fs::read(self.out.join(&file)).expect("it was read")).to_vec());
        }
        let kept = self.seen.iter().all(|(file, digest)| files.get(file) == Some(digest));
        let before = std::mem::replace(&mut self.seen, files);
        self.expect("I8: result parts stay as they are", kept, before.keys().collect::<Vec<_>>());
        let Ok(Some(manifest)) = Manifest::read(&self.out) else { return };
        self.expect("I3: the totals add up", manifest.accounts().is_ok(), manifest.accounts());
        self.asks(&manifest);
    }

    fn asks(&mut self, manifest: &Manifest) {
        let mut asks = HashSet::new();
        for kind in KINDS {
            for line in tables::lines(&self.out, kind) {
                self.line(&line);
                let ask = text(&line, "result_id").to_owned();
                self.expect("I3: an ask is in one place", asks.insert(ask.clone()), ask);
            }
        }
        let mode = manifest.mode;
        self.expect("I17: the manifest is simulated", mode == OutputMode::Simulated, mode);
        let wanted = manifest.totals.iter().map(|one| one.asks).sum::<u64>() + manifest.input.unreadable_rows;
        self.expect("I3: every ask is in a place", asks.len() as u64 == wanted, (asks.len(), wanted));
        for totals in &manifest.totals {
            let rows = totals.asks + manifest.input.unreadable_rows;
            self.expect("I3: each check has an ask for each row", rows == manifest.input.rows, totals);
        }
    }

    fn line(&mut self, line: &Line) {
        self.expect("I17: every row is simulated", text(line, "mode") == "simulated", line);
    }

    fn sums(&self) -> Option<Sums> {
        Reading::find(&self.out.join("ledger.sqlite")).ok().flatten().and_then(|reading| reading.sums().ok())
    }

    fn ledger(&self) -> Connection {
        Connection::open(self.out.join("ledger.sqlite")).expect("the ledger opens")
    }

    /// SHA-256 over the wire log and the ledger's requests and attempts.
    pub fn trace(&self, wire: &[Message]) -> String {
        let mut hasher = Sha256::new();
        wire.iter().for_each(|one| hasher.update(one.to_string()));
        if self.sums().is_some() {
            let ledger = self.ledger();
            for table in ["request", "attempt"] {
                let mut select = ledger.prepare(&format!("SELECT * FROM {table}")).expect("a table of the ledger");
                let columns = select.column_count();
                let mut rows = select.query([]).expect("rows");
                while let Some(row) = rows.next().expect("a row") {
                    for column in 0..columns {
                        hasher.update(format!("{:?}|", row.get::<_, Value>(column).expect("a value")));
                    }
                }
            }
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
