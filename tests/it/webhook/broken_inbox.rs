//! An inbox that is damaged, locked or no inbox stops no run and no collecting: jobs are asked for by schedule.

use super::campaign::Office;
use crate::support::program::{Said, UnderWay, rescreen};
use rusqlite::Connection;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

const HOOKS: &str = "--webhook-url http://127.0.0.1:9";

fn inbox_of(office: &Office) -> PathBuf {
    office.folder.path().join("state/rescreen/webhooks/inbox.sqlite")
}

fn remove(inbox: &Path) {
    for end in ["", "-wal", "-shm"] {
        drop(fs::remove_file(format!("{}{end}", inbox.display())));
    }
}

/// The ways in which an inbox can be unusable.
fn breakages() -> Vec<(&'static str, fn(&Path))> {
    vec![
        ("no database", |inbox| {
            remove(inbox);
            fs::write(inbox, "a text".repeat(1_000)).unwrap();
        }),
        ("the database of another program", |inbox| {
            remove(inbox);
            Connection::open(inbox).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
        }),
        ("an empty file", |inbox| {
            remove(inbox);
            fs::write(inbox, "").unwrap();
        }),
        ("no table of events", |inbox| Connection::open(inbox).unwrap().execute_batch("DROP TABLE event").unwrap()),
        ("a folder", |inbox| {
            remove(inbox);
            fs::create_dir(inbox).unwrap();
        }),
        ("a named pipe", |inbox| {
            remove(inbox);
            assert!(Command::new("mkfifo").arg(inbox).status().unwrap().success());
        }),
        ("a link", |inbox| {
            fs::rename(inbox, inbox.with_extension("moved")).unwrap();
            std::os::unix::fs::symlink("inbox.moved", inbox).unwrap();
        }),
    ]
}

/// It has said once that deliveries are not read, and nothing of a secret.
#[track_caller]
fn says_once(said: &Said, office: &Office, what: &str) {
    let count = said.stderr.matches("the deliveries of the service cannot be read").count();
    assert_eq!(count, 1, "{what}: {}", said.stderr);
    for part in ["webhooks/inbox.sqlite", "asked for by their schedule", "move it away"] {
        assert!(said.stderr.contains(part), "{what}: {}", said.stderr);
    }
    for receiver in office.receivers() {
        assert!(!said.stderr.contains(&receiver.secret), "{what}: {}", said.stderr);
    }
}

#[test]
fn an_inbox_that_cannot_be_read_stops_neither_collect_nor_a_run_without_a_webhook() {
    let office = Office::new("--job-time 10h");
    office.run(HOOKS).exits(5);
    let inbox = inbox_of(&office);
    for (number, (what, breakage)) in breakages().into_iter().enumerate() {
        if number > 0 {
            // A good inbox again.
            drop(fs::remove_dir_all(inbox.parent().unwrap()));
            office.run(HOOKS).exits(5);
        }
        breakage(&inbox);
        let collected = office.say("collect out").exits(5);
        says_once(&collected, &office, what);
        assert!(collected.stderr.contains("3 rows: 0 results (none yet), 0 failures, 3 pending"), "{what}");
        says_once(&office.run("").exits(5), &office, what);
    }
    assert!(office.asked() >= 3, "jobs are asked for all the same");
}

#[test]
fn a_locked_inbox_is_read_without_waiting() {
    let office = Office::new("--job-time 10h");
    office.run(HOOKS).exits(5);
    let other = Connection::open(inbox_of(&office)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    let said = office.say("collect out").exits(5);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert!(!said.stderr.contains("cannot be read"), "a writer keeps no reader out: {}", said.stderr);
    drop(other);
    let other = Connection::open(inbox_of(&office)).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM event").unwrap();
    says_once(&office.say("collect out").exits(5), &office, "locked for good");
}

#[test]
fn an_inbox_that_breaks_while_jobs_are_followed_is_said_and_the_jobs_complete() {
    let office = Office::new("--job-time 10h");
    office.run(HOOKS).exits(5);
    let words = ["collect", "out", "--for", "12s"];
    let collecting = UnderWay::start(&mut rescreen(office.folder.path(), &words));
    sleep(Duration::from_secs(5));
    Connection::open(inbox_of(&office)).unwrap().execute_batch("DROP TABLE event").unwrap();
    let said = collecting.wait().exits(5);
    says_once(&said, &office, "broken meanwhile");
}
