//! Checks while a life runs: at each commit, each new file and each message that is sent, it asks the ledger whether
//! that is allowed. At a chosen storage point it ends the life.

use super::{
    clocks::Clocks,
    file_bodies::{Kept, digest_text},
    life::{ClockMove, Crash, Life},
};
use rescreen::{
    model::{
        budget::Account,
        fault_point::{self, Point},
    },
    simulator::Simulator,
    sink::{CheckTotals, DatasetKind, Manifest},
};
use rusqlite::{Connection, OpenFlags};
use serde::Deserialize;
use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::sync::Notify;
use uuid::Uuid;

/// The service's description, Limits: 15 minutes. A request may wait for the rate after it was made ready.
const UPLOAD_AGE_MAX_US: i64 = 20 * 60 * 1_000_000;

/// The part of the sums that is checked at every commit.
#[derive(Deserialize)]
struct InSums {
    account: Account,
}

#[derive(Clone)]
pub struct Onlooker(Arc<Mutex<Seen>>);

struct Seen {
    out: PathBuf,
    simulator: Simulator,
    conn: Option<Connection>,
    /// Charges plus holds may not exceed this.
    limit: Option<u64>,
    crash: Crash,
    clocks: Clocks,
    /// What happens to the clocks just after the nth commit that finds a request armed again.
    at_commit: Option<(u64, ClockMove)>,
    commits: u64,
    /// The most that was held at once.
    held_most: u64,
    passes: u64,
    appeared: u64,
    dead: bool,
    strike: Arc<Notify>,
    parts: HashSet<PathBuf>,
    /// The last manifest, and its bytes.
    manifest: Option<(Vec<u8>, Manifest)>,
    /// Documents at the storage, by path: digest, and when the last one of this path was announced, by the service's
    /// clock.
    placed: HashMap<String, String>,
    /// When a place was announced.
    announced: HashMap<String, i64>,
    /// The request that names an upload.
    named: HashMap<String, i64>,
    /// The digest that no file may have.
    outside: Option<String>,
    /// No clock is set in this campaign, so the age of an upload is known.
    even: bool,
    faults: Vec<String>,
}

impl Onlooker {
    /// `outside` is the digest of a file that must never be sent. With `even`, no clock is set in the campaign.
    pub fn new(out: &Path, simulator: Simulator, clocks: Clocks, (outside, even): (Option<String>, bool)) -> Onlooker {
        Onlooker(Arc::new(Mutex::new(Seen {
            out: out.to_owned(),
            simulator,
            conn: None,
            limit: None,
            crash: Crash::Never,
            clocks,
            at_commit: None,
            commits: 0,
            held_most: 0,
            passes: 0,
            appeared: 0,
            dead: false,
            strike: Arc::default(),
            parts: HashSet::new(),
            manifest: None,
            placed: HashMap::new(),
            announced: HashMap::new(),
            named: HashMap::new(),
            outside,
            even,
            faults: Vec::new(),
        })))
    }

    /// Checks from here on. For a storage crash, `strike` is notified at its point, and from then on nothing becomes
    /// durable.
    pub fn begin(&self, limit: Option<u64>, life: &Life, strike: &Arc<Notify>) {
        let mut seen = self.seen();
        (seen.at_commit, seen.commits) = (life.at_commit, 0);
        let crash = life.crash;
        (seen.limit, seen.crash, seen.passes, seen.appeared, seen.dead) = (limit, crash, 0, 0, false);
        seen.strike = Arc::clone(strike);
        let this = self.clone();
        fault_point::watch(Some(Box::new(move |point| this.seen().pass(point))));
    }

    /// Stops checking. Returns the violations since it started.
    pub fn end(&self) -> Vec<String> {
        fault_point::watch(None);
        let mut seen = self.seen();
        seen.conn = None;
        std::mem::take(&mut seen.faults)
    }

    /// The most that was held at once in any life so far.
    pub fn held_most(&self) -> u64 {
        self.seen().held_most
    }

    pub fn is_dead(&self) -> bool {
        self.seen().dead
    }

    /// A message is sent: it must be a recorded attempt with the bytes that the ledger keeps.
    pub fn submitted(&self, key: &str, content_type: &str, body: &[u8]) {
        self.seen().submitted(key, content_type, body);
    }

    /// The service has announced the place of a document.
    pub fn announced(&self, reference: &str) {
        let mut seen = self.seen();
        let now_us = seen.clocks.service().now_us();
        seen.announced.insert(reference.to_owned(), now_us);
    }

    /// A document is at its place.
    pub fn placed(&self, path: &str, document: &[u8]) {
        let reference = path.rsplit('/').next().unwrap_or_default().to_owned();
        self.seen().placed.insert(reference, digest_text(document));
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().expect("nothing panics while it looks on")
    }
}

impl Seen {
    fn pass(&mut self, point: Point) -> io::Result<()> {
        if self.dead {
            return Err(io::Error::other("the process is dead"));
        }
        self.passes += 1;
        if matches!(self.crash, Crash::AtStorage(nth) if nth == self.passes) {
            return Err(self.die());
        }
        match point {
            Point::AfterCommit => {
                self.committed();
                if let Some((nth, clock_move)) = self.at_commit.filter(|_| self.arms_again()) {
                    self.commits += 1;
                    if nth == self.commits {
                        self.clocks.move_by(clock_move);
                    }
                }
            }
            Point::SyncFolder => self.appeared(),
            _ => {}
        }
        match self.crash {
            Crash::AtPart(nth) if nth <= self.appeared => Err(self.die()),
            _ => Ok(()),
        }
    }

    fn die(&mut self) -> io::Error {
        self.dead = true;
        self.strike.notify_one();
        io::Error::other("the process dies here")
    }

    fn ledger(&mut self) -> Option<&Connection> {
        if self.conn.is_none() {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            self.conn = Connection::open_with_flags(self.out.join("ledger.sqlite"), flags).ok();
        }
        self.conn.as_ref()
    }

    fn committed(&mut self) {
        let limit = self.limit;
        let Some(ledger) = self.ledger() else { return };
        // One query: each has its own transaction, and this is asked at every commit. Of `request`, one pass gives the
        // sums and the keys of the requests that count as never charged, tried or given up.
        let money = |ledger: &Connection| -> rusqlite::Result<(String, u64, u64, Option<String>)> {
            let sql = "SELECT sums, held, charged, freed FROM campaign, (SELECT
                       coalesce(sum(held), 0) AS held, coalesce(sum(charged), 0) AS charged,
                       group_concat(hex(first_key)) FILTER (WHERE state IN (0, 11) AND generation = 0 AND attempts > 0
                       AND charged = 0 AND possibly_charged = 0) AS freed FROM request)";
            let number = |row: &rusqlite::Row<'_>, at| row.get::<_, i64>(at).map(i64::unsigned_abs);
            let sums = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, number(row, 1)?, number(row, 2)?, row.get(3)?));
            ledger.prepare_cached(sql)?.query_row([], sums)
        };
        let (sums, held, charged, freed) = match money(ledger) {
            Ok(found) => found,
            Err(error) => return self.faults.push(format!("the ledger cannot be read: {error}")),
        };
        let InSums { account } = serde_json::from_str(&sums).expect("the ledger's sums are sums");
        self.held_most = self.held_most.max(held);
        let set_aside = account.charged.0 + account.held.0;
        if limit.is_some_and(|limit| set_aside > limit) {
            self.faults.push(format!("I2: {account:?} is above {limit:?} after a commit"));
        }
        self.freed(freed.as_deref().unwrap_or_default());
        if (account.held.0, account.charged.0) != (held, charged) {
            self.faults.push(format!("I2: {account:?} is not the sum of the requests: {held} held, {charged} charged"));
        }
    }

    /// Whether a request is armed that was sent before.
    fn arms_again(&mut self) -> bool {
        let Some(ledger) = self.ledger() else { return false };
        let armed = ledger.prepare_cached("SELECT 1 FROM request WHERE state = 1 AND attempts > 1");
        armed.and_then(|mut sql| sql.exists([])).unwrap_or(false)
    }

    /// A request that counts as never charged, tried or given up, was not charged by the service. For a later
    /// generation, the earlier keys are not in the ledger. `keys` is hexadecimal.
    fn freed(&mut self, keys: &str) {
        for key in keys.split(',').filter(|key| !key.is_empty()) {
            let key = Uuid::parse_str(key).expect("16 bytes are a key").to_string();
            if self.simulator.charged_under(&key) > 0 {
                self.faults.push(format!("I2: {key} counts as never charged, and was charged"));
            }
        }
    }

    fn submitted(&mut self, key: &str, content_type: &str, body: &[u8]) {
        let Ok(bytes) = Uuid::parse_str(key).map(Uuid::into_bytes) else {
            return self.faults.push(format!("I4: `{key}` is not a key"));
        };
        let kept = self.ledger().map(|ledger| -> rusqlite::Result<(Vec<u8>, Option<Kept>, bool)> {
            // Written so that both indexes of keys are used: this is asked at every message.
            let sql = "SELECT body, id, unproven FROM request
                       WHERE (key = ?1 OR first_key = ?1 AND key IS NULL) AND held >= 0 AND state = 1
                       AND NOT EXISTS (SELECT 1 FROM attempt WHERE request = request.id AND number = request.attempts
                                       AND outcome IS NOT NULL)";
            let (body, id, unproven): (Vec<u8>, i64, i64) =
                ledger.prepare_cached(sql)?.query_row([bytes], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let files = Kept::read(ledger, id, &body)?;
            Ok((body, files, unproven > 0))
        });
        match kept {
            Some(Ok((_, Some(kept), in_doubt))) => self.with_files(&kept, (key, in_doubt), content_type, body),
            Some(Ok((kept, None, _))) if kept == body => {}
            Some(Ok(_)) => self.faults.push(format!("I4: {key} is sent with another body than the ledger keeps")),
            found => self.faults.push(format!("I7: {key} is sent and no attempt is recorded: {found:?}")),
        }
    }

    /// A request with files: its body is what the ledger keeps, with the contents of its files, none of which is from
    /// outside the folder; and its upload has not expired, unless an earlier attempt that named it is in doubt.
    fn with_files(&mut self, kept: &Kept, (key, in_doubt): (&str, bool), content_type: &str, body: &[u8]) {
        let wrong = kept.wrong(content_type, body, |reference| self.placed.get(reference).cloned());
        if let Some(wrong) = wrong {
            self.faults.push(format!("F1: {key} is sent with another body than the ledger keeps: {wrong}"));
        }
        if kept.files.iter().any(|(_, digest, _)| self.outside.as_ref() == Some(digest)) {
            self.faults.push(format!("F2: {key} sends a file from outside the folder"));
        }
        if let Some(reference) = &kept.reference
            && *self.named.entry(reference.clone()).or_insert(kept.request) != kept.request
        {
            self.faults.push(format!("F6: {key} names the upload of another request"));
        }
        let announced = kept.reference.as_ref().and_then(|reference| self.announced.get(reference));
        let age_us = announced.map_or(0, |at_us| self.clocks.service().now_us() - at_us);
        if !in_doubt && self.even && age_us > UPLOAD_AGE_MAX_US {
            self.faults.push(format!("F3: {key} names an upload that is {} s old", age_us / 1_000_000));
        }
    }

    /// Result files are in the ledger before they appear, and the files that a manifest names exist.
    fn appeared(&mut self) {
        for folder in fs::read_dir(self.out.join("results")).into_iter().flatten().flatten() {
            for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let hidden = file.file_name().to_string_lossy().starts_with('.');
                // The part without rows of a check is not in the ledger.
                let is_empty = file.file_name().to_string_lossy().starts_with("part-000000.");
                if !hidden && !is_empty && !self.parts.contains(&file.path()) {
                    self.new_part(file.path());
                }
            }
        }
        // It is asked often, and the manifest changes rarely.
        let text = fs::read(self.out.join("manifest.json")).unwrap_or_default();
        if self.manifest.as_ref().is_none_or(|(seen, _)| *seen != text) {
            self.manifest = Manifest::read(&self.out).ok().flatten().map(|manifest| (text, manifest));
        }
        let Some((_, manifest)) = &self.manifest else { return };
        self.faults.extend(manifest.accounts().err().map(|fault| format!("the manifest: {fault}")));
        self.faults.extend(under_way(manifest).map(|fault| format!("the manifest: {fault}")));
        for part in manifest.datasets.iter().flat_map(|dataset| &dataset.parts) {
            let length = fs::metadata(self.out.join(&part.path)).map(|metadata| metadata.len()).ok();
            if length != Some(part.bytes) {
                self.faults.push(format!("I8: the manifest names {}, which is {length:?} bytes long", part.path));
            }
        }
    }

    fn new_part(&mut self, file: PathBuf) {
        let name = file.strip_prefix(&self.out).expect("it is below").to_string_lossy().into_owned();
        let known = self.ledger().is_some_and(|ledger| {
            let found =
                ledger.prepare_cached("SELECT 1 FROM part WHERE path = ?1").and_then(|mut sql| sql.exists([&name]));
            found.unwrap_or(false)
        });
        if !known {
            self.faults.push(format!("I8: {name} is seen and the ledger does not have it"));
        }
        self.parts.insert(file);
        self.appeared += 1;
    }
}

/// What is wrong with a manifest of a run under way: pending and skipped rows are only counted, or, until the first
/// publication of the run, those of the run before. It is never complete, and the results are all there.
fn under_way(manifest: &Manifest) -> Option<String> {
    let rows = |kind| -> u64 {
        let parts = manifest.datasets.iter().filter(|dataset| dataset.kind == kind).flat_map(|dataset| &dataset.parts);
        parts.map(|part| part.rows).sum()
    };
    let sum = |of: fn(&CheckTotals) -> u64| manifest.totals.iter().map(of).sum::<u64>();
    let counted = (sum(|totals| totals.pending), sum(|totals| totals.skipped));
    let written = (rows(DatasetKind::Pending), rows(DatasetKind::Skipped));
    let is_expected = written == counted || manifest.under_way && written == (0, 0);
    if !is_expected || rows(DatasetKind::Results) != sum(|totals| totals.results) {
        return Some(format!("under way: {}, {written:?} rows of {counted:?} are written", manifest.under_way));
    }
    (manifest.under_way && manifest.complete).then(|| "it is complete while a run is under way".to_owned())
}
