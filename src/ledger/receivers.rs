//! The receivers of a ledger: where the service delivers to, and the secret it signs with. The body of a request names
//! the one that was the latest when its row was read.

use super::{Ledger, LedgerError, Reading};
use rusqlite::params;

/// A receiver of deliveries.
#[derive(Clone, PartialEq, Eq)]
pub struct Receiver {
    /// 1 for the first one of the ledger.
    pub number: u32,
    /// The public base URL.
    pub base: String,
    pub secret: String,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Receiver {{ {}, {}, [redacted] }}", self.number, self.base)
    }
}

impl Ledger {
    /// Records a receiver, which becomes the latest.
    pub async fn add_receiver(&self, base: String, secret: String, now_us: i64) -> Result<Receiver, LedgerError> {
        self.write(move |store| {
            let sql = "INSERT INTO receiver (base, secret, made_at) VALUES (?1, ?2, ?3)";
            store.conn.execute(sql, params![base, secret, now_us])?;
            let number = u32::try_from(store.conn.last_insert_rowid()).unwrap_or(u32::MAX);
            Ok(Receiver { number, base, secret })
        })
        .await
    }
}

impl Reading {
    /// The receivers of the ledger; the last one is the latest.
    pub fn receivers(&self) -> Result<Vec<Receiver>, LedgerError> {
        let mut select = self.conn.prepare("SELECT number, base, secret FROM receiver ORDER BY number")?;
        let found =
            select.query_map([], |row| Ok(Receiver { number: row.get(0)?, base: row.get(1)?, secret: row.get(2)? }))?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}
