//! Updates of the AML dataset: received with a configured secret, kept as they arrive, and shown by `status`.

use super::{
    listening::{Listening, inbox_in, refused},
    post::{SECRET, now, request, signature_with},
};
use crate::support::program::{Said, rescreen, wait_until};
use rescreen::webhook::{DATASET_UPDATES, Inbox, PATH};
use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt};

const OTHER: &str = "another_secret_of_more_than_thirty_two_characters";

/// An update, signed with the usual secret or with [`OTHER`].
fn update(body: &str, secret: &str) -> Vec<u8> {
    let timestamp = now().to_string();
    let signature = signature_with(secret, &timestamp, body.as_bytes());
    let headers = [("x-service-timestamp", &*timestamp), ("x-service-signature", &*signature)];
    request("POST", &format!("{PATH}{DATASET_UPDATES}"), &headers, body.as_bytes())
}

#[test]
fn an_update_is_kept_as_it_arrives_and_status_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--dataset-secret", "env:DATASET_SECRET"];
    let listening = Listening::with_variable(folder.path(), &words, "DATASET_SECRET", SECRET);
    // The service's description does not show the body, so it may have no id and no type.
    for (body, status) in [("{\"version\": 7}", 200), ("{\"version\": 7}", 200), ("not json", 200)] {
        assert_eq!(listening.send(&update(body, SECRET)), status, "{body}");
    }
    let named = r#"{"id": "evt_1", "type": "aml.dataset.updated", "data": {"version": 8}}"#;
    assert_eq!((listening.send(&update(named, SECRET)), listening.send(&update(named, OTHER))), (200, 401));
    let (code, said) = listening.stopped();
    assert!(said.ends_with("3 deliveries received, 1 repeated, 1 refused\n") && !said.contains(SECRET), "{said}");
    assert_eq!(code, 0);

    let inbox = folder.path().join("state/rescreen/webhooks/inbox.sqlite");
    let bodies = rusqlite::Connection::open(&inbox).unwrap();
    let newest: Vec<u8> =
        bodies.query_row("SELECT body FROM event ORDER BY number DESC LIMIT 1", [], |row| row.get(0)).unwrap();
    assert_eq!(newest, named.as_bytes());

    fs::write(folder.path().join("book.csv"), "no,name\n1,Thandi\n").unwrap();
    let run = "run book.csv --check aml-screening --set entity=0 --set country=za --simulate --out out --yes";
    Said::of(&mut rescreen(folder.path(), &run.split_whitespace().collect::<Vec<_>>())).exits(0);
    let status =
        |more: &[&str]| Said::of(&mut rescreen(folder.path(), &[&["status", "out.simulated"], more].concat())).exits(0);
    let line = status(&[]).stdout;
    let line = line.lines().find(|line| line.starts_with("dataset updated ")).unwrap();
    assert!(line.ends_with("aml.dataset.updated"), "{line}");
    let json: Value = serde_json::from_str(&status(&["--json"]).stdout).unwrap();
    assert_eq!(json["dataset_update"]["kind"], "aml.dataset.updated");
    let received: jiff::Timestamp = json["dataset_update"]["received_at"].as_str().unwrap().parse().unwrap();
    assert!(received.as_second() > now() as i64 - 600);
    inbox_in(folder.path());
    let json: Value = serde_json::from_str(&status(&["--json", "--inbox", "inbox.sqlite"]).stdout).unwrap();
    assert_eq!(json["dataset_update"], Value::Null, "another inbox has none");
    fs::write(folder.path().join("broken"), "a text".repeat(1_000)).unwrap();
    assert!(status(&["--inbox", "broken"]).says("updates of the dataset are not shown").stdout.contains("rows"));
}

#[test]
fn a_changed_secret_replaces_the_old_one_within_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    let place = |secret: &str| {
        fs::write(&file, format!("{secret}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    };
    let words = ["--inbox", "inbox.sqlite", "--dataset-secret", "file:secret"];
    place(SECRET);
    let one = Listening::start(folder.path(), &words);
    assert_eq!(one.send(&update("1", SECRET)), 200);
    place(OTHER);
    let other = Listening::start(folder.path(), &words);
    assert_eq!((other.send(&update("2", SECRET)), other.send(&update("2", OTHER))), (401, 200));
    wait_until("the first listener knows the other secret", || one.send(&update("3", OTHER)) == 200);
    assert_eq!(one.send(&update("4", SECRET)), 401, "and no longer the old one");
    assert_eq!((one.stopped().0, other.stopped().0), (0, 0));
    let newest = Inbox::open(&folder.path().join("inbox.sqlite")).unwrap().newest(DATASET_UPDATES).unwrap();
    assert_eq!(newest.unwrap().kind, "unknown");
}

#[test]
fn a_secret_is_never_an_argument_and_no_error_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("short"), "too-short-a-secret").unwrap();
    fs::set_permissions(folder.path().join("short"), fs::Permissions::from_mode(0o600)).unwrap();
    for (place, says) in [
        (SECRET, "expected env:NAME or file:PATH"),
        ("command:echo", "expected env:NAME or file:PATH"),
        ("env:", "expected env:NAME or file:PATH"),
        ("env:UNSET_VARIABLE", "UNSET_VARIABLE is not set"),
        ("file:missing", "missing"),
        ("file:short", "at least 32 visible ASCII characters"),
    ] {
        let said = refused(folder.path(), &["--listen", "127.0.0.1:0", "--dataset-secret", place]).exits(2).says(says);
        assert!(!said.stderr.contains(SECRET) && !said.stderr.contains("too-short-a"), "{}", said.stderr);
    }
}
