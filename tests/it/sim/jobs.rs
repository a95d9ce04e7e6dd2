//! What must hold for jobs: a request that the service accepted as a job has its job id in the ledger, holds what the
//! job needs, is never sent again, and ends when the service says so.

use super::{flows::JOB_HOLD, script::Script, wire::Message};
use rescreen::{
    model::{IdempotencyKey, state::State},
    simulator::ChargeStated,
};
use rusqlite::Connection;
use std::collections::{BTreeMap, HashMap};

/// A request that is a job at the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    id: Option<String>,
    pub held: u64,
    check: String,
}

/// The jobs of a ledger, by the current key of their request: those without a result, and those that have ended.
#[derive(Debug, Clone, Default)]
pub struct Jobs {
    pub open: BTreeMap<String, Job>,
    pub ended: BTreeMap<String, (Job, State)>,
}

impl Jobs {
    pub fn of(ledger: Option<&Connection>) -> Jobs {
        let sql = "SELECT coalesce(key, first_key), job_id, held, check_name, state FROM request
                   LEFT JOIN job ON job.request = request.id WHERE state = 4 OR job_id IS NOT NULL AND state >= 10";
        let Some(mut select) = ledger.and_then(|ledger| ledger.prepare(sql).ok()) else { return Jobs::default() };
        let rows = select.query_map([], |row| {
            let key = IdempotencyKey::from_slice(&row.get::<_, [u8; 16]>(0)?).expect("16 bytes are a key").to_string();
            let job = Job { id: row.get(1)?, held: row.get::<_, i64>(2)?.unsigned_abs(), check: row.get(3)? };
            Ok((key, job, State::from_code(row.get(4)?).expect("a state")))
        });
        let mut jobs = Jobs::default();
        for (key, job, state) in rows.expect("the ledger's jobs").map(|row| row.expect("a job")) {
            if state == State::Submitted {
                jobs.open.insert(key, job);
            } else {
                jobs.ended.insert(key, (job, state));
            }
        }
        jobs
    }

    /// The keys of the jobs that have ended, by job id.
    pub fn keys(&self) -> HashMap<String, String> {
        let ended = self.ended.iter();
        ended.filter_map(|(key, (job, _))| Some((job.id.clone()?, key.clone()))).collect()
    }
}

/// The asks that wait for a job.
pub fn asks(ledger: &Connection) -> u64 {
    let sql = "SELECT count(*) FROM ask JOIN request ON request.id = ask.request WHERE state = 4";
    ledger.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a count").unsigned_abs()
}

/// How a life went, as far as its jobs are concerned.
#[derive(Debug, Clone, Copy)]
pub struct Lived {
    /// It could not record its last replies.
    pub died: bool,
    /// A person decided about requests.
    pub decided: bool,
    /// Failures that are proven uncharged got a new key.
    pub retried: bool,
}

/// What is wrong with the jobs after a life. `before` are those at its start, and `lately` its messages.
pub fn broken(
    script: &Script,
    (before, after): (&Jobs, &Jobs),
    (wire, lately): (&[Message], &[Message]),
    lived: Lived,
) -> Vec<String> {
    let mut faults = Vec::new();
    let named = |key: &str, id: &str| wire.iter().any(|one| one.key == key && one.said.job.as_deref() == Some(id));
    for (key, job) in &after.open {
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
    for (key, job) in before.open.iter().filter(|_| !lived.decided) {
        match (after.open.get(key), after.ended.get(key)) {
            (Some(open), _) if open == job => {}
            (None, Some((ended, _))) if ended.id == job.id => {}
            // It failed uncharged, and has a new key.
            (None, None) if lived.retried => {}
            (open, ended) => faults.push(format!("J3: {key} was {job:?} and is {open:?} or {ended:?}")),
        }
    }
    // It may have been accepted in the same life.
    let ended = after.ended.iter().filter(|(key, _)| !lived.decided && !before.ended.contains_key(*key));
    faults.extend(ended.filter_map(|(key, (job, state))| ended_wrongly(key, job, *state, (script, wire))));
    for one in lately.iter().filter(|one| one.submit && before.open.contains_key(&one.key)) {
        faults.push(format!("J4: a job is sent again: {one}"));
    }
    // A job that a complete reply names is recorded, unless the life ended before.
    let check = script.pair[0];
    let of_check = |one: &&Message| one.submit && check.is_job() && one.path.starts_with(&format!("/{}", check.name));
    let known = |key: &str| after.open.contains_key(key) || after.ended.contains_key(key);
    let lost = lately.iter().filter(of_check).filter(|one| one.said.job.is_some() && !known(&one.key));
    if !lived.died && !lived.decided && !lived.retried {
        faults.extend(lost.map(|one| format!("J1: a reply names a job, and the ledger has none: {one}")));
    }
    faults
}

/// How often the service must not know a job, or how old it must be, before it is lost.
const MISSES: usize = 3;
const LOST_AFTER_US: u64 = 71 * 3_600 * 1_000_000;

/// Why a job may not have ended so: no reply about it said it.
fn ended_wrongly(key: &str, job: &Job, state: State, (script, wire): (&Script, &[Message])) -> Option<String> {
    let id = job.id.as_deref()?;
    let about = || wire.iter().filter(|one| !one.submit && one.path.ends_with(&format!("/{id}")));
    let states: Vec<&str> = about().filter_map(|one| one.said.state.as_deref()).collect();
    // The campaign looks for charges in another place than the state of a job has them.
    let is_hidden = script.oddities.stated == ChargeStated::Elsewhere;
    let is_unstated = |one: &Message| is_hidden || one.said.charge.is_none();
    let failed_unstated = || about().any(|one| one.said.state.as_deref() == Some("failed") && is_unstated(one));
    let misses = about().filter(|one| matches!(one.reply, Some((404 | 410, _)))).count();
    let accepted = wire.iter().find(|one| one.key == key && one.said.job.as_deref() == Some(id))?;
    // A machine that sleeps has no messages meanwhile, but the service's clock goes on.
    let since = |last: &Message| (last.at_us - accepted.at_us).max((last.wall_us - accepted.wall_us).unsigned_abs());
    let age_us = about().next_back().map_or(0, since);
    let is_said = match state {
        State::Answered => states.contains(&"completed"),
        State::Failed => states.contains(&"failed"),
        // Nobody knows what a failed job cost if its reply states no charge.
        _ => failed_unstated() || misses >= MISSES || age_us >= LOST_AFTER_US,
    };
    (!is_said).then(|| format!("J5: {key} was a job and is {state:?}, and the service said {states:?} of {id}"))
}
