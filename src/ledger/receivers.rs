//! The receivers of a ledger: where the service delivers to, and the secret it signs with. The body of a request names
//! the one that was the latest when its row was read.

use super::{Ledger, LedgerError, Reading};
use rusqlite::params;

/// A receiver of deliveries.
#[derive(Clone, PartialEq, Eq)]
pub struct Receiver {
    /// Identifies it, as part of the URL that the service delivers to.
    pub id: String,
    /// The public base URL.
    pub base: String,
    pub secret: String,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Receiver {{ {}, {}, [redacted] }}", self.id, self.base)
    }
}

impl Ledger {
    /// Records a receiver, which becomes the latest.
    pub async fn add_receiver(&self, receiver: Receiver, now_us: i64) -> Result<(), LedgerError> {
        self.write(move |store| {
            let sql = "INSERT INTO receiver (id, base, secret, made_at) VALUES (?1, ?2, ?3, ?4)";
            store.conn.execute(sql, params![receiver.id, receiver.base, receiver.secret, now_us])?;
            Ok(())
        })
        .await
    }
}

impl Reading {
    /// The receivers of the ledger; the last one is the latest.
    pub fn receivers(&self) -> Result<Vec<Receiver>, LedgerError> {
        let mut select = self.conn.prepare("SELECT id, base, secret FROM receiver ORDER BY number")?;
        let found =
            select.query_map([], |row| Ok(Receiver { id: row.get(0)?, base: row.get(1)?, secret: row.get(2)? }))?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}
