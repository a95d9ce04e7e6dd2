//! Decisions of a person about requests that may have been charged and have no answer, and about charges that were
//! recorded wrongly. Who, when and why are recorded together with the change, in one transaction.

use super::{
    Ledger, LedgerError, Reading,
    amount::Amounts,
    arm::request_row,
    ask_ends::charged,
    events::apply_event,
    reading::failure_of,
    rows::{RowReader, Values},
    store::Store,
    untold::untold,
};
use crate::model::{
    Credits, Failure, FailureCode, KeyMaker, RequestId, Stage,
    state::{Event, State},
};
use rusqlite::{OptionalExtension, params};
use std::collections::HashMap;

/// A decision about a request that may have been charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Accept the charge, and fail the asks.
    WriteOff,
    /// Accept the charge, and send the request again under a new key for a new charge.
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

/// A request that waits for a decision, or may be decided about.
#[derive(Clone, PartialEq, Eq)]
pub struct Quarantined {
    pub request: RequestId,
    /// Quarantined, in doubt, repeating or at the service as a job.
    pub state: State,
    /// The check in the catalogue.
    pub check: String,
    pub held: Credits,
    pub attempts: u32,
    pub generation: u32,
    pub first_armed_at_us: Option<i64>,
    /// The mapped fields in JSON, from which the next key is made.
    pub fields: String,
    /// Why a person has to decide, if a reply was the reason.
    pub why: Option<String>,
    /// The rows that wait for it, in input order.
    pub rows: Vec<WaitingRow>,
}

/// A row that waits for a request.
#[derive(Clone, PartialEq, Eq)]
pub struct WaitingRow {
    pub source: String,
    pub row_number: u64,
    /// The value of the id column.
    pub subject: Option<String>,
}

/// What is recorded about a decision.
#[derive(Debug, Clone)]
pub struct Decided {
    pub reason: String,
    pub decided_by: String,
    pub now_us: i64,
}

/// The result of correcting a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// Corrected, with the charge that was recorded before.
    Corrected { before: Credits },
    /// The ledger has no such request.
    Unknown,
    /// The request has no final charge yet.
    NotSettled(State),
}

impl Ledger {
    /// Records a decision and moves the request. A request in doubt is quarantined first. `keys` makes the key of a
    /// request that is to be sent again.
    pub async fn decide(
        &self,
        request: RequestId,
        decision: Decision,
        keys: KeyMaker,
        decided: Decided,
    ) -> Result<State, LedgerError> {
        let (event, failure) = match decision {
            Decision::SendAgain => (Event::SendAgain, None),
            Decision::WriteOff => {
                let message = format!("written off by {}: {}", decided.decided_by, decided.reason);
                (Event::WriteOff, Some(Failure { stage: Stage::Resolve, code: FailureCode::WrittenOff, message }))
            }
        };
        let moved = self
            .write(move |store| {
                let state = request_row(store, request)?.standing.state;
                if matches!(state, State::InDoubt | State::Repeating | State::Submitted)
                    && let Err(illegal) = apply_event(store, request, Event::PutBeforePerson, None, None)?
                {
                    return Ok(Err(illegal));
                }
                let moved = apply_event(store, request, event, Some(&keys), failure.as_ref())?;
                if moved.is_ok() {
                    note_decision(store, request, decision.as_str(), &decided, None)?;
                }
                Ok(moved)
            })
            .await?;
        Ok(moved?)
    }

    /// Corrects the charge of a settled request. Its row, the sums and the decision are changed together.
    pub async fn correct_charge(
        &self,
        request: RequestId,
        charge: Credits,
        decided: Decided,
    ) -> Result<Correction, LedgerError> {
        self.write(move |store| {
            let sql = "SELECT state, charged FROM request WHERE id = ?1";
            let found =
                store.conn.query_row(sql, [request.0], |row| Ok((State::from_code(row.get(0)?), row.credits(1)?)));
            let (state, before) = match found.optional()? {
                None | Some((None, _)) => return Ok(Correction::Unknown),
                Some((Some(state), before)) => (state, before),
            };
            if !state.is_settled() {
                return Ok(Correction::NotSettled(state));
            }
            // If a person confirms that nothing was charged, a failure is proven uncharged and may be retried. If a
            // person states a higher charge, it is not proven uncharged any more.
            let sql = "UPDATE request SET charged = ?2,
                          possibly_charged = CASE WHEN state <> ?3 THEN possibly_charged
                                                  WHEN ?2 = 0 THEN 0
                                                  ELSE possibly_charged OR ?2 > charged END,
                          unproven = CASE WHEN ?2 = 0 AND state = ?3 THEN 0 ELSE unproven END
                       WHERE id = ?1";
            store.conn.execute(sql, params![request.0, charge.0 as i64, State::Failed.code()])?;
            untold(store, request.0)?;
            let account = &mut store.sums.account;
            account.charged = account.charged.saturating_sub(before) + charge;
            let first_check = request_row(store, request)?.first_check;
            charged(store, first_check, before, charge);
            store.sums.correct_price(request, charge);
            note_decision(store, request, "charge", &decided, Some((before, charge)))?;
            Ok(Correction::Corrected { before })
        })
        .await
    }
}

fn note_decision(
    store: &Store,
    request: RequestId,
    decision: &str,
    decided: &Decided,
    charged: Option<(Credits, Credits)>,
) -> Result<(), LedgerError> {
    let (before, after) = charged.map(|(before, after)| (before.0 as i64, after.0 as i64)).unzip();
    store.conn.execute(
        "INSERT INTO decision (request, decision, reason, decided_by, decided_at, charged_before, charged_after)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![request.0, decision, decided.reason, decided.decided_by, decided.now_us, before, after],
    )?;
    Ok(())
}

impl Reading {
    /// All quarantined requests, oldest first.
    pub fn quarantined(&self) -> Result<Vec<Quarantined>, LedgerError> {
        self.undecided(&[State::Quarantined])
    }

    /// The quarantined requests and the requests in doubt.
    pub fn quarantined_or_in_doubt(&self) -> Result<Vec<Quarantined>, LedgerError> {
        self.undecided(&[State::Armed, State::InDoubt, State::Repeating, State::Submitted, State::Quarantined])
    }

    fn undecided(&self, states: &[State]) -> Result<Vec<Quarantined>, LedgerError> {
        let undecided = self.in_states(states)?;
        let mut select = self.conn.prepare(&format!(
            "SELECT id, check_name, held, attempts, generation, first_armed_at, fields, state,
                    iif(state = 12, failure, NULL) FROM request
             WHERE {undecided} ORDER BY first_armed_at"
        ))?;
        let found = select.query_map([], |row| {
            let failure: Option<String> = row.get(8)?;
            let failure = failure.and_then(|failure| failure_of(&failure).ok());
            Ok(Quarantined {
                why: failure.map(|failure| failure.message),
                request: RequestId(row.get(0)?),
                check: row.get(1)?,
                held: row.credits(2)?,
                attempts: row.get(3)?,
                generation: row.get(4)?,
                first_armed_at_us: row.get(5)?,
                fields: row.get(6)?,
                state: State::from_code(row.get(7)?).unwrap_or(State::Quarantined),
                rows: Vec::new(),
            })
        })?;
        let mut found: Vec<Quarantined> = found.collect::<Result<_, _>>()?;
        let mut rows = self.waiting_rows(&undecided)?;
        for one in &mut found {
            one.rows = rows.remove(&one.request.0).unwrap_or_default();
        }
        Ok(found)
    }

    /// The rows of these requests, by request. Only the rows of one split are in memory at a time.
    fn waiting_rows(&self, undecided: &str) -> Result<HashMap<i64, Vec<WaitingRow>>, LedgerError> {
        let mut select = self.conn.prepare(&format!(
            "SELECT ask.request, ask.split, ask.row_index
             FROM request CROSS JOIN ask ON ask.request = request.id WHERE {undecided} ORDER BY ask.split, ask.id"
        ))?;
        let mut found = select.query([])?;
        let mut rows = HashMap::<i64, Vec<WaitingRow>>::new();
        let mut heads = RowReader::new(&self.conn, Values::Skipped);
        while let Some(row) = found.next()? {
            let (source, head) = heads.at((row.get(1)?, row.get(2)?))?;
            let (source, subject) = (source.to_owned(), head.subject.clone());
            let waiting = WaitingRow { source, row_number: head.row_number, subject };
            rows.entry(row.get(0)?).or_default().push(waiting);
        }
        Ok(rows)
    }
}
