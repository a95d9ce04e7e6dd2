//! The checker: what must hold after every life, and at the end. Ledger, outputs, wire log and the service's charge
//! book are four witnesses and must agree.

use super::{
    check_sums,
    jobs::{self, Jobs, Lived},
    life::{Life, Step},
    money,
    progress::{Standing, standing},
    rows,
    script::Script,
    wire::Message,
    wire_rules,
};
use crate::support::tables::{self, Line, text};
use crate::support::wire_tap::MAY_BE_SENT;
use rescreen::{
    ledger::Sums,
    model::{IdempotencyKey, state::State},
    simulator::Simulator,
    sink::{CheckTotals, Dataset, DatasetKind, Manifest, OutputMode},
};
use rusqlite::{Connection, OpenFlags, Row, types::Value};
use sha2::{Digest, Sha256};
use std::{
    cell::RefCell,
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

const KINDS: [DatasetKind; 4] =
    [DatasetKind::Results, DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped];

/// What the ledger says about money and messages.
struct Books {
    sums: Sums,
    /// Attempts of which bytes may have been sent.
    noted: u64,
    decided: u64,
    sent_again: u64,
}

pub struct Audit {
    out: PathBuf,
    script: Script,
    simulator: Simulator,
    /// Result files that were seen, by name: their bytes and lines.
    seen: BTreeMap<PathBuf, (Vec<u8>, Vec<Line>)>,
    pub faults: Vec<String>,
    /// Charged and held after the last life.
    set_aside: u64,
    /// By life, the requests that had an attempt when it started, including attempts that were never sent.
    tried: Vec<HashSet<String>>,
    /// A person has accepted answers that no rule recognises.
    accepted: bool,
    /// The jobs after the last life, and its messages.
    jobs: Jobs,
    sent_before: usize,
    ledger: RefCell<Option<Rc<Connection>>>,
}

impl Audit {
    pub fn new(folder: &Path, script: &Script, simulator: Simulator) -> Audit {
        let (script, seen) = (script.clone(), BTreeMap::new());
        Audit {
            out: folder.join("out"),
            script,
            simulator,
            seen,
            faults: Vec::new(),
            set_aside: 0,
            tried: Vec::new(),
            accepted: false,
            jobs: Jobs::default(),
            sent_before: 0,
            ledger: RefCell::default(),
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

    /// The progress of the campaign.
    pub fn standing(&self) -> Standing {
        let standing = standing(self.ledger().as_deref());
        self.ledger.take();
        standing
    }

    /// A life starts.
    pub fn life_begins(&mut self) -> Standing {
        let standing = self.standing();
        self.tried.push(standing.tried.clone());
        standing
    }

    /// What must hold at every moment. `died` are the lives that could not record their last replies; `held_most` is
    /// the most that was held at once.
    pub fn after_life(&mut self, number: usize, life: &Life, wire: &[Message], died: &[bool], held_most: u64) {
        let before = self.faults.len();
        self.accepted |= life.guards_off;
        self.jobs_after(life, wire, died);
        let (stats, books) = (self.simulator.stats(), self.books());
        let (double, decided) = (stats.double_charges, books.as_ref().map_or(0, |books| books.sent_again));
        self.expect("I1: nothing is charged twice but by decision", double <= decided, (double, decided));
        self.expect("I4: the service saw no key with two contents", stats.conflicts == 0, stats.conflicts);
        self.faults.extend(wire_rules::broken(wire, &self.script, died));
        let sent = wire.iter().filter(|one| one.submit).count() as u64;
        match books {
            None => self.expect("I7: nothing is sent without a ledger", sent == 0, sent),
            Some(Books { sums, noted, .. }) => {
                let set_aside = sums.account.charged.0 + sums.account.held.0;
                let overshoot = self.script.overshoot(held_most);
                let limit = life.max_credits + overshoot;
                let within = !self.script.production || set_aside.max(stats.credits_charged) <= limit;
                let found = (overshoot, stats.credits_charged, sums.account);
                self.expect("I2: charged plus held is within the limit and the overshoot", within, found);
                let spent = (std::mem::replace(&mut self.set_aside, set_aside), set_aside);
                self.faults.extend(money::stated_price_forgotten(wire, &self.script, number, life, died, spent));
                let covered = stats.credits_charged <= set_aside + overshoot;
                self.expect("I2: what the service charged is charged or held here", covered, found);
                if self.script.table_is_an_upper_bound() {
                    self.each_request();
                }
                self.money(wire, died, false);
                // Only a crash can separate an attempt that is recorded from one that was sent.
                let under_way = died.iter().filter(|died| **died).count() as u64 * self.script.in_flight;
                // A refused announcement of a document is recorded as an attempt of its request.
                let announced = wire.iter().filter(|one| one.step == Step::Announce).count() as u64;
                let all = sent <= noted && noted <= sent + announced + under_way;
                self.expect("I7: every message is an attempt", all, (sent, noted));
            }
        }
        let wrong = self.ledger().and_then(|ledger| check_sums::wrong(&ledger));
        self.faults.extend(wrong);
        self.ledger.take();
        self.outputs();
        for fault in &mut self.faults[before..] {
            *fault = format!("after life {number}: {fault}");
        }
    }

    /// Whether the last life left jobs.
    pub fn has_jobs(&self) -> bool {
        !self.jobs.open.is_empty()
    }

    fn jobs_after(&mut self, life: &Life, wire: &[Message], died: &[bool]) {
        let after = Jobs::of(self.ledger().as_deref());
        let died = died.last().is_some_and(|died| *died);
        let decided = self.books().is_some_and(|books| books.decided > 0);
        let lived = Lived { died, decided, retried: life.retry };
        let messages = (wire, &wire[self.sent_before..]);
        self.faults.extend(jobs::broken(&self.script, (&self.jobs, &after), messages, lived));
        (self.jobs, self.sent_before) = (after, wire.len());
    }

    pub fn at_the_end(&mut self, wire: &[Message], died: &[bool]) {
        self.money(wire, died, true);
        if let Some(ledger) = self.ledger() {
            self.faults.extend(money::believed_at_once(wire, &ledger));
        }
        let stats = self.simulator.stats();
        let Some(Books { sums, decided, .. }) = self.books() else {
            return self.fault("there is no ledger at the end".to_owned());
        };
        let answered = sums.in_state(State::Answered);
        if self.script.production && decided == 0 {
            // For an unreadable charge the price is booked, and the run stops for it.
            let odd: HashSet<&str> = wire.iter().filter(|one| one.said.odd).map(|one| one.key.as_str()).collect();
            let ledger = self.ledger().expect("there is a ledger at the end");
            let mut unpaid = money::answers_charged_otherwise(&ledger, &self.script, &self.simulator);
            unpaid.retain(|(key, ..)| !odd.contains(key.as_str()));
            // A crossed answer states the charge of the other request. That charge is booked, or the price that was
            // held if the other one was cheaper.
            let states = |one: &Message, most: u64| one.said.charge.is_some_and(|charge| charge <= most);
            let stated = |key: &str, booked| wire.iter().any(|one| one.key == *key && states(one, booked));
            unpaid.retain(|(key, _, booked)| !(self.script.is_crossed() && stated(key, *booked)));
            self.expect("each answer is charged once, as both books say", unpaid.is_empty(), unpaid);
        }
        if let Some(prices) = self.script.stated_prices() {
            let wrong = self.ledger().map(|ledger| money::charged_otherwise(&ledger, &self.script, prices, wire));
            let wrong = wrong.unwrap_or_default();
            self.expect("what a reply states is charged", wrong.is_empty(), (prices, wrong));
        }
        let (jobs, held) = (self.jobs.open.len() as u64, self.jobs.open.values().map(|job| job.held).sum::<u64>());
        let charges = (stats.charges, answered + jobs + self.failed_with_a_charge(), decided);
        self.expect(
            "no charge is without an answer, a failure or a decision",
            charges.0 <= charges.1 + charges.2,
            charges,
        );
        self.expect("only jobs hold credits at the end", sums.account.held.0 == held, sums.account);
        self.expect("only jobs are open at the end", sums.open() == jobs, &sums.requests);
        let Ok(Some(manifest)) = Manifest::read(&self.out) else {
            return self.fault("there is no manifest at the end".to_owned());
        };
        self.expect("the manifest is complete", manifest.complete == (jobs == 0), &manifest.totals);
        let pending = manifest.totals.iter().map(|one| one.pending).sum::<u64>();
        self.expect(
            "only asks of jobs are pending",
            Some(pending) == self.ledger().map(|ledger| jobs::asks(&ledger)),
            &manifest.totals,
        );
        let rows = (manifest.input.rows, sums.rows, self.rows());
        self.expect("the manifest covers all rows", rows.0 == rows.1 && rows.1 == rows.2, rows);
    }

    /// Stated charges are booked, absurd ones are not, and the floor is kept.
    fn money(&mut self, wire: &[Message], died: &[bool], at_the_end: bool) {
        let Some(ledger) = self.ledger() else { return };
        let decided = self.books().is_some_and(|books| books.decided > 0);
        self.faults.extend(money::unbooked(wire, &self.script, &ledger, died, (decided, at_the_end)));
        if at_the_end && !decided {
            self.faults.extend(money::uploads_unbooked(wire, &self.script, &ledger, died));
        }
        self.faults.extend(money::absurd(&ledger));
        self.faults.extend(money::charged_for_nothing(wire, &ledger, died));
        self.faults.extend(money::below_the_floor(wire, &self.script, &self.tried));
    }

    fn failed_with_a_charge(&self) -> u64 {
        let ledger = self.ledger().expect("there is a ledger at the end");
        let sql = "SELECT count(*) FROM request WHERE state = 11 AND charged > 0";
        ledger.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a count").unsigned_abs()
    }

    /// I2 for each request: the hold of another request cannot make up for a missing one. For a later generation, the
    /// earlier keys are not in the ledger.
    fn each_request(&mut self) {
        let Some(ledger) = self.ledger() else { return };
        let requests =
            ledger.prepare("SELECT first_key, held + charged FROM request WHERE generation = 0").and_then(|mut sql| {
                let request = |row: &Row<'_>| Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, i64>(1)?.unsigned_abs()));
                sql.query_map([], request)?.collect::<Result<Vec<_>, _>>()
            });
        for (content, set_aside) in requests.expect("the ledger's requests") {
            let key = IdempotencyKey::from_slice(&content).expect("16 bytes are a key").to_string();
            let charged = self.simulator.charged_under(&key);
            self.expect("I2: each charge is charged or held here", charged <= set_aside, (key, charged, set_aside));
        }
    }

    /// Records of the current books, without headers.
    fn rows(&self) -> u64 {
        let folder = self.out.parent().expect("it is in the campaign's folder");
        let books = self.script.books.iter().map(|book| {
            let lines = fs::read_to_string(folder.join(book.name)).expect("a book").lines().count() as u64;
            lines - u64::from(book.name.ends_with(".csv"))
        });
        books.sum()
    }

    /// The contents of the ledger, if there is one.
    fn books(&self) -> Option<Books> {
        let ledger = self.ledger()?;
        let decided = "(SELECT count(*) FROM decision), (SELECT count(*) FROM decision WHERE decision = 'send_again')";
        let sql = format!("SELECT sums, {MAY_BE_SENT}, {decided} FROM campaign");
        let books = ledger.query_row(&sql, [], |row| {
            let count = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
            let sums = serde_json::from_str(&row.get::<_, String>(0)?).expect("the ledger's sums can be read");
            Ok(Books { sums, noted: count(1)?, decided: count(2)?, sent_again: count(3)? })
        });
        // A ledger whose first commit never happened has no table yet.
        books.ok()
    }

    /// The ledger. Its schema is read once for each round of checks; between two rounds no connection is open.
    fn ledger(&self) -> Option<Rc<Connection>> {
        let mut ledger = self.ledger.borrow_mut();
        if ledger.is_none() {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            *ledger = Connection::open_with_flags(self.out.join("ledger.sqlite"), flags).ok().map(Rc::new);
        }
        ledger.clone()
    }

    /// I3, I8, I17, I18.
    fn outputs(&mut self) {
        let named = self.jobs.keys();
        let subjects = rows::subjects(self.out.parent().expect("it is in the campaign's folder"), &self.script);
        let mut ids = HashSet::new();
        let mut files = BTreeMap::new();
        for file in tables::files(&self.out, "results") {
            let hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if hidden {
                // A process that died leaves its unfinished files. No pattern matches them, and the next run removes
                // them.
                continue;
            }
            let bytes = fs::read(self.out.join(&file)).expect("it is there");
            let lines = match self.seen.remove(&file) {
                Some((before, lines)) => {
                    self.expect("I8: result parts do not change", before == bytes, &file);
                    lines
                }
                None => {
                    let lines = tables::read(&self.out.join(&file));
                    for line in &lines {
                        self.line(line);
                        for fault in rows::wrong(line, &self.script, &subjects, &named) {
                            self.expect(fault, false, line);
                        }
                    }
                    lines
                }
            };
            for line in &lines {
                let id = text(line, "result_id").to_owned();
                self.expect("I8: a result is not a duplicate", ids.insert(id), &file);
            }
            files.insert(file, (bytes, lines));
        }
        let vanished: Vec<PathBuf> = std::mem::replace(&mut self.seen, files).into_keys().collect();
        self.expect("I8: result parts stay", vanished.is_empty(), vanished);
        let Ok(Some(manifest)) = Manifest::read(&self.out) else { return };
        self.expect("I3: the totals add up", manifest.accounts().is_ok(), manifest.accounts());
        self.asks(&manifest);
    }

    fn asks(&mut self, manifest: &Manifest) {
        let mut asks = HashSet::new();
        for kind in KINDS {
            let parts = manifest.datasets.iter().filter(|one| one.kind == kind).flat_map(|dataset| &dataset.parts);
            for part in parts {
                let path = PathBuf::from(&part.path);
                let ids: Vec<String> = match self.seen.get(&path) {
                    Some((_, lines)) => lines.iter().map(|line| text(line, "result_id").to_owned()).collect(),
                    None => {
                        let lines = tables::read(&self.out.join(&path));
                        lines.iter().for_each(|line| self.line(line));
                        lines.iter().map(|line| text(line, "result_id").to_owned()).collect()
                    }
                };
                self.expect("I8: a part has the rows the manifest says", ids.len() as u64 == part.rows, &part.path);
                for ask in ids {
                    self.expect("I3: an ask is in only one output", asks.insert(ask.clone()), ask);
                }
            }
        }
        let mode = manifest.mode;
        self.expect("I17: the manifest is simulated", mode == OutputMode::Simulated, mode);
        // A run that is killed leaves the manifest of its last publication, which only counts pending and skipped rows. If it
        // had published nothing, the snapshots are those of the run before.
        let is_snapshot = |one: &&Dataset| [DatasetKind::Pending, DatasetKind::Skipped].contains(&one.kind);
        let snapshots = manifest.datasets.iter().filter(is_snapshot).flat_map(|dataset| &dataset.parts);
        let are_only_counted = manifest.under_way && snapshots.map(|part| part.rows).sum::<u64>() == 0;
        let written = |one: &CheckTotals| if are_only_counted { one.results + one.failures } else { one.asks };
        let wanted = manifest.totals.iter().map(written).sum::<u64>() + manifest.input.unreadable_rows;
        self.expect("I3: every ask is in an output", asks.len() as u64 == wanted, (asks.len(), wanted));
        for totals in &manifest.totals {
            let rows = totals.asks + manifest.input.unreadable_rows;
            self.expect("I3: each check has an ask for each row", rows == manifest.input.rows, totals);
        }
    }

    fn line(&mut self, line: &Line) {
        self.expect("I17: every row is simulated", text(line, "mode") == "simulated", line);
        let is_open = line.get("verdict").is_some_and(|verdict| verdict == "unrecognised") && !self.accepted;
        self.expect("I18: an unrecognised answer is a result only if a person accepts it", !is_open, line);
    }

    /// SHA-256 over the wire log and the ledger's requests and attempts.
    pub fn trace(&self, wire: &[Message]) -> String {
        let mut hasher = Sha256::new();
        wire.iter().for_each(|one| hasher.update(one.to_string()));
        if let Some(ledger) = self.ledger() {
            for table in ["request", "attempt"] {
                let Ok(mut select) = ledger.prepare(&format!("SELECT * FROM {table}")) else { continue };
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
