//! `rescreen listen`, the program: it keeps what it has answered, ends in order, and shows no secret.

use super::{
    listening::{Listening, events_in, inbox_in, refused},
    post::{
        RECEIVER, SECRET, begun, body, genuine, now, receiver, request, secret, signature, status, wait_until_closed,
    },
};
use crate::support::program::{Said, rescreen};
use rescreen::webhook::{DATASET_UPDATES, Delivery, Inbox, PATH, ReceiverId};
use std::{
    fs,
    io::{Read, Write},
    path::Path,
};

#[test]
fn a_signal_lets_the_delivery_under_way_finish() {
    let folder = tempfile::tempdir().unwrap();
    let inbox = inbox_in(folder.path());
    let listening = Listening::start(folder.path(), &["--inbox", "inbox.sqlite"]);
    assert!(listening.first.contains("inbox: inbox.sqlite; 1 receiver is known"), "{}", listening.first);
    let mut stream = listening.connect();
    let end = begun(&mut stream, 1);
    listening.terminate();
    wait_until_closed(&listening.address);
    stream.write_all(&end).unwrap();
    assert_eq!(status(&mut stream), 200);
    let (code, said) = listening.ended();
    assert_eq!(code, 0, "{said}");
    assert!(said.ends_with("1 delivery received, 0 repeated, 0 refused\n"), "{said}");
    assert_eq!(events_in(&inbox).len(), 1);
}

#[test]
fn a_receiver_that_is_registered_while_it_listens_is_known_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let listening = Listening::start(folder.path(), &[]);
    assert!(listening.first.contains("state/rescreen/webhooks/inbox.sqlite; 0 receivers"), "{}", listening.first);
    assert_eq!(listening.send(&genuine(1)), 401);
    let path = folder.path().join("state/rescreen/webhooks/inbox.sqlite");
    Inbox::open(&path).unwrap().register(&receiver(), &secret(), 1).unwrap();
    assert_eq!(listening.send(&genuine(1)), 200);
    assert_eq!(events_in(&path).len(), 1);
    assert_eq!(listening.stopped().0, 0);
}

#[test]
fn two_listeners_share_an_inbox() {
    let folder = tempfile::tempdir().unwrap();
    let inbox = inbox_in(folder.path());
    fs::write(folder.path().join("own.toml"), "[webhook]\ninbox = \"inbox.sqlite\"\n").unwrap();
    let one = Listening::start(folder.path(), &["--inbox", "inbox.sqlite"]);
    let other = Listening::start(folder.path(), &["-c", "own.toml"]);
    for event in 0..20 {
        assert_eq!((one.send(&genuine(event)), other.send(&genuine(event))), (200, 200));
    }
    assert_eq!(events_in(&inbox).len(), 20);
    assert!(one.stopped().1.ends_with("20 deliveries received, 0 repeated, 0 refused\n"));
    assert!(other.stopped().1.ends_with("0 deliveries received, 20 repeated, 0 refused\n"));
}

#[test]
fn a_removed_inbox_ends_it_before_anything_is_accepted_and_lost() {
    for (removed, is_used) in
        [("inbox.sqlite", true), ("inbox.sqlite-wal", true), (".", true), ("inbox.sqlite-wal", false), (".", false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        let inbox = inbox_in(&kept);
        let listening = Listening::start(folder.path(), &["--inbox", "kept/inbox.sqlite"]);
        assert!(!is_used || listening.send(&genuine(1)) == 200, "{removed}");
        match removed {
            "." => fs::rename(&kept, folder.path().join("moved")).unwrap(),
            file => fs::remove_file(kept.join(file)).unwrap(),
        }
        assert_ne!(listening.send(&genuine(2)), 200, "{removed}");
        let (code, said) = listening.ended();
        assert_eq!(code, 11, "{removed}: {said}");
        assert!(said.contains("was removed, moved or replaced"), "{removed}: {said}");
        assert!(removed != "inbox.sqlite" || !inbox.exists(), "it does not create another");
    }
}

#[test]
fn a_full_disk_ends_it_and_what_was_answered_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let inbox = inbox_in(folder.path());
    let listening = Listening::under(folder.path(), "ulimit -f 2000", "--inbox inbox.sqlite");
    let path = format!("{PATH}{RECEIVER}");
    let mut answered = 0;
    for event in 0..100 {
        let (timestamp, mut large) = (now().to_string(), body(event));
        large.resize(200_000, b' ');
        let signature = signature(&timestamp, &large);
        let headers = [("x-service-timestamp", &*timestamp), ("x-service-signature", &*signature)];
        match listening.send(&request("POST", &path, &headers, &large)) {
            200 => answered += 1,
            _ => break,
        }
    }
    let (code, said) = listening.ended();
    assert_eq!(code, 11, "{said}");
    assert!((1..100).contains(&answered), "{answered} deliveries fit");
    assert_eq!(events_in(&inbox).len(), answered, "{said}");
}

/// Asks with `listen --health` whether the receiver at an address works: the exit code and the words.
fn health(folder: &Path, address: &str) -> (i32, String) {
    let said = Said::of(&mut rescreen(folder, &["listen", "--health", "--listen", address]));
    (said.code, said.stderr)
}

#[test]
fn its_health_is_that_of_its_inbox() {
    let folder = tempfile::tempdir().unwrap();
    inbox_in(folder.path());
    let listening = Listening::start(folder.path(), &["--inbox", "inbox.sqlite"]);
    let address = listening.address.clone();
    assert_eq!(health(folder.path(), &address), (0, format!("the receiver at {address} works\n")));
    fs::remove_file(folder.path().join("inbox.sqlite")).unwrap();
    let (code, said) = health(folder.path(), &address);
    assert_eq!(code, 10, "{said}");
    assert!(said.contains("cannot read its inbox") || said.contains("refused"), "{said}");
    assert_eq!(listening.ended().0, 11);
    let (code, said) = health(folder.path(), &address);
    assert_eq!(code, 10, "{said}");
    assert!(said.starts_with(&format!("the receiver at {address} does not work: ")), "{said}");
}

#[test]
fn another_server_is_not_a_healthy_receiver() {
    let folder = tempfile::tempdir().unwrap();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        assert!(stream.read(&mut [0; 1_000]).unwrap() > 0);
        stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    let (code, said) = health(folder.path(), &address);
    answering.join().unwrap();
    assert_eq!(code, 10, "{said}");
    assert!(said.contains("is not `rescreen listen`"), "{said}");
}

#[test]
fn it_shows_no_secret_and_nothing_of_a_delivery() {
    let folder = tempfile::tempdir().unwrap();
    inbox_in(folder.path());
    let listening = Listening::start(folder.path(), &["--inbox", "inbox.sqlite"]);
    let forged = String::from_utf8(genuine(2)).unwrap().replace("job_2", "job_3");
    assert_eq!((listening.send(&genuine(1)), listening.send(forged.as_bytes())), (200, 401));
    let (_, said) = listening.stopped();
    assert!(said.contains("a delivery was refused"), "{said}");
    for hidden in [SECRET, "job_", "evt_", "v1="] {
        assert!(!said.contains(hidden), "{hidden}: {said}");
    }
}

#[test]
fn an_address_that_is_in_use_or_that_others_can_reach_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    refused(folder.path(), &["--listen", &address]).exits(2).says(&address).without_data();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        refused(folder.path(), &["--listen", address]).exits(2).says("--anywhere").without_data();
    }
    assert!(!folder.path().join("state").exists(), "nothing was made");
    fs::write(folder.path().join("inbox.sqlite"), "a text".repeat(1_000)).unwrap();
    let said = refused(folder.path(), &["--listen", "127.0.0.1:0", "--inbox", "inbox.sqlite"]);
    said.exits(2).says("expected an inbox of rescreen, found a file that is not a database; it is left as it is");
}

#[test]
fn deliveries_older_than_thirty_days_are_forgotten_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = inbox_in(folder.path());
    let mut inbox = Inbox::open(&path).unwrap();
    let dataset = ReceiverId::new(DATASET_UPDATES).unwrap();
    let delivery = |id: &str| Delivery::read(format!(r#"{{"id":"{id}","type":"t"}}"#).into_bytes(), None).unwrap();
    let days_ago = |days: i64| (now() as i64 - days * 86_400) * 1_000_000;
    inbox.put(&[(receiver(), delivery("old")), (dataset.clone(), delivery("older"))], days_ago(40)).unwrap();
    inbox.put(&[(receiver(), delivery("known")), (dataset.clone(), delivery("update"))], days_ago(31)).unwrap();
    inbox.put(&[(receiver(), delivery("young"))], days_ago(29)).unwrap();
    assert_eq!(Listening::start(folder.path(), &["--inbox", "inbox.sqlite"]).stopped().0, 0);
    assert_eq!(events_in(&path).len(), 1);
    assert_eq!(inbox.after(&[dataset], 0, 10).unwrap().len(), 1, "the last update stays");
}

/// A writer waits for a while, and the lock must last longer.
mod timed {
    use super::*;
    use std::{thread::sleep, time::Duration};

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn another_program_that_holds_the_inbox_delays_deliveries_and_does_not_end_it() {
        let folder = tempfile::tempdir().unwrap();
        let inbox = inbox_in(folder.path());
        let listening = Listening::start(folder.path(), &["--inbox", "inbox.sqlite"]);
        let other = rusqlite::Connection::open(&inbox).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(listening.send(&genuine(1)), 503);
        // Beyond the time for which a writer waits.
        sleep(Duration::from_secs(5));
        other.execute_batch("ROLLBACK").unwrap();
        drop(other);
        assert_eq!(listening.send(&genuine(1)), 200);
        assert_eq!(events_in(&inbox).len(), 1);
        let (code, said) = listening.stopped();
        assert!(code == 0 && said.contains("another program holds the inbox"), "{code}: {said}");
    }
}
