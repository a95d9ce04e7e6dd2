//! Jobs: requests that the service accepted and answers later. The job id is recorded in the transaction that settles the
//! attempt, so that a request is either recorded as a job or in doubt, and never lost.

use super::{LedgerError, store::Store};
use crate::model::{Credits, JobId, Mode, RequestId, job_life::ASK_MIN, state::Outcome};
use rusqlite::params;
use std::time::Duration;

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

/// A job that the service has accepted now.
pub(super) struct NewJob<'a> {
    pub(super) request: RequestId,
    /// The catalogue name of its check.
    pub(super) check: &'a str,
    pub(super) id: &'a JobId,
    pub(super) now_us: i64,
    /// The service's clock minus ours, if it is known.
    pub(super) server_offset_us: Option<i64>,
    /// The charge that the reply states.
    pub(super) charged: Credits,
}

/// Records the job of a request that is now [`State::Submitted`]. It also shows that the route of its check is right.
pub(super) fn keep(store: &mut Store, new: &NewJob<'_>) -> Result<(), LedgerError> {
    let id = new.id.as_str();
    // The delivery about a job may come before the reply that names it.
    let is_early = store.conn.prepare_cached("DELETE FROM early_delivery WHERE job_id = ?1")?.execute([id])? > 0;
    let ask_us = if is_early { new.now_us } else { new.now_us.saturating_add(micros(ASK_MIN)) };
    let server_us = new.server_offset_us.map(|offset| new.now_us.saturating_add(offset));
    // A request that a person let go again may become another job.
    let sql =
        "INSERT OR REPLACE INTO job (request, job_id, accepted_at, accepted_at_server, polled_at, poll_at, charged)
               VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6)";
    let charged = new.charged.0 as i64;
    store.conn.prepare_cached(sql)?.execute(params![new.request.0, id, new.now_us, server_us, ask_us, charged])?;
    *store.sums.answers.entry(new.check.to_owned()).or_default() += 1;
    Ok(())
}

/// Makes jobs due that were accepted or asked for in the future: the clock was ahead then, and is not any more.
pub(super) fn correct_times(store: &Store, now_us: i64) -> Result<(), LedgerError> {
    let sql = "UPDATE job SET polled_at = 0, poll_at = min(poll_at, ?1), missed_at = min(missed_at, ?1)
               WHERE poll_at IS NOT NULL AND max(polled_at, accepted_at) > ?1";
    store.conn.prepare_cached(sql)?.execute([now_us])?;
    Ok(())
}

/// Records that the job of a request has ended, so that it is not polled again.
pub(super) fn ended(store: &Store, request: i64) -> Result<(), LedgerError> {
    store.conn.prepare_cached("UPDATE job SET poll_at = NULL WHERE request = ?1")?.execute([request])?;
    Ok(())
}

/// Microseconds, as the ledger stores times.
pub(super) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
