//! The schema of a ledger. The file is untrusted data, because others may have changed it. This module decides what is
//! accepted as a ledger: its schema must be exactly that of `schema.sql`, so that no foreign trigger or view ever runs.

use super::{LedgerError, SCHEMA_VERSION};
use rusqlite::{Connection, OptionalExtension, Row};
use std::{path::PathBuf, sync::OnceLock};

/// The tables and indexes.
const SCHEMA: &str = include_str!("schema.sql");

/// The maximum number of schema objects that are compared. Our schema has far fewer.
const OBJECTS_MAX: usize = 200;

/// Type, name, table and definition of a schema object.
type Object = (String, String, String, String);

/// What a database file contains, by its version and its schema.
pub(super) enum Found {
    /// Nothing: the first commit was never made.
    Nothing,
    Ledger,
}

/// Examines the schema of an open file.
///
/// # Errors
/// It is a ledger of another version, or its schema is not ours.
pub(super) fn examine(conn: &Connection) -> Result<Found, LedgerError> {
    // One state for all queries, which also saves the locks of each.
    let _one_state = conn.unchecked_transaction()?;
    let version: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let found = schema_of(conn)?;
    match version {
        0 if found.is_empty() => return Ok(Found::Nothing),
        0 => return Err(LedgerError::Damaged("it is the database of another program".to_owned())),
        SCHEMA_VERSION => {}
        found => {
            let path = PathBuf::from(conn.path().unwrap_or_default());
            return Err(LedgerError::Version { path, found, program: program_of(conn) });
        }
    }
    let ours = schema();
    if found == *ours {
        bounded(conn)?;
        return Ok(Found::Ledger);
    }
    let added = found.iter().find(|object| !ours.contains(object));
    let gone = ours.iter().find(|object| !found.contains(object));
    Err(LedgerError::Damaged(match (added, gone) {
        (Some((kind, name, ..)), _) => {
            let article = if kind == "index" { "an" } else { "a" };
            format!("it has {article} {kind} `{name}` that no release of rescreen creates")
        }
        (None, Some((kind, name, ..))) => format!("its {kind} `{name}` is missing"),
        (None, None) => "its schema differs".to_owned(),
    }))
}

/// Refuses tables that are larger than a campaign can make them, because these tables are read whole. They have one row
/// for each check, each declaration of a check, each input file, each 4 MiB of input and each 50,000 results, and a few
/// short texts about the campaign.
fn bounded(conn: &Connection) -> Result<(), LedgerError> {
    const ROWS_MAX: i64 = 1_000_000;
    const TOTAL_BYTES_MAX: i64 = 64 << 20;
    for (table, bytes, row_bytes_max) in [
        ("campaign", "octet_length(sums) + coalesce(octet_length(settings), 0)", 4 << 20),
        ("check_use", "octet_length(name) + octet_length(check_name) + octet_length(layout)", 1 << 20),
        ("source", "octet_length(name) + coalesce(octet_length(layout), 0)", 2 << 20),
        ("split", "octet_length(sha256)", 64),
        (
            "part",
            "octet_length(path) + coalesce(octet_length(sha256), 0) + coalesce(octet_length(verdicts), 0)",
            8 << 10,
        ),
        ("rules", "octet_length(text)", 4 << 20),
        ("current_rules", "octet_length(check_name)", 1 << 20),
        ("compared", "8", 8),
        ("answers_of_part", "octet_length(sha256)", 64),
        ("dictionary", "octet_length(check_name) + octet_length(text)", 1 << 20),
    ] {
        let sql = format!(
            "SELECT count(*), coalesce(sum(n), 0), coalesce(max(n), 0) FROM (SELECT {bytes} AS n FROM {table} LIMIT ?1)"
        );
        let counted = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
        let (rows, total_bytes, most_bytes) = conn.query_row(&sql, [ROWS_MAX + 1], counted)?;
        if rows > ROWS_MAX || total_bytes > TOTAL_BYTES_MAX || most_bytes > row_bytes_max {
            let fault = format!("its table `{table}` has more data than a campaign can produce");
            return Err(LedgerError::Damaged(fault));
        }
    }
    Ok(())
}

/// The version of rescreen that last used a ledger of a later version, as far as it can be found.
fn program_of(conn: &Connection) -> Option<String> {
    let sql = "SELECT substr(program, 1, 41) FROM run ORDER BY id DESC LIMIT 1";
    let program: String = conn.query_row(sql, [], |row| row.get(0)).optional().ok()??;
    let is_plain = program.len() <= 40 && program.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
    (is_plain && !program.is_empty()).then_some(program)
}

/// Our schema. It is made by SQLite itself, once.
fn schema() -> &'static [Object] {
    static MADE: OnceLock<Vec<Object>> = OnceLock::new();
    MADE.get_or_init(|| made().expect("our own schema is valid"))
}

fn made() -> Result<Vec<Object>, LedgerError> {
    let conn = Connection::open_in_memory()?;
    conn.execute_batch(SCHEMA)?;
    schema_of(&conn)
}

/// Creates the tables in an empty database, and records the version.
pub(super) fn create(conn: &Connection) -> Result<(), LedgerError> {
    conn.execute_batch(SCHEMA)?;
    Ok(conn.pragma_update(None, "user_version", SCHEMA_VERSION)?)
}

fn schema_of(conn: &Connection) -> Result<Vec<Object>, LedgerError> {
    let sql = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name LIMIT ?1";
    let mut select = conn.prepare(sql)?;
    let found =
        select.query_map([OBJECTS_MAX as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(change: &str) -> Result<(), String> {
        let conn = Connection::open_in_memory().unwrap();
        create(&conn).unwrap();
        conn.execute_batch(change).unwrap();
        examine(&conn).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_schema_that_is_not_ours_is_damage_and_is_named() {
        assert_eq!(changed(""), Ok(()));
        for (change, named) in [
            ("CREATE TRIGGER evil AFTER UPDATE ON request BEGIN DELETE FROM attempt; END", "a trigger `evil`"),
            ("CREATE VIEW evil AS SELECT 1", "a view `evil`"),
            (
                "DROP TABLE campaign; CREATE VIEW campaign AS SELECT printf('%.*c', 900000000, 'x') AS sums",
                "a view `campaign`",
            ),
            ("CREATE INDEX more ON ask (row_index)", "an index `more`"),
            ("DROP INDEX ask_failed", "its index `ask_failed` is missing"),
            ("ALTER TABLE part ADD COLUMN more TEXT", "a table `part`"),
            ("PRAGMA user_version = 0", "the database of another program"),
            ("PRAGMA user_version = 99", "schema version 99, made by a later release of rescreen;"),
            (
                "INSERT INTO run (command, program, started_by, started_at) VALUES ('run', '0.9.2', 'n', 1); PRAGMA user_version = 99",
                "schema version 99, made by rescreen 0.9.2;",
            ),
            (
                "INSERT INTO run (command, program, started_by, started_at) VALUES ('run', 'a later\none', 'n', 1);
                 PRAGMA user_version = 99",
                "made by a later release of rescreen;",
            ),
        ] {
            let error = changed(change).unwrap_err();
            assert!(error.contains(named), "{change}: {error}");
        }
    }

    #[test]
    fn a_table_that_is_read_whole_has_a_million_rows_at_most() {
        let parts = "INSERT INTO part (check_use, first_ask, last_ask, rows, path)
                     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= 1000000)
                     SELECT 1, 1, 1, 1, '' FROM n";
        let error = changed(parts).unwrap_err();
        assert!(error.contains("`part` has more data than a campaign can produce"), "{error}");
    }

    #[test]
    fn a_row_of_a_table_that_is_read_whole_may_have_8_kib_and_not_a_byte_more() {
        let part_of = |bytes: usize| {
            let path = "x".repeat(bytes);
            changed(&format!(
                "INSERT INTO part (check_use, first_ask, last_ask, rows, path) VALUES (1, 1, 1, 1, '{path}')"
            ))
        };
        assert_eq!(part_of(8 << 10), Ok(()));
        let error = part_of((8 << 10) + 1).unwrap_err();
        assert!(error.contains("`part` has more data"), "{error}");
    }
}
