//! For tests of what a publication costs: a ledger with many rows, made at once, and the steps that its statements take.

use super::{
    CheckUseRow, CommitMode, Fate, Identity, IngestedAsk, IngestedRow, IngestedSplit, Ledger, Reading, check_sums,
    recount, rows::compress_rows, store::Store,
};
use crate::model::{Checkpoint, IdempotencyKey, Mode, state::State};
use rusqlite::{Connection, params};
use std::{cell::Cell, path::Path};

thread_local! {
    /// The steps of all statements on this thread whose connections are counted.
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// The identity of a ledger of tests.
pub fn identity() -> Identity {
    Identity {
        campaign: "one".to_owned(),
        mode: Mode::Production,
        origin: "https://service.example".to_owned(),
        moved_from: None,
        key_secret: None,
    }
}

/// A ledger with this many requests of one check. The same content has the same key in each of them.
pub async fn of_requests(path: &Path, count: u8) -> Ledger {
    const CHECK: &str = "aml-screening";
    let ledger = Ledger::open(path, &identity(), CommitMode::Inline, 1).unwrap();
    let check = CheckUseRow { name: CHECK.to_owned(), check: CHECK.to_owned(), layout: "{}".to_owned() };
    let check_use = ledger.check_uses(vec![check]).await.unwrap()[0];
    let source = ledger.sources(vec!["book.csv".to_owned()]).await.unwrap()[0];
    let ask = |place: u8| IngestedAsk {
        row_index: place.into(),
        check_use: Some(check_use),
        fate: Fate::Request {
            key: IdempotencyKey::from_slice(&[place; 16]).unwrap(),
            check: CHECK.to_owned(),
            fields: "{}".to_owned(),
            body: vec![b'{', b'0' + place, b'}'],
            expected: None,
            files: Vec::new(),
        },
    };
    let row = |row: u64| {
        let (row_number, line) = (row, row);
        IngestedRow { row_number, line, byte_offset: 0, subject: None, input: serde_json::json!({}) }
    };
    let rows: Vec<IngestedRow> = (1..=count.into()).map(row).collect();
    let next = rows.len() as u64 + 1;
    let end = Checkpoint { end_offset: 10 * next, end_line: next, next_row_number: next, sha256: [0; 32] };
    ledger.ingest(IngestedSplit { source, rows, asks: (0..count).map(ask).collect(), end }, 1).unwrap();
    ledger
}

/// The steps so far.
pub fn steps() -> u64 {
    STEPS.get()
}

fn count_steps(conn: &mut Connection) {
    let count = || {
        STEPS.set(STEPS.get() + 1);
        false
    };
    conn.progress_handler(1, Some(count)).unwrap();
}

impl Reading {
    /// From now on, its statements are counted.
    pub fn count_steps(&mut self) {
        count_steps(&mut self.conn);
    }
}

/// The rows of a split.
const SPLIT_ROWS: u64 = 1_000;

impl Ledger {
    /// Adds rows to an empty ledger with one check: of three rows one is skipped, and two are pending. From then on,
    /// its statements are counted.
    pub fn fill_for_tests(&self, rows: u64, layout: &str) {
        let layout = layout.to_owned();
        let fill = move |store: &mut Store| {
            let (conn, number) = (&store.conn, |number: u64| number as i64);
            let sql =
                "INSERT INTO check_use (id, name, check_name, layout) VALUES (1, 'aml-screening', 'aml-screening', ?1)";
            conn.execute(sql, [&layout])?;
            conn.execute("INSERT INTO source (id, name) VALUES (1, 'book.csv')", [])?;
            let row = |row_number| IngestedRow {
                row_number,
                line: row_number + 1,
                byte_offset: row_number,
                subject: None,
                input: serde_json::json!({ "name": "A" }),
            };
            for split in 0..rows.div_ceil(SPLIT_ROWS) {
                let (first, end) = (split * SPLIT_ROWS, rows.min((split + 1) * SPLIT_ROWS));
                let records = compress_rows(&(first + 1..=end).map(row).collect::<Vec<_>>());
                let sql = "INSERT INTO split (id, source, rows, end_offset, end_line, next_row_number, sha256, records,
                           ingested_at) VALUES (?1, 1, ?2, ?3, ?4, ?5, zeroblob(32), ?6, 0)";
                let values = params![
                    number(split + 1),
                    number(end - first),
                    number(end),
                    number(end + 2),
                    number(end + 1),
                    records
                ];
                conn.execute(sql, values)?;
            }
            let numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";
            let sql = format!(
                "{numbers} INSERT INTO request (id, first_key, check_name, first_ask, fields, body, digest)
                 SELECT i, randomblob(16), 'aml-screening', i, '{{\"name\":\"A\"}}', x'7b7d', randomblob(16) FROM n
                 WHERE i % 3 <> 0"
            );
            conn.execute(&sql, [number(rows)])?;
            let sql = format!(
                "{numbers} INSERT INTO ask (id, split, row_index, check_use, request, skipped)
                 SELECT i, (i - 1) / {SPLIT_ROWS} + 1, (i - 1) % {SPLIT_ROWS}, 1, iif(i % 3 = 0, NULL, i),
                        iif(i % 3 = 0, 'when', NULL) FROM n"
            );
            conn.execute(&sql, [number(rows)])?;
            store.sums = recount::recounted(&store.conn, None)?;
            store.next_ask = rows as i64 + 1;
            count_steps(&mut store.conn);
            Ok(())
        };
        self.write_blocking(fill).unwrap();
    }

    /// Answers this many pending requests.
    pub fn answer_for_tests(&self, requests: u64) {
        let requests = requests as i64;
        let answer = move |store: &mut Store| {
            let conn = &store.conn;
            let answered = "SELECT id FROM request WHERE state = 0 ORDER BY id LIMIT ?1";
            let body = super::compression::compress(b"{}", super::compression::Level::Answer);
            let sql = format!(
                "INSERT INTO answer (request, http_status, latency_ms, requested_at, completed_at, body)
                 SELECT id, 200, 1, 1, 2, ?2 FROM ({answered})"
            );
            conn.execute(&sql, params![requests, body])?;
            conn.execute(&format!("INSERT INTO unpublished SELECT id FROM ({answered})"), [requests])?;
            let sql = format!(
                "UPDATE request SET state = {}, attempts = 1, first_armed_at = 1, verdict = 'review', finding = 'x'
                 WHERE id IN ({answered})",
                State::Answered.code()
            );
            conn.execute(&sql, [requests])?;
            store.sums.checks = check_sums::recounted(&store.conn)?;
            Ok(())
        };
        self.write_blocking(answer).unwrap();
    }
}
