//! I19: while the service answers other requests, each run settles new requests or ends with a named decision for a person;
//! and what a person has not decided anew is not tried again.

use super::wire::Message;
use rescreen::{
    model::{IdempotencyKey, Stop, state::State},
    pipeline::RunReport,
};
use rusqlite::Connection;
use std::collections::HashSet;

/// How far a campaign has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Answered, failed or quarantined.
    pub settled: u64,
    /// Requests of which no attempt is in doubt.
    pub planned: u64,
    /// Keys of all that are not settled.
    open: Vec<String>,
}

/// Reads it; nothing where there is no ledger yet.
pub fn standing(ledger: Option<&Connection>) -> Standing {
    let mut standing = Standing::default();
    let sql = "SELECT state, coalesce(key, content) FROM request ORDER BY id";
    let Some(mut select) = ledger.and_then(|ledger| ledger.prepare(sql).ok()) else { return standing };
    let mut rows = select.query([]).expect("the ledger's requests");
    while let Some(row) = rows.next().expect("a row") {
        let state = State::from_code(row.get(0).expect("a number")).expect("a state");
        let key = IdempotencyKey::from_slice(&row.get::<_, [u8; 16]>(1).expect("a key")).expect("16 bytes");
        standing.planned += u64::from(state == State::Planned);
        match state {
            State::Answered | State::Failed | State::Quarantined => standing.settled += 1,
            _ => standing.open.push(key.to_string()),
        }
    }
    standing
}

/// A run that ended by itself, with requests that wait for nothing, has settled some or says why not.
pub fn stalled(before: &Standing, after: &Standing, report: &RunReport) -> Option<String> {
    let silent = report.stops.is_empty() && after.planned > 0 && after.settled == before.settled;
    silent.then(|| format!("I19: it settled nothing, left {} planned and named no stop", after.planned))
}

/// With a service that is well: what a run of each API key neither sent nor settled.
pub fn left_alone(before: &Standing, after: &Standing, wire: &[Message]) -> Option<String> {
    if after.settled > before.settled {
        return None;
    }
    let sent: HashSet<&str> = wire.iter().filter(|one| one.submit).map(|one| one.key.as_str()).collect();
    let left: Vec<&String> = after.open.iter().filter(|key| !sent.contains(key.as_str())).collect();
    let first = left.first()?;
    Some(format!("I19: with a service that is well nothing was settled, and {} were not sent, as {first}", left.len()))
}

/// A stop that asks a person to decide. Rows that cannot be mapped are counted anew by each run, and cost nothing.
pub fn asks_a_person(stop: &Stop) -> bool {
    match stop {
        Stop::TooManyErrors { stage, .. } => *stage == "be accepted by the service",
        stop => matches!(stop, Stop::Price { .. } | Stop::Unrecognised { .. } | Stop::Alike { .. }),
    }
}

/// A stop for so many different requests in a row met so many: one request that fails again and again is one.
pub fn miscounted(report: &RunReport, life: &[Message]) -> Option<String> {
    let different = |failed: fn(&Option<(u16, u64)>) -> bool| {
        let keys: HashSet<&str> =
            life.iter().filter(|one| one.submit && failed(&one.reply)).map(|one| one.key.as_str()).collect();
        keys.len() as u64
    };
    report.stops.iter().find_map(|stop| {
        let (said, found) = match stop {
            Stop::Conflict { count } => (*count, different(|reply| matches!(reply, Some((409, _))))),
            Stop::Unavailable { message } => {
                let said = message.split_once(" requests in a row had no answer")?.0.parse().ok()?;
                // A connection that was refused left no message.
                (said, different(|reply| matches!(reply, None | Some((500.., _)))) + REFUSED_CONNECTIONS)
            }
            _ => return None,
        };
        (found < said).then(|| format!("I19: it stopped for {said} requests, and {found} failed so: {stop:?}"))
    })
}

/// In a life with refused connections nobody can say how many requests they were.
const REFUSED_CONNECTIONS: u64 = 20;

/// While new requests wait they get every second place: no long row of repeats comes before the next new one.
pub fn held_up(wire: &[Message], earlier: usize, life: &[Message]) -> Option<String> {
    let mut seen: HashSet<&str> =
        wire[..earlier].iter().filter(|one| one.submit).map(|one| one.body.as_str()).collect();
    let mut repeats = 0;
    for one in life.iter().filter(|one| one.submit) {
        if !seen.insert(&one.body) {
            repeats += 1;
            continue;
        }
        if repeats > REPEATS_IN_ROW {
            return Some(format!("I19: {repeats} repeats left before the new request {one}"));
        }
        repeats = 0;
    }
    None
}

/// Repeats in a row, at most, while new requests wait: what the budget or a first charge holds up may take some.
const REPEATS_IN_ROW: usize = 40;
