//! Opening the database file of a ledger. The file is untrusted data, because others may have changed it. This module
//! decides what is accepted as a ledger: its files must be regular files that only their owner can change, and its
//! schema must be exactly that of `schema.sql` and
//! `schema_7.sql`, so that no foreign trigger or view ever runs.

use super::{
    LedgerError, SCHEMA_VERSION, UPGRADED_VERSION,
    lock::{lock_path, log_is_alone, log_path, rollback_path, shared_memory_path},
};
use crate::files::{self, Access, Links, access, other_writers_in};
use rusqlite::{
    Connection, OpenFlags, Row,
    config::DbConfig::{
        SQLITE_DBCONFIG_DEFENSIVE, SQLITE_DBCONFIG_ENABLE_QPSG, SQLITE_DBCONFIG_ENABLE_TRIGGER,
        SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_TRUSTED_SCHEMA,
    },
    limits::Limit,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The maximum size of one value of a ledger, in bytes: an answer of 32 MiB that does not compress, or a split of 4 MiB
/// with a row of 16 MiB.
const VALUE_BYTES_MAX: i32 = 40 << 20;

/// The tables of version 6, which this version did not change.
pub(super) const SCHEMA: &str = include_str!("schema.sql");
/// The tables that version 7 adds.
pub(super) const ADDITIONS: &str = include_str!("schema_7.sql");

/// The maximum number of schema objects that are compared. Our schema has far fewer.
const OBJECTS_MAX: usize = 200;

/// Type, name, table and definition of a schema object.
type Object = (String, String, String, String);

/// Connects to an existing ledger file.
pub(super) fn connect(path: &Path) -> Result<Connection, LedgerError> {
    check_files(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(without_links(path)?, flags)?;
    conn.set_db_config(SQLITE_DBCONFIG_DEFENSIVE, true)?;
    for switch in [SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW] {
        conn.set_db_config(switch, false)?;
    }
    // Without it, SQLite plans a statement again each time a LIMIT is bound, which took a fifth of the time of a run.
    conn.set_db_config(SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    Ok(conn)
}

/// What a database file contains, by its version and its schema.
pub(super) enum Found {
    /// Nothing: the first commit was never made.
    Nothing,
    Ledger,
    /// A ledger of the version before, without the tables that this version adds.
    Older,
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
        SCHEMA_VERSION | UPGRADED_VERSION => {}
        found => return Err(LedgerError::Version { found }),
    }
    let is_older = version == UPGRADED_VERSION;
    let ours = if is_older { older_schema() } else { our_schema() };
    if found == *ours {
        return bounded(conn, is_older).map(|()| if is_older { Found::Older } else { Found::Ledger });
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
fn bounded(conn: &Connection, is_older: bool) -> Result<(), LedgerError> {
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
    ] {
        if is_older && ["rules", "current_rules", "compared"].contains(&table) {
            continue;
        }
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

fn our_schema() -> &'static Vec<Object> {
    static OURS: OnceLock<Vec<Object>> = OnceLock::new();
    OURS.get_or_init(|| made_of(&[SCHEMA, ADDITIONS]))
}

fn older_schema() -> &'static Vec<Object> {
    static OLDER: OnceLock<Vec<Object>> = OnceLock::new();
    OLDER.get_or_init(|| made_of(&[SCHEMA]))
}

fn made_of(texts: &[&str]) -> Vec<Object> {
    let made = || -> Result<Vec<Object>, LedgerError> {
        let conn = Connection::open_in_memory()?;
        texts.iter().try_for_each(|text| conn.execute_batch(text))?;
        schema_of(&conn)
    };
    made().expect("our own schema is valid")
}

/// Gives a reader of an older ledger the tables that this version adds, empty and in memory. The file is not changed.
pub(super) fn imitate_additions(conn: &Connection) -> Result<(), LedgerError> {
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(conn.execute_batch(&ADDITIONS.replace("CREATE TABLE", "CREATE TEMP TABLE"))?)
}

fn schema_of(conn: &Connection) -> Result<Vec<Object>, LedgerError> {
    let sql = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name LIMIT ?1";
    let mut select = conn.prepare(sql)?;
    let found =
        select.query_map([OBJECTS_MAX as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// The path with the symbolic links of its folders resolved. SQLite refuses a link anywhere in the path, but only a
/// link in the last part could lead to another file.
fn without_links(path: &Path) -> Result<PathBuf, LedgerError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).map_err(|source| LedgerError::Open { path: path.to_owned(), source })?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}

/// Refuses ledger files that are not regular files, or that another user can change.
fn check_files(ledger: &Path) -> Result<(), LedgerError> {
    // A ledger uses a write-ahead log. SQLite would still apply a rollback journal that another program put next to it.
    let journal = rollback_path(ledger);
    if fs::symlink_metadata(&journal).is_ok() {
        let found = "a rollback journal, which a ledger never has; move it away".to_owned();
        return Err(LedgerError::NotPrivate { path: journal, found });
    }
    if let Some(other_writers) = other_writers_in(ledger.parent().unwrap_or(Path::new(""))) {
        let found = format!("that {other_writers}; restrict the folder to your user (`chmod 700`)");
        return Err(LedgerError::NotPrivate { path: ledger.to_owned(), found });
    }
    // Checked before opening, because SQLite removes the log of an empty database.
    if log_is_alone(ledger) {
        return Err(LedgerError::LogAlone { path: log_path(ledger) });
    }
    if !is_log_or_empty(&log_path(ledger)) {
        let found = "a file that is not the write-ahead log of a ledger; move it away".to_owned();
        return Err(LedgerError::NotPrivate { path: log_path(ledger), found });
    }
    for path in [ledger.to_owned(), log_path(ledger), shared_memory_path(ledger), lock_path(ledger)] {
        let failed = |source| LedgerError::Open { path: path.clone(), source };
        files::check(&path, Links::Refused).map_err(failed)?;
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let Access { other_owner, others_write, others_read, .. } = access(&metadata);
        let refused = |found: String| Err(LedgerError::NotPrivate { path: path.clone(), found });
        match other_owner {
            Some(owner) => {
                return refused(format!("a file of user id {owner}; run as that user, or copy it"));
            }
            None if others_write => {
                return refused("a file that others can change; restrict it to your user (`chmod 600`)".to_owned());
            }
            None if others_read => {
                let path = path.display();
                tracing::warn!("{path} contains personal data and can be read by others: restrict it (`chmod 600`)");
            }
            None => {}
        }
    }
    Ok(())
}

/// Whether a log starts with the magic number of SQLite, or with zeros, which a power loss leaves. SQLite would empty
/// any other file with that name.
fn is_log_or_empty(log: &Path) -> bool {
    const BEGINS: [[u8; 4]; 3] = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83], [0; 4]];
    let begins = files::open(log, Links::Refused).and_then(|mut file| {
        let mut bytes = [0; 4];
        io::Read::read_exact(&mut file, &mut bytes).map(|()| bytes)
    });
    match begins {
        Ok(bytes) => BEGINS.contains(&bytes),
        // Missing, or too short to contain anything. A file that cannot be opened is refused with the other files.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(change: &str) -> Result<(), String> {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(SCHEMA).and_then(|()| conn.execute_batch(ADDITIONS)).unwrap();
        conn.pragma_update(None, "user_version", SCHEMA_VERSION).unwrap();
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
            ("PRAGMA user_version = 1", "schema version 1"),
        ] {
            let error = changed(change).unwrap_err();
            assert!(error.contains(named), "{change}: {error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_beside_the_ledger_that_others_can_change_is_refused_and_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.sqlite");
        fs::write(&ledger, "a ledger").unwrap();
        for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.lock"] {
            let path = folder.path().join(name);
            let allow = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            drop(files::open_private(&path).unwrap());
            check_files(&ledger).unwrap();
            allow(0o666);
            let error = check_files(&ledger).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("others can change"), "{name}: {error}");
            allow(0o600);
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
