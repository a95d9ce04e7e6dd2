//! The rate in real time, with separate processes, for more than a minute of steady use.

use super::account::{Account, Judged, Limits};
use crate::support::program::wait_until;
use rusqlite::Connection;
use std::{
    thread::{self, sleep},
    time::Duration,
};

/// One campaign at the steady rate for this many seconds.
fn steady(limits: Limits, seconds: u32) -> Judged {
    let account = Account::new(limits);
    account.campaign("steady", (limits.per_minute * seconds / 60) as usize + 1);
    account.run("steady");
    account.judge("one campaign", &["steady"])
}

fn steady_is_used(limits: Limits, seconds: u32) {
    steady(limits, seconds).is_within(u64::from(limits.per_minute_max)).is_used();
}

/// The messages that this machine sends in a minute if no limit holds them back. Both processes are unoptimised builds.
fn possible_per_minute() -> f64 {
    let per_minute = 1_000_000;
    let account = Account::new(Limits { per_minute, per_minute_max: per_minute });
    account.campaign("unlimited", 5_000);
    account.run("unlimited");
    account.judge("as fast as possible", &["unlimited"]).used * f64::from(per_minute)
}

fn two_at_once(limits: Limits) -> Judged {
    let account = Account::new(limits);
    let rows = limits.per_minute as usize * 33 / 60;
    for name in ["one", "other"] {
        account.campaign(name, rows);
    }
    let under_way = ["one", "other"].map(|name| account.start(name));
    for run in under_way {
        run.wait().exits(0);
    }
    let judged = account.judge("two campaigns at once", &["one", "other"]);
    judged.is_within(u64::from(limits.per_minute_max));
    judged
}

fn four_one_after_another() {
    let account = Account::new(Limits { per_minute: 60, per_minute_max: 120 });
    account.campaign("first", 1);
    account.run("first");
    // Long enough for a full bucket.
    sleep(Duration::from_secs(62));
    let names = ["a", "b", "c", "d"];
    for name in names {
        account.campaign(name, 50);
        account.run(name);
    }
    let judged = account.judge("four campaigns of 50 rows one after another, from idle", &names);
    assert!(judged.is_within(120).used > 1.2, "the burst is used: {}", judged.used);
}

/// Another process writes to the ledger for six seconds, so a commit takes that long.
fn a_slow_commit() {
    let account = Account::new(Limits { per_minute: 600, per_minute_max: 600 });
    account.campaign("slow", 700);
    let run = account.start("slow");
    wait_until("the ledger exists", || account.ledger("slow").exists());
    sleep(Duration::from_secs(20));
    let other = Connection::open(account.ledger("slow")).unwrap();
    other.busy_timeout(Duration::from_secs(5)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    sleep(Duration::from_secs(6));
    other.execute_batch("ROLLBACK").unwrap();
    run.wait().exits(0);
    account.judge("a commit of six seconds", &["slow"]).is_within(600);
}

/// Each takes little work, so they run concurrently.
#[test]
#[ignore = "minutes of real time; make rate"]
fn moderate_rates_are_used_and_never_exceeded() {
    thread::scope(|scope| {
        scope.spawn(|| steady_is_used(Limits { per_minute: 60, per_minute_max: 60 }, 66));
        scope.spawn(|| steady_is_used(Limits { per_minute: 60, per_minute_max: 120 }, 66));
        scope.spawn(|| steady_is_used(Limits { per_minute: 600, per_minute_max: 600 }, 66));
        scope.spawn(|| steady_is_used(Limits { per_minute: 600, per_minute_max: 720 }, 66));
        scope.spawn(|| steady_is_used(Limits { per_minute: 6_000, per_minute_max: 6_000 }, 64));
        // Balance queries, which are not in the ledgers, are a few percent of these messages.
        scope.spawn(|| two_at_once(Limits { per_minute: 60, per_minute_max: 60 }));
        scope.spawn(|| {
            two_at_once(Limits { per_minute: 600, per_minute_max: 600 }).is_used();
        });
        scope.spawn(four_one_after_another);
        scope.spawn(a_slow_commit);
    });
}

#[test]
#[ignore = "a minute of real time; make rate"]
fn thirty_thousand_a_minute_are_used_and_never_exceeded() {
    // Longer than a minute, so that a minute with too many messages is visible.
    let per_minute = 30_000;
    let judged = steady(Limits { per_minute, per_minute_max: per_minute }, 64);
    judged.is_within(per_minute.into());
    let possible = possible_per_minute();
    if possible < 1.25 * f64::from(per_minute) {
        println!(
            "SKIPPED: this machine sends {possible:.0} a minute without a limit, too few to tell how much of {per_minute} is used"
        );
    } else {
        judged.is_used();
    }
}
