//! What the charge book was not told yet. Each change of a request that the book should know marks it, in the transaction that
//! changes it, and counts its revisions.

use super::{Ledger, LedgerError, store::Store};
use crate::model::RequestId;
use rusqlite::Connection;

impl Ledger {
    /// From now on, the ledger keeps what the charge book is to be told. It belongs to this partition of its campaign.
    pub async fn share(&self, partition: String) -> Result<(), LedgerError> {
        self.write(move |store| {
            if store.sums.partition.is_some() {
                return Ok(());
            }
            store.sums.partition = Some(partition);
            all_untold(&store.conn)
        })
        .await
    }

    /// The book is another one, or may have lost what it was told. `place` names the book and its timeline. These requests
    /// are claimed, and told once they are armed.
    pub async fn tell_again(&self, place: String, claimed: Vec<RequestId>) -> Result<(), LedgerError> {
        self.write(move |store| {
            store.sums.book = Some(place);
            for RequestId(request) in claimed {
                let sql = "INSERT OR IGNORE INTO untold (request) VALUES (?1)";
                store.conn.prepare_cached(sql)?.execute([request])?;
            }
            all_untold(&store.conn)
        })
        .await
    }

    /// A request that was claimed is not armed after all, and the book is to be told.
    pub async fn not_armed(&self, request: RequestId) -> Result<(), LedgerError> {
        self.write(move |store| {
            // The line is ours since it was claimed, and the claim was one revision.
            let sql = "UPDATE request SET elsewhere = 0, revision = revision + 1 WHERE id = ?1";
            store.conn.prepare_cached(sql)?.execute([request.0])?;
            untold(store, request.0)
        })
        .await
    }

    /// The book was told these changes.
    pub async fn told(&self, changes: Vec<i64>) -> Result<(), LedgerError> {
        self.write(move |store| {
            for change in changes {
                store.conn.prepare_cached("DELETE FROM untold WHERE change = ?1")?.execute([change])?;
            }
            Ok(())
        })
        .await
    }
}

/// Marks a request that has changed, if the book is told of changes.
pub(super) fn untold(store: &Store, request: i64) -> Result<(), LedgerError> {
    if store.sums.partition.is_some() {
        let sql = "UPDATE request SET revision = revision + 1 WHERE id = ?1 AND elsewhere = 0 RETURNING id";
        if store.conn.prepare_cached(sql)?.exists([request])? {
            store.conn.prepare_cached("INSERT OR REPLACE INTO untold (request) VALUES (?1)")?.execute([request])?;
        }
    }
    Ok(())
}

/// Marks everything that the book should have.
fn all_untold(conn: &Connection) -> Result<(), LedgerError> {
    let sql = "UPDATE request SET revision = 1 WHERE revision = 0 AND (attempts > 0 OR charged > 0) AND elsewhere = 0";
    conn.execute(sql, [])?;
    let sql = "INSERT OR IGNORE INTO untold (request) SELECT id FROM request
               WHERE (attempts > 0 OR charged > 0) AND elsewhere = 0";
    conn.execute(sql, [])?;
    Ok(())
}
