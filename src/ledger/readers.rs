//! The readers of a ledger that this process writes. A run needs about ten of them, one after another.
//! Opening a connection examines the whole schema. A connection is therefore kept when its reader is done, and the next
//! reader uses it.

use super::{LedgerError, open::open_for_reading};
use rusqlite::Connection;
use std::{
    ops::Deref,
    path::Path,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// The maximum number of connections that are kept. Each has a cache of up to 2 MiB.
const KEPT_MAX: usize = 2;

/// The connections that no reader needs at the moment.
#[derive(Default)]
pub(super) struct Readers(Mutex<Vec<Connection>>);

impl Readers {
    /// A connection for reading the ledger at `path`.
    pub(super) fn connection(self: &Arc<Self>, path: &Path) -> Result<ReaderConnection, LedgerError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = kept.map_or_else(|| open_for_reading(path), Ok)?;
        Ok(ReaderConnection { conn: Some(conn), readers: Arc::downgrade(self) })
    }

    fn keep(&self, conn: Connection) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A reader may be dropped within a transaction.
        if kept.len() < KEPT_MAX && (conn.is_autocommit() || conn.execute_batch("ROLLBACK").is_ok()) {
            kept.push(conn);
        }
    }
}

/// The connection of one reader.
pub(super) struct ReaderConnection {
    /// `Some` until it is dropped.
    conn: Option<Connection>,
    /// Where the connection is kept afterwards.
    readers: Weak<Readers>,
}

impl ReaderConnection {
    /// A connection that is closed when its reader is dropped.
    pub(super) fn alone(conn: Connection) -> ReaderConnection {
        ReaderConnection { conn: Some(conn), readers: Weak::new() }
    }
}

impl Deref for ReaderConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn.as_ref().expect("it is only taken when it is dropped")
    }
}

#[cfg(test)]
impl std::ops::DerefMut for ReaderConnection {
    fn deref_mut(&mut self) -> &mut Connection {
        self.conn.as_mut().expect("it is only taken when it is dropped")
    }
}

impl Drop for ReaderConnection {
    fn drop(&mut self) {
        if let (Some(readers), Some(conn)) = (self.readers.upgrade(), self.conn.take()) {
            readers.keep(conn);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ledger::{CommitMode, Ledger, LedgerError, for_tests::identity};

    fn ledger(folder: &tempfile::TempDir) -> Ledger {
        let path = folder.path().join("ledger.sqlite");
        Ledger::open(&path, &identity(), CommitMode::Inline, 1).unwrap()
    }

    #[test]
    fn a_connection_is_used_by_the_next_reader_without_the_transaction_of_the_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(&folder);
        let first = ledger.reading().unwrap();
        first.conn.execute_batch("CREATE TEMP TABLE mark (n)").unwrap_err();
        first.conn.pragma_update(None, "cache_size", -77).unwrap();
        first.hold_still().unwrap();
        drop(first);
        let second = ledger.reading().unwrap();
        let cache: i64 = second.conn.pragma_query_value(None, "cache_size", |row| row.get(0)).unwrap();
        assert_eq!(cache, -77, "it is the same connection");
        assert!(second.conn.is_autocommit());
        let other = ledger.reading().unwrap();
        let cache: i64 = other.conn.pragma_query_value(None, "cache_size", |row| row.get(0)).unwrap();
        assert_eq!(cache, -2_048, "two readers at once have two connections");
    }

    #[test]
    fn the_writer_closes_the_last_connection_and_removes_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(&folder);
        drop(ledger.reading().unwrap());
        let log = folder.path().join("ledger.sqlite-wal");
        assert!(log.exists());
        drop(ledger);
        assert!(!log.exists());
    }

    #[test]
    fn a_ledger_that_was_replaced_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(&folder);
        drop(ledger.reading().unwrap());
        std::fs::rename(folder.path().join("ledger.sqlite"), folder.path().join("moved")).unwrap();
        assert!(matches!(ledger.reading(), Err(LedgerError::Gone { .. })));
    }
}
