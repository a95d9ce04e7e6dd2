//! Every coding is read back, and everything else is refused without using memory.

use super::*;
use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use proptest::prelude::*;
use std::io::Write;

const NAMES: [&str; 5] = ["gzip", "x-gzip", "deflate", "deflate without a header", "zstd"];

/// Bytes in a coding, and the name that a server gives it.
fn coded(name: &str, bytes: &[u8]) -> (String, Vec<u8>) {
    let level = Compression::fast();
    let coded = match name {
        "gzip" | "x-gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        "zstd" => zstd::encode_all(bytes, 1),
        _ => {
            let mut encoder = DeflateEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
    };
    (name.split(' ').next().unwrap_or_default().to_owned(), coded.unwrap())
}

fn read(codings: &[&str], body: &[u8]) -> Result<Vec<u8>, Undecoded> {
    let codings: Vec<String> = codings.iter().map(|name| (*name).to_owned()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(decoded(body.to_vec(), &codings))
}

fn is_unreadable(codings: &[&str], body: &[u8]) -> bool {
    matches!(read(codings, body), Err(Undecoded::Unreadable(fault)) if fault.contains("content coding"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn bytes_in_any_coding_are_read_back(
        bytes in prop::collection::vec(any::<u8>(), 0..3_000),
        repeats in 1_usize..60,
        first in prop::sample::select(&NAMES),
        second in prop::sample::select(&NAMES),
    ) {
        let bytes = bytes.repeat(repeats);
        let (first, once) = coded(first, &bytes);
        prop_assert_eq!(read(&[&first], &once), Ok(bytes.clone()));
        let (second, twice) = coded(second, &once);
        prop_assert_eq!(read(&[&first, &second], &twice), Ok(bytes));
    }

    #[test]
    fn a_part_of_a_body_is_never_read_as_a_whole_one(
        bytes in prop::collection::vec(any::<u8>(), 1..300),
        name in prop::sample::select(&NAMES),
        kept in any::<prop::sample::Index>(),
        more in prop::collection::vec(1_u8..=255, 1..20),
    ) {
        let (coding, body) = coded(name, &bytes);
        let kept = 1 + kept.index(body.len() - 1);
        prop_assert!(is_unreadable(&[&coding], &body[..kept]), "{} of {}", kept, body.len());
        prop_assert!(is_unreadable(&[&coding], &[body, more].concat()));
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in NAMES {
            drop(read(&[name.split(' ').next().unwrap_or_default()], &bytes));
        }
    }
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let zeros = vec![0; RESPONSE_BYTES_MAX + 1];
    for name in NAMES {
        let (coding, bomb) = coded(name, &zeros);
        assert!(bomb.len() < 400_000, "{name}: {}", bomb.len());
        assert_eq!(read(&[&coding], &bomb), Err(Undecoded::TooLong), "{name}");
        let (_, whole) = coded(name, &zeros[1..]);
        assert_eq!(read(&[&coding], &whole).map(|body| body.len()), Ok(RESPONSE_BYTES_MAX), "{name}");
    }
}

#[test]
fn a_body_that_only_claims_a_coding_is_read_as_it_is() {
    let body = br#"{"results": {"match": []}}"#;
    for coding in ["gzip", "x-gzip", "deflate", "zstd", "br", "utf-8"] {
        assert_eq!(read(&[coding], body), Ok(body.to_vec()), "{coding}");
    }
    let (_, once) = coded("gzip", body);
    assert_eq!(read(&["gzip", "gzip"], &once), Ok(body.to_vec()), "it was applied once and named twice");
    for coding in ["gzip", "deflate", "zstd", "br"] {
        assert!(is_unreadable(&[coding], b"<html>upstream timed out</html>"), "{coding}");
        assert_eq!(read(&[coding], b""), Ok(Vec::new()), "{coding}");
    }
}

#[test]
fn a_coding_that_is_not_known_is_named() {
    let Err(Undecoded::Unreadable(fault)) = read(&["br"], b"\x0b\x02\x80") else { panic!("it was read") };
    assert_eq!(fault, "the body of the reply has the content coding `br`, which cannot be decoded");
    assert!(is_unreadable(&["gzip"; CODINGS_MAX + 1], b"x"));
}

#[test]
fn codings_are_found_in_any_case_in_lists_and_in_several_headers() {
    let of = |values: &[&str]| {
        let headers = values.iter().map(|value| (CONTENT_ENCODING, value.parse().unwrap()));
        stated(&HeaderMap::from_iter(headers))
    };
    assert_eq!(of(&[]), Vec::<String>::new());
    assert_eq!(of(&["identity", " , Identity"]), Vec::<String>::new());
    assert_eq!(of(&["GZip , identity"]), ["gzip"]);
}

#[test]
fn codings_of_several_headers_keep_their_order() {
    let mut headers = HeaderMap::new();
    for value in ["gzip, identity", " Zstd"] {
        headers.append(CONTENT_ENCODING, value.parse().unwrap());
    }
    assert_eq!(stated(&headers), ["gzip", "zstd"]);
}
