//! The known answer was computed with `openssl dgst -sha256 -hmac`. The other tests change a genuine delivery.

use super::*;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const BODY: &[u8] = br#"{"id":"evt_1","data":{"jobId":"job_1"}}"#;
const NOW: i64 = 1_795_168_800;

fn secret(text: &str) -> WebhookSecret {
    WebhookSecret::new(text.to_owned().into()).unwrap()
}

fn signed(timestamp: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(&[timestamp.as_bytes(), b".", body].concat());
    let digest = mac.finalize().into_bytes();
    format!("v1={}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn checked(timestamp: &str, signature: &str, body: &[u8]) -> Result<(), Forged> {
    verify(&secret(SECRET), timestamp, signature, body, NOW)
}

#[test]
fn a_signature_of_another_program_is_accepted() {
    let signature = "v1=b3770075d7716e530fc203b0f5d915cdb0015ea173cf2c28ead529b651d53e82";
    assert_eq!(signed("1795168800", BODY), signature);
    assert_eq!(checked("1795168800", signature, BODY), Ok(()));
    assert_eq!(checked("1795168800", &signature.to_uppercase().replace("V1=", "v1="), BODY), Ok(()));
}

#[test]
fn a_delivery_is_accepted_for_five_minutes_in_either_direction() {
    for (away, accepted) in [(0, true), (300, true), (-300, true), (301, false), (-301, false), (-NOW, false)] {
        let timestamp = (NOW + away).to_string();
        let found = checked(&timestamp, &signed(&timestamp, BODY), BODY);
        let wanted = if accepted { Ok(()) } else { Err(Forged::Stale { seconds: i64::abs(away).unsigned_abs() }) };
        assert_eq!(found, wanted, "{away}");
    }
}

#[test]
fn every_changed_bit_of_body_and_signature_is_noticed() {
    let timestamp = NOW.to_string();
    let genuine = signed(&timestamp, BODY);
    for at in 0..BODY.len() * 8 {
        let mut body = BODY.to_vec();
        body[at / 8] ^= 1 << (at % 8);
        assert_eq!(checked(&timestamp, &genuine, &body), Err(Forged::Signature), "bit {at}");
    }
    for at in 3..genuine.len() {
        let mut changed = genuine.clone().into_bytes();
        changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
        let changed = String::from_utf8(changed).unwrap();
        assert_eq!(checked(&timestamp, &changed, BODY), Err(Forged::Signature), "character {at}");
    }
    let later = (NOW + 1).to_string();
    assert_eq!(checked(&later, &genuine, BODY), Err(Forged::Signature), "the time is signed");
}

#[test]
fn other_formats_are_refused() {
    let timestamp = NOW.to_string();
    let genuine = signed(&timestamp, BODY);
    let digits = genuine.trim_start_matches("v1=");
    for signature in ["", "v1=", digits, &genuine[..66], &format!("{genuine}0"), &format!("v2={digits}"), "v1=é"] {
        assert_eq!(checked(&timestamp, signature, BODY), Err(Forged::Format), "{signature}");
    }
    for timestamp in ["", "-1", "+1795168800", "1795168800.0", " 1795168800", "179516880000", "now", "١"] {
        assert_eq!(checked(timestamp, &genuine, BODY), Err(Forged::Timestamp), "{timestamp:?}");
    }
}

#[test]
fn another_secret_is_noticed_and_a_short_one_is_refused() {
    let timestamp = NOW.to_string();
    let other = secret(&SECRET.replace('0', "9"));
    assert_eq!(verify(&other, &timestamp, &signed(&timestamp, BODY), BODY, NOW), Err(Forged::Signature));
    for text in ["", &SECRET[1..], "0123456789abcdef 0123456789abcdef", "0123456789abcdef0123456789abcdeé"] {
        assert!(WebhookSecret::new(text.to_owned().into()).is_none(), "{text}");
    }
    assert_eq!(format!("{other:?}"), "WebhookSecret([redacted])");
}
