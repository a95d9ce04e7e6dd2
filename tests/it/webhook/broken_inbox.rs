//! An inbox that is damaged, locked or no inbox stops no run and no collecting: jobs are asked for by schedule.

use super::{
    campaign::Office,
    listening::Listening,
    post::{now, request, signature_with},
};
use crate::support::program::Said;
use rescreen::{ledger::Receiver, webhook::PATH};
use rusqlite::Connection;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
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

/// Breaks the inbox at this path.
type Breakage = fn(&Path);

/// The ways in which an inbox can be unusable.
fn breakages() -> Vec<(&'static str, Breakage)> {
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
        // The jobs are due.
        let sql = "UPDATE job SET polled_at = 1, poll_at = 1";
        Connection::open(office.ledger()).unwrap().execute(sql, []).unwrap();
        let collected = office.say("collect out").exits(5);
        says_once(&collected, &office, what);
        assert!(collected.stderr.contains("3 rows: 0 results (none yet), 0 failures, 3 pending"), "{what}");
        assert_eq!(office.asked(), 3 * (number as u64 + 1), "{what}: each job is asked for");
        says_once(&office.run("").exits(5), &office, what);
    }
}

#[test]
fn a_locked_inbox_is_read() {
    let office = Office::new("--job-time 10h");
    office.run(HOOKS).exits(5);
    let other = Connection::open(inbox_of(&office)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let said = office.say("collect out").exits(5);
    assert!(!said.stderr.contains("cannot be read"), "a writer keeps no reader out: {}", said.stderr);
    drop(other);
    let other = Connection::open(inbox_of(&office)).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM event").unwrap();
    says_once(&office.say("collect out").exits(5), &office, "locked for good");
}

/// Delivers word of a job to the receiver of the office's ledger.
fn deliver(office: &Office, listening: &Listening, number: u64, job: &str) -> u16 {
    let Receiver { id, secret, .. } = office.receivers().remove(0);
    let body = format!(r#"{{"id":"evt_{number}","data":{{"jobId":"{job}","status":"completed"}}}}"#);
    let timestamp = now().to_string();
    let signature = signature_with(&secret, &timestamp, body.as_bytes());
    let headers = [("x-service-timestamp", &*timestamp), ("x-service-signature", &*signature)];
    listening.send(&request("POST", &format!("{PATH}{id}"), &headers, body.as_bytes()))
}

#[test]
fn deliveries_to_a_new_inbox_are_read_although_its_numbers_begin_again() {
    let office = Office::new("--job-time 10h");
    office.run(HOOKS).exits(5);
    office.is_asked_at_first();
    let jobs = office.jobs();
    let listening = Listening::start(office.folder.path(), &[]);
    for number in 1..=3 {
        assert_eq!(deliver(&office, &listening, number, jobs[0].id.as_str()), 200);
    }
    office.is_asked_once_more();
    assert_eq!(office.asked(), 4, "the job that was named");
    assert_eq!(listening.stopped().0, 0);
    fs::remove_dir_all(inbox_of(&office).parent().unwrap()).unwrap();
    let listening = Listening::start(office.folder.path(), &[]);
    office.run(HOOKS).exits(5);
    assert_eq!(deliver(&office, &listening, 4, jobs[1].id.as_str()), 200);
    office.is_asked_once_more();
    assert_eq!(office.asked(), 5, "the number of this delivery is 1, and 3 were read of the old inbox");
    assert_eq!(listening.stopped().0, 0);
}

/// What happens while jobs are followed for some seconds, and how long a locked inbox is waited for.
mod timed {
    use super::*;
    use crate::support::program::{UnderWay, rescreen};
    use std::{
        thread::sleep,
        time::{Duration, Instant},
    };

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_locked_inbox_is_read_without_waiting() {
        let office = Office::new("--job-time 10h");
        office.run(HOOKS).exits(5);
        let other = Connection::open(inbox_of(&office)).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let begun = Instant::now();
        office.say("collect out").exits(5);
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    }

    #[test]
    #[ignore = "timed: make gauntlet"]
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

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn an_inbox_that_is_replaced_while_it_is_read_is_opened_again() {
        let office = Office::new("--job-time 10h");
        office.run(HOOKS).exits(5);
        let job = office.jobs().remove(0);
        let words = ["collect", "out", "--for", "15s"];
        let collecting = UnderWay::start(&mut rescreen(office.folder.path(), &words));
        sleep(Duration::from_secs(4));
        let folder = inbox_of(&office).parent().unwrap().to_owned();
        // The secret of the receiver stays known.
        let copy = folder.with_extension("copy");
        fs::create_dir(&copy).unwrap();
        Connection::open(inbox_of(&office))
            .unwrap()
            .execute("VACUUM INTO ?1", [copy.join("inbox.sqlite").display().to_string()])
            .unwrap();
        fs::rename(&folder, folder.with_extension("old")).unwrap();
        fs::rename(&copy, &folder).unwrap();
        let listening = Listening::start(office.folder.path(), &[]);
        assert_eq!(deliver(&office, &listening, 1, job.id.as_str()), 200);
        let said = collecting.wait().exits(5);
        assert_eq!(office.asked(), 1, "{}", said.stderr);
        assert!(!said.stderr.contains("cannot be read"), "{}", said.stderr);
        assert_eq!(listening.stopped().0, 0);
    }
}
