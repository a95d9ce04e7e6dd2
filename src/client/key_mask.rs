//! Removes the API key from whatever the service sends. A service may repeat the key in a message, in an answer or in
//! the name of its certificate. Every exchange passes through here before anything else reads it, so the key reaches
//! neither the ledger nor an output, a log or the screen.

use super::{
    ApiKey,
    transport::{Exchange, Reply, TransportFault},
};
use crate::model::{
    json_numbers,
    json_tokens::{Tokens, unescaped},
    printable::printable_cut,
    reply_text::reply_text,
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use secrecy::{ExposeSecret, SecretString};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::borrow::Cow;

/// The text in place of the key.
pub(super) const MASK: &str = "…";
/// A key of fewer characters is replaced only where it is a whole word, because it is part of too many others. No
/// service gives out such a key.
const SHORT_KEY: usize = 8;
/// A line about the rate that is shown is not longer.
const RATE_LINE_MAX: usize = 100;

/// The forms in which the API key is recognised: as it is, percent-encoded, and in base64. Upper and lower case are not
/// distinguished, because the names of hosts and headers lose the case.
pub(super) struct KeyMask {
    forms: Vec<Vec<u8>>,
    /// For each first byte of a form, the bytes that can follow it, as bits.
    pairs: Box<[[u64; 4]; 256]>,
    is_short: bool,
}

impl KeyMask {
    /// The mask of a key, and of other secrets, which are long.
    pub(super) fn new(key: &ApiKey, others: &[SecretString]) -> KeyMask {
        let key = key.expose().as_bytes();
        let is_short = key.len() < SHORT_KEY;
        let mut forms = vec![key.to_owned()];
        if !is_short {
            forms.extend(percent_encoded(key));
            forms.extend(base64_forms(key));
        }
        forms.extend(others.iter().map(|secret| secret.expose_secret().as_bytes().to_owned()));
        forms.retain(|form| !form.is_empty());
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        let mut pairs = Box::new([[0; 4]; 256]);
        let cases = |byte: u8| [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
        for form in &forms {
            for first in cases(form[0]).map(usize::from) {
                match form.get(1) {
                    Some(second) => cases(*second).into_iter().for_each(|byte| set(&mut pairs[first], byte)),
                    None => pairs[first] = [u64::MAX; 4],
                }
            }
        }
        KeyMask { forms, pairs, is_short }
    }

    /// The exchange without the key.
    pub(super) fn exchange(&self, exchange: Exchange) -> Exchange {
        let reply = match exchange.reply {
            Ok(reply) => Ok(self.reply(reply)),
            Err(TransportFault::NotWritten(fault)) => Err(TransportFault::NotWritten(self.text(fault))),
            Err(TransportFault::Unknown(fault)) => Err(TransportFault::Unknown(self.text(fault))),
            Err(TransportFault::Untrusted { host, fault }) => {
                Err(TransportFault::Untrusted { host: self.text(host), fault: self.text(fault) })
            }
        };
        Exchange { reply, ..exchange }
    }

    fn reply(&self, reply: Reply) -> Reply {
        // Cut only now: a part of the key would not be recognised.
        let lines = reply.rate_headers.into_iter().map(|line| printable_cut(&self.text(line), RATE_LINE_MAX));
        Reply {
            body: reply.body.map(|body| self.body(body)),
            undecoded: reply.undecoded.map(|text| self.text(text)),
            retry_after: reply.retry_after.map(|text| self.text(text)),
            location: reply.location.map(|text| self.text(text)),
            date: reply.date.map(|text| self.text(text)),
            rate_headers: lines.collect(),
            ..reply
        }
    }

    fn text(&self, text: String) -> String {
        match self.masked(text.as_bytes()) {
            Some(masked) => String::from_utf8_lossy(&masked).into_owned(),
            None => text,
        }
    }

    /// A body without the key. In JSON, the key may also be written with escapes, or be a number.
    fn body(&self, body: Vec<u8>) -> Vec<u8> {
        let is_plain = !body.contains(&b'\\') && !matches!(body.first(), Some(0xfe | 0xff));
        if is_plain && !self.is_in(&body) {
            return body;
        }
        let (text, _) = reply_text(&body);
        let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
        let is_json = is_json(&text) || json_numbers::quoted(&text).is_some_and(|text| is_json(&text));
        let without = if is_json { self.json(&text) } else { self.masked(text.as_bytes()) };
        without.unwrap_or(body)
    }

    /// A JSON text without the key, if it contains the key.
    fn json(&self, text: &str) -> Option<Vec<u8>> {
        let (mut shown, mut copied) = (String::new(), 0);
        for token in (Tokens { text, at: 0 }) {
            let whole = &text[token.start..token.end];
            let content = if token.is_text { unescaped(&whole[1..whole.len() - 1]) } else { Cow::Borrowed(whole) };
            if let Some(masked) = self.masked(content.as_bytes()) {
                shown.push_str(&text[copied..token.start]);
                shown.push_str(&Value::from(String::from_utf8_lossy(&masked)).to_string());
                copied = token.end;
            }
        }
        if copied == 0 {
            return None;
        }
        shown.push_str(&text[copied..]);
        Some(shown.into_bytes())
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        let may_begin =
            |pair: &[u8; 2]| self.pairs[usize::from(pair[0])][usize::from(pair[1] / 64)] >> (pair[1] % 64) & 1 == 1;
        let mut pairs = bytes.array_windows().enumerate();
        pairs.any(|(at, pair)| may_begin(pair) && self.form_at(bytes, at).is_some())
            || bytes.len().checked_sub(1).is_some_and(|last| self.form_at(bytes, last).is_some())
    }

    /// The bytes without the key, if they contain it.
    fn masked(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (mut masked, mut copied, mut at) = (Vec::new(), 0, 0);
        while at < bytes.len() {
            match self.form_at(bytes, at) {
                Some(length) => {
                    masked.extend_from_slice(&bytes[copied..at]);
                    masked.extend_from_slice(MASK.as_bytes());
                    at += length;
                    copied = at;
                }
                None => at += 1,
            }
        }
        if copied == 0 {
            return None;
        }
        masked.extend_from_slice(&bytes[copied..]);
        Some(masked)
    }

    /// The length of the key's form at this index.
    fn form_at(&self, bytes: &[u8], at: usize) -> Option<usize> {
        // A form of a single byte is followed by any byte, or by nothing.
        let second = bytes.get(at + 1).copied().unwrap_or_default();
        if self.pairs[usize::from(bytes[at])][usize::from(second / 64)] & 1 << (second % 64) == 0 {
            return None;
        }
        let is_there = |form: &&Vec<u8>| {
            let end = at + form.len();
            bytes.get(at..end).is_some_and(|found| found.eq_ignore_ascii_case(form))
                && (!self.is_short || is_whole_word(bytes, at, end))
        };
        self.forms.iter().find(is_there).map(Vec::len)
    }
}

fn set(bits: &mut [u64; 4], byte: u8) {
    bits[usize::from(byte / 64)] |= 1 << (byte % 64);
}

fn is_whole_word(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let before = start.checked_sub(1).and_then(|before| bytes.get(before));
    !before.is_some_and(is_of_word) && !bytes.get(end).is_some_and(is_of_word)
}

/// Every byte percent-encoded, and only the bytes that need it in a URL.
fn percent_encoded(key: &[u8]) -> [Vec<u8>; 2] {
    let encoded = |is_plain: fn(u8) -> bool| {
        let one = |byte: &u8| if is_plain(*byte) { vec![*byte] } else { format!("%{byte:02X}").into_bytes() };
        key.iter().flat_map(one).collect::<Vec<u8>>()
    };
    [encoded(|_| false), encoded(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))]
}

/// The base64 of the key in both alphabets, alone and as a part of a longer text, where it begins at one of three
/// places. The characters that also depend on the text around the key are left out.
fn base64_forms(key: &[u8]) -> Vec<Vec<u8>> {
    let of = |before: usize| {
        let padded = [&vec![0; before][..], key].concat();
        let (first, last) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        let part = |encoded: String| encoded.as_bytes()[first..last].to_vec();
        [part(STANDARD_NO_PAD.encode(&padded)), part(URL_SAFE_NO_PAD.encode(&padded))]
    };
    (0..3).flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    const KEY: &str = "sk+planted/marker-4c1";

    fn mask(key: &str) -> KeyMask {
        KeyMask::new(&ApiKey::new(key.to_owned().into()), &[])
    }

    fn body(text: &str) -> String {
        String::from_utf8(mask(KEY).body(text.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn every_form_of_the_key_is_replaced_in_a_body() {
        for form in [
            KEY.to_owned(),
            KEY.to_uppercase(),
            "sk%2Bplanted%2fmarker-4c1".to_owned(),
            KEY.bytes().map(|byte| format!("%{byte:02x}")).collect(),
            STANDARD.encode(KEY).trim_end_matches('=').to_owned(),
        ] {
            for text in
                [format!("invalid key {form}."), json!({ "a": [format!("x {form}")], (form.clone()): 1 }).to_string()]
            {
                let shown = body(&text);
                assert!(!shown.contains(&form) && shown.contains(MASK), "{text}: {shown}");
                assert_eq!(serde_json::from_str::<Value>(&text).is_ok(), serde_json::from_str::<Value>(&shown).is_ok());
            }
        }
    }

    #[test]
    fn the_key_inside_a_longer_base64_text_is_replaced() {
        for around in ["Bearer ", "a", "ab", "user:"] {
            let encoded = STANDARD.encode(format!("{around}{KEY} and more"));
            let shown = body(&encoded);
            assert!(shown.contains(MASK) && shown.len() < encoded.len() - 20, "{shown}");
        }
    }

    #[test]
    fn a_key_with_escapes_and_a_key_that_is_a_number_are_replaced_in_json() {
        let escaped = r#"{"a": 1.50, "why": "\u0073k+planted\/marker-4c1 \" is wrong"}"#;
        assert_eq!(body(escaped), r#"{"a": 1.50, "why": "… \" is wrong"}"#);
        let beside_a_nan = r#"{"a": NaN, "why": "\u0073k+planted\/marker-4c1"}"#;
        assert_eq!(body(beside_a_nan), r#"{"a": NaN, "why": "…"}"#);
        let number = mask("1234567890").body(br#"{"key": 1234567890, "left": 5}"#.to_vec());
        assert_eq!(String::from_utf8(number).unwrap(), r#"{"key": "…", "left": 5}"#);
        let wide: Vec<u8> = format!("\u{feff}{{\"a\": \"{KEY}\"}}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(String::from_utf8(mask(KEY).body(wide)).unwrap(), r#"{"a": "…"}"#);
    }

    #[test]
    fn a_body_without_the_key_stays_as_it_is() {
        for text in [r#"{"a": "b\/c \u00e9", "b": 1.50}"#, "<html>", "", "\\", "sk+planted/marker-4c"] {
            assert_eq!(body(text), text);
        }
        let latin = b"{\"a\": \"\xe9 \\n\"}".to_vec();
        assert_eq!(mask(KEY).body(latin.clone()), latin);
    }

    #[test]
    fn a_short_key_is_replaced_only_where_it_is_a_whole_word() {
        let short = |text: &str| String::from_utf8(mask("test").body(text.as_bytes().to_vec())).unwrap();
        assert_eq!(short("a test, testing, the_test and TEST"), "a …, testing, the_test and …");
    }

    #[test]
    fn headers_and_faults_do_not_contain_the_key() {
        let reply = Reply {
            status: 200,
            body: None,
            undecoded: Some(format!("the coding `{KEY}`")),
            retry_after: Some(KEY.to_owned()),
            location: Some(format!("/{KEY}")),
            date: Some(KEY.to_owned()),
            rate_headers: vec![format!("x-ratelimit-{}: {}{KEY}", KEY.to_lowercase(), "9".repeat(50))],
            simulated: false,
        };
        let reply = mask(KEY).reply(reply);
        assert_eq!((reply.retry_after.as_deref(), reply.date.as_deref()), (Some(MASK), Some(MASK)));
        assert_eq!(reply.undecoded.as_deref(), Some("the coding `…`"));
        assert_eq!(reply.location.as_deref(), Some("/…"));
        assert!(reply.rate_headers[0].starts_with("x-ratelimit-…: 999") && reply.rate_headers[0].ends_with("9…"));
        let untrusted = TransportFault::Untrusted { host: format!("{KEY}.example"), fault: format!("it is for {KEY}") };
        for fault in [TransportFault::NotWritten(KEY.into()), TransportFault::Unknown(KEY.into()), untrusted] {
            let masked = mask(KEY).exchange(Exchange::not_sent(fault)).reply.err().unwrap().message();
            assert!(!masked.contains(KEY) && masked.contains(MASK), "{masked}");
        }
    }
}
