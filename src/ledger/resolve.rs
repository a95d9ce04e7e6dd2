//! Quarantined requests and what a person decides about them. Who, when and why are recorded with the move, in one
//! transaction.

use super::{Ledger, LedgerError, Reading, settle::take_event};
use crate::model::{
    Credits, Failure, FailureCode, IdempotencyKey, RequestId, Stage,
    state::{Event, State},
};
use rusqlite::params;

/// What a person decides about a request that may have been charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Take the charge as made and the ask as failed.
    WriteOff,
    /// Take the charge as made and ask again under a new key, for a new charge.
    SendAgain,
}

impl Decision {
    fn as_str(self) -> &'static str {
        match self {
            Decision::WriteOff => "write_off",
            Decision::SendAgain => "send_again",
        }
    }
}

/// A request that waits for a decision.
#[derive(Clone, PartialEq, Eq)]
pub struct Quarantined {
    pub request: RequestId,
    /// The check in the catalogue.
    pub sold: String,
    pub held: Credits,
    pub attempts: u32,
    pub generation: u32,
    pub first_armed_at_us: Option<i64>,
    /// The mapped fields, JSON: the next key is made of them.
    pub fields: String,
    /// Source and row number of each row that waits for it.
    pub rows: Vec<(String, u64)>,
}

impl Ledger {
    /// Records a decision and moves the request. `next_key` is the key of the next generation.
    pub async fn decide(
        &self,
        request: RequestId,
        decision: Decision,
        next_key: IdempotencyKey,
        reason: String,
        decided_by: String,
        now_us: i64,
    ) -> Result<State, LedgerError> {
        let (event, failure) = match decision {
            Decision::SendAgain => (Event::SendAgain, None),
            Decision::WriteOff => {
                let message = format!("written off by {decided_by}: {reason}");
                (Event::WriteOff, Some(Failure { stage: Stage::Resolve, code: FailureCode::WrittenOff, message }))
            }
        };
        let decided = self
            .write(move |store| {
                let moved = take_event(store, request, event, Some(next_key), failure.as_ref())?;
                if moved.is_ok() {
                    store.conn.execute(
                        "INSERT INTO decision (request, decision, reason, decided_by, decided_at)
                         VALUES (?1, ?2, ?3, ?4, ?5)",
                        params![request.0, decision.as_str(), reason, decided_by, now_us],
                    )?;
                }
                Ok(moved)
            })
            .await?;
        Ok(decided?)
    }
}

impl Reading {
    /// All quarantined requests, oldest first.
    pub fn quarantined(&self) -> Result<Vec<Quarantined>, LedgerError> {
        let mut select = self.conn.prepare(
            "SELECT id, sold, held, attempts, generation, first_armed_at, fields FROM request WHERE state = ?1
             ORDER BY first_armed_at",
        )?;
        let found = select.query_map([State::Quarantined.code()], |row| {
            Ok(Quarantined {
                request: RequestId(row.get(0)?),
                sold: row.get(1)?,
                held: Credits(row.get::<_, i64>(2)?.unsigned_abs()),
                attempts: row.get(3)?,
                generation: row.get(4)?,
                first_armed_at_us: row.get(5)?,
                fields: row.get(6)?,
                rows: Vec::new(),
            })
        })?;
        let mut quarantined: Vec<Quarantined> = found.collect::<Result<_, _>>()?;
        for one in &mut quarantined {
            one.rows = self.rows_of(one.request)?;
        }
        Ok(quarantined)
    }

    /// Source and row number of each row that asks for a request.
    fn rows_of(&self, request: RequestId) -> Result<Vec<(String, u64)>, LedgerError> {
        let mut select = self.conn.prepare_cached(
            "SELECT source.name, split.next_row_number - split.rows + ask.place
             FROM ask JOIN split ON split.id = ask.split JOIN source ON source.id = split.source
             WHERE ask.request = ?1 ORDER BY ask.id",
        )?;
        let rows = select.query_map([request.0], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
