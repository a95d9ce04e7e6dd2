//! Generated deliveries that are not genuine: mangled copies, other secrets, other times. None of them changes anything.

use super::post::{Post, RECEIVER, SECRET, body, genuine, now, secret, signature};
use crate::support::rng::Rng;
use rescreen::webhook::{Forged, PATH, verify};

/// Deliveries that are sent over connections. Each takes a connection of its own.
const SENT: u64 = 1_000;
/// Deliveries that are checked without a connection.
const CHECKED: u64 = 100_000;

/// A change to text that is sent or checked: a byte is changed, removed or inserted.
fn mangled(text: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut text = text.to_vec();
    let at = rng.below(text.len());
    match rng.below(3) {
        0 if !text.is_empty() => text[at] ^= 1 << rng.below(8),
        1 if !text.is_empty() => drop(text.remove(at)),
        _ => text.insert(at, rng.below(256) as u8),
    }
    text
}

#[test]
fn no_forged_signature_is_accepted() {
    let mut rng = Rng::new(1);
    let secret = secret();
    let mut refused = 0;
    for event in 0..CHECKED {
        let (timestamp, body) = (now().to_string(), body(event));
        let genuine = signature(&timestamp, &body);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (timestamp, signature, body) = match rng.below(5) {
            0 => (text(mangled(timestamp.as_bytes(), &mut rng)), genuine.clone(), body.clone()),
            1 => (timestamp.clone(), text(mangled(genuine.as_bytes(), &mut rng)), body.clone()),
            2 => (timestamp.clone(), genuine.clone(), mangled(&body, &mut rng)),
            3 => {
                let digits: String = (0..64).map(|_| char::from(rng.pick(b"0123456789abcdef"))).collect();
                (timestamp.clone(), format!("v1={digits}"), body.clone())
            }
            _ => (timestamp.clone(), super::post::signature(&format!("{timestamp}."), &body), body.clone()),
        };
        let found = verify(&secret, &timestamp, &signature, &body, now() as i64);
        // A changed digit of the signature may be the same digit in the other case.
        let same = signature.eq_ignore_ascii_case(&genuine) && signature.starts_with("v1=");
        match found {
            Ok(()) => assert!(same, "{timestamp} {signature} was accepted; the secret is {SECRET}"),
            Err(Forged::Stale { .. }) => panic!("a changed time was believed: {timestamp}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > CHECKED * 9 / 10, "{refused}");
}

#[test]
fn mangled_deliveries_change_nothing() {
    let post = Post::open();
    let mut rng = Rng::new(2);
    let signed_from = genuine(0).windows(9).position(|bytes| bytes == b"x-service").unwrap();
    for number in 0..SENT {
        let delivery = genuine(number);
        // The request line and the headers before are not signed.
        let (head, rest) = delivery.split_at(signed_from);
        let mut sent = [head, &mangled(rest, &mut rng)].concat();
        if sent.len() < delivery.len() {
            // The receiver would wait for the last byte.
            sent.push(b'}');
        }
        if rng.chance(20) {
            let path = format!("{PATH}{RECEIVER}");
            let other = format!("{PATH}{}", RECEIVER.replace('0', "1"));
            sent = String::from_utf8_lossy(&delivery).replace(&path, &other).into_bytes();
        }
        let status = post.send(&sent);
        let known = post.events().len() as u64;
        // Some changes leave a delivery genuine: the case of a digit or of a header's name, and the id in a header.
        assert!(status != 200 || known <= number + 1, "{}", String::from_utf8_lossy(&sent));
    }
    let genuine_still = post.events();
    for event in &genuine_still {
        assert!(event.job.is_some() && event.kind == "foreign_bank.verification.completed", "{event:?}");
    }
    assert!((genuine_still.len() as u64) < SENT / 5, "{} of {SENT} were kept", genuine_still.len());
}
