//! Reads the program's ledger with plain SQL and without the program's code: charges and the state of each row's
//! request.

use rusqlite::{Connection, OpenFlags, types::ValueRef};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};

/// A request in the ledger. In [`Ledger::rows`] it has the number of its input row.
#[derive(Debug, Clone, PartialEq)]
pub struct Fate {
    pub id: i64,
    pub state: &'static str,
    pub held: u64,
    pub charged: u64,
    pub possibly_charged: bool,
    /// The code of its failure, or empty.
    pub code: String,
    pub message: String,
    /// Empty if there is no answer.
    pub verdict: String,
    pub finding: String,
    pub attempts: u32,
}

impl Fate {
    pub fn is_settled(&self) -> bool {
        matches!(self.state, "answered" | "failed")
    }
}

#[derive(Debug)]
pub struct Ledger {
    pub rows: BTreeMap<u32, Fate>,
    pub sums: Value,
    /// Attempts that were armed and never written.
    pub not_written: usize,
    blobs: Vec<Vec<u8>>,
}

impl Ledger {
    pub fn read(path: &Path) -> Ledger {
        let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        conn.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
        let sums: String = conn.query_row("SELECT sums FROM campaign", [], |row| row.get(0)).unwrap();
        let sql = "SELECT count(*) FROM attempt WHERE outcome = 'not_written'";
        let not_written = conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().try_into().unwrap();
        Ledger { rows: fates(&conn), sums: serde_json::from_str(&sums).unwrap(), not_written, blobs: blobs(&conn) }
    }

    /// The sum charged, according to the rows.
    pub fn charged(&self) -> u64 {
        self.rows.values().map(|fate| fate.charged).sum()
    }

    /// The sum held, according to the rows.
    pub fn held(&self) -> u64 {
        self.rows.values().map(|fate| fate.held).sum()
    }

    pub fn in_state(&self, state: &str) -> usize {
        self.rows.values().filter(|fate| fate.state == state).count()
    }

    pub fn settled(&self) -> usize {
        self.rows.values().filter(|fate| fate.is_settled()).count()
    }

    #[track_caller]
    pub fn row(&self, row: u32) -> &Fate {
        self.rows.get(&row).unwrap_or_else(|| panic!("no request for row {row} in {:?}", self.rows))
    }

    /// Whether these raw bytes are kept in the ledger, compressed or not.
    pub fn keeps(&self, raw: &[u8]) -> bool {
        self.blobs.iter().any(|blob| blob.windows(raw.len()).any(|part| part == raw))
    }
}

fn fates(conn: &Connection) -> BTreeMap<u32, Fate> {
    let sql =
        "SELECT id, fields, state, held, charged, possibly_charged, failure, verdict, finding, attempts FROM request";
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let fields: String = row.get(1)?;
        let failure: Option<String> = row.get(6)?;
        let failure: Value = failure.map_or(Value::Null, |failure| serde_json::from_str(&failure).unwrap());
        let text = |name: &str| failure[name].as_str().unwrap_or_default().to_owned();
        let fate = Fate {
            id: row.get(0)?,
            state: state(row.get(2)?),
            held: row.get::<_, i64>(3)?.try_into().unwrap(),
            charged: row.get::<_, i64>(4)?.try_into().unwrap(),
            possibly_charged: row.get(5)?,
            code: text("code"),
            message: text("message"),
            verdict: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
            finding: row.get::<_, Option<String>>(8)?.unwrap_or_default(),
            attempts: row.get(9)?,
        };
        Ok((super::server::row_of(&fields), fate))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// The numbers of the states, as the ledger's schema has them.
fn state(code: i64) -> &'static str {
    match code {
        0 => "planned",
        1 => "armed",
        2 => "in_doubt",
        3 => "repeating",
        4 => "submitted",
        10 => "answered",
        11 => "failed",
        12 => "quarantined",
        _ => "another",
    }
}

/// Every text and every blob of every table; zstd blobs are decompressed.
fn blobs(conn: &Connection) -> Vec<Vec<u8>> {
    let mut names = conn.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut found = Vec::new();
    for name in names {
        let mut statement = conn.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                match row.get_ref(column).unwrap() {
                    ValueRef::Blob(bytes) => {
                        found.push(zstd::stream::decode_all(bytes).unwrap_or_else(|_| bytes.to_vec()));
                    }
                    ValueRef::Text(bytes) => found.push(bytes.to_vec()),
                    _ => {}
                }
            }
        }
    }
    found
}
