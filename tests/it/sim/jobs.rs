//! What must hold for jobs: a request that the service accepted as a job has its job id in the ledger, holds what the
//! job needs, is never sent again and stays pending in all later lives.

use super::{flows::JOB_HOLD, script::Script, wire::Message};
use rescreen::model::{IdempotencyKey, state::State};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// A request that is a job at the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    id: Option<String>,
    pub held: u64,
    check: String,
}

/// The requests that are jobs, by their current key.
pub fn jobs(ledger: Option<&Connection>) -> BTreeMap<String, Job> {
    let sql = format!(
        "SELECT coalesce(key, first_key), job_id, held, check_name FROM request LEFT JOIN job ON job.request = request.id
         WHERE state = {}",
        State::Submitted.code()
    );
    let Some(mut select) = ledger.and_then(|ledger| ledger.prepare(&sql).ok()) else { return BTreeMap::new() };
    let rows = select.query_map([], |row| {
        let key = IdempotencyKey::from_slice(&row.get::<_, [u8; 16]>(0)?).expect("16 bytes are a key").to_string();
        Ok((key, Job { id: row.get(1)?, held: row.get::<_, i64>(2)?.unsigned_abs(), check: row.get(3)? }))
    });
    rows.and_then(Iterator::collect).expect("the ledger's jobs")
}

/// The asks that wait for a job.
pub fn asks(ledger: &Connection) -> u64 {
    let sql = "SELECT count(*) FROM ask JOIN request ON request.id = ask.request WHERE state = 4";
    ledger.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a count").unsigned_abs()
}

/// What is wrong with the jobs after a life. `before` are those at its start, `lately` its messages, and `died` says
/// whether it could not record its last replies.
pub fn broken(
    script: &Script,
    before: &BTreeMap<String, Job>,
    after: &BTreeMap<String, Job>,
    (wire, lately): (&[Message], &[Message]),
    (died, decided): (bool, bool),
) -> Vec<String> {
    let mut faults = Vec::new();
    let named = |key: &str, id: &str| wire.iter().any(|one| one.key == key && one.said.job.as_deref() == Some(id));
    for (key, job) in after {
        match &job.id {
            None => faults.push(format!("J1: {key} is a job and its id is not recorded")),
            Some(id) if !named(key, id) => faults.push(format!("J1: no reply to {key} names its job {id}")),
            Some(_) => {}
        }
        let has_hold = script.pair[0].name == job.check && script.has_job_hold();
        let least = if !script.production {
            0
        } else if has_hold {
            JOB_HOLD
        } else {
            1
        };
        if job.held < least {
            faults.push(format!("J2: {key} is a job and holds {} credits, not {least}", job.held));
        }
    }
    for (key, job) in before.iter().filter(|_| !decided) {
        if after.get(key) != Some(job) {
            faults.push(format!("J3: {key} was {job:?} and is {:?}", after.get(key)));
        }
    }
    for one in lately.iter().filter(|one| one.submit && before.contains_key(&one.key)) {
        faults.push(format!("J4: a job is sent again: {one}"));
    }
    // A job that a complete reply names is recorded, unless the life ended before.
    let check = script.pair[0];
    let of_check = |one: &&Message| one.submit && check.is_job() && one.path.starts_with(&format!("/{}", check.name));
    let lost = lately.iter().filter(of_check).filter(|one| one.said.job.is_some() && !after.contains_key(&one.key));
    if !died && !decided {
        faults.extend(lost.map(|one| format!("J1: a reply names a job, and the ledger has none: {one}")));
    }
    faults
}
