//! Jobs: requests that the service accepted and answers later. The job id is recorded in the transaction that settles the
//! attempt, so that a request is either recorded as a job or in doubt, and never lost.

use super::{LedgerError, store::Store};
use crate::model::{
    Credits, JobId, Mode, RequestId,
    planted::{Bug, planted},
    state::{Outcome, State},
};
use rusqlite::params;

/// The outcome of an attempt whose reply names a job. A job id that belongs to another request of the check is not
/// believed, because both would get the same result: the request is repeated under its key. In sandbox, jobs may be fixtures.
pub(super) fn believed(
    store: &Store,
    request: RequestId,
    outcome: Outcome,
    job: Option<&JobId>,
) -> Result<Outcome, LedgerError> {
    let Outcome::Accepted { stated } = outcome else { return Ok(outcome) };
    let Some(job) = job else { return Ok(Outcome::Pending { stated }) };
    let sql = "SELECT 1 FROM job JOIN request ON request.id = job.request
               WHERE job_id = ?1 AND request.id <> ?2 AND (SELECT mode FROM campaign) = ?3
               AND check_name = (SELECT check_name FROM request WHERE id = ?2)";
    let values = params![job.as_str(), request.0, Mode::Production.as_str()];
    let is_known = store.conn.prepare_cached(sql)?.exists(values)?;
    Ok(if is_known { Outcome::Pending { stated } } else { outcome })
}

/// The price of a request that was answered at once, where a job of its check would hold `job_hold`: while the request
/// was sent, as much as that was `held`. `price` is the price of the check.
pub(super) fn price_of_answer(
    outcome: Outcome,
    held: Credits,
    job_hold: Credits,
    price: Credits,
    unproven: u32,
) -> Credits {
    let is_answer = matches!(outcome, Outcome::Answered { .. } | Outcome::ChargedRefusal { .. });
    // An earlier attempt may have become a job.
    if job_hold == Credits::ZERO || !is_answer || unproven > 0 { held } else { price.min(held) }
}

/// Records the job of a request that is now [`State::Submitted`]. It also shows that the route of its check is right.
pub(super) fn keep(
    store: &mut Store,
    request: RequestId,
    check: &str,
    job: Option<&JobId>,
    state: State,
    now_us: i64,
) -> Result<(), LedgerError> {
    let Some(job) = job.filter(|_| state == State::Submitted && !planted(Bug::JobIdLost)) else { return Ok(()) };
    // A request that a person let go again may become another job.
    let sql = "INSERT OR REPLACE INTO job (request, job_id, accepted_at) VALUES (?1, ?2, ?3)";
    store.conn.prepare_cached(sql)?.execute(params![request.0, job.as_str(), now_us])?;
    *store.sums.answers.entry(check.to_owned()).or_default() += 1;
    Ok(())
}
