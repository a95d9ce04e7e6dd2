//! Compressed replies. Each request asks for none, but a proxy may compress a reply anyway, perhaps only the long ones:
//! those with a match. An answer that was paid for is read, and what cannot be read says why.

use super::{Campaign, Hostile, Reply};
use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use std::io::Write;

const ROWS: u32 = 6;
const HIT: &str =
    r#"{"success":true,"creditsUsed":1,"results":{"match":[{"name":"R00002 Quist","type":"sanction","match":100}]}}"#;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
#[ignore = "make hostile"]
fn a_compressed_answer_is_read_as_if_it_were_not() {
    let hit = HIT.as_bytes();
    let cases: [(&[&str], Vec<u8>); 9] = [
        (&["gzip"], gzip(hit)),
        (&["X-GZip"], gzip(hit)),
        (&["deflate"], zlib(hit)),
        (&["deflate"], raw_deflate(hit)),
        (&["zstd"], zstd::encode_all(hit, 3).unwrap()),
        (&["gzip , identity"], gzip(hit)),
        (&["deflate", " gzip"], gzip(&zlib(hit))),
        (&["gzip"], hit.to_vec()),
        (&["br"], hit.to_vec()),
    ];
    super::at_once(cases, |(codings, body)| {
        let reply = codings.iter().fold(Reply::bytes(body), |reply, coding| reply.header("content-encoding", coding));
        let service = Hostile::new().on_row(2, reply).start();
        let campaign = Campaign::of(&service, ROWS);
        campaign.run().exits(0);
        let ledger = campaign.ledger();
        assert_eq!((ledger.row(2).state, ledger.row(2).verdict.as_str()), ("answered", "review"), "{codings:?}");
        assert_eq!((service.book().charges(), ledger.charged()), (ROWS as usize, u64::from(ROWS)), "{codings:?}");
        let shown = campaign.published("results", 2).to_string();
        assert!(shown.contains("sanction"), "{codings:?}: {shown}");
    });
}

#[test]
#[ignore = "make hostile"]
fn a_compressed_balance_is_read() {
    let balance = |_, left| Reply::bytes(gzip(format!("{{\"available_credits\":{left}}}").as_bytes()));
    let service = Hostile::new().balance_script(move |nth, left| balance(nth, left).header("content-encoding", "gzip"));
    let service = service.start();
    Campaign::of(&service, 2).run().exits(0);
}

#[test]
#[ignore = "make hostile"]
fn a_reply_that_cannot_be_decoded_is_in_doubt_and_names_its_coding() {
    let compressed = gzip(HIT.as_bytes());
    let cases = [
        ("br", b"\x0b\x02\x80not brotli\x03".to_vec()),
        ("x-unknown", compressed.clone()),
        ("gzip", compressed[..compressed.len() - 3].to_vec()),
        ("gzip", [compressed.clone(), b"more".to_vec()].concat()),
        ("zstd", compressed.clone()),
        ("gzip, gzip, gzip, gzip, gzip", compressed),
    ];
    super::at_once(cases, |(coding, body)| {
        let reply = Reply::bytes(body).header("content-encoding", coding);
        let service = Hostile::new().on_row_until_healed(2, reply).start();
        let campaign = Campaign::of(&service, ROWS);
        let said = campaign.run_with("--for 4s");
        let fate = campaign.ledger().row(2).clone();
        assert!(!fate.is_settled() && fate.held == 1, "{coding}: {fate:?}; {}", said.stderr);
        let said = campaign.run_with("-v --for 4s");
        assert!(said.stderr.contains("content coding"), "{coding}: {}", said.stderr);
        service.heal();
        campaign.run().exits(0);
        let ledger = campaign.ledger();
        assert_eq!((ledger.row(2).verdict.as_str(), service.book().charges()), ("clear", ROWS as usize), "{coding}");
    });
}

#[test]
#[ignore = "make hostile"]
fn a_compression_bomb_stops_at_the_limit_and_is_a_body_that_is_too_long() {
    // 2 GiB of spaces in two layers, the outer of which has a few kilobytes.
    let spaces = vec![b' '; 1 << 20];
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..2048 {
        encoder.write_all(&spaces).unwrap();
    }
    let bomb = gzip(&encoder.finish().unwrap());
    let reply = Reply::bytes(bomb).header("content-encoding", "gzip").header("content-encoding", "gzip");
    let service = Hostile::new().on_row_until_healed(2, reply).start();
    let campaign = Campaign::of(&service, ROWS);
    // The limit is on address space, of which the program reserves a lot that it does not use.
    let said =
        campaign.audited(crate::support::program::Said::of(&mut campaign.under("ulimit -v 1500000", "--for 4s")));
    assert!(!campaign.ledger().row(2).is_settled(), "{}", said.stderr);
    assert_eq!(campaign.ledger().in_state("answered") as u32, ROWS - 1, "{}", said.stderr);
    service.heal();
    campaign.run().exits(0);
    assert_eq!(service.book().charges(), ROWS as usize);
}

#[test]
#[ignore = "make hostile"]
fn the_api_key_in_a_compressed_reply_is_not_kept() {
    let hit = HIT.replace("sanction", crate::support::API_KEY);
    let reply = Reply::bytes(gzip(hit.as_bytes())).header("content-encoding", "gzip");
    let service = Hostile::new().on_row(2, reply).start();
    let campaign = Campaign::of(&service, 3);
    campaign.run().exits(0);
    let shown = campaign.published("results", 2).to_string();
    assert!(shown.contains('…') && !shown.contains(crate::support::API_KEY), "{shown}");
}
