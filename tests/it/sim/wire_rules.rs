//! What must hold for the messages of a campaign, whatever the ledger says: I4, I5, I6 and I12.

use super::{
    checks::Check,
    life::{Life, Step},
    script::Script,
    wire::Message,
};
use std::collections::{HashMap, HashSet};

const MINUTE_US: u64 = 60_000_000;
/// How long a client waits for a reply.
const TOTAL_TIMEOUT_US: u64 = 120_000_000;
/// How long a client pauses when the service does not say how long.
const PUSH_BACK_UNSTATED_S: u64 = 5;
/// A pause up to this length is waited for within the run.
const HELD_MAX_S: u64 = 15 * 60;
const HOUR_US: i64 = 3_600_000_000;

/// The life of a key less two hours, and the allowed difference between the clocks of two machines.
fn key_age_max_us(path: &str) -> i64 {
    (Check::key_life_hours(path) - 2) * HOUR_US + HOUR_US / 4
}

/// The rules that the messages violate.
pub fn broken(wire: &[Message], script: &Script, died: &[bool]) -> Vec<String> {
    let mut faults = keys(wire, script);
    faults.extend(one_at_a_time(wire));
    faults.extend(rate(wire, script));
    faults.extend(push_back(wire, script, died));
    faults.extend(refused(wire));
    faults.extend(uploads(wire, script.in_flight));
    faults
}

/// A document carries no secret of the service, and no step of an upload uses the key of a request.
fn uploads(wire: &[Message], in_flight: u64) -> Vec<String> {
    let steps = || wire.iter().filter(|one| matches!(one.step, Step::Announce | Step::Put));
    if steps().next().is_none() {
        return Vec::new();
    }
    let leaks = steps().filter(|one| one.leaks).map(|one| format!("F4: a document is sent with a secret: {one}"));
    let keys: HashSet<&str> = wire.iter().filter(|one| one.submit).map(|one| one.key.as_str()).collect();
    let shared = steps().filter(|one| keys.contains(one.key.as_str()));
    let shared = shared.map(|one| format!("F4: an upload has the key of a request: {one}"));
    leaks.chain(shared).chain(after_a_charge(wire, in_flight)).collect()
}

/// Once a step of an upload states a charge, only the uploads that were under way are announced in the same life.
fn after_a_charge(wire: &[Message], in_flight: u64) -> Option<String> {
    let charged = |one: &&Message| matches!(one.step, Step::Announce | Step::Put) && one.said.charge > Some(0);
    wire.iter().filter(charged).find_map(|one| {
        let (_, at_us) = one.reply?;
        let later = |other: &&Message| other.life == one.life && other.step == Step::Announce && other.at_us > at_us;
        let count = wire.iter().filter(later).count() as u64;
        (count > in_flight).then(|| format!("F5: {count} uploads are announced after {one}, which states a charge"))
    })
}

/// Whether a message may have been charged, as far as its reply shows.
fn proves_nothing(message: &Message) -> bool {
    let stated = message.said.charge.is_some_and(|charge| charge > 0);
    stated || !message.is_uncharged() && matches!(message.reply, None | Some((200..400 | 404 | 405 | 409 | 500.., _)))
}

/// I4 and I6. In sandbox, where nothing is charged, the service's time is not read before a repeat.
fn keys(wire: &[Message], script: &Script) -> Vec<String> {
    let mut faults = Vec::new();
    let mut contents: HashMap<&str, (&str, &str)> = HashMap::new();
    let mut doubts: HashMap<&str, &Message> = HashMap::new();
    for one in wire.iter().filter(|one| one.submit) {
        let content = (one.path.as_str(), one.body.as_str());
        if *contents.entry(&one.key).or_insert(content) != content {
            faults.push(format!("I4: one key, one path and body: {one}"));
        }
        if let Some(doubt) = doubts.get(one.key.as_str()) {
            if script.production && one.wall_us - doubt.wall_us > key_age_max_us(&one.path) {
                faults.push(format!("I6: sent again {} h later: {one}", (one.wall_us - doubt.wall_us) / HOUR_US));
            }
            if one.api_key != doubt.api_key {
                faults.push(format!("I6: sent again under another API key: {one}"));
            }
        }
        if proves_nothing(one) {
            doubts.entry(&one.key).or_insert(one);
        }
    }
    faults
}

/// I4: a repeat follows the reply to the message before it, or the timeout of one.
fn one_at_a_time(wire: &[Message]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut under_way: HashMap<(usize, &str), u64> = HashMap::new();
    for one in wire.iter().filter(|one| one.submit) {
        let until_us = one.reply.map_or(one.at_us + TOTAL_TIMEOUT_US, |(_, at_us)| at_us);
        let before = under_way.insert((one.life, &one.key), until_us);
        if before.is_some_and(|before| one.at_us < before) {
            faults.push(format!("I4: on its way twice: {one}"));
        }
    }
    faults
}

/// I5, for each API key.
fn rate(wire: &[Message], script: &Script) -> Vec<String> {
    let counted = |one: &&Message| one.submit || !script.quirks.free_balance;
    let wire: Vec<&Message> = wire.iter().filter(counted).collect();
    let most = |at: usize, first: &Message| {
        let minute = wire[at..].iter().take_while(|one| one.at_us < first.at_us + MINUTE_US);
        minute.filter(|one| one.api_key == first.api_key).count() as u64
    };
    let over = wire.iter().enumerate().map(|(at, first)| (most(at, first), first));
    let over = over.filter(|(count, _)| *count > script.per_minute_max);
    over.map(|(count, first)| format!("I5: {count} in the minute from {first}")).collect()
}

/// Whether a message is of the same check as a refusal.
fn is_of_check(refusal: &Message, one: &Message) -> bool {
    one.submit && one.check == refusal.check
}

/// Whether a refusal may be about its check alone: the check was refused before in this life, or asks for more than a run
/// waits, and requests of the other check were answered meanwhile.
fn is_own_limit(wire: &[Message], refusal: &Message, wait: u64) -> bool {
    let replied = |one: &Message| one.reply.map_or(u64::MAX, |(_, at)| at);
    let before = || wire.iter().filter(|one| one.life == refusal.life && replied(one) <= replied(refusal));
    let is_refused = |one: &&Message| is_of_check(refusal, one) && matches!(one.reply, Some((429, _)));
    let first = before().filter(is_refused).map(replied).min().unwrap_or_default();
    let since = if wait > HELD_MAX_S { 0 } else { first };
    let is_answered = |one: &Message| matches!(one.reply, Some((200..=428 | 430..=499, _)));
    let mut others = before().filter(|one| one.submit && !is_of_check(refusal, one));
    refusal.submit && others.any(|one| is_answered(one) && replied(one) >= since)
}

/// I12: nothing before `Retry-After`, nor for five seconds after a bare 429 of a check in production.
fn push_back(wire: &[Message], script: &Script, died: &[bool]) -> Vec<String> {
    let mut faults = Vec::new();
    for refusal in wire.iter().filter(|one| matches!(one.reply, Some((429, _)))) {
        let quirks = (script.production && refusal.submit && refusal.bare).then_some(PUSH_BACK_UNSTATED_S);
        let (Some((_, from)), Some(wait)) = (refusal.reply, refusal.retry_after.or(quirks)) else { continue };
        let replied_wall_us = refusal.wall_us + (from - refusal.at_us) as i64;
        // One second less, because a date has no fractions. And a service that asks for years is not obeyed that long.
        let until_us = replied_wall_us.saturating_add((wait as i64).saturating_mul(1_000_000)) - 1_000_000;
        let kept_us = replied_wall_us + 24 * HOUR_US;
        // A life that died with this reply could not record it.
        let last_words = died[refusal.life] && !wire.iter().any(|one| one.life == refusal.life && one.at_us > from);
        let own_limit = script.checks == 2 && is_own_limit(wire, refusal, wait);
        let is_of = |one: &Message| is_of_check(refusal, one);
        let early = wire.iter().find(|one| {
            let same_life = one.life == refusal.life;
            let after = one.at_us > from && one.api_key == refusal.api_key && (same_life || !last_words);
            // A run counts with its timers, whatever its clock is set to. A pause in the ledger depends on a clock: if
            // the clock was set since, even for a run in between, a later run may drop the pause.
            let since = || wire.iter().filter(|other| (refusal.life..=one.life).contains(&other.life));
            // A run in between may have sent nothing, but it drops a pause as well.
            let between = || script.lives.iter().take(one.life).skip(refusal.life + 1);
            let same = |life: &Life| life.clock_apart == refusal.apart_s && !life.sets_the_clock();
            let same_clock = || since().all(|other| other.apart_s == refusal.apart_s) && between().all(same);
            let bound = || if same_life { wait <= HELD_MAX_S } else { same_clock() };
            let is_free = own_limit && !is_of(one);
            after && one.wall_us + 2 < until_us.min(kept_us) && bound() && !is_free
        });
        faults.extend(early.map(|one| format!("I12: before Retry-After of {refusal}: {one}")));
    }
    faults
}

/// I12: after a 401 or 403 nothing is sent before the account was read successfully with the same API key. A refused
/// key stops all requests of its life, and a refused row stops only its own. A refusal that states a charge belongs to
/// the row.
fn refused(wire: &[Message]) -> Vec<String> {
    let refusals = wire.iter().filter(|one| one.submit && one.said.charge.is_none_or(|charge| charge == 0));
    let refusals = refusals.filter_map(|one| match one.reply {
        Some((401 | 403, at_us)) => Some((one.life, at_us)),
        _ => None,
    });
    let sent = |(life, from_us): (usize, u64)| {
        let same_life = || wire.iter().filter(|one| one.life == life);
        let later = same_life().find(|one| one.submit && one.at_us > from_us + 2)?;
        let read = same_life().any(|one| {
            let in_order = matches!(one.reply, Some((200..300, at_us)) if at_us <= later.at_us);
            one.step == Step::Balance && one.at_us >= from_us && in_order
        });
        (!read).then(|| format!("I12: sent after a refused API key, and the account was not read: {later}"))
    };
    let unread = wire.iter().filter(|one| one.step == Step::Balance && matches!(one.reply, Some((401 | 403, _))));
    let after_unread = unread.filter_map(|refusal| {
        let from_us = refusal.reply?.1;
        let mut later = wire.iter().filter(|one| one.life == refusal.life && one.at_us > from_us + 2);
        later.find(|one| one.submit).map(|one| format!("I12: sent after a refused API key: {one}"))
    });
    refusals.filter_map(sent).chain(after_unread).collect()
}
