//! Published vectors of HMAC-SHA256.

use crate::support::data::shared;
use rescreen::webhook::is_hmac;
use serde_json::Value;
use std::fs;

fn bytes(hex: &Value) -> Vec<u8> {
    let digits = hex.as_str().unwrap().as_bytes();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn every_vector_of_wycheproof_is_judged_as_published() {
    let Some(path) = shared("vectors/wycheproof_hmac_sha256.json") else { return };
    let vectors: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let (mut valid, mut invalid) = (0, 0);
    for group in vectors["testGroups"].as_array().unwrap() {
        // A signature is never shortened.
        let is_whole = group["tagSize"] == 256;
        for test in group["tests"].as_array().unwrap() {
            let found = is_hmac(&bytes(&test["key"]), &[&bytes(&test["msg"])], &bytes(&test["tag"]));
            assert_eq!(found, is_whole && test["result"] == "valid", "{test}");
            *(if found { &mut valid } else { &mut invalid }) += 1;
        }
    }
    assert!(valid > 30 && invalid > 50, "{valid} valid, {invalid} invalid");
}

#[test]
fn the_example_of_another_service_is_accepted() {
    let Some(path) = shared("vectors/webhook_hmac.json") else { return };
    let examples: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let example = examples.as_array().unwrap().iter().find(|example| example["scheme"] == "github").unwrap();
    let (key, body) = (example["secret"].as_str().unwrap().as_bytes(), example["body"].as_str().unwrap().as_bytes());
    let digest = bytes(&example["signature"].as_str().unwrap().replace("sha256=", "").into());
    assert!(is_hmac(key, &[body], &digest) && is_hmac(key, &[&body[..5], &body[5..]], &digest));
    assert!(!is_hmac(key, &[body, b"!"], &digest));
}
