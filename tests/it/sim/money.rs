//! What must hold for money when prices rise, charges are stated in unusual ways or not at all, and another client
//! spends: I2, and that stated charges are booked. The ledger is read as plain SQL; the messages are those that the
//! wire saw.

use super::{
    life::{Life, Step},
    script::Script,
    upload_wire::UPLOAD_CHARGE,
    wire::Message,
};
use rescreen::{model::IdempotencyKey, simulator::Simulator};
use rusqlite::Connection;
use std::collections::{HashMap, HashSet};

/// The state of a request under its current key in the ledger.
#[derive(Debug, Clone, Copy)]
struct Booked {
    charged: u64,
    held: u64,
}

fn booked(ledger: &Connection) -> HashMap<String, Booked> {
    let sql = "SELECT coalesce(key, first_key), charged, held FROM request";
    let Ok(mut select) = ledger.prepare(sql) else { return HashMap::new() };
    let rows = select.query_map([], |row| {
        let number = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
        Ok((row.get::<_, [u8; 16]>(0)?, Booked { charged: number(1)?, held: number(2)? }))
    });
    let key = |bytes: [u8; 16]| IdempotencyKey::from_slice(&bytes).expect("16 bytes are a key").to_string();
    rows.expect("the ledger's requests").map(|row| row.expect("a row")).map(|(bytes, one)| (key(bytes), one)).collect()
}

/// A charge that a reply states is booked: it is charged or held at once, and charged in the end. A life that died may
/// not have recorded its last replies. They are repeated, unless a decision comes first.
pub fn unbooked(
    wire: &[Message],
    script: &Script,
    ledger: &Connection,
    died: &[bool],
    (decided, at_the_end): (bool, bool),
) -> Vec<String> {
    let booked = booked(ledger);
    let mut faults = Vec::new();
    let mut told = HashSet::new();
    for one in wire.iter().filter(|one| one.submit && script.production) {
        let Some(stated) = one.said.charge.filter(|charge| *charge > 0) else { continue };
        let others = one.said.request_id.as_ref().is_some_and(|id| *id != one.key);
        let unnoted = died[one.life] && stated > script.lives.get(one.life).map_or(0, |life| life.lowest_table());
        if others || unnoted {
            continue;
        }
        match booked.get(&one.key) {
            Some(booked) if booked.charged >= stated => {}
            Some(booked) if !at_the_end && booked.charged + booked.held >= stated => {}
            None if decided => {}
            found => {
                if told.insert(&one.key) {
                    faults.push(format!("I2: a stated charge is booked: {stated}, and {found:?} for {one}"));
                }
            }
        }
    }
    faults
}

/// The charges that steps of uploads state are booked beside those that the last key of each request states. A step does
/// not name its request, so only the sums can be compared.
pub fn uploads_unbooked(wire: &[Message], script: &Script, ledger: &Connection, died: &[bool]) -> Option<String> {
    let stated = |one: &Message| one.said.charge.filter(|_| one.reply.is_some() && !died[one.life]).unwrap_or(0);
    let is_step = |one: &&Message| matches!(one.step, Step::Announce | Step::Put);
    let of_uploads: u64 = wire.iter().filter(is_step).map(stated).sum();
    let booked = booked(ledger);
    let mut of_keys: HashMap<&str, u64> = HashMap::new();
    for one in wire.iter().filter(|one| one.submit && booked.contains_key(&one.key)) {
        let most = of_keys.entry(&one.key).or_default();
        *most = stated(one).max(*most);
    }
    let wanted = of_uploads + of_keys.values().sum::<u64>();
    let found: u64 = booked.values().map(|one| one.charged + one.held).sum();
    let is_less = script.production && of_uploads > 0 && found < wanted;
    is_less.then(|| format!("F5: uploads state {of_uploads} credits; {found} of at least {wanted} are booked"))
}

/// An answer that calls itself a failure, and that no rule recognises, is requested again before it is final.
pub fn believed_at_once(wire: &[Message], ledger: &Connection) -> Vec<String> {
    let sql =
        "SELECT coalesce(key, first_key) FROM request WHERE state = 10 AND attempts = 1 AND verdict = 'unrecognised'
               AND charged <= price";
    let mut select = ledger.prepare(sql).expect("a query");
    let rows = select.query_map([], |row| row.get::<_, [u8; 16]>(0));
    let keys = rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).expect("the ledger's requests");
    let key = |bytes: [u8; 16]| IdempotencyKey::from_slice(&bytes).expect("16 bytes are a key").to_string();
    let keys: HashSet<String> = keys.into_iter().map(key).collect();
    let failed = wire.iter().filter(|one| one.said.failed && keys.contains(&one.key));
    failed.map(|one| format!("I18: an answer that calls itself a failure is final at once: {one}")).collect()
}

/// A request that failed, and each of whose attempts has a reply that states that nothing was charged, is not booked as
/// charged. A life that died may not have recorded its last replies.
pub fn charged_for_nothing(wire: &[Message], ledger: &Connection, died: &[bool]) -> Vec<String> {
    let sql = "SELECT first_key, charged, attempts FROM request WHERE state = 11 AND generation = 0 AND charged > 0";
    let Ok(mut select) = ledger.prepare(sql) else { return Vec::new() };
    let rows =
        select.query_map([], |row| Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
    let failed = rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).expect("the ledger's requests");
    let wrong = failed.into_iter().filter_map(|(key, charged, attempts)| {
        let key = IdempotencyKey::from_slice(&key).expect("16 bytes are a key").to_string();
        let replies: Vec<&Message> = wire.iter().filter(|one| one.submit && one.key == key).collect();
        // An attempt that was never written to the wire may be in doubt.
        let is_heard = attempts > 0 && i64::try_from(replies.len()) == Ok(attempts);
        let is_booked = is_heard && replies.iter().all(|one| one.is_uncharged() && !died[one.life]);
        is_booked.then(|| format!("I2: {key} is booked at {charged}, and each reply states that it cost nothing"))
    });
    wrong.collect()
}

/// Keys of requests that were answered at the first attempt and are booked below these prices, or at an amount that
/// is neither one of these nor the table's price. A stated charge below the table's price is believed once the
/// balance has shown that it is true.
pub fn charged_otherwise(
    ledger: &Connection,
    script: &Script,
    [first, second]: [u64; 2],
    wire: &[Message],
) -> Vec<String> {
    // Charges of its uploads may come on top.
    let sql = "SELECT first_key FROM (
                   SELECT *, CASE check_name WHEN ?3 THEN ?1 ELSE ?2 END AS wanted FROM request
               ) WHERE state = 10 AND attempts = 1 AND charged <> wanted AND (charged <> price OR charged < wanted)
               AND NOT (?4 > 0 AND charged > wanted AND (charged - wanted) % ?4 = 0)";
    let beside = if script.uploads_charge() { UPLOAD_CHARGE as i64 } else { 0 };
    let values = (first as i64, second as i64, script.pair[0].name, beside);
    let mut select = ledger.prepare(sql).expect("a query");
    let rows = select.query_map(values, |row| row.get::<_, [u8; 16]>(0));
    let contents = rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).expect("the ledger's requests");
    let key = |bytes: [u8; 16]| IdempotencyKey::from_slice(&bytes).expect("16 bytes are a key").to_string();
    let odd: HashSet<&str> = wire.iter().filter(|one| one.said.odd).map(|one| one.key.as_str()).collect();
    contents.into_iter().map(key).filter(|key| !odd.contains(key.as_str())).collect()
}

/// Answers of a first generation that the service charged otherwise than the ledger says: not at all, more, or,
/// where each charge is known, any other amount.
pub fn answers_charged_otherwise(
    ledger: &Connection,
    script: &Script,
    simulator: &Simulator,
) -> Vec<(String, u64, u64)> {
    let known = script.charges_are_known();
    let upper_bound = script.table_is_an_upper_bound() || script.states_charges();
    let sql = "SELECT first_key, charged FROM request WHERE state = 10 AND generation = 0";
    let mut select = ledger.prepare(sql).expect("a query");
    let rows = select.query_map([], |row| Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, i64>(1)?.unsigned_abs())));
    let requests = rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).expect("the ledger's requests");
    let charges = requests.into_iter().map(|(content, booked)| {
        let key = IdempotencyKey::from_slice(&content).expect("16 bytes are a key").to_string();
        (simulator.charged_under(&key), booked, key)
    });
    // What is booked for uploads of its document comes on top.
    let is_beside = |extra: u64| script.uploads_charge() && extra.is_multiple_of(UPLOAD_CHARGE);
    let differs = |charged: u64, booked: u64| {
        charged == 0
            || charged > booked && upper_bound
            || charged != booked && known && !is_beside(booked.saturating_sub(charged))
    };
    let wrong = charges.filter(|(charged, booked, _)| differs(*charged, *booked));
    wrong.map(|(charged, booked, key)| (key, charged, booked)).collect()
}

/// The amount of an absurd statement is never booked.
pub fn absurd(ledger: &Connection) -> Option<String> {
    let sql = "SELECT max(charged) FROM request";
    let most: i64 = ledger.query_row(sql, [], |row| row.get(0)).unwrap_or(0);
    (most > 1_000).then(|| format!("an absurd charge is booked: {most}"))
}

/// Once a reply states a balance below the floor, nothing new is sent until another reading says otherwise. A request
/// that an earlier life armed is not new, though it may never have been sent. `tried` has such requests by life.
pub fn below_the_floor(wire: &[Message], script: &Script, tried: &[HashSet<String>]) -> Vec<String> {
    let keep = script.oddities.keep_balance;
    if keep == 0 || !script.production {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for (at, one) in wire.iter().enumerate().filter(|(_, one)| one.submit) {
        let new = seen.insert(&one.key) && !tried.get(one.life).is_some_and(|tried| tried.contains(&one.key));
        // The last reading that had arrived when this was sent.
        let before = wire[..at].iter().filter(|other| other.life == one.life && other.said.balance.is_some());
        let (arrived, just_now): (Vec<_>, Vec<_>) = before
            .filter_map(|other| other.reply.map(|(_, at_us)| (at_us, other)))
            .filter(|(at_us, _)| *at_us <= one.at_us)
            .partition(|(at_us, _)| at_us + 2 < one.at_us);
        let last = arrived.into_iter().max_by_key(|(at_us, _)| *at_us);
        // A reading of the account that arrives at the same moment may be what allowed it.
        let is_allowed = just_now.iter().any(|(_, other)| !other.submit && other.said.balance >= Some(keep));
        if let Some((_, reading)) = last.filter(|(_, reading)| new && !is_allowed && reading.said.balance < Some(keep))
        {
            faults.push(format!("I2: {keep} credits must be kept, and after {reading} this was sent: {one}"));
        }
    }
    faults
}

/// A price that a reply stated is held by later runs as long as the table is unchanged: a life in which the service
/// charges no more than that spends no more than its limit, or than was spent before it. `spent` is before and after
/// it.
pub fn stated_price_forgotten(
    wire: &[Message],
    script: &Script,
    number: usize,
    life: &Life,
    died: &[bool],
    (before, after): (u64, u64),
) -> Option<String> {
    if !script.production || script.checks > 1 || number >= script.lives.len() {
        return None;
    }
    let asked = Script::prices_in(life, 0).max()?;
    let same_table =
        |from: usize| script.lives[from..=number].iter().all(|life| life.table[0] == script.lives[number].table[0]);
    let stated =
        |one: &&Message| one.life < number && !died[one.life] && one.said.charge >= Some(asked) && same_table(one.life);
    let known = asked <= life.table[0] || wire.iter().any(|one| stated(&one));
    let uploads = wire.iter().filter(|one| one.life == number && matches!(one.step, Step::Announce | Step::Put));
    let limit = life.max_credits.max(before) + uploads.filter_map(|one| one.said.charge).sum::<u64>();
    (known && after > limit)
        .then(|| format!("I2: a price that was stated before is held: {after} of {limit}, at {asked}"))
}

impl Life {
    fn lowest_table(&self) -> u64 {
        self.table[0].min(self.table[1])
    }
}
