//! Asks whose matches a person accepted before. They are recorded before their part is written, so that it can be written again
//! byte for byte without the file of decisions.

use super::{Ledger, LedgerError, Reading, amount::Amounts};
use crate::model::DecisionsHead;
use rusqlite::{OptionalExtension, params};

impl Ledger {
    /// Records which asks of a new part are accepted, each with the numbers of its decisions as JSON.
    pub fn accept(&self, part: i64, with: DecisionsHead, asks: Vec<(i64, String)>) -> Result<(), LedgerError> {
        self.write_blocking(move |store| {
            let sql = "INSERT INTO decisions_of_part (part, count, chain) VALUES (?1, ?2, ?3)";
            store.conn.execute(sql, params![part, with.count as i64, with.chain])?;
            let mut insert = store.conn.prepare_cached("INSERT INTO accepted (ask, decisions) VALUES (?1, ?2)")?;
            for (ask, decisions) in &asks {
                insert.execute(params![ask, decisions])?;
            }
            Ok(())
        })
    }
}

impl Reading {
    /// Whether it is recorded which asks of a part are accepted.
    pub fn has_decisions(&self, part: i64) -> Result<bool, LedgerError> {
        Ok(self.conn.prepare_cached("SELECT 1 FROM decisions_of_part WHERE part = ?1")?.exists([part])?)
    }

    /// The latest state of the file of decisions that a part was made with.
    pub fn decisions_used(&self) -> Result<Option<DecisionsHead>, LedgerError> {
        let sql = "SELECT count, chain FROM decisions_of_part WHERE count > 0 ORDER BY count DESC LIMIT 1";
        let found = |row: &rusqlite::Row<'_>| Ok(DecisionsHead { count: row.amount(0)?, chain: row.get(1)? });
        Ok(self.conn.query_row(sql, [], found).optional()?)
    }
}
