//! The evidence of consent: what a user names to show that the persons of a check agreed to it, where the campaign file
//! confirms the consent of every row with one value. Who named it, and when, is recorded before anything is sent.

use super::{Ledger, LedgerError, Reading};
use rusqlite::params;

/// One recorded piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The catalogue name of the check.
    pub check: String,
    /// The reference that the user named.
    pub evidence: String,
    pub recorded_by: String,
    /// In microseconds since 1970.
    pub recorded_at_us: i64,
}

impl Ledger {
    /// Records evidence. Evidence that is already recorded for the check keeps its first entry.
    pub async fn record_consent(&self, consents: Vec<Consent>) -> Result<(), LedgerError> {
        if consents.is_empty() {
            return Ok(());
        }
        self.write(move |store| {
            let sql = "INSERT OR IGNORE INTO consent (check_name, evidence, recorded_by, recorded_at)
                       VALUES (?1, ?2, ?3, ?4)";
            for one in &consents {
                let values = params![one.check, one.evidence, one.recorded_by, one.recorded_at_us];
                store.conn.prepare_cached(sql)?.execute(values)?;
            }
            Ok(())
        })
        .await
    }
}

impl Reading {
    /// The recorded evidence of consent, oldest first.
    pub fn consents(&self) -> Result<Vec<Consent>, LedgerError> {
        let sql = "SELECT check_name, evidence, recorded_by, recorded_at FROM consent ORDER BY recorded_at LIMIT 1000";
        let mut select = self.conn.prepare(sql)?;
        let found = select.query_map([], |row| {
            Ok(Consent {
                check: row.get(0)?,
                evidence: row.get(1)?,
                recorded_by: row.get(2)?,
                recorded_at_us: row.get(3)?,
            })
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}
