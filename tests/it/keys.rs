//! Keys never change: a release that changes one charges again for what was already paid. The expected texts and keys
//! were made outside this program; the subjects are invented.

use crate::support::data::shared;
use rescreen::model::{CanonicalRequest, IdempotencyKey, KeyMaker, KeySecret, Mode, request::canonical_json};
use serde_json::{Map, Value, json};
use std::fs;
use uuid::Uuid;

const SECRET: &str = "an invented secret for these vectors";

struct Vector {
    mode: Mode,
    check: &'static str,
    fields: Value,
    generation: u32,
    canonical: &'static str,
    key: &'static str,
    key_with_secret: &'static str,
}

fn vectors() -> Vec<Vector> {
    let thandi = || json!({"name": "Thandi Nkosi", "entity": 0, "country": "za"});
    vec![
        Vector {
            mode: Mode::Production,
            check: "aml-screening",
            fields: thandi(),
            generation: 0,
            canonical: r#"{"campaign":"2026-11","check":"aml-screening","fields":{"country":"za","entity":0,"name":"Thandi Nkosi"},"generation":0,"mode":"production","v":1}"#,
            key: "42da9e06-6813-5162-8f78-3c5b683cdce2",
            key_with_secret: "c62b71e9-5242-5c93-9ed2-5dad02f8ac9c",
        },
        Vector {
            mode: Mode::Production,
            check: "aml-screening",
            fields: thandi(),
            generation: 1,
            canonical: r#"{"campaign":"2026-11","check":"aml-screening","fields":{"country":"za","entity":0,"name":"Thandi Nkosi"},"generation":1,"mode":"production","v":1}"#,
            key: "c6c49287-24bd-59ea-b53e-4b912ce52b62",
            key_with_secret: "19359e5b-13c9-5b0a-9503-ad6c141c0a80",
        },
        Vector {
            mode: Mode::Sandbox,
            check: "aml-screening",
            fields: thandi(),
            generation: 0,
            canonical: r#"{"campaign":"2026-11","check":"aml-screening","fields":{"country":"za","entity":0,"name":"Thandi Nkosi"},"generation":0,"mode":"sandbox","v":1}"#,
            key: "8e772ef4-65c0-5d6c-a315-8b019f919c87",
            key_with_secret: "14fdcb4c-f0da-55be-ab44-6b79d4218ab0",
        },
        Vector {
            mode: Mode::Production,
            check: "aml-screening",
            fields: json!({"name": "Zoë 🐾 \"Müller\" & Söhne 株式会社", "entity": 1, "country": "na"}),
            generation: 0,
            canonical: r#"{"campaign":"2026-11","check":"aml-screening","fields":{"country":"na","entity":1,"name":"Zoë 🐾 \"Müller\" & Söhne 株式会社"},"generation":0,"mode":"production","v":1}"#,
            key: "a39c2b4e-3f62-551b-b7e4-1b0c243057a0",
            key_with_secret: "bfbd7b98-b166-5c51-ad5a-c4602b6620bc",
        },
        Vector {
            mode: Mode::Production,
            check: "said-verification",
            fields: json!({"idNumber": "8001015009087"}),
            generation: 0,
            canonical: r#"{"campaign":"2026-11","check":"said-verification","fields":{"idNumber":"8001015009087"},"generation":0,"mode":"production","v":1}"#,
            key: "26cbd9d6-8615-550b-89c3-6377d1c37d0a",
            key_with_secret: "8776da3b-7463-5c45-9a9e-acef84b9dd0a",
        },
    ]
}

#[test]
fn the_frozen_vectors_hold() {
    let secret = KeySecret::new(SECRET.into());
    for vector in vectors() {
        let Value::Object(fields) = vector.fields else { panic!("fields are an object") };
        let first = CanonicalRequest::first("2026-11", vector.mode, vector.check, &fields);
        let request = CanonicalRequest { generation: vector.generation, ..first };
        assert_eq!(String::from_utf8(request.canonical_bytes()).unwrap(), vector.canonical);
        assert_eq!(IdempotencyKey::of(&request, None).to_string(), vector.key);
        assert_eq!(IdempotencyKey::of(&request, Some(&secret)).to_string(), vector.key_with_secret);
        let again = |secret: Option<&KeySecret>| {
            let keys = KeyMaker { campaign: "2026-11".to_owned(), mode: vector.mode, secret: secret.cloned() };
            keys.key(vector.check, &fields, vector.generation).to_string()
        };
        assert_eq!(again(None), vector.key);
        assert_eq!(again(Some(&secret)), vector.key_with_secret);
    }
}

#[test]
fn the_order_of_fields_does_not_change_a_key() {
    let key = |fields: Value| {
        let fields: Map<String, Value> = serde_json::from_value(fields).unwrap();
        let keys = KeyMaker { campaign: "c".to_owned(), mode: Mode::Sandbox, secret: None };
        keys.key("aml-screening", &fields, 0)
    };
    assert_eq!(key(json!({"name": "A", "entity": 0})), key(json!({"entity": 0, "name": "A"})));
    assert_ne!(key(json!({"name": "A", "entity": 0})), key(json!({"name": "A", "entity": "0"})));
}

#[test]
fn the_canonical_format_is_rfc_8785() {
    let Some(folder) = shared("vectors/jcs") else { return };
    let mut count = 0;
    for entry in fs::read_dir(folder.join("input")).unwrap() {
        let name = entry.unwrap().file_name();
        let input: Value = serde_json::from_slice(&fs::read(folder.join("input").join(&name)).unwrap()).unwrap();
        let expected = fs::read(folder.join("output").join(&name)).unwrap();
        assert_eq!(canonical_json(&input), expected, "{name:?}");
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
fn uuid_v5_agrees_with_other_implementations() {
    let Some(path) = shared("vectors/uuid_v5.csv") else { return };
    let mut count = 0;
    for record in csv::Reader::from_path(path).unwrap().records() {
        let record = record.unwrap();
        let namespace: Uuid = record[1].parse().unwrap();
        assert_eq!(Uuid::new_v5(&namespace, record[2].as_bytes()).to_string(), record[3], "{}", &record[2]);
        count += 1;
    }
    assert_eq!(count, 18);
}
