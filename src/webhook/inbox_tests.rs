//! An inbox that is opened again, by two processes at once, and files that are no inbox.

use super::{super::receivers::Namer, *};
use std::{fs, thread};

fn secret(letter: char) -> WebhookSecret {
    WebhookSecret::new(letter.to_string().repeat(32).into()).unwrap()
}

fn receiver(text: &str) -> ReceiverId {
    ReceiverId::new(text).unwrap()
}

fn delivery(event: &str, job: &str) -> Delivery {
    Delivery::read(format!(r#"{{"id":"{event}","type":"t","data":{{"jobId":"{job}"}}}}"#).into_bytes(), None).unwrap()
}

#[test]
fn an_event_is_kept_once_and_read_in_the_order_of_arrival() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("webhooks/inbox.sqlite");
    let (one, other) = (receiver("ledger-one"), receiver("ledger-other"));
    let mut inbox = Inbox::open(&path).unwrap();
    let first = [(one.clone(), delivery("e1", "j1")), (one.clone(), delivery("e2", "j2"))];
    assert_eq!(inbox.put(&first, 1).unwrap(), [true, true]);
    let again = [(one.clone(), delivery("e2", "j9")), (other.clone(), delivery("e2", "j3")), first[0].clone()];
    assert_eq!(inbox.put(&again, 2).unwrap(), [false, true, false], "an id belongs to one receiver");
    drop(inbox);
    let inbox = Inbox::open(&path).unwrap();
    let jobs = |receiver, number, most| -> Vec<String> {
        let found = inbox.after(std::slice::from_ref(receiver), number, most).unwrap();
        found.into_iter().filter_map(|event| event.job.map(|job| job.to_string())).collect()
    };
    assert_eq!(jobs(&one, 0, 10), ["j1", "j2"]);
    assert_eq!(jobs(&one, 0, 1), ["j1"]);
    assert_eq!(jobs(&one, 1, 10), ["j2"]);
    assert_eq!(jobs(&other, 0, 10), ["j3"]);
    let both = inbox.after(&[one.clone(), other.clone(), receiver("ledger-none")], 0, 10).unwrap();
    assert_eq!((both.len(), inbox.after(&[], 0, 10).unwrap().len()), (3, 0));
    assert_eq!(inbox.forget_before(2).unwrap(), 2);
    assert_eq!((jobs(&one, 0, 10).len(), jobs(&other, 0, 10).len()), (0, 1));
}

#[test]
fn the_number_of_a_forgotten_event_is_not_used_again() {
    let home = tempfile::tempdir().unwrap();
    let mut inbox = Inbox::open(&home.path().join("inbox.sqlite")).unwrap();
    let one = receiver("ledger-one");
    inbox.put(&[(one.clone(), delivery("e1", "j1")), (one.clone(), delivery("e2", "j2"))], 1).unwrap();
    let read_to = inbox.after(std::slice::from_ref(&one), 0, 10).unwrap().last().unwrap().number;
    assert_eq!(inbox.forget_before(2).unwrap(), 2);
    inbox.put(&[(one.clone(), delivery("e3", "j3"))], 3).unwrap();
    assert_eq!(
        inbox.after(std::slice::from_ref(&one), read_to, 10).unwrap().len(),
        1,
        "a reader that was ahead sees the new event"
    );
}

#[test]
fn the_first_secret_of_a_receiver_stays() {
    let home = tempfile::tempdir().unwrap();
    let mut inbox = Inbox::open(&home.path().join("inbox.sqlite")).unwrap();
    let one = receiver("ledger-one");
    assert!(inbox.secret(&one).unwrap().is_none());
    for letter in ['a', 'b'] {
        assert_eq!(inbox.register(&one, &secret(letter), 1).unwrap().expose(), secret('a').expose());
    }
    assert_eq!(inbox.secret(&one).unwrap().unwrap().expose(), secret('a').expose());
}

#[test]
fn requests_of_one_campaign_name_the_receiver_that_they_named_first() {
    let home = tempfile::tempdir().unwrap();
    let mut inbox = Inbox::open(&home.path().join("inbox.sqlite")).unwrap();
    let namer = |campaign: &str, mode: &str, scope: &str, base: &str| Namer {
        campaign: campaign.to_owned(),
        mode: mode.to_owned(),
        scope: scope.to_owned(),
        base: base.to_owned(),
    };
    let own = namer("c", "production", "key", "https://a.example");
    let mut of = |namer: &Namer, id: &str, letter| {
        let (id, secret) = inbox.receiver_of(namer, (receiver(id), secret(letter)), 5).unwrap();
        (id.to_string(), secret.expose()[..1].to_owned())
    };
    let first = ("receiver-1".to_owned(), "a".to_owned());
    assert_eq!(of(&own, "receiver-1", 'a'), first);
    assert_eq!(of(&own, "receiver-2", 'b'), first);
    for (number, other) in [
        namer("d", "production", "key", "https://a.example"),
        namer("c", "sandbox", "key", "https://a.example"),
        namer("c", "production", "another key", "https://a.example"),
        namer("c", "production", "key", "https://b.example"),
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(of(other, &format!("receiver-of-{number}"), 'c').0, format!("receiver-of-{number}"), "{other:?}");
    }
    inbox.register(&receiver("receiver-3"), &secret('d'), 6).unwrap();
    inbox.note_named(&own, &receiver("receiver-3"), 6).unwrap();
    let found = inbox.receiver_of(&own, (receiver("receiver-4"), secret('e')), 7).unwrap();
    assert_eq!(found.0.to_string(), "receiver-1", "the first one, because most requests name it");
}

#[test]
fn two_writers_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("inbox.sqlite");
    thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let mut inbox = Inbox::open(path).unwrap();
                for number in 0..25 {
                    let delivery = delivery(&format!("e{writer}-{number}"), "j");
                    assert_eq!(inbox.put(&[(receiver("ledger-one"), delivery)], 1).unwrap(), [true]);
                }
            });
        }
    });
    assert_eq!(Inbox::open(&path).unwrap().after(&[receiver("ledger-one")], 0, 1_000).unwrap().len(), 100);
}

#[test]
fn other_files_are_refused_and_left_as_they_are() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("inbox.sqlite");
    let refused = || Inbox::open(&path).unwrap_err().to_string();
    fs::write(&path, "a text that is longer than the first page's header, so it cannot be an empty file".repeat(20))
        .unwrap();
    assert!(refused().contains("found a file that is not a database"), "{}", refused());
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (a)").unwrap();
    assert!(refused().contains("found the database of another program"), "{}", refused());
    fs::remove_file(&path).unwrap();
    drop(Inbox::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 2).unwrap();
    assert!(refused().contains("expected an inbox of version 1, found one of version 2"), "{}", refused());
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_an_inbox() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("webhooks/inbox.sqlite");
    let mut inbox = Inbox::open(&path).unwrap();
    inbox.put(&[(receiver("ledger-one"), delivery("e1", "j1"))], 1).unwrap();
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", entry.file_name());
    }
}

#[cfg(unix)]
#[test]
fn an_inbox_that_others_can_read_is_taken_from_them() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("inbox.sqlite");
    let mut writer = Inbox::open(&path).unwrap();
    writer.put(&[(receiver("ledger-one"), delivery("e1", "j1"))], 1).unwrap();
    for (number, open) in [Inbox::open, Inbox::open_to_read].into_iter().enumerate() {
        // As a process that was killed leaves it.
        let copy = home.path().join(format!("copy-{number}"));
        let ends = ["", "-wal", "-shm"];
        for end in ends {
            fs::copy(beside(&path, end), beside(&copy, end)).unwrap();
            fs::set_permissions(beside(&copy, end), fs::Permissions::from_mode(0o664)).unwrap();
        }
        let opened = open(&copy).unwrap();
        for end in ends {
            assert_eq!(fs::metadata(beside(&copy, end)).unwrap().permissions().mode() & 0o777, 0o600, "{end}");
        }
        assert_eq!(opened.after(&[receiver("ledger-one")], 0, 9).unwrap().len(), 1);
    }
}

#[test]
fn a_reader_creates_nothing_and_refuses_a_file_that_is_no_inbox() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("inbox.sqlite");
    assert!(matches!(Inbox::open_to_read(&path), Err(InboxError::File { .. })));
    assert!(!path.exists());
    fs::write(&path, "").unwrap();
    let error = Inbox::open_to_read(&path).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("found an empty file"), "{error}");
    drop(Inbox::open(&path).unwrap());
    let mut reader = Inbox::open_to_read(&path).unwrap();
    assert!(reader.register(&receiver("ledger-one"), &secret('a'), 1).is_err(), "a reader changes nothing");
}

#[test]
fn a_receiver_is_a_plain_part_of_a_url() {
    for text in ["ledger-1", "3f2c0d1e-9f0a-4b5c-8d7e-000000000000"] {
        assert_eq!(ReceiverId::new(text).unwrap().to_string(), text);
    }
    for text in ["", "short", "UPPER-CASE", "with/slash", "with%2fpercent", "..-..-..", &"x".repeat(65)] {
        assert!(ReceiverId::new(text).is_none(), "{text}");
    }
}
