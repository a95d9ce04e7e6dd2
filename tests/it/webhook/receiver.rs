//! The receiver keeps genuine deliveries once, and ends connections that take too much.

use super::post::{Post, RECEIVER, begun, body, genuine, now, request, signature, status, wait_until_closed};
use rescreen::webhook::{Inbox, PATH, Received};
use std::io::Write;

#[test]
fn a_delivery_is_stored_before_it_is_answered_and_a_repeated_one_has_no_effect() {
    let post = Post::open();
    assert_eq!(post.send(&genuine(1)), 200);
    assert_eq!(post.events().len(), 1, "it is stored when the reply arrives");
    assert_eq!((post.send(&genuine(1)), post.send(&genuine(2))), (200, 200));
    let jobs: Vec<String> = post.events().into_iter().map(|event| event.job.unwrap().to_string()).collect();
    assert_eq!(jobs, ["job_1", "job_2"]);
    let (received, folder) = post.close();
    assert_eq!(received, Received { new: 2, repeated: 1, refused: 0 });
    let inbox = Inbox::open(&folder.path().join("inbox.sqlite")).unwrap();
    assert_eq!(inbox.after(&[super::post::receiver()], 0, 10).unwrap().len(), 2);
}

#[test]
fn one_connection_can_carry_many_deliveries() {
    let post = Post::open();
    let mut stream = post.connect();
    for event in 0..50 {
        stream.write_all(&genuine(event)).unwrap();
        assert_eq!(status(&mut stream), 200);
    }
    assert_eq!(post.events().len(), 50);
}

#[test]
fn what_is_not_a_delivery_to_this_receiver_is_refused() {
    let post = Post::open();
    let (path, timestamp, event) = (format!("{PATH}{RECEIVER}"), now().to_string(), body(1));
    let genuine_signature = signature(&timestamp, &event);
    let signed = [("x-service-timestamp", &*timestamp), ("x-service-signature", &*genuine_signature)];
    let twice = [signed[0], signed[1], signed[0]];
    let long_ago = (now() - 301).to_string();
    let stale_signature = signature(&long_ago, &event);
    let stale = [("x-service-timestamp", &*long_ago), ("x-service-signature", &*stale_signature)];
    let unnamed = br#"{"data":{}}"#;
    let unnamed_signature = signature(&timestamp, unnamed);
    let unnamed_headers = [signed[0], ("x-service-signature", &*unnamed_signature)];
    for (what, sent, wanted) in [
        ("no header", request("POST", &path, &[], &event), 401),
        ("no signature", request("POST", &path, &signed[..1], &event), 401),
        ("two times", request("POST", &path, &twice, &event), 401),
        ("another body", request("POST", &path, &signed, &body(2)), 401),
        ("an old time", request("POST", &path, &stale, &event), 401),
        ("another receiver", request("POST", &format!("{PATH}another-ledger"), &signed, &event), 401),
        ("another path", request("POST", "/", &signed, &event), 404),
        ("a path that leads up", request("POST", &format!("{PATH}../{RECEIVER}"), &signed, &event), 404),
        ("another method", request("GET", &path, &signed, b""), 405),
        ("an event without an id", request("POST", &path, &unnamed_headers, unnamed), 400),
        ("no HTTP", b"hello\r\n\r\n".to_vec(), 400),
    ] {
        assert_eq!(post.send(&sent), wanted, "{what}");
    }
    assert_eq!(post.events(), []);
    assert_eq!(post.send(&request("POST", &path, &signed, &event)), 200, "the receiver still works");
}

#[test]
fn a_body_of_one_mebibyte_is_read_and_a_longer_one_is_not() {
    let post = Post::open();
    let (path, timestamp) = (format!("{PATH}{RECEIVER}"), now().to_string());
    for (length, wanted) in [(1 << 20, 200), ((1 << 20) + 1, 413)] {
        let mut event = body(length as u64);
        event.resize(length, b' ');
        let signature = signature(&timestamp, &event);
        let headers = [("x-service-timestamp", &*timestamp), ("x-service-signature", &*signature)];
        assert_eq!(post.send(&request("POST", &path, &headers, &event)), wanted, "{length}");
    }
    assert_eq!(post.events().len(), 1);
}

/// Does this behind as many slow senders as are served at once.
fn behind_slow_senders(sends: impl FnOnce(&Post, &[u8])) {
    let post = Post::open();
    // As many connections as are served at once: half send no header, and half no body.
    let delivery = genuine(1);
    let slow: Vec<_> = (0..64)
        .map(|number| {
            let mut stream = post.connect();
            let sent = if number % 2 == 0 { &delivery[..20] } else { &delivery[..delivery.len() - 10] };
            stream.write_all(sent).unwrap();
            stream
        })
        .collect();
    sends(&post, &delivery);
    for mut stream in slow {
        assert_ne!(status(&mut stream), 200);
    }
    assert_eq!(post.events().len(), 1);
}

#[test]
fn slow_senders_are_cut_off_and_do_not_keep_others_out() {
    behind_slow_senders(|post, delivery| assert_eq!(post.send(delivery), 200));
}

#[test]
fn a_delivery_that_arrives_while_the_receiver_stops_is_answered() {
    let mut post = Post::open();
    let mut stream = post.connect();
    let end = begun(&mut stream, 1);
    post.stop();
    wait_until_closed(post.address);
    stream.write_all(&end).unwrap();
    assert_eq!(status(&mut stream), 200);
    assert_eq!(post.close().0, Received { new: 1, repeated: 0, refused: 0 });
}

/// How long others wait.
mod timed {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_delivery_behind_slow_senders_takes_less_than_20_seconds() {
        behind_slow_senders(|post, delivery| {
            let begun = Instant::now();
            assert_eq!(post.send(delivery), 200);
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        });
    }
}
