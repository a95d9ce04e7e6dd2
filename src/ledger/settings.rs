//! The settings that `rescreen collect` needs when neither campaign file nor input is available. Each run records them
//! as JSON, which the ledger does not interpret. They contain no secret, and no command that prints one.

use super::{Ledger, LedgerError, Reading, amount::Amounts};
use crate::model::state::State;
use std::collections::BTreeMap;

impl Ledger {
    /// Records the settings of this run. They replace those of the last run.
    pub async fn record_settings(&self, settings: String) -> Result<(), LedgerError> {
        self.write(move |store| {
            let sql = "UPDATE campaign SET settings = ?1 WHERE settings IS NOT ?1";
            store.conn.execute(sql, [settings])?;
            Ok(())
        })
        .await
    }
}

impl Reading {
    /// The settings of the last run; `None` if no run has started to send.
    pub fn settings(&self) -> Result<Option<String>, LedgerError> {
        Ok(self.conn.query_row("SELECT settings FROM campaign", [], |row| row.get(0))?)
    }

    /// How many requests in doubt were first sent under each API key, by its fingerprint.
    pub fn doubts_by_api_key(&self) -> Result<BTreeMap<String, u64>, LedgerError> {
        let doubts = self.in_states(&[State::InDoubt, State::Repeating])?;
        let sql = format!("SELECT scope, count(*) FROM request WHERE {doubts} AND scope IS NOT NULL GROUP BY scope");
        let mut select = self.conn.prepare(&sql)?;
        let found = select.query_map([], |row| Ok((row.get(0)?, row.amount(1)?)))?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}
