//! Which rows were mapped before a moment: rows are never mapped again once they have a request, so a changed mapping
//! applies to later rows only.

use super::{LedgerError, Reading, amount::Amounts};
use crate::model::state::State;
use rusqlite::params;
use serde::{Deserialize, Serialize};

/// A moment in the life of a ledger: the ids of the next ask and of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NextIds {
    pub ask: i64,
    pub request: i64,
}

/// Rows that were mapped before a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MappedRows {
    pub rows: u64,
    /// Those that have an answer.
    pub answered: u64,
}

impl Reading {
    /// The ids that the next ask and the next request will have.
    pub fn next_ids(&self) -> Result<NextIds, LedgerError> {
        let sql = "SELECT (SELECT coalesce(max(id), 0) + 1 FROM ask), (SELECT coalesce(max(id), 0) + 1 FROM request)";
        Ok(self.conn.query_row(sql, [], |row| Ok(NextIds { ask: row.get(0)?, request: row.get(1)? }))?)
    }

    /// The rows of a check that had a request before a moment. A row that failed then and was mapped later has a later
    /// request.
    pub fn mapped_before(&self, check_use: i64, before: NextIds) -> Result<MappedRows, LedgerError> {
        let sql =
            "SELECT count(*), count(*) FILTER (WHERE state = ?4) FROM ask JOIN request ON request.id = ask.request
                   WHERE ask.check_use = ?1 AND ask.id < ?2 AND request.id < ?3";
        let params = params![check_use, before.ask, before.request, State::Answered.code()];
        let rows = self
            .conn
            .query_row(sql, params, |row| Ok(MappedRows { rows: row.amount(0)?, answered: row.amount(1)? }))?;
        Ok(rows)
    }
}
