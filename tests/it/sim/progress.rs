//! I19: while the service answers other requests, each run settles new requests or ends with a named decision for a
//! person. What a person has not decided is not tried again.

use super::{life::Step, wire::Message};
use rescreen::{
    model::{IdempotencyKey, Stop, state::State},
    pipeline::RunReport,
};
use rusqlite::Connection;
use std::collections::HashSet;

/// The progress of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Answered, failed or quarantined.
    pub settled: u64,
    /// Requests without an attempt in doubt.
    pub planned: u64,
    /// Keys of all unsettled requests, with their checks.
    open: Vec<(String, String)>,
    /// The checks of answered requests.
    answered: HashSet<String>,
    /// The keys of requests that have an attempt, including one that was never sent.
    pub tried: HashSet<String>,
}

/// Reads it. Empty where there is no ledger yet.
pub fn standing(ledger: Option<&Connection>) -> Standing {
    let mut standing = Standing::default();
    let sql = "SELECT state, coalesce(key, first_key), attempts, check_name FROM request ORDER BY id";
    let Some(mut select) = ledger.and_then(|ledger| ledger.prepare(sql).ok()) else { return standing };
    let mut rows = select.query([]).expect("the ledger's requests");
    while let Some(row) = rows.next().expect("a row") {
        let state = State::from_code(row.get(0).expect("a number")).expect("a state");
        let key = IdempotencyKey::from_slice(&row.get::<_, [u8; 16]>(1).expect("a key")).expect("16 bytes");
        if row.get::<_, i64>(2).expect("a count") > 0 {
            standing.tried.insert(key.to_string());
        }
        let check: String = row.get(3).expect("a name");
        standing.planned += u64::from(state == State::Planned);
        if state == State::Answered {
            standing.answered.insert(check.clone());
        }
        match state {
            // A job is finished by the service alone.
            State::Answered | State::Failed | State::Quarantined | State::Submitted => standing.settled += 1,
            _ => standing.open.push((key.to_string(), check)),
        }
    }
    standing
}

/// A run that ended normally, with requests that wait for nothing, has settled some or says why not.
pub fn stalled(before: &Standing, after: &Standing, report: &RunReport) -> Option<String> {
    let silent = report.sent.stops.is_empty() && after.planned > 0 && after.settled == before.settled;
    silent.then(|| format!("I19: it settled nothing, left {} planned and named no stop", after.planned))
}

/// With a working service: the requests that the runs of each API key neither sent nor settled.
pub fn neglected(before: &Standing, after: &Standing, wire: &[Message]) -> Option<String> {
    if after.settled > before.settled {
        return None;
    }
    let sent: HashSet<&str> = wire.iter().filter(|one| one.submit).map(|one| one.key.as_str()).collect();
    let left: Vec<&String> = after.open.iter().map(|(key, _)| key).filter(|key| !sent.contains(key.as_str())).collect();
    let first = left.first()?;
    Some(format!("I19: with a service that is well nothing was settled, and {} were not sent, as {first}", left.len()))
}

/// An answer that cannot be read fails its row once it is repeated, if the check is answered for others. `before` is the
/// state of the requests at the start of the life.
pub fn unread_again(before: &Standing, life: &[Message]) -> Option<String> {
    let unread = |key: &str| {
        let of_key = life.iter().filter(|one| one.submit && one.key == key);
        of_key.filter(|one| matches!(one.reply, Some((200, _))) && one.said.damaged).count()
    };
    let answered = before.open.iter().filter(|(_, check)| before.answered.contains(check));
    let (count, key) = answered.map(|(key, _)| (unread(key), key)).max()?;
    (count > UNREAD_MAX).then(|| format!("I19: {count} replies to {key} could not be read, and it goes on"))
}

/// Two that cannot be read show that the next is no different. One more may follow a crash or a lost balance.
const UNREAD_MAX: usize = 3;

/// A stop that asks a person to decide. Rows that cannot be mapped are counted again by each run, and cost nothing.
pub fn asks_a_person(stop: &Stop) -> bool {
    match stop {
        Stop::TooManyErrors { stage, .. } => *stage == "be accepted by the service",
        stop => matches!(stop, Stop::Price { .. } | Stop::Unrecognised { .. } | Stop::SameRefusals { .. }),
    }
}

/// How many different refused requests show that their check is the cause.
pub const REFUSED_MIN: usize = 5;

/// How many different requests were refused in a life.
pub fn refused_requests(life: &[Message]) -> usize {
    let is_refused = |one: &&Message| one.submit && matches!(one.reply, Some((400..500, _)));
    life.iter().filter(is_refused).map(|one| one.key.as_str()).collect::<HashSet<_>>().len()
}

/// A stop for a number of different requests in a row was caused by that many: one request that fails again and again
/// is one. `refused` are the messages that found no connection.
pub fn miscounted(report: &RunReport, number: usize, life: &[Message], refused: &[Message]) -> Option<String> {
    let keys = |failed: fn(&Message) -> bool| -> HashSet<&str> {
        life.iter().filter(|one| one.submit && failed(one)).map(|one| one.key.as_str()).collect()
    };
    let refused = refused.iter().filter(|one| one.life == number && one.submit).map(|one| one.key.as_str());
    let not_json = |one: &Message| matches!(one.reply, Some((200..300, _))) && !one.said.json;
    report.sent.stops.iter().find_map(|stop| {
        let (said, found) = match stop {
            Stop::Conflict { count, .. } => (*count, keys(|one| matches!(one.reply, Some((409, _)))).len()),
            Stop::Unavailable { message } => {
                let said = message.split_once(" requests in a row had no answer")?.0.parse().ok()?;
                let unanswered = keys(|one| matches!(one.reply, None | Some((500.., _))));
                // A failed upload counts for its request, which it does not name.
                let uploads = life.iter().filter(|one| matches!(one.step, Step::Announce | Step::Put)).count();
                (said, refused.clone().chain(unanswered).collect::<HashSet<_>>().len() + uploads)
            }
            // One reply on the account is enough.
            Stop::NotTheService { .. } if !life.iter().any(|one| !one.submit && not_json(one)) => {
                (NOT_JSON_MAX, keys(not_json).len())
            }
            _ => return None,
        };
        let found = found as u64;
        (found < said).then(|| format!("I19: it stopped for {said} requests, and {found} failed so: {stop:?}"))
    })
}

/// How many different requests whose replies are not JSON end a run.
const NOT_JSON_MAX: u64 = 6;

/// While new requests wait they get every second slot, so no long sequence of repeats comes before the next new one.
/// `before` is the state of the requests at the start of the life, and `refused` are the messages that found no
/// connection: the requests in them are no longer new either.
pub fn held_up(before: &Standing, earlier: &[Message], refused: &[Message], life: &[Message]) -> Option<String> {
    let mut seen: HashSet<&str> =
        earlier.iter().chain(refused).filter(|one| one.submit).map(|one| one.content.as_str()).collect();
    let mut repeats = 0;
    for one in life {
        if one.step == Step::Announce {
            // The upload takes the turn of its request, which it does not name.
            repeats = 0;
        }
        if !one.submit {
            continue;
        }
        // The content is noted in any case: a new key may be made for a request that an earlier life armed and never sent.
        let is_repeat = !seen.insert(&one.content);
        if is_repeat || before.tried.contains(&one.key) {
            repeats += 1;
            continue;
        }
        if repeats > REPEATS_IN_ROW {
            return Some(format!("I19: {repeats} repeats were sent before the new request {one}"));
        }
        repeats = 0;
    }
    None
}

/// The most repeats in a row while new requests wait. Those that the budget or a first charge holds up may take some.
const REPEATS_IN_ROW: usize = 40;
