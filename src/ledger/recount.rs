//! Recounts the sums of a ledger from its rows. Sums are stored in addition to the rows so that nothing must be
//! counted. If they do not match, the rows are right, and the ledger is not refused.

use super::{LedgerError, SeenPrice, Sums, amount::Amounts, check_sums, datasets, sums::COUNT_MAX};
use crate::model::{Credits, RequestId, Verdict, state::State};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// The states covered by an index: all except `Answered` and `Armed`. Requests that are armed are counted thoroughly.
const INDEXED: [State; 6] =
    [State::Planned, State::InDoubt, State::Repeating, State::Submitted, State::Failed, State::Quarantined];

/// The sums counted from the rows. Values that are not in the rows (pauses, clocks, times) are copied from `stored`,
/// except the balance: it must be read again, because what was armed since then cannot be counted.
pub(super) fn recounted(conn: &Connection, stored: Option<Sums>) -> Result<Sums, LedgerError> {
    let one = |sql: &str| -> Result<u64, LedgerError> { Ok(conn.query_row(sql, [], |row| row.amount(0))?) };
    let is_known = stored.is_some();
    let mut sums = Sums {
        rows: one("SELECT coalesce(sum(rows), 0) FROM split")?,
        unreadable: one("SELECT count(*) FROM ask WHERE check_use IS NULL")?,
        asks: one("SELECT count(*) FROM ask WHERE check_use IS NOT NULL")?,
        unmapped: one("SELECT count(*) FROM ask WHERE failure IS NOT NULL AND check_use IS NOT NULL")?,
        skipped: one("SELECT count(*) FROM ask WHERE skipped IS NOT NULL")?,
        without_ask: without_ask(conn)?,
        attempts: one("SELECT coalesce(sum(attempts), 0) FROM request")?,
        ..stored.unwrap_or_default()
    };
    let unrecognised = Verdict::Unrecognised.as_str();
    sums.answers_unrecognised =
        conn.query_row("SELECT count(*) FROM request WHERE verdict = ?1", [unrecognised], |row| row.amount(0))?;
    sums.datasets = datasets::recounted(conn)?;
    sums.checks = check_sums::recounted(conn)?;
    sums.jobs_known = jobs_known(conn)?;
    let (answers, charges) = by_check(conn)?;
    sums.answers = answers;
    // Stored prices are kept, because a price that only the balance showed is not in the rows.
    if !is_known {
        sums.highest_prices = charges;
    }
    for column in ["held", "charged", "price"] {
        if total_of(conn, column, &format!("{column} <> 0"))?.is_none() {
            return Err(LedgerError::Damaged(format!("a request has an invalid amount `{column}`")));
        }
    }
    (sums.requests, sums.account.held, sums.account.charged) = by_state(conn)?;
    sums.account.armed = sums.account.armed.max(sums.account.held + sums.account.charged);
    sums.account.reading = None;
    Ok(sums)
}

/// Only a failed request can lose its asks, except by a purge.
fn without_ask(conn: &Connection) -> Result<u64, LedgerError> {
    let purged: u64 = conn.query_row("SELECT count(*) FROM purged_request", [], |row| row.amount(0))?;
    // The second condition makes the partial index apply.
    let sql = "SELECT count(*) FROM request WHERE state = ?1 AND state NOT IN (1, 10)
                 AND NOT EXISTS (SELECT 1 FROM ask WHERE ask.request = request.id)
                 AND id NOT IN (SELECT request FROM purged_request)";
    let failed: u64 = conn.query_row(sql, [State::Failed.code()], |row| row.amount(0))?;
    Ok(failed + purged)
}

/// The checks of whose jobs the service told the state.
fn jobs_known(conn: &Connection) -> Result<BTreeSet<String>, LedgerError> {
    let mut select = conn.prepare(
        "SELECT DISTINCT check_name FROM job JOIN request ON request.id = job.request
         WHERE state = ?1 OR polls > 0 AND misses = 0 AND last_message IS NULL",
    )?;
    let found = select.query_map([State::Answered.code()], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

type ByCheck = (BTreeMap<String, u64>, BTreeMap<String, SeenPrice>);

/// The number of answers and of accepted jobs by check, and the highest charge of a request of each check, if it was above its price.
fn by_check(conn: &Connection) -> Result<ByCheck, LedgerError> {
    let mut select = conn
        // With a single `max` in a query, SQLite takes the other columns from the row that has the maximum.
        .prepare(
            "SELECT check_name, total(state IN (4, 10) AND id NOT IN (SELECT request FROM reused)), max(iif(charged > price, charged, 0)), id FROM request GROUP BY check_name",
        )?;
    let mut rows = select.query([])?;
    let (mut answers, mut charges) = (BTreeMap::new(), BTreeMap::new());
    while let Some(row) = rows.next()? {
        let check: String = row.get(0)?;
        let (answered, above) = (row.get::<_, f64>(1)? as u64, row.credits(2)?);
        if answered > 0 {
            answers.insert(check.clone(), answered);
        }
        if above > Credits::ZERO {
            let request = Some(RequestId(row.get(3)?));
            charges.insert(check, SeenPrice { price: above, table: None, request });
        }
    }
    Ok((answers, charges))
}

type ByState = (BTreeMap<State, u64>, Credits, Credits);

/// Requests by state, credits held and credits charged.
fn by_state(conn: &Connection) -> Result<ByState, LedgerError> {
    let mut select = conn.prepare("SELECT state, count(*), total(held), total(charged) FROM request GROUP BY state")?;
    let mut rows = select.query([])?;
    let (mut requests, mut held, mut charged) = (BTreeMap::new(), Credits::ZERO, Credits::ZERO);
    while let Some(row) = rows.next()? {
        let code: i64 = row.get(0)?;
        let unknown = || LedgerError::Damaged(format!("a request is in state {code}, which does not exist"));
        requests.insert(State::from_code(code).ok_or_else(unknown)?, row.amount(1)?);
        held = held + Credits(row.get::<_, f64>(2)? as u64);
        charged = charged + Credits(row.get::<_, f64>(3)? as u64);
    }
    Ok((requests, held, charged))
}

/// Whether the sums match the rows. With `thoroughly`, every request is read. Otherwise only indexed rows are counted:
/// charges, and the requests that are neither answered nor armed, with their holds.
pub(super) fn matches(conn: &Connection, sums: &Sums, thoroughly: bool) -> Result<bool, LedgerError> {
    if thoroughly {
        let (requests, held, charged) = by_state(conn)?;
        let counted = State::ALL.iter().all(|state| sums.in_state(*state) == requests.get(state).copied().unwrap_or(0));
        return Ok(counted && held == sums.account.held && charged == sums.account.charged);
    }
    let charged = total_of(conn, "charged", "charged <> 0")?;
    if charged.is_none_or(|charged| charged != sums.account.charged) {
        return Ok(false);
    }
    let mut held = Credits::ZERO;
    for state in INDEXED {
        let code = state.code();
        // The state is part of the SQL text, because the partial index is not used with a bound value.
        let is_state = format!("state = {code} AND state NOT IN (1, 10)");
        let sql = format!("SELECT count(*) FROM request WHERE {is_state}");
        if conn.query_row(&sql, [], |row| row.amount(0))? != sums.in_state(state) {
            return Ok(false);
        }
        if !matches!(state, State::Planned | State::Failed) {
            let Some(of_state) = total_of(conn, "held", &is_state)? else { return Ok(false) };
            held = held + of_state;
        }
    }
    Ok(held == sums.account.held)
}

/// The sum of a column of requests; `None` if a value is negative or the sum is larger than is possible.
fn total_of(conn: &Connection, amount: &str, is_meant: &str) -> Result<Option<Credits>, LedgerError> {
    let sql = format!("SELECT coalesce(min({amount}), 0), total({amount}) FROM request WHERE {is_meant}");
    let (least, sum) = conn.query_row(&sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?)))?;
    // Above this limit, a float is not exact. No campaign comes near it.
    Ok((least >= 0 && sum < COUNT_MAX as f64).then_some(Credits(sum as u64)))
}
