//! The runs of a campaign: when each began, and how it ended. `rescreen status` shows the last one. A run that recorded
//! no end is under way, or it was killed.

use super::{Ledger, LedgerError, Reading, ServiceMove, amount::Amounts, identity};
use crate::model::same_service;
use rusqlite::{Row, params};
use std::collections::BTreeMap;

/// The longest text of a run that is read, in characters. Others may have changed the ledger.
const TEXT_MAX: i64 = 20_000;

/// A run that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// `run` or `collect`.
    pub command: &'static str,
    /// The command that continues it if it is killed.
    pub next_command: Option<String>,
    /// The name of the system user.
    pub started_by: String,
    /// Its campaign file with the flags beside it: TOML without secrets.
    pub campaign_text: Option<String>,
    pub at_us: i64,
}

/// The start of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunBegun {
    /// Its number in this ledger.
    pub number: i64,
    /// A name that no other run has: that of the ledger and the number.
    pub id: String,
    pub started_at_us: i64,
}

/// When a run began and ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStamp {
    /// A name that no other run has.
    pub id: String,
    pub started_at_us: i64,
    pub ended_at_us: i64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    pub at_us: i64,
    pub exit_code: u8,
    /// The name of its [`StopKind`](crate::model::StopKind); `None` if nothing stopped it.
    pub kind: Option<String>,
    /// Why it stopped, and what to do about it.
    pub message: Option<String>,
    /// The limit of credits that suffices, if the limit stopped it.
    pub credits_needed: Option<u64>,
}

/// A run as the ledger records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub number: i64,
    pub id: String,
    /// `run` or `collect`.
    pub command: String,
    /// The version of rescreen.
    pub program: String,
    /// The name of the system user.
    pub started_by: String,
    /// The number of its campaign file among [`Reading::campaign_texts`].
    pub campaign_text: Option<i64>,
    pub started_at_us: i64,
    pub end: Option<RunEnd>,
    /// The command that continues, as a user can copy it.
    pub next_command: Option<String>,
}

impl Ledger {
    /// Records that the service has moved, if the ledger has another address than this run. Opening the ledger has
    /// checked that the user says so.
    pub async fn note_service(&self, origin: String, at_us: i64) -> Result<(), LedgerError> {
        self.write(move |store| {
            let recorded = identity::read(&store.conn)?.map(|(recorded, _)| recorded.origin);
            if let Some(from) = recorded.filter(|recorded| !same_service(recorded, &origin)) {
                store.sums.service_moves.push(ServiceMove { from, to: origin, at_us });
            }
            Ok(())
        })
        .await
    }

    /// Records that a run begins.
    pub async fn begin_run(&self, run: NewRun) -> Result<RunBegun, LedgerError> {
        self.write(move |store| {
            let NewRun { command, next_command, started_by, campaign_text, at_us } = run;
            store.conn.execute(
                "INSERT OR IGNORE INTO campaign_text (text) SELECT ?1 WHERE ?1 IS NOT NULL",
                [&campaign_text],
            )?;
            let sql = "INSERT INTO run (command, program, started_by, campaign_text, started_at, next_command)
                       VALUES (?1, ?2, ?3, (SELECT id FROM campaign_text WHERE text = ?4), ?5, ?6)";
            let program = env!("CARGO_PKG_VERSION");
            store.conn.execute(sql, params![command, program, started_by, campaign_text, at_us, next_command])?;
            let number = store.conn.last_insert_rowid();
            Ok(RunBegun { number, id: run_id(&identity::ledger_id(&store.conn)?, number), started_at_us: at_us })
        })
        .await
    }

    /// Records how a run ended.
    pub async fn end_run(&self, number: i64, end: RunEnd, next_command: Option<String>) -> Result<(), LedgerError> {
        self.write(move |store| {
            store.conn.execute(
                "UPDATE run SET ended_at = ?2, exit_code = ?3, kind = ?4, message = ?5, next_command = ?6,
                                credits_needed = ?7
                 WHERE id = ?1",
                params![
                    number,
                    end.at_us,
                    end.exit_code,
                    end.kind,
                    end.message,
                    next_command,
                    end.credits_needed.and_then(|credits| i64::try_from(credits).ok())
                ],
            )?;
            Ok(())
        })
        .await
    }
}

fn run_id(ledger_id: &str, number: i64) -> String {
    format!("{ledger_id}-{number}")
}

impl Reading {
    /// The last run, if this ledger records any.
    pub fn last_run(&self) -> Result<Option<RunRow>, LedgerError> {
        Ok(self.last_runs(1)?.pop())
    }

    /// The last runs, the newest first.
    pub fn last_runs(&self, count_max: u64) -> Result<Vec<RunRow>, LedgerError> {
        let ledger_id = self.ledger_id()?;
        let sql = "SELECT id, substr(command, 1, ?1), substr(program, 1, ?1), started_at, ended_at, exit_code,
                          substr(kind, 1, ?1), substr(message, 1, ?1), substr(next_command, 1, ?1), credits_needed,
                          substr(started_by, 1, ?1), campaign_text
                   FROM run ORDER BY id DESC LIMIT ?2";
        let mut select = self.conn.prepare(sql)?;
        let count_max = i64::try_from(count_max).unwrap_or(i64::MAX);
        let runs = select.query_map([TEXT_MAX, count_max], |row| run_of(row, &ledger_id))?;
        Ok(runs.collect::<Result<_, _>>()?)
    }

    /// The campaign files of the runs, by their numbers.
    pub fn campaign_texts(&self) -> Result<BTreeMap<i64, String>, LedgerError> {
        let mut select = self.conn.prepare("SELECT id, text FROM campaign_text")?;
        let texts = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(texts.collect::<Result<_, _>>()?)
    }

    /// The number of runs.
    pub fn run_count(&self) -> Result<u64, LedgerError> {
        Ok(self.conn.query_row("SELECT count(*) FROM run", [], |row| row.amount(0))?)
    }
}

fn run_of(row: &Row<'_>, ledger_id: &str) -> Result<RunRow, rusqlite::Error> {
    let ended_at: Option<i64> = row.get(4)?;
    let exit_code: Option<i64> = row.get(5)?;
    let credits_needed: Option<i64> = row.get(9)?;
    let end = match ended_at {
        Some(at_us) => Some(RunEnd {
            at_us,
            exit_code: exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
            kind: row.get(6)?,
            message: row.get(7)?,
            credits_needed: credits_needed.and_then(|credits| u64::try_from(credits).ok()),
        }),
        None => None,
    };
    let number = row.get(0)?;
    Ok(RunRow {
        number,
        id: run_id(ledger_id, number),
        command: row.get(1)?,
        program: row.get(2)?,
        started_by: row.get(10)?,
        campaign_text: row.get(11)?,
        started_at_us: row.get(3)?,
        end,
        next_command: row.get(8)?,
    })
}
