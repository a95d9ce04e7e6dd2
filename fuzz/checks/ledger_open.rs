//! A damaged ledger, which is read in every way and then used to resume. It may be an error or not, but nothing panics.
//! If it cannot be opened, or belongs to another campaign, nothing is sent.
//!
//! A case that begins with SQLite's magic bytes is the file itself. Otherwise it describes damage to a ledger with a
//! request in each state. After `e`: bytes to change, each as an offset (two bytes, big-endian) and a value. After `t`:
//! the share of the file that is kept, in 256ths. After `c`: lines such as `request 2 state 99` or `delete ask 3`.

use super::stage::{AML, Stage, well};
use rescreen::{
    Error,
    client::Reply,
    ledger::{LedgerError, Reading, SentBefore},
    model::{RequestId, state::State},
    pipeline::status,
};
use rusqlite::{Connection, types::Value as Sql};
use std::{fs, path::Path, sync::OnceLock};

const BOOK: &str = "no,name,id_number\n1,Jo Vexford,8001015009087\n2,Al Vexford,8001015009087\n\
    3,Bo Vexford,1\n4,Cy Vexford,8001015009087\nragged\n5,Di Vexford,8001015009087\n";
const CLEAR: &str = r#"{"creditsUsed": 2, "results": {"match": []}}"#;
/// The most changes in one case.
const CHANGES_MAX: usize = 16;

pub fn check(data: &[u8]) {
    let stage = Stage::new(BOOK);
    let ledger = stage.ledger();
    fs::create_dir_all(ledger.parent().expect("a ledger is in a folder")).expect("the folder can be created");
    lay(&ledger, data);
    let opened = read(&ledger);
    let ran = stage.run(1, |_, _| Some(well(CLEAR)));
    if let Err(Error::Internal(fault)) = &ran.ended {
        // A readable ledger that contradicts itself may be reported as a bug. A panic of a task may not.
        assert!(!fault.contains("panicked"), "{fault}");
    }
    match opened {
        Ok(Some(campaign)) if campaign != "2026-11" => {
            assert!(ran.ended.is_err() && ran.posts.is_empty(), "sent with the ledger of campaign {campaign}");
        }
        Ok(_) | Err(LedgerError::Absent { .. }) => {}
        Err(error) => {
            assert!(ran.ended.is_err() && ran.posts.is_empty(), "sent, although it cannot be opened: {error}")
        }
    }
}

fn lay(ledger: &Path, data: &[u8]) {
    let mut file = match data {
        [b'S', b'Q', b'L', b'i', b't', b'e', b' ', ..] => data.to_vec(),
        _ => whole().to_vec(),
    };
    let size = file.len();
    match data {
        [b'e', edits @ ..] => {
            for edit in edits.chunks_exact(3).take(CHANGES_MAX) {
                file[usize::from(u16::from_be_bytes([edit[0], edit[1]])) % size] = edit[2];
            }
        }
        [b't', share, ..] => file.truncate(size * usize::from(*share) / 256),
        _ => {}
    }
    fs::write(ledger, file).expect("the ledger can be written");
    if let [b'c', lines @ ..] = data
        && let Ok(lines) = std::str::from_utf8(lines)
    {
        let conn = Connection::open(ledger).expect("an undamaged ledger can be opened");
        conn.pragma_update(None, "ignore_check_constraints", true).expect("a pragma of this connection");
        // A change that SQLite refuses is skipped.
        for line in lines.lines().take(CHANGES_MAX) {
            let _changed = change(&conn, line);
        }
    }
}

fn change(conn: &Connection, line: &str) -> Option<usize> {
    let words: Vec<&str> = line.trim().splitn(4, ' ').collect();
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match words[..] {
        ["delete", table, row] if is_name(table) => {
            conn.execute(&format!("DELETE FROM {table} WHERE rowid = ?1"), [row.parse::<i64>().ok()?]).ok()
        }
        [table, row, column, value] if is_name(table) && is_name(column) => {
            let value = match serde_json::from_str(value).ok()? {
                serde_json::Value::Null => Sql::Null,
                serde_json::Value::Bool(truth) => Sql::Integer(truth.into()),
                serde_json::Value::Number(number) => number.as_i64().map_or(Sql::Real(number.as_f64()?), Sql::Integer),
                serde_json::Value::String(text) => Sql::Text(text),
                serde_json::Value::Array(bytes) => {
                    Sql::Blob(bytes.iter().filter_map(|byte| byte.as_u64()?.try_into().ok()).collect())
                }
                serde_json::Value::Object(map) => Sql::Text(serde_json::Value::Object(map).to_string()),
            };
            let sql = format!("UPDATE {table} SET {column} = ?1 WHERE rowid = ?2");
            conn.execute(&sql, rusqlite::params![value, row.parse::<i64>().ok()?]).ok()
        }
        _ => None,
    }
}

/// Reads everything in a ledger, and returns the name of its campaign if it has one.
fn read(ledger: &Path) -> Result<Option<String>, LedgerError> {
    if let Ok(status) = status(ledger) {
        assert!(status.percent().is_none_or(|percent| (0.0..=100.0).contains(&percent)));
        assert!(status.time_left_us().is_none_or(|left| left >= 0) && status.in_doubt() <= status.sums.open());
        assert!(!status.state().as_str().is_empty());
    }
    let reading = Reading::open(ledger)?;
    drop(reading.hold_still());
    drop((reading.sums(), reading.check_uses(), reading.sources(), reading.counts(), reading.oldest_doubt_us()));
    drop(reading.new_requests(RequestId(0), 10));
    for state in State::ALL {
        drop(reading.sent_before(SentBefore { state, is_refused: false }, 0, u64::MAX, 10));
    }
    drop(reading.retryable(RequestId(0), 10));
    for part in reading.parts().unwrap_or_default() {
        drop(reading.part_asks(&part, None, |_| Ok::<(), LedgerError>(())));
    }
    let asks = [
        reading.failed_asks(|_| Ok::<(), LedgerError>(())),
        reading.pending_asks(|_| Ok::<(), LedgerError>(())),
        reading.skipped_asks(|_| Ok::<(), LedgerError>(())),
    ];
    drop(asks);
    Ok(reading.identity().ok().map(|identity| identity.campaign))
}

/// A ledger with a request in each state, with small pages, so that changing a byte has an effect. Built once.
fn whole() -> &'static [u8] {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let stage = Stage::new(BOOK);
        let said = |status: u16| Reply { status, ..well("{}") };
        let ran = stage.run(0, move |path, before| match (path, before) {
            (AML, 0) => Some(well(CLEAR)),
            (AML, 1) => Some(said(400)),
            (AML, 2) => Some(said(504)),
            (_, 0) => Some(said(202)),
            _ => None,
        });
        ran.ended.expect("the campaign is run");
        let small = stage.ledger().with_extension("small");
        let conn = Connection::open(stage.ledger()).expect("the ledger is there");
        conn.pragma_update(None, "page_size", 512).expect("a pragma of this connection");
        conn.execute("VACUUM INTO ?1", [small.to_str().expect("a path is text")]).expect("a copy can be made");
        fs::read(small).expect("the copy is there")
    })
}
