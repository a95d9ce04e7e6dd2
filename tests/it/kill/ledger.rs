//! The ledger as plain SQL over a copy of its files, without the program's reader and without touching what the next
//! run finds. A copy of the database with its log is what a backup would contain.

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// The state of one request in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The catalogue name of its check.
    pub check: String,
    pub state: i64,
    pub charged: u64,
    pub held: u64,
    pub attempts: u64,
}

/// State codes as the schema has them.
pub const ARMED: i64 = 1;
pub const SUBMITTED: i64 = 4;
pub const ANSWERED: i64 = 10;
pub const FAILED: i64 = 11;

/// The contents of the copy.
#[derive(Debug, Default)]
pub struct Ledger {
    /// By idempotency key.
    pub requests: BTreeMap<String, Request>,
    /// The sums that the program stores.
    pub sums: Value,
    pub attempts: u64,
    pub rows: u64,
    /// Different ids of jobs.
    pub jobs: usize,
    /// How often a reply about a job left it open, and how many jobs have ended.
    pub asked: u64,
    pub jobs_ended: u64,
    pub splits: u64,
}

impl Ledger {
    /// Reads a copy. `None` where there is no ledger, or its first commit never happened.
    pub fn read(path: &Path) -> Option<Ledger> {
        let folder = tempfile::tempdir().expect("there is room for a copy");
        let copy = folder.path().join("ledger.sqlite");
        fs::copy(path, &copy).ok()?;
        let log = path.with_file_name("ledger.sqlite-wal");
        if log.exists() {
            fs::copy(&log, folder.path().join("ledger.sqlite-wal")).expect("the log is copied");
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&copy, flags).expect("a copy can be opened");
        let sums: String = conn.query_row("SELECT sums FROM campaign", [], |row| row.get(0)).ok()?;
        let number = |sql| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a number").unsigned_abs();
        Some(Ledger {
            requests: requests(&conn),
            sums: serde_json::from_str(&sums).expect("the sums are JSON"),
            attempts: number("SELECT coalesce(sum(attempts), 0) FROM request"),
            jobs: usize::try_from(number("SELECT count(DISTINCT job_id) FROM job")).expect("a count"),
            asked: number("SELECT coalesce(sum(polls), 0) FROM job"),
            jobs_ended: number("SELECT count(*) FROM job WHERE poll_at IS NULL"),
            rows: number("SELECT coalesce(sum(rows), 0) FROM split"),
            splits: number("SELECT count(*) FROM split"),
        })
    }

    pub fn in_state(&self, state: i64) -> usize {
        self.requests.values().filter(|request| request.state == state).count()
    }

    pub fn charged(&self) -> u64 {
        self.requests.values().map(|request| request.charged).sum()
    }

    pub fn held(&self) -> u64 {
        self.requests.values().map(|request| request.held).sum()
    }

    /// A number of the program's sums.
    pub fn sum(&self, pointer: &str) -> u64 {
        self.sums.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
    }
}

fn requests(conn: &Connection) -> BTreeMap<String, Request> {
    let sql = "SELECT lower(hex(coalesce(key, first_key))), state, charged, held, attempts, check_name FROM request";
    let mut select = conn.prepare(sql).expect("the ledger has requests");
    let rows = select.query_map([], |row| {
        let number = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
        let (check, state) = (row.get(5)?, row.get(1)?);
        let request = Request { check, state, charged: number(2)?, held: number(3)?, attempts: number(4)? };
        Ok((row.get(0)?, request))
    });
    rows.and_then(Iterator::collect).expect("the ledger's requests can be read")
}
