//! Quarantined requests and what a person decides about them. Who, when and why are recorded with the move, in one
//! transaction.

use super::{
    Ledger, LedgerError, Reading,
    arm::{moved, request_row},
};
use crate::model::{
    Credits, Failure, FailureCode, IdempotencyKey, RequestId, Stage,
    state::{Event, State, next},
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
        self.write(move |store| {
            let row = request_row(store, request)?;
            let event = match decision {
                Decision::WriteOff => Event::WriteOff,
                Decision::SendAgain => Event::SendAgain,
            };
            let step = next(&row.standing, event)?;
            moved(store, &row, &step)?;
            if step.next_generation {
                let sql = "UPDATE request SET key = ?2 WHERE id = ?1";
                store.conn.execute(sql, params![request.0, next_key.as_bytes()])?;
            }
            if step.state == State::Failed {
                let failure = Failure {
                    stage: Stage::Resolve,
                    code: FailureCode::WrittenOff,
                    message: format!("written off by {decided_by}: {reason}"),
                };
                let text = serde_json::to_string(&failure).expect("a failure is words");
                store.conn.execute("UPDATE request SET failure = ?2 WHERE id = ?1", params![request.0, text])?;
            }
            store.conn.execute(
                "INSERT INTO decision (request, decision, reason, decided_by, decided_at) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![request.0, decision.as_str(), reason, decided_by, now_us],
            )?;
            Ok(step.state)
        })
        .await
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
